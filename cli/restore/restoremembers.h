/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which members the cluster of a snapshot had. Two sources: the member list in its database, and
 * the one in its entry of the catalogue, which is what etcd's MemberList said when it was taken.
 * The database may be wrong in flags and names: etcd 3.5.1 to 3.5.19 does not write the promotion
 * of a learner (etcd-io/etcd#19557), and 3.5 keeps no names of members that joined later. Pure.
 */

#include <jansson.h>
#include <stdbool.h>

#include "cli/common/texts.h"

/*
 * A list of {"name": "" if it has none, "peer_urls", "learner"}, and of each the booleans
 *   "called":     it has no name in either list, and is called by the host of its peer URL
 *   "demoted":    a learner in the database alone, so it was promoted
 *   "listed":     it is in the entry's list
 * Names and flags are the entry's, where there is one. Where the lists differ in more, so that it
 * is not certain who the members were, ret_differ gets a text for each difference. The caller frees
 * both. `source` is the last line of `etcdwatch-worker restore source`; of a snapshot that was
 * rebuilt it has "base_members", the list in the entry of the snapshot that it began with.
 */
json_t *restoremembers_read(const json_t *source, struct texts *ret_differ);
