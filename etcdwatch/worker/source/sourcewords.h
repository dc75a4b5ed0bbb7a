/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where a snapshot is looked for and what it must be, as the options of a command say (source.h):
 *
 *   [--directory DIR] [--job NAME] [--s3-prefix TEXT] [--identity FILE]... [--skip-hash-check]
 *   [--encrypted] [--plain] [--trust KEY]... [--own-key KEY] [--known DIR]
 */

#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/source/source.h"

struct sourcewords {
	const char *directory;
	const char *job;
	const char *s3_prefix;
	struct options_list identities;
	bool skip_hash_check;
	bool encrypted;
	bool plain;
	struct options_list trusted; /* public keys */
	const char *own_key;         /* trusted where no other one is */
	const char *known;           /* the job's directory on this node */
};

#define SOURCEWORDS_OPTIONS 10

/* The entries for options_parse(), which fill the words. */
void sourcewords_options(struct sourcewords *words,
                         struct options_entry ret[static SOURCEWORDS_OPTIONS]);
/* What they ask for; the words are borrowed. The store is the caller's to add. */
int sourcewords_request(const struct sourcewords *words, const char *name, struct problem *problem,
                        struct source_request *ret_request);
/* The keys must be such. */
int sourcewords_check_keys(const struct options_list *keys, struct problem *problem);
