/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for texts that leave the node, in which there are words of whoever a
 * daemon talks to. A value with a secret in it is put behind a secret name as JSON and YAML write
 * it, also as a string in a string, behind an option in a list of words, and in the next line of a
 * command: whatever is around the secret, it is not in what comes out.
 *
 * max_len: 512
 */
#include "cli/support/blank.h"

#include <ctype.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"

#define SECRET "zq-the-secret-qz"
#define LEVELS 3

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, enum blank_format format)
{
	static const struct texts none;
	size_t n = 0;
	AUTO(free) char *got = blank_text(text, strlen(text), format, &none, &n);

	if (strstr(got, SECRET) == NULL)
		return;
	(void) fprintf(stderr, "%s\nbecame\n%s\n", text, got);
	abort();
}

/* It, and strings of JSON in JSON with that. */
static void check_json(json_t *object, size_t flags)
{
	for (int level = 0; level < LEVELS && object != NULL; level++) {
		AUTO(free) char *text = json_dumps(object, flags | JSON_ENSURE_ASCII);

		check(text, BLANK_PLAIN);
		json_decref(object);
		object = json_pack("{s:s, s:i}", "body", text, "m", 3);
	}
	json_decref(object);
}

static void check_yaml(const char *value)
{
	AUTO(free) char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void) fputs("a: 1\npassword: '", out);
	for (const char *p = value; *p != '\0'; p++)
		(void) fprintf(out, *p == '\'' ? "''" : "%c", *p);
	(void) fputs("'\nb: 2\n", out);
	(void) fclose(out);
	check(text, BLANK_YAML);
}

/* A word of a shell's command that begins in the next line, and may go on over several. A quote in
 * it would end it, and a line that begins like a message of a log or a document does. */
static void check_command(const char *value)
{
	AUTO(free) char *text = xasprintf("etcdctl --password \\\n\t'%s' \\\n\tget x\n", value);
	const char *line = value;

	while ((line = strchr(line, '\n')) != NULL) {
		line++;
		if (strchr(value, '\'') != NULL || isdigit((unsigned char) *line) ||
		    strncmp(line, "---", 3) == 0 || strncmp(line, "...", 3) == 0)
			return;
	}
	check(text, BLANK_PLAIN);
	check(text, BLANK_YAML);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) char *all = xstrndup((const char *) data, size);
	AUTO(free) char *value = NULL;
	static const struct texts none;
	size_t at = size > 0 ? data[0] % (strlen(all) + 1) : 0, n = 0;

	free(
	    blank_text((const char *) data, size, size % 2 == 0 ? BLANK_PLAIN : BLANK_YAML, &none, &n));
	value = xasprintf("%.*s" SECRET "%s", (int) at, all, all + at);
	check_json(json_pack("{s:i, s:s, s:i}", "a", 1, "token", value, "n", 2), JSON_COMPACT);
	check_json(json_pack("[s, s, s]", "--password", value, "z"), size % 2 == 0 ? JSON_COMPACT : 0);
	check_command(value);
	/* These end a document wherever they are. */
	if (strstr(value, "\n---") == NULL && strstr(value, "\n...") == NULL)
		check_yaml(value);
	return 0;
}
