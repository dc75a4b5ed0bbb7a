/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Line by line, over a text that is not changed: what is a secret is copied once, to where it is
 * wanted.
 */
#include "etcdwatch/worker/store/awskeys.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/printable.h"
#include "web/s3xml.h"

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

/* --- awsanswer --- */

/* Each form fills the same keys, which are then judged in one place. */

#define STS_CREDENTIALS \
	"AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/"

/* What can stand in a header. */
static bool is_visible(const char *text)
{
	return text[0] != '\0' && printable_is_word(text);
}

/* `keys` are taken, or freed. */
static int settle(struct awsfile *keys, const char *expiration, struct awsfile *ret_keys,
                  const char **ret_why)
{
	const char *why = NULL;

	if (keys->access_key == NULL || !is_visible(keys->access_key))
		why = "has no AccessKeyId";
	else if (keys->secret_key == NULL || !is_visible(keys->secret_key))
		why = "has no SecretAccessKey";
	else if (keys->session_token != NULL && !is_visible(keys->session_token))
		why = "has a token that cannot be one";
	else if (expiration != NULL && civil_parse(expiration, &keys->expires_s) < 0)
		why = "has an Expiration that is not a time";
	if (why != NULL) {
		awsfile_fini(keys);
		*ret_why = why;
		return -EBADMSG;
	}
	*ret_keys = *keys;
	return 0;
}

static char *copy_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? xstrdup(text) : NULL;
}

static const char *check_form(enum awsanswer_kind kind, const json_t *object)
{
	const json_t *version = json_object_get(object, "Version");
	const char *code = json_string_value(json_object_get(object, "Code"));

	if (!json_is_object(object))
		return "is not a JSON object";
	if (kind == AWSANSWER_PROCESS && json_integer_value(version) != 1)
		return "is not of Version 1";
	if (kind == AWSANSWER_METADATA && code != NULL && strcmp(code, "Success") != 0)
		return "has a Code that is not Success";
	return NULL;
}

int awsanswer_parse_json(enum awsanswer_kind kind, const char *text, size_t len,
                         struct awsfile *ret_keys, const char **ret_why)
{
	json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	const char *why = check_form(kind, object);
	struct awsfile keys = {0};
	int r = -EBADMSG;

	if (why != NULL) {
		*ret_why = why;
	} else {
		keys.access_key = copy_of(object, "AccessKeyId");
		keys.secret_key = copy_of(object, "SecretAccessKey");
		keys.session_token = copy_of(object, kind == AWSANSWER_PROCESS ? "SessionToken" : "Token");
		r = settle(&keys, json_string_value(json_object_get(object, "Expiration")), ret_keys,
		           ret_why);
	}
	json_decref(object);
	return r;
}

/* --- XML --- */

struct sts {
	struct awsfile keys;
	char *expiration;
};

static int sts_element(const char *path, const char *text, void *userdata)
{
	struct sts *sts = userdata;
	const struct {
		const char *path;
		char **slot;
	} wanted[] = {
	    {STS_CREDENTIALS "AccessKeyId", &sts->keys.access_key},
	    {STS_CREDENTIALS "SecretAccessKey", &sts->keys.secret_key},
	    {STS_CREDENTIALS "SessionToken", &sts->keys.session_token},
	    {STS_CREDENTIALS "Expiration", &sts->expiration},
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		if (strcmp(path, wanted[i].path) != 0)
			continue;
		if (*wanted[i].slot != NULL)
			return -EBADMSG;
		*wanted[i].slot = xstrdup(text);
	}
	return 0;
}

int awsanswer_parse_sts(const char *text, size_t len, struct awsfile *ret_keys,
                        const char **ret_why)
{
	struct sts sts = {.expiration = NULL};
	int r = s3xml_parse(text, len, sts_element, &sts);

	if (r < 0) {
		awsfile_fini(&sts.keys);
		*ret_why = "is not the XML of AssumeRoleWithWebIdentity";
		r = -EBADMSG;
	} else {
		r = settle(&sts.keys, sts.expiration, ret_keys, ret_why);
	}
	free(sts.expiration);
	return r;
}
