/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads the observer's log. Frames and marks are stamped where they happen and may reach the log in
 * another order, so the lines are sorted by time after reading.
 */

#include "journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define LINE_MAX_BYTES 512

static const struct {
	const char *word;
	enum journal_kind kind;
	bool names_owner;
} words[] = {
    {"answer", JOURNAL_ANSWER, true}, {"announce", JOURNAL_CLAIM, true},
    {"speak", JOURNAL_CLAIM, true},   {"serve", JOURNAL_CLAIM, true},
    {"probe", JOURNAL_OTHER, false},  {"late", JOURNAL_LATE, false},
    {"mark", JOURNAL_MARK, false},    {"begin", JOURNAL_OTHER, false},
    {"asking", JOURNAL_OTHER, false}, {"end", JOURNAL_OTHER, false},
};

struct journal_owner *journal_owner(struct journal *j, const struct mac *mac)
{
	struct journal_owner *owner;

	for (int i = 0; i < j->n_owners; i++)
		if (mac_equal(&j->owners[i].mac, mac))
			return &j->owners[i];
	if (j->n_owners == JOURNAL_OWNERS_MAX)
		return NULL;
	owner = &j->owners[j->n_owners++];
	owner->mac = *mac;
	(void) mac_format(mac, owner->name);
	return owner;
}

static int read_owner(struct journal *j, const char *text, struct journal_line *line)
{
	struct journal_owner *owner;
	struct mac mac;

	if (mac_parse(text, &mac) < 0)
		return -EBADMSG;
	owner = journal_owner(j, &mac);
	if (owner == NULL)
		return -E2BIG;
	if (owner->ignored)
		line->kind = JOURNAL_OTHER;
	else
		line->owner = (int) (owner - j->owners);
	return 0;
}

static int parse_line(struct journal *j, const char *text, struct journal_line *ret_line)
{
	struct journal_line line = {.owner = -1};
	char word[16], rest[MAC_TEXT_MAX] = "";
	int r;

	if (sscanf(text, "%" SCNd64 " %15s %17s", &line.at_us, word, rest) < 2)
		return -EBADMSG;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(word, words[i].word) != 0)
			continue;
		line.kind = words[i].kind;
		if (line.kind == JOURNAL_LATE)
			line.late_us = strtoll(rest, NULL, 10);
		if (words[i].names_owner) {
			r = read_owner(j, rest, &line);
			if (r < 0)
				return r;
		}
		line.text = xstrdup(text);
		*ret_line = line;
		return 0;
	}
	return -EBADMSG;
}

static int compare_lines(const void *a, const void *b)
{
	const struct journal_line *x = a, *y = b;

	if (x->at_us != y->at_us)
		return x->at_us < y->at_us ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

int journal_read(struct journal *j, FILE *f, size_t *ret_line)
{
	size_t capacity = j->n_lines, number = 0, before = j->n_lines;
	char text[LINE_MAX_BYTES];
	int r;

	while (fgets(text, sizeof(text), f) != NULL) {
		char *newline = strchr(text, '\n');

		if (newline == NULL)
			break;
		*newline = '\0';
		if (j->n_lines == capacity) {
			capacity = MAX(capacity * 2, (size_t) 1024);
			j->lines = xreallocarray(j->lines, capacity, sizeof(*j->lines));
		}
		number++;
		r = parse_line(j, text, &j->lines[j->n_lines]);
		if (r < 0) {
			*ret_line = number;
			return r;
		}
		j->lines[j->n_lines++].number = number;
	}
	if (j->n_lines == before)
		return -ENODATA;
	qsort(j->lines, j->n_lines, sizeof(*j->lines), compare_lines);
	return 0;
}

void journal_fini(struct journal *j)
{
	for (size_t i = 0; i < j->n_lines; i++)
		free(j->lines[i].text);
	free(j->lines);
	*j = (struct journal){0};
}

int64_t journal_find_mark(const struct journal *j, const char *name)
{
	static const char before[] = " mark ";

	for (size_t i = j->n_lines; i-- > 0;)
		if (j->lines[i].kind == JOURNAL_MARK &&
		    strcmp(strstr(j->lines[i].text, before) + strlen(before), name) == 0)
			return (int64_t) i;
	return -ENOENT;
}

const char *journal_owner_name(const struct journal *j, int owner)
{
	return owner < 0 ? "nobody" : j->owners[owner].name;
}
