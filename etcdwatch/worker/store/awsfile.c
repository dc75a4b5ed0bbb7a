/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line by line, over a text that is not changed: what is a secret is copied once, to where it is
 * wanted.
 */
#include "etcdwatch/worker/store/awsfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define PROFILE "default"

/* A part of the text. */
struct span {
	const char *at;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(const char *at, size_t len)
{
	for (; len > 0 && is_blank(*at); len--)
		at++;
	while (len > 0 && is_blank(at[len - 1]))
		len--;
	return (struct span){at, len};
}

static bool is_word(struct span span, const char *word)
{
	return span.len == strlen(word) && strncasecmp(span.at, word, span.len) == 0;
}

/* The text that a name of ours fills. */
static char **slot_of(struct awsfile *keys, struct span name)
{
	if (is_word(name, "aws_access_key_id"))
		return &keys->access_key;
	if (is_word(name, "aws_secret_access_key"))
		return &keys->secret_key;
	return is_word(name, "aws_session_token") ? &keys->session_token : NULL;
}

static const char *take_value(struct awsfile *keys, struct span line)
{
	const char *equals = memchr(line.at, '=', line.len);
	struct span name, value;
	char **slot;

	if (equals == NULL)
		return "is neither '[profile]' nor 'name = value'";
	name = trim(line.at, (size_t) (equals - line.at));
	value = trim(equals + 1, line.len - (size_t) (equals + 1 - line.at));
	slot = slot_of(keys, name);
	if (slot == NULL)
		return NULL;
	if (*slot != NULL)
		return "gives a key a second time";
	if (value.len == 0)
		return "has an empty key";
	*slot = xstrndup(value.at, value.len);
	return NULL;
}

/* One line; what is wrong with it, or NULL. */
static const char *take_line(struct awsfile *keys, struct span line, bool *ours)
{
	if (line.len == 0 || line.at[0] == '#' || line.at[0] == ';')
		return NULL;
	if (line.at[0] == '[') {
		if (line.at[line.len - 1] != ']')
			return "has a '[' without a ']'";
		line = trim(line.at + 1, line.len - 2);
		*ours = line.len == strlen(PROFILE) && memcmp(line.at, PROFILE, line.len) == 0;
		return NULL;
	}
	return *ours ? take_value(keys, line) : NULL;
}

static const char *take_lines(struct awsfile *keys, const char *text, size_t len,
                              unsigned *ret_line)
{
	const char *end = text + len;
	bool ours = false;

	*ret_line = 0;
	if (memchr(text, '\0', len) != NULL)
		return "is not a text";
	for (unsigned n = 1; text < end; n++) {
		const char *newline = memchr(text, '\n', (size_t) (end - text));
		const char *stop = newline != NULL ? newline : end;
		const char *why = take_line(keys, trim(text, (size_t) (stop - text)), &ours);

		if (why != NULL) {
			*ret_line = n;
			return why;
		}
		text = stop + 1;
	}
	if (keys->access_key == NULL)
		return "has no aws_access_key_id in the profile '" PROFILE "'";
	if (keys->secret_key == NULL)
		return "has no aws_secret_access_key in the profile '" PROFILE "'";
	return NULL;
}

int awsfile_parse(const char *text, size_t len, struct awsfile *ret_keys, const char **ret_why,
                  unsigned *ret_line)
{
	struct awsfile keys = {0};
	const char *why = take_lines(&keys, text, len, ret_line);

	if (why != NULL) {
		awsfile_fini(&keys);
		*ret_why = why;
		return -EBADMSG;
	}
	*ret_keys = keys;
	return 0;
}

static void forget(char *secret)
{
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

void awsfile_fini(struct awsfile *keys)
{
	forget(keys->access_key);
	forget(keys->secret_key);
	forget(keys->session_token);
	*keys = (struct awsfile){0};
}
