/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is secret by its name, and what by its form. Only words are looked at here; blank.c knows
 * where they stand.
 */
#include "cli/support/blank_priv.h"

#include <ctype.h>
#include <string.h>

#include "base/macro.h"

#define NAME_MAX_BYTES 96
#define BOOTSTRAP_TOKEN_BYTES 23 /* abcdef.0123456789abcdef */
#define WIREGUARD_KEY_BYTES 44   /* 32 bytes in base64 */

/* --- names --- */

/* In lower case and without what stands between words: "secretKey" and "SECRET_KEY" are one. */
static void squeeze(const char *name, size_t len, char squeezed[static NAME_MAX_BYTES])
{
	size_t n = 0;

	/* Of a long one its end tells most. */
	for (size_t i = len - MIN(len, (size_t) NAME_MAX_BYTES - 1); i < len; i++) {
		if (isalnum((unsigned char) name[i]))
			squeezed[n++] = (char) tolower((unsigned char) name[i]);
	}
	squeezed[n] = '\0';
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

bool blank_is_secret_name(const char *name, size_t len)
{
	static const char *const parts[] = {
	    "password",  "passwd", "passphrase", "secret",  "token",    "privatekey", "presharedkey",
	    "accesskey", "apikey", "credential", "keydata", "identity", "cookie",     "authorization"};
	static const char *const ends[] = {"pass", "pwd"};
	static const char *const of_files[] = {"file", "files", "path", "dir", "directory"};
	char squeezed[NAME_MAX_BYTES];

	squeeze(name, len, squeezed);
	for (size_t i = 0; i < ARRAY_SIZE(of_files); i++) {
		if (ends_in(squeezed, of_files[i]))
			return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strstr(squeezed, parts[i]) != NULL)
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (ends_in(squeezed, ends[i]))
			return true;
	}
	return false;
}

bool blank_is_secret_key(const char *key, size_t len)
{
	static const char *const whole[] = {"auth",    "psk",  "content",   "contents",
	                                    "headers", "data", "stringdata"};
	char squeezed[NAME_MAX_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		if (len == strlen(whole[i]) && strncasecmp(key, whole[i], len) == 0)
			return true;
	}
	squeeze(key, len, squeezed);
	/* What an option of this name has is mostly a path. */
	return (key[0] != '-' && ends_in(squeezed, "key") && !ends_in(squeezed, "publickey")) ||
	       blank_is_secret_name(key, len);
}

/* --- what they look like --- */

static bool is_base64(const char *word, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char) word[i]) && word[i] != '+' && word[i] != '/')
			return false;
	}
	return true;
}

static bool is_bootstrap_token(const char *word, size_t len)
{
	for (size_t i = 0; i < len && len == BOOTSTRAP_TOKEN_BYTES; i++) {
		if (i == 6 ? word[i] != '.'
		           : !islower((unsigned char) word[i]) && !isdigit((unsigned char) word[i]))
			return false;
	}
	return len == BOOTSTRAP_TOKEN_BYTES;
}

bool blank_looks_secret(const char *word, size_t len)
{
	static const struct {
		const char *begin;
		size_t min_len;
	} forms[] = {
	    {"AGE-SECRET-KEY-", 20},
	    {"whsec_", 12},
	    {"AKIA", 20},
	    {"ASIA", 20},
	    {"ghp_", 20},
	    {"gho_", 20},
	    {"xox", 20},
	    {"github_pat_", 20},
	    {"glpat-", 16},
	    {"eyJ", 30},
	    {"K10", 40},
	    {"LS0tLS1CRUdJTi", 16},
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (len >= forms[i].min_len && strncmp(word, forms[i].begin, strlen(forms[i].begin)) == 0)
			return true;
	}
	return is_bootstrap_token(word, len) ||
	       (len == WIREGUARD_KEY_BYTES && word[len - 1] == '=' && is_base64(word, len - 1));
}

bool blank_has_secret(const char *word, size_t len)
{
	/* Nothing else is called so. */
	return memmem(word, len, "AGE-SECRET-KEY-1", 16) != NULL;
}
