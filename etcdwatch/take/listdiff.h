/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether the member list in etcd's database is the one that etcd's MemberList gave. etcd 3.5 goes
 * by another store than its database; 3.6 goes by the database, so a difference breaks the upgrade
 * to 3.6 (etcd-io/etcd#19557, #20793). Names are not compared: 3.5 does not write those of members
 * that joined later, and a member publishes its name when it starts. Pure.
 */

#include <jansson.h>

#include "etcdwatch/catalog/catalog.h"

/* `database` is "members" of `etcdwatch-worker prove`. NULL: they agree, or one of the two is not
 * known; else what differs, cut to CATALOG_TEXT_MAX bytes. The caller frees it. */
char *listdiff_text(const json_t *database, const struct catalog_entry *entry);
