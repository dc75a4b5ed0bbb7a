/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line by line from the beginning, each time: a head is small, and so nothing need be remembered
 * between two reads. What is wrong with the syntax is said before what is wrong with the request.
 */
#include "base/metricsask.h"

#include <string.h>
#include <strings.h>

#define PATH "/metrics"
#define SCHEME "http://"

enum {
	OK = 200,
	BAD = 400,
	NOT_FOUND = 404,
	NOT_ALLOWED = 405,
	TOO_LONG = 431,
	OTHER_VERSION = 505,
};

struct ask {
	bool is_get, is_head, is_path;
	char minor; /* of the version: '0', '1', ... */
	unsigned hosts;
};

struct word {
	const char *text;
	size_t len;
};

static bool word_is(const struct word *w, const char *text)
{
	return w->len == strlen(text) && memcmp(w->text, text, w->len) == 0;
}

/* RFC 9110, section 5.6.2. */
static bool is_token(const struct word *w)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < w->len; i++) {
		char c = w->text[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      (c != '\0' && strchr(others, c) != NULL)))
			return false;
	}
	return w->len > 0;
}

/* Up to `end`, which is passed over; false: it is not there. */
static bool cut(struct word *rest, char end, struct word *ret_word)
{
	const char *at = memchr(rest->text, end, rest->len);

	if (at == NULL)
		return false;
	*ret_word = (struct word){rest->text, (size_t) (at - rest->text)};
	*rest = (struct word){at + 1, rest->len - ret_word->len - 1};
	return true;
}

/* A proxy writes the whole URL (RFC 9112, section 3.2.2). */
static bool names_the_page(struct word target)
{
	size_t scheme_len = strlen(SCHEME), path_len = strlen(PATH);
	const char *path;

	if (target.len > scheme_len && strncasecmp(target.text, SCHEME, scheme_len) == 0) {
		path = memchr(target.text + scheme_len, '/', target.len - scheme_len);
		if (path == NULL)
			return false;
		target.len -= (size_t) (path - target.text);
		target.text = path;
	}
	return target.len >= path_len && memcmp(target.text, PATH, path_len) == 0 &&
	       (target.len == path_len || target.text[path_len] == '?');
}

/* METHOD TARGET HTTP/1.x. 0, or the status. */
static int read_request_line(struct word line, struct ask *ask)
{
	struct word method, target;

	if (!cut(&line, ' ', &method) || !cut(&line, ' ', &target) || !is_token(&method) ||
	    target.len == 0)
		return BAD;
	if (line.len != strlen("HTTP/1.1") || memcmp(line.text, "HTTP/", 5) != 0 ||
	    line.text[6] != '.' || line.text[7] < '0' || line.text[7] > '9')
		return BAD;
	if (line.text[5] != '1')
		return OTHER_VERSION;
	ask->minor = line.text[7];
	ask->is_get = word_is(&method, "GET");
	ask->is_head = word_is(&method, "HEAD");
	ask->is_path = names_the_page(target);
	return 0;
}

/* A space before the colon, or a line that goes on, is how requests are smuggled. */
static int read_field(struct word line, struct ask *ask)
{
	struct word name;

	if (!cut(&line, ':', &name) || !is_token(&name))
		return BAD;
	if (name.len == strlen("Host") && strncasecmp(name.text, "Host", name.len) == 0)
		ask->hosts++;
	return 0;
}

static int decide(const struct ask *ask)
{
	if (ask->hosts > 1 || (ask->hosts == 0 && ask->minor != '0'))
		return BAD;
	if (!ask->is_get && !ask->is_head)
		return NOT_ALLOWED;
	return ask->is_path ? OK : NOT_FOUND;
}

/* A line without its end; false: *ret_status, which is 0 when there may be more. */
static bool next_line(struct word *rest, struct word *ret_line, int *ret_status)
{
	for (size_t i = 0; i < rest->len; i++) {
		unsigned char c = (unsigned char) rest->text[i];

		if (c == '\r' && i + 1 == rest->len)
			break;
		if (c == '\r' && rest->text[i + 1] == '\n') {
			*ret_line = (struct word){rest->text, i};
			*rest = (struct word){rest->text + i + 2, rest->len - i - 2};
			return true;
		}
		if ((c < ' ' && c != '\t') || c == 0x7f) {
			*ret_status = BAD;
			return false;
		}
	}
	*ret_status = 0;
	return false;
}

int metricsask_read(const char *data, size_t len, bool *ret_head)
{
	struct word rest = {data, len}, line;
	struct ask ask = {0};
	int status;

	for (bool first = true; next_line(&rest, &line, &status); first = false) {
		if (first)
			status = read_request_line(line, &ask);
		else if (line.len > 0)
			status = read_field(line, &ask);
		else
			status = decide(&ask);
		if (status != 0)
			break;
	}
	if (status == 0 && len >= METRICSASK_BYTES_MAX)
		status = TOO_LONG;
	if (status != 0)
		*ret_head = ask.is_head;
	return status;
}
