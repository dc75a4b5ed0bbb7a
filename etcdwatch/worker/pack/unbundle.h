/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bundle on its way back, as a stage: the snapshot goes to the next stage, the other files to an
 * `extract` if there is one, and everything is compared with the manifest, which comes last. The
 * next stage is finished only when all of it was right.
 */

#include <archive_entry.h>

#include "base/cleanup.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"

/*
 * Puts the other files of a bundle into a new directory, under the paths that they had: "extras"
 * and
 * "/etc/kubernetes/pki/ca.key" make extras/etc/kubernetes/pki/ca.key, with its permissions, and
 * with its owner if we are root. Nothing outside of that directory is ever written, whatever the
 * bundle says: anyone who knows a public key can make one.
 */

struct extract;

/* The directory must not be there. Until the end it has another name beside it (".NAME.new").
 * Borrows `problem`. */
int extract_new(const char *directory, struct problem *problem, struct extract **ret_extract);

/* Removes all of it, if it was not finished. */
void extract_free(struct extract *extract);
DEFINE_AUTO(struct extract, extract_free);

/* All were there: gives the directories the permissions that they had, and the first its name. */
int extract_finish(struct extract *extract);

/* Takes `snapshot`; borrows `extract`, which may be NULL, and `problem`. */
struct sink *unbundle_new(struct sink *snapshot, struct extract *extract, struct problem *problem);
