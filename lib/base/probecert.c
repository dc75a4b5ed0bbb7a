/* SPDX-License-Identifier: Apache-2.0 */
/* A request without a certificate still tells that a server lives, so errors are not reported. */
#include "base/probecert.h"

#include <stdlib.h>

#include "base/fileio.h"
#include "base/mem.h"

#define FILE_MAX_BYTES 65536

static int read_file(const char *directory, const char *name, char **ret_text)
{
	AUTO(free) char *path = xasprintf("%s/%s", directory, name);
	size_t len;

	return file_read(path, FILE_MAX_BYTES, ret_text, &len);
}

void probecert_read(const char *directory, struct probecert *ret_pair)
{
	struct probecert pair = {0};

	if (read_file(directory, PROBECERT_CERT, &pair.cert) < 0 ||
	    read_file(directory, PROBECERT_KEY, &pair.key) < 0)
		probecert_fini(&pair);
	*ret_pair = pair;
}

void probecert_fini(struct probecert *pair)
{
	free(pair->cert);
	free(pair->key);
	*pair = (struct probecert){0};
}
