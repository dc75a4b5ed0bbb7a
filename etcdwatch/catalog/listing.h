/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is in a job's directory: its good entries with their files, and what does not fit. Blocking:
 * for the disk's thread. Nothing here changes a snapshot.
 */

#include <stdbool.h>
#include <stddef.h>

#include "etcdwatch/catalog/catalog.h"

#define LISTING_REASON_MAX 512
#define LISTING_ENTRY_SUFFIX ".json"
#define LISTING_REJECTED_DIRECTORY "rejected"
#define LISTING_LOCAL "local" /* as a place; no target is called so */

struct names {
	char **items;
	size_t n;
};

void names_add(struct names *names, char *name); /* takes the name */
bool names_have(const struct names *names, const char *name);
void names_fini(struct names *names);

struct listing {
	struct catalog_entry **entries; /* of this job, whose file is there; oldest first */
	size_t n;
	struct names odd; /* sentences */
	size_t n_rejected;
};

/* 0, or -errno with a sentence. */
int listing_read(const char *directory, const char *job, struct listing *ret_listing,
                 char ret_reason[static LISTING_REASON_MAX]);
void listing_fini(struct listing *listing);
void listing_add_odd(struct listing *listing, char *text); /* takes the text */

/* By its name a snapshot of this job, or its entry. */
bool listing_is_of_job(const char *name, const char *job);
/* By its name an entry, of whatever job. */
bool listing_is_entry(const char *name);

/* Every name in the directory, hidden ones or the others, in order. -E2BIG beyond a bound, at which
 * nothing may be concluded of what is not among them. */
int listing_names(const char *directory, bool hidden, struct names *ret_names);

/* Of the rejected snapshots of the job the newest `n_kept` stay. 0 or -errno. */
int listing_trim_rejected(const char *directory, const char *job, size_t n_kept);
