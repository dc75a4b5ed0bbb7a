/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A directory of its own for a test about files, in memory, where syncing costs nothing; what is
 * made in it, and what is in it afterwards. The test's working directory is there.
 */

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "web/digest.h"

static char scratch_dir[64];

static inline UNUSED void scratch_enter(void)
{
	(void) snprintf(scratch_dir, sizeof(scratch_dir), "/dev/shm/fairlead-test-XXXXXX");
	CHECK(mkdtemp(scratch_dir) != NULL && chdir(scratch_dir) == 0);
}

/* Runs a shell command there; it must succeed. */
static inline UNUSED PRINTF_LIKE(1, 2) bool scratch_shell(const char *fmt, ...)
{
	AUTO(free) char *command = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&command, fmt, ap) < 0)
		abort();
	va_end(ap);
	if (CHECK_EQ_INT(system(command), 0))
		return true;
	(void) fprintf(stderr, "  %s\n", command);
	return false;
}

static inline UNUSED void scratch_leave(void)
{
	CHECK_EQ_INT(chdir("/"), 0);
	(void) scratch_shell("rm -rf %s", scratch_dir);
}

/* So many bytes that compress by about a half, and are the same for the same seed. */
static inline UNUSED void scratch_make(const char *name, size_t n_bytes, uint64_t seed)
{
	FILE *f = fopen(name, "we");
	uint64_t x = seed * 2 + 1;

	if (!CHECK(f != NULL))
		return;
	for (size_t i = 0; i < n_bytes; i++) {
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		(void) fputc((int) (x >> 33) & (i % 2 == 0 ? 0xff : 0x01), f);
	}
	CHECK(fclose(f) == 0);
}

/* Of a whole file, in hexadecimal; "" when it cannot be read. */
static inline UNUSED const char *scratch_sha256(const char *name, char hex[static DIGEST_HEX_MAX])
{
	AUTO(digest_free) struct digest *digest = digest_new(DIGEST_SHA256);
	FILE *f = fopen(name, "re");
	char buffer[65536];
	size_t n;

	hex[0] = '\0';
	if (f == NULL)
		return hex;
	while ((n = fread(buffer, 1, sizeof(buffer), f)) > 0)
		digest_update(digest, buffer, n);
	(void) fclose(f);
	return digest_finish_hex(digest, hex);
}

static inline UNUSED bool scratch_exists(const char *name)
{
	return access(name, F_OK) == 0;
}

/* The names in the directory, in order, with spaces between. */
static inline UNUSED const char *scratch_list(const char *dir, char *buf, size_t size)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, NULL, alphasort);
	size_t len = 0;

	buf[0] = '\0';
	for (int i = 0; i < n; i++) {
		if (strcmp(names[i]->d_name, ".") != 0 && strcmp(names[i]->d_name, "..") != 0)
			len += (size_t) snprintf(buf + len, size - len, "%s%s", len > 0 ? " " : "",
			                         names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return buf;
}
