/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Puts the other files of a bundle into a new directory, under the paths that they had: "extras"
 * and
 * "/etc/kubernetes/pki/ca.key" make extras/etc/kubernetes/pki/ca.key, with its permissions, and
 * with its owner if we are root. Nothing outside of that directory is ever written, whatever the
 * bundle says: anyone who knows a public key can make one.
 */

#include "base/cleanup.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/pack/tarfmt.h"

struct extract;

/* The directory must not be there. Until the end it has another name beside it (".NAME.new").
 * Borrows `problem`. */
int extract_new(const char *directory, struct problem *problem, struct extract **ret_extract);

/* Removes all of it, if it was not finished. */
void extract_free(struct extract *extract);
DEFINE_AUTO(struct extract, extract_free);

/* One entry, whose path is whole ("/etc/..."), its data, its end. */
int extract_begin(struct extract *extract, const struct tar_entry *entry);
int extract_data(struct extract *extract, const void *data, size_t len);
int extract_end(struct extract *extract);

/* All were there: gives the directories the permissions that they had, and the first its name. */
int extract_finish(struct extract *extract);
