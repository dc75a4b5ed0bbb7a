/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Logs of the observer and of tcpwatch in memory, in the order of their times. The format is
 * written down in tests/tools/observer.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/addr.h"

#define JOURNAL_OWNERS_MAX 32
#define JOURNAL_NAME_MAX 32

enum journal_kind {
	JOURNAL_ANSWER,
	JOURNAL_CLAIM, /* an announcement, a question in the address's name, a TCP segment from it */
	JOURNAL_LATE,
	JOURNAL_MARK,
	JOURNAL_OTHER, /* a probe, a sign of life, a claim of an ignored MAC */
};

struct journal_line {
	int64_t at_us;
	size_t number; /* in the file; settles equal times */
	enum journal_kind kind;
	int owner;       /* index into journal.owners; -1 where the line names none */
	int64_t late_us; /* JOURNAL_LATE */
	char *text;
};

struct journal_owner {
	struct mac mac;
	char name[JOURNAL_NAME_MAX]; /* the MAC as text until it is given another */
	bool ignored;
};

struct journal {
	struct journal_line *lines;
	size_t n_lines;
	struct journal_owner owners[JOURNAL_OWNERS_MAX];
	int n_owners;
};

/* The owner of this MAC, made if there is none; NULL when there are too many. Names and ignored
 * MACs are set before the log is read. */
struct journal_owner *journal_owner(struct journal *j, const struct mac *mac);

/* Reads all of f, and puts it among what was read before. An unfinished last line is left out: the
 * observer may be writing it. 0; -ENODATA for an empty log, -EBADMSG for a line that is not of the
 * format (its number is put into *ret_line), -E2BIG for too many MACs. */
int journal_read(struct journal *j, FILE *f, size_t *ret_line);
void journal_fini(struct journal *j);

/* The last mark of this name: its line, or -ENOENT. */
int64_t journal_find_mark(const struct journal *j, const char *name);

/* "nobody" for -1. */
const char *journal_owner_name(const struct journal *j, int owner);
