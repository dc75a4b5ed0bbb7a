/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What holds for the configuration of every daemon: whatever the bytes are, they are read within
 * the limits or refused with a message, and what is accepted prints as YAML that reads back the
 * same. Included behind the config.h of the daemon: the names in them are the same.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* A message is one line that no terminal acts on. */
static void on_error(const char *message, void *userdata)
{
	unsigned *errors = userdata;

	for (const char *p = message; *p != '\0'; p++) {
		if ((unsigned char) *p < 0x20 || *p == 0x7f)
			abort();
	}
	++*errors;
}

static char *print(const struct config *config)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	config_print(config, out);
	(void) fclose(out);
	return text;
}

static int conf_target(const struct config_env *env, const uint8_t *data, size_t size)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(config_free) struct config *again = NULL;
	AUTO(free) char *first = NULL;
	AUTO(free) char *second = NULL;
	unsigned errors = 0;
	int r;

	r = config_load_text("fuzz", (const char *) data, size, env, on_error, &errors, &config);
	if ((r < 0) != (errors > 0))
		abort();
	if (r < 0)
		return 0;
	first = print(config);
	r = config_load_text("again", first, strlen(first), env, on_error, &errors, &again);
	if (r < 0)
		abort();
	second = print(again);
	if (strcmp(first, second) != 0)
		abort();
	return 0;
}
