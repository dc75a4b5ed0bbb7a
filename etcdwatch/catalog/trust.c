/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of trust, one place for restores, drills, lists and retention. */
#include "etcdwatch/catalog/trust.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define VERSION_1 "v1:"

const char *const trust_verdict_words[] = {
    [TRUST_GOOD] = "trusted", [TRUST_NONE] = "none",          [TRUST_UNKNOWN] = "unknown-key",
    [TRUST_WRONG] = "wrong",  [TRUST_NEWER] = "newer-format",
};

void trust_sign(struct catalog_entry *entry, const struct signature_key *key)
{
	AUTO(free) char *text = catalog_signed_text(entry);
	char signature[SIGNATURE_TEXT_MAX];

	signature_sign(key, text, strlen(text), signature);
	free(entry->signature);
	free(entry->key);
	entry->signature = xasprintf(VERSION_1 "%s", signature);
	entry->key = xstrdup(signature_key_public(key));
}

static bool is_trusted(const struct trust *trust, const char *key)
{
	for (size_t i = 0; trust != NULL && i < trust->n; i++) {
		if (strcmp(trust->keys[i], key) == 0)
			return true;
	}
	return false;
}

enum trust_verdict trust_judge_key(const char *key, const struct trust *trust)
{
	if (key[0] == '\0')
		return TRUST_NONE;
	return is_trusted(trust, key) ? TRUST_GOOD : TRUST_UNKNOWN;
}

/* A signature of half the fields is none that can be checked. */
enum trust_verdict trust_judge(const struct catalog_entry *entry, const struct trust *trust)
{
	AUTO(free) char *text = NULL;

	if (entry->signature == NULL && entry->key == NULL)
		return TRUST_NONE;
	if (entry->signature == NULL || entry->key == NULL)
		return TRUST_WRONG;
	if (strncmp(entry->signature, VERSION_1, strlen(VERSION_1)) != 0)
		return TRUST_NEWER;
	text = catalog_signed_text(entry);
	if (!signature_is_of(entry->key, text, strlen(text), entry->signature + strlen(VERSION_1)))
		return TRUST_WRONG;
	return trust_judge_key(entry->key, trust);
}

bool trust_allows_chosen(const struct trust *trust, enum trust_verdict verdict)
{
	return verdict == TRUST_GOOD || (verdict == TRUST_UNKNOWN && !trust->is_configured);
}

bool trust_allows_named(const struct trust *trust, enum trust_verdict verdict)
{
	return verdict == TRUST_NONE || trust_allows_chosen(trust, verdict);
}
