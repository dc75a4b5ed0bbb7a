/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for texts that leave the node, in which there are words of whoever a
 * daemon talks to. A value with a secret in it is put behind a name that is not known, as each kind
 * of text writes it, and into the quotes of a sentence: whatever is around the secret, it is not in
 * what comes out.
 *
 * max_len: 512
 */
#include "cli/support/show.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"

#define SECRET "zq-the-secret-qz"
#define LOG_HEAD "2026-11-22T13:45:00+0000 n1 vipd[1]: event=vip_state vip=10.0.0.5 "

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *from, const char *shown)
{
	if (strstr(shown, SECRET) == NULL)
		return;
	(void) fprintf(stderr, "%s\nbecame\n%s\n", from, shown);
	abort();
}

/* Frees the text. */
static void check_text(enum show_kind kind, char *text)
{
	size_t n = 0;
	AUTO(free) char *shown = show_text(kind, NULL, text, strlen(text), &n);

	check(text, shown);
	free(text);
}

static void check_answer(const char *value)
{
	json_t *answer = json_pack("[{s:s, s:{s:[s]}}]", "pin", value, "last_move", "salt", value);
	size_t n = 0;
	json_t *shown = answer != NULL ? show_answer(answer, &n) : NULL;
	AUTO(free) char *text = shown != NULL ? json_dumps(shown, 0) : NULL;

	if (text != NULL)
		check(value, text);
	json_decref(answer);
	json_decref(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) char *all = xstrndup((const char *) data, size);
	AUTO(free) char *value = NULL;
	size_t at = size > 0 ? data[0] % (strlen(all) + 1) : 0, n = 0;

	for (int kind = SHOW_CONFIG; kind < SHOW_LINES; kind++)
		free(show_text((enum show_kind) kind, NULL, (const char *) data, size, &n));
	value = xasprintf("%.*s" SECRET "%s", (int) at, all, all + at);
	check_answer(value);
	/* In quotes of YAML and of a log, which what is around it must not end. */
	for (char *p = value; *p != '\0'; p++) {
		if (strchr("'\"\\\n", *p) != NULL)
			*p = ' ';
	}
	check_text(SHOW_CONFIG, xasprintf("machine:\n  pin: '%s'\n  salt: ['%s']\n", value, value));
	check_text(SHOW_LOG, xasprintf(LOG_HEAD "salt=\"%s\" reason=\"no '%s'\"\n", value, value));
	check_text(SHOW_METRICS, xasprintf("fairlead_vipd_owner{pin=\"%s\"} 1\n", value));
	return 0;
}
