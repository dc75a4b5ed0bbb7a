/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for write-ahead logs of etcd: whatever the bytes are, they are read
 * within bounds. Nearly no input would get past the checksums, so, as the first byte chooses, the
 * bytes are the file itself, or records (type, length, data) that are framed and summed here.
 *
 * max_len: 4096
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/macro.h"
#include "bolt/wal.h"
#include "tests/unit/walfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/dev/shm/fairlead-fuzz-XXXXXX";
static char file[128];

static void remove_all(void)
{
	(void) unlink(file);
	(void) rmdir(dir);
}

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void prepare(void)
{
	if (file[0] != '\0')
		return;
	must(mkdtemp(dir) != NULL);
	(void) snprintf(file, sizeof(file), "%s/0000000000000000-0000000000000000.wal", dir);
	must(atexit(remove_all) == 0);
}

static void save(const void *bytes, size_t len)
{
	FILE *f = fopen(file, "we");

	must(f != NULL && fwrite(bytes, 1, len, f) == len && fclose(f) == 0);
}

static void make(const uint8_t *data, size_t size)
{
	static struct walfile wal;

	walfile_begin(&wal, 0);
	for (size_t at = 0; at + 2 <= size;) {
		size_t len = MIN((size_t) data[at + 1], size - at - 2);

		walfile_put_data(&wal, data[at], data + at + 2, len);
		at += 2 + len;
	}
	save(wal.bytes, wal.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wal_reach reach = {0}, later = {0};
	int r;

	if (size == 0)
		return 0;
	prepare();
	if (data[0] % 2 == 0)
		save(data + 1, size - 1);
	else
		make(data + 1, size - 1);
	r = wal_read(dir, 0, &reach);
	must(r == 0 || r == -EBADMSG);
	if (r < 0)
		return 0;
	/* What is asked for changes what is counted, and nothing else. */
	must(wal_read(dir, reach.last / 2, &later) == 0);
	must(later.last == reach.last && later.commit == reach.commit &&
	     later.n_writes <= reach.n_writes);
	return 0;
}
