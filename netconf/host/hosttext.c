/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts in, texts out. The block stands first because the first wins: the first name server is
 * asked first, and the first line of /etc/hosts with a name is its answer.
 */
#include "netconf/host/hosttext.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

static const char begin_mark[] = "# begin fairlead (netconf writes this part)";
static const char end_mark[] = "# end fairlead";
static const char aside_mark[] = "# fairlead set aside: ";
static const char own_mark[] = "# fairlead wrote this file (netconf); changes are lost.";

/* --- lines --- */

/* The next line of *text, without its end; NULL behind the last. */
static const char *next_line(const char **text, size_t *ret_len, bool *ret_ends)
{
	const char *line = *text;

	if (*line == '\0')
		return NULL;
	*ret_len = strcspn(line, "\n");
	*ret_ends = line[*ret_len] == '\n';
	*text = line + *ret_len + (*ret_ends ? 1 : 0);
	return line;
}

static void put_line(FILE *out, const char *line, size_t len, bool ends)
{
	(void) fwrite(line, 1, len, out);
	if (ends)
		(void) fputc('\n', out);
}

static bool is_line(const char *line, size_t len, const char *text)
{
	return strlen(text) == len && strncmp(line, text, len) == 0;
}

static bool has_prefix(const char *line, size_t len, const char *prefix)
{
	return len >= strlen(prefix) && strncmp(line, prefix, strlen(prefix)) == 0;
}

/* Its first word is this one. */
static bool has_word(const char *line, size_t len, const char *word)
{
	size_t n = strlen(word);

	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	return len > n && strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == '\t');
}

static bool text_has_word(const char *text, const char *word)
{
	const char *line;
	size_t len;
	bool ends;

	for (line = next_line(&text, &len, &ends); line != NULL; line = next_line(&text, &len, &ends)) {
		if (has_word(line, len, word))
			return true;
	}
	return false;
}

/* --- the block --- */

/* Of several `search` lines the last counts, and `domain` is an older word for it. */
static bool contradicts(const char *line, size_t len, bool servers, bool search)
{
	return (servers && has_word(line, len, "nameserver")) ||
	       (search && (has_word(line, len, "search") || has_word(line, len, "domain")));
}

/* What the line said before it was set aside; NULL: it never was. Only such lines are. */
static const char *set_aside(const char *line, size_t len)
{
	size_t n = strlen(aside_mark);

	return has_prefix(line, len, aside_mark) && contradicts(line + n, len - n, true, true)
	           ? line + n
	           : NULL;
}

int hosttext_foreign(const char *text, char **ret_foreign, unsigned *ret_line)
{
	AUTO(free) char *foreign = NULL;
	unsigned number = 0, begun = 0;
	const char *line;
	size_t len, size;
	FILE *out = xmemstream_open(&foreign, &size);
	bool ends, wrong = false;

	for (line = next_line(&text, &len, &ends); line != NULL && !wrong;
	     line = next_line(&text, &len, &ends)) {
		number++;
		if (is_line(line, len, begin_mark)) {
			wrong = begun != 0;
			begun = number;
		} else if (is_line(line, len, end_mark)) {
			wrong = begun == 0;
			begun = 0;
		} else if (begun == 0 && set_aside(line, len) != NULL) {
			put_line(out, set_aside(line, len), len - strlen(aside_mark), ends);
		} else if (begun == 0) {
			put_line(out, line, len, ends);
		}
	}
	xmemstream_close(out);
	if (wrong || begun != 0) {
		*ret_line = wrong ? number : begun;
		return -EBADMSG;
	}
	*ret_foreign = TAKE_PTR(foreign);
	return 0;
}

char *hosttext_block(const char *text)
{
	bool ends, inside = false;
	char *block = NULL;
	const char *line;
	size_t len, size;
	FILE *out = xmemstream_open(&block, &size);

	for (line = next_line(&text, &len, &ends); line != NULL; line = next_line(&text, &len, &ends)) {
		if (is_line(line, len, begin_mark))
			inside = true;
		else if (is_line(line, len, end_mark))
			inside = false;
		else if (inside)
			put_line(out, line, len, ends);
	}
	xmemstream_close(out);
	return block;
}

char *hosttext_join(const char *block, const char *foreign)
{
	bool servers = text_has_word(block, "nameserver"), search = text_has_word(block, "search");
	char *text = NULL;
	const char *line;
	size_t len, size;
	bool ends;
	FILE *out;

	if (block[0] == '\0')
		return xstrdup(foreign);
	out = xmemstream_open(&text, &size);
	(void) fprintf(out, "%s\n%s%s\n", begin_mark, block, end_mark);
	for (line = next_line(&foreign, &len, &ends); line != NULL;
	     line = next_line(&foreign, &len, &ends)) {
		if (contradicts(line, len, servers, search))
			(void) fputs(aside_mark, out);
		put_line(out, line, len, ends);
	}
	xmemstream_close(out);
	return text;
}

/* --- what it says --- */

