/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a configuration is about: whose documents are in it, and which are nobody's. The programs'
 * own readers judge what stands in them.
 */

#include <stdbool.h>

#include "base/conf.h"

enum part {
	PART_VIPD,
	PART_PRISM,
	PART_ETCDWATCH,
	PART_NETCONF,
	N_PARTS,
};

extern const char *const part_names[N_PARTS]; /* of the programs */

struct parts {
	size_t n_files;          /* that were read */
	char *first[N_PARTS];    /* what is this program's begins: "file:line: Kind"; NULL: nothing */
	bool is_legacy[N_PARTS]; /* something of it is said in the older style */
	struct conf_strings
	    others; /* what nobody reads: "file:line: Kind", "file:line: machine.x, ..." */
};

/* No paths: the default places. 0; or -EINVAL when files cannot be read, or have documents of which
 * nobody can tell whose they are: each error is told, and what can be told of the
 * rest is in *ret all the same. */
int parts_read(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
               struct parts *ret);

/* Whose documents of this kind are; N_PARTS: several read it, or nobody. */
enum part parts_of_kind(const char *kind);
bool parts_is_read(const char *kind);
void parts_fini(struct parts *parts);
