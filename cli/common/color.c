/* SPDX-License-Identifier: Apache-2.0 */
/* One table of the words that daemons say of states, and the colour of each. */
#include "cli/common/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "cli/common/table.h"

/* ECMA-48, "select graphic rendition". */
#define GOOD "\033[32m"
#define WARN "\033[33m"
#define BAD "\033[31m"
#define PLAIN "\033[0m"

static bool is_on;

static const struct {
	const char *word;
	const char *color;
} words[] = {
    {"ok", GOOD},         {"good", GOOD},      {"ready", GOOD},        {"owner", GOOD},
    {"stored", GOOD},     {"confirmed", GOOD}, {"warning", WARN},      {"note", WARN},
    {"alive", WARN},      {"busy", WARN},      {"taking", WARN},       {"yielding", WARN},
    {"unverified", WARN}, {"waiting", WARN},   {"awaiting", WARN},     {"missing", WARN},
    {"critical", BAD},    {"bad", BAD},        {"down", BAD},          {"hung", BAD},
    {"not_ready", BAD},   {"untrusted", BAD},  {"failed", BAD},        {"differs", BAD},
    {"half-undone", BAD}, {"rejected", BAD},   {"address-break", BAD}, {"management-path", BAD},
    {"blip", WARN},       {"error", BAD},
};

bool color_is_wanted(enum color_when when, bool is_terminal, const char *no_color, const char *term)
{
	switch (when) {
	case COLOR_ALWAYS:
		return true;
	case COLOR_NEVER:
		return false;
	case COLOR_AUTO:
		break;
	}
	return is_terminal && (no_color == NULL || no_color[0] == '\0') &&
	       (term == NULL || strcmp(term, "dumb") != 0);
}

void color_setup(enum color_when when)
{
	is_on = color_is_wanted(when, isatty(STDOUT_FILENO) != 0, getenv("NO_COLOR"), getenv("TERM"));
}

/* Of the first word; NULL: none. */
static const char *color_of(const char *state)
{
	size_t len = strcspn(state, " :");

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) == len && strncasecmp(words[i].word, state, len) == 0)
			return words[i].color;
	}
	return NULL;
}

void color_print_state(FILE *out, const char *state)
{
	const char *color = is_on && out != stderr ? color_of(state) : NULL;

	if (color != NULL)
		(void) fputs(color, out);
	table_print_safe(out, state);
	if (color != NULL)
		(void) fputs(PLAIN, out);
}