static void put_texts(FILE *out, const struct conf_strings *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		(void) fprintf(out, "%s%s", i > 0 ? " " : "", texts->items[i]);
	(void) fputc('\n', out);
}

/* An empty list of servers asks for nothing; an empty list of domains asks for none. */
static bool wants_resolvers(const struct host *want)
{
	return (want->has & HOST_RESOLVERS) != 0 && want->n_resolvers > 0;
}

static bool wants_search(const struct host *want)
{
	return (want->has & HOST_SEARCH) != 0;
}

char *hosttext_resolv_block(const struct host *want)
{
	char *text = NULL, addr[ADDR_TEXT_MAX];
	size_t size;
	FILE *out = xmemstream_open(&text, &size);

	for (size_t i = 0; wants_resolvers(want) && i < want->n_resolvers; i++)
		(void) fprintf(out, "nameserver %s\n", addr_format(&want->resolvers[i], addr));
	if (wants_search(want)) {
		(void) fputs("search ", out);
		/* Without the line the resolver would search the domain of the host's name. */
		if (want->search.n == 0)
			(void) fputc('.', out);
		put_texts(out, &want->search);
	}
	xmemstream_close(out);
	return text;
}

char *hosttext_hosts_block(const struct host *want)
{
	char *text = NULL, addr[ADDR_TEXT_MAX];
	size_t size;
	FILE *out = xmemstream_open(&text, &size);

	for (size_t i = 0; (want->has & HOST_ENTRIES) != 0 && i < want->n_entries; i++) {
		(void) fprintf(out, "%s ", addr_format(&want->entries[i].addr, addr));
		put_texts(out, &want->entries[i].names);
	}
	xmemstream_close(out);
	return text;
}

char *hosttext_generator(const char *text)
{
	const char *line;
	size_t len;
	bool ends;

	for (line = next_line(&text, &len, &ends); line != NULL; line = next_line(&text, &len, &ends)) {
		AUTO(free) char *copy = NULL;

		if (line[0] != '#' && line[0] != ';')
			continue;
		copy = xstrndup(line, len);
		if (strcasestr(copy, "generated by ") != NULL)
			return TAKE_PTR(copy);
	}
	return NULL;
}

/* --- drop-ins --- */

bool hosttext_is_ours(const char *text)
{
	return has_prefix(text, strlen(text), own_mark);
}

/* An empty value takes back what was said before. */
char *hosttext_resolved(const struct host *want)
{
	char *text = NULL, addr[ADDR_TEXT_MAX];
	size_t size;
	FILE *out;

	if (!wants_resolvers(want) && !wants_search(want))
		return NULL;
	out = xmemstream_open(&text, &size);
	(void) fprintf(out, "%s\n[Resolve]\n", own_mark);
	if (wants_resolvers(want)) {
		(void) fputs("DNS=\nDNS=", out);
		for (size_t i = 0; i < want->n_resolvers; i++)
			(void) fprintf(out, "%s%s", i > 0 ? " " : "", addr_format(&want->resolvers[i], addr));
		(void) fputc('\n', out);
	}
	if (wants_search(want)) {
		(void) fputs("Domains=\n", out);
		if (want->search.n > 0) {
			(void) fputs("Domains=", out);
			put_texts(out, &want->search);
		}
	}
	xmemstream_close(out);
	return text;
}

static bool wants_servers(const struct host *want)
{
	return (want->has & HOST_TIME) != 0 && want->time_enabled && want->time_servers.n > 0;
}

char *hosttext_timesyncd(const struct host *want)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!wants_servers(want))
		return NULL;
	out = xmemstream_open(&text, &size);
	(void) fprintf(out, "%s\n[Time]\nNTP=\nNTP=", own_mark);
	put_texts(out, &want->time_servers);
	xmemstream_close(out);
	return text;
}

/* What chrony.conf itself names stays; ours are preferred to it as long as they are good. */
char *hosttext_chrony(const struct host *want)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!wants_servers(want))
		return NULL;
	out = xmemstream_open(&text, &size);
	(void) fprintf(out, "%s\n", own_mark);
	for (size_t i = 0; i < want->time_servers.n; i++) {
		if (want->time_servers.items[i][0] == '/')
			(void) fprintf(out, "refclock PHC %s poll 2 prefer\n", want->time_servers.items[i]);
		else
			(void) fprintf(out, "server %s iburst prefer\n", want->time_servers.items[i]);
	}
	xmemstream_close(out);
	return text;
}

char *hosttext_chrony_directory(const char *text)
{
	static const char word[] = "confdir";
	const char *line;
	size_t len;
	bool ends;

	for (line = next_line(&text, &len, &ends); line != NULL; line = next_line(&text, &len, &ends)) {
		const char *end = line + len;

		if (!has_word(line, len, word))
			continue;
		while (isspace((unsigned char) *line))
			line++;
		line += strlen(word);
		line += strspn(line, " \t");
		if (line < end && *line == '/')
			return xstrndup(line, MIN(strcspn(line, " \t"), (size_t) (end - line)));
	}
	return NULL;
}
