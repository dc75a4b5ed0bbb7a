/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token is in the configuration or, better, in a file of its own, which may not be open to
 * others.
 */
#include "vipd/hcloud_token.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/mem.h"

#define TOKEN_BYTES_MAX 4096

int hcloud_token_read(const struct config_hcloud *config, char ret_text[static HCLOUD_TEXT_MAX],
                      char **ret_token)
{
	const char *path = config->api_token_file;
	struct stat st;
	char *token = NULL;
	size_t len;
	int r;

	if (path == NULL) {
		*ret_token = xstrdup(config->api_token);
		return 0;
	}
	r = stat(path, &st) < 0 ? -errno : 0;
	if (r == 0 && (st.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
		(void) snprintf(ret_text, HCLOUD_TEXT_MAX,
		                "%.180s is open to others (mode %04o): chmod 0600 it, and make a new token",
		                path, st.st_mode & 07777u);
		return -EPERM;
	}
	if (r == 0)
		r = file_read(path, TOKEN_BYTES_MAX, &token, &len);
	if (token == NULL) {
		(void) snprintf(ret_text, HCLOUD_TEXT_MAX, "%.180s: %s", path, strerror(-r));
		return r;
	}
	token[strcspn(token, "\r\n")] = '\0';
	*ret_token = token;
	return 0;
}

void hcloud_token_free(char *token)
{
	if (token == NULL)
		return;
	explicit_bzero(token, strlen(token));
	free(token);
}
