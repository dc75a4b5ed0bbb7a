/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for snapshots of etcd: whatever the bytes are, they are read within
 * bounds, or refused with one line; what was found good stays good and the same when it is read
 * another way.
 *
 * The meta pages are sealed anew first, or nearly no input would get past their checksums; the last
 * byte chooses whether they are.
 *
 * max_len: 65536
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bolt/dbinfo.h"
#include "bolt/snapshot.h"
#include "bolt/mvcc.h"
#include "tests/unit/boltfile.h"
#include "tests/unit/hashkvnow.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define META_BYTES 80

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* Where the meta pages are, if they are. */
static void seal(uint8_t *bytes, size_t size)
{
	if (size >= META_BYTES)
		boltfile_seal_meta(bytes);
	for (size_t at = BOLT_PAGE_BYTES_MIN; at <= BOLT_PAGE_BYTES_MAX; at *= 2) {
		if (at + META_BYTES <= size)
			boltfile_seal_meta(bytes + at);
	}
}

/* A path to a file with these bytes. */
static const char *write_input(const uint8_t *data, size_t size)
{
	static char path[32];
	static int fd = -1;
	AUTO(free) uint8_t *copy = xmemdup(data, size);

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (size > 0 && data[size - 1] % 8 != 0)
		seal(copy, size);
	must(ftruncate(fd, 0) == 0 && pwrite(fd, copy, size, 0) == (ssize_t) size);
	return path;
}

/* An error has its line, and only an error; no terminal acts on it. */
static void check_fault(int r, const struct bolt_fault *fault)
{
	must(r >= 0 || fault->what[0] != '\0');
	for (const char *p = fault->what; *p != '\0'; p++)
		must((unsigned char) *p >= 0x20 && (unsigned char) *p < 0x7f);
}

static void check_view(struct bolt *db, int64_t revision, const struct bolt_fault *fault)
{
	AUTO(view_free) struct view *view = NULL;
	const struct view_match all = {.is_prefix = true};
	struct mvcc_kv kv;
	int r = view_new(db, revision, &all, &view);

	check_fault(r, fault);
	for (size_t i = 0; r >= 0 && i < view_count(view); i++) {
		must(view_read(view, i, &kv) >= 0);
		must(bytes_compare(kv.key, view_at(view, i)->key) == 0);
		must(i == 0 || bytes_compare(view_at(view, i - 1)->key, kv.key) < 0);
	}
}

static void read_all(struct snapshot *s, const struct bolt_fault *fault)
{
	AUTO(dbinfo_free) struct dbinfo *info = NULL;
	struct snapshot_content content;
	struct hashkv_result now, then;
	int good, r;

	check_fault(snapshot_check_digest(s), fault);
	good = snapshot_check_content(s, 0, &content);
	check_fault(good, fault);
	r = hashkv_compute(snapshot_db(s), 0, &now);
	check_fault(r, fault);
	must(good < 0 ||
	     (r >= 0 && now.hash == content.hashkv.hash && now.n_live == content.hashkv.n_live));
	check_fault(dbinfo_read(snapshot_db(s), &info), fault);
	check_view(snapshot_db(s), 0, fault);
	if (good < 0)
		return;
	r = hashkv_compute(snapshot_db(s), MAX(content.reach.compacted, 1), &then);
	must(r >= 0);
	check_view(snapshot_db(s), MAX(content.reach.compacted, 1), fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(snapshot_close) struct snapshot *s = NULL;
	struct bolt_fault fault = {0};
	int r = snapshot_open(write_input(data, size), &fault, &s);

	check_fault(r, &fault);
	if (r >= 0)
		read_all(s, &fault);
	return 0;
}
