/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zap writes a JSON object a line with "level", "msg" and mostly "error"; the Go runtime writes
 * "panic: ..." or "fatal error: ..." and then the stacks of all its threads, which tell nothing to
 * who reads this.
 */
#include "etcdwatch/worker/drill/etcdlog.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

static bool begins_with(const char *line, size_t len, const char *text)
{
	return len >= strlen(text) && memcmp(line, text, strlen(text)) == 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool is_fatal(const json_t *object)
{
	const char *level = text_of(object, "level");

	return level != NULL && (strcmp(level, "fatal") == 0 || strcmp(level, "panic") == 0);
}

static void tell(const char *line, size_t len, const json_t *object,
                 char words[static ETCDLOG_WORDS_MAX])
{
	const char *message = text_of(object, "msg");
	const char *error = text_of(object, "error");

	if (message == NULL)
		(void) snprintf(words, ETCDLOG_WORDS_MAX, "%.*s", (int) MIN(len, ETCDLOG_WORDS_MAX), line);
	else
		(void) snprintf(words, ETCDLOG_WORDS_MAX, "%s%s%s", message, error != NULL ? ": " : "",
		                error != NULL ? error : "");
}

/* Whether this is the line that says why. */
static bool judge(const char *line, size_t len, char words[static ETCDLOG_WORDS_MAX])
{
	json_t *object = json_loadb(line, len, 0, NULL);
	bool final = is_fatal(object) || begins_with(line, len, "panic: ") ||
	             begins_with(line, len, "fatal error: ");

	tell(line, len, object, words);
	json_decref(object);
	return final;
}

const char *etcdlog_last_words(const char *log, size_t len, char words[static ETCDLOG_WORDS_MAX])
{
	char last[ETCDLOG_WORDS_MAX] = "", line_words[ETCDLOG_WORDS_MAX];
	const char *end = log + len;

	words[0] = '\0';
	while (log < end) {
		const char *newline = memchr(log, '\n', (size_t) (end - log));
		const char *line_end = newline != NULL ? newline : end;
		size_t n = (size_t) (line_end - log);

		if (n > 0 && judge(log, n, line_words))
			(void) snprintf(words, ETCDLOG_WORDS_MAX, "%s", line_words);
		if (n > 0)
			(void) snprintf(last, sizeof(last), "%s", line_words);
		log = line_end + 1;
	}
	if (words[0] == '\0')
		(void) snprintf(words, ETCDLOG_WORDS_MAX, "%s", last[0] != '\0' ? last : "it said nothing");
	return words;
}
