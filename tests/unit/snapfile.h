/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Snapshots in memory, for tests that damage them: how they get there, and what is found wrong. */

#include <stdio.h>
#include <stdlib.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "bolt/dbinfo.h"
#include "bolt/snapshot.h"
#include "tests/unit/boltfile.h"

#define SNAPFILE_BYTES_MAX 65536u

struct snapfile {
	char *bytes;
	size_t len; /* with the digest */
};

static inline UNUSED struct snapfile snapfile_load(const char *path)
{
	struct snapfile f = {0};

	if (file_read(path, SNAPFILE_BYTES_MAX, &f.bytes, &f.len) < 0) {
		(void) fprintf(stderr, "cannot read %s (run this in the root of the tree)\n", path);
		exit(1);
	}
	return f;
}

/* What is found without the digest: NULL, or what is wrong. */
static inline UNUSED const char *snapfile_fault(int fd)
{
	static struct bolt_fault fault;
	AUTO(snapshot_close) struct snapshot *s = NULL;
	AUTO(dbinfo_free) struct dbinfo *info = NULL;
	struct snapshot_content content;
	char path[32];
	int r;

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = snapshot_open(path, &fault, &s);
	if (r >= 0)
		r = snapshot_check_content(s, 0, &content);
	if (r >= 0)
		r = dbinfo_read(snapshot_db(s), &info);
	return r < 0 ? fault.what : NULL;
}

/* 0: it fits. */
static inline UNUSED int snapfile_check_digest(int fd)
{
	AUTO(snapshot_close) struct snapshot *s = NULL;
	struct bolt_fault fault = {0};
	char path[32];
	int r;

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = snapshot_open(path, &fault, &s);
	return r < 0 ? r : snapshot_check_digest(s);
}
