/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Words of the control file over what the command line said. A file that is not there changes
 * nothing; a word that is not understood ends the server, since the story is then not what it
 * seems.
 */

#include "script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"

#define CONTROL_MAX_BYTES 256

int script_parse_mode(const char *word, enum script_mode *ret_mode)
{
	static const char *const names[] = {
	    [SCRIPT_SERVE] = "serve", [SCRIPT_ECHO] = "echo",   [SCRIPT_SILENT] = "silent",
	    [SCRIPT_BYTE] = "byte",   [SCRIPT_DRIP] = "drip",   [SCRIPT_CLOSE] = "close",
	    [SCRIPT_RESET] = "reset", [SCRIPT_FIRST] = "first",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(word, names[i]) != 0)
			continue;
		*ret_mode = (enum script_mode) i;
		return 0;
	}
	return -EINVAL;
}

static void apply(struct script *script, const char *word)
{
	static const char mode[] = "mode=", readyz[] = "readyz=";
	int r = 0;

	if (strncmp(word, mode, strlen(mode)) == 0)
		r = script_parse_mode(word + strlen(mode), &script->mode);
	else if (strncmp(word, readyz, strlen(readyz)) == 0)
		script->readyz = (unsigned) strtoul(word + strlen(readyz), NULL, 10);
	else
		r = -EINVAL;
	if (r < 0 || (script->readyz != 0 && (script->readyz < 100 || script->readyz > 599))) {
		(void) fprintf(stderr, "oddserver: %s: '%s'\n", script->control_file, word);
		exit(2);
	}
}

struct script script_now(const struct script *script)
{
	struct script now = *script;
	AUTO(free) char *text = NULL;
	char *rest = NULL;
	size_t len;

	if (script->control_file == NULL ||
	    file_read(script->control_file, CONTROL_MAX_BYTES, &text, &len) < 0)
		return now;
	for (char *word = strtok_r(text, " \n", &rest); word != NULL;
	     word = strtok_r(NULL, " \n", &rest))
		apply(&now, word);
	return now;
}
