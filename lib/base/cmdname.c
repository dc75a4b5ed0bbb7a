/* SPDX-License-Identifier: Apache-2.0 */
/* Words against names of commands. The callers own the tables and the wording of their errors. */
#include "base/cmdname.h"

#include <stdio.h>
#include <string.h>

#include "base/hint.h"
#include "base/macro.h"

int cmdname_match(const char *name, int argc, char *const *argv)
{
	int n = 0;

	for (const char *p = name; *p != '\0'; n++) {
		size_t len = strcspn(p, " ");

		if (n == argc || strlen(argv[n]) != len || strncmp(argv[n], p, len) != 0)
			return 0;
		p += len;
		p += strspn(p, " ");
	}
	return n;
}

const char *cmdname_typed(int argc, char *const *argv, char buf[static CMDNAME_TEXT_MAX])
{
	size_t len = 0;

	buf[0] = '\0';
	for (int i = 0; i < MIN(argc, CMDNAME_WORDS_MAX) && len < CMDNAME_TEXT_MAX; i++)
		len +=
		    (size_t) snprintf(buf + len, CMDNAME_TEXT_MAX - len, "%s%s", i > 0 ? " " : "", argv[i]);
	return buf;
}

const char *cmdname_nearest(int argc, char *const *argv, const char *const *names, size_t n)
{
	char typed[CMDNAME_TEXT_MAX];
	const char *nearest = NULL;

	/* "vip statsu 10.0.0.5": the longest beginning that resembles a name. */
	for (int words = MIN(argc, CMDNAME_WORDS_MAX); words > 0 && nearest == NULL; words--)
		nearest = hint_nearest(cmdname_typed(words, argv, typed), names, n);
	return nearest;
}
