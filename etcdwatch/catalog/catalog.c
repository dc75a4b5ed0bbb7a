/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What entries are and how they stand to each other; their text is catalog_json.c's.
 */
#include "etcdwatch/catalog/catalog.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/macro.h"
#include "base/mem.h"

#define ID_NAME_MAX 63 /* bytes of the name of a member, or of a node */

/* --- life --- */

struct catalog_entry *catalog_entry_new(void)
{
	struct catalog_entry *entry = NEW0(struct catalog_entry);
	char **texts[] = {&entry->id, &entry->job, &entry->member_name, &entry->server_version,
	                  &entry->file};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		*texts[i] = xstrdup("");
	entry->timeline = 1;
	entry->compact_revision = -1;
	return entry;
}

static void copy_fini(struct catalog_copy *copy)
{
	free(copy->target);
	free(copy->key);
}

static void member_fini(struct catalog_member *member)
{
	free(member->name);
	free(member->peer_urls);
	free(member->client_urls);
}

void catalog_usage_free(struct catalog_usage *usage)
{
	if (usage == NULL)
		return;
	for (size_t i = 0; i < usage->n_parts; i++)
		free(usage->parts[i].prefix);
	free(usage);
}

void catalog_entry_free(struct catalog_entry *entry)
{
	if (entry == NULL)
		return;
	for (size_t i = 0; i < entry->n_extra; i++)
		free(entry->extra[i]);
	for (size_t i = 0; i < entry->n_copies; i++)
		copy_fini(&entry->copies[i]);
	for (size_t i = 0; i < entry->n_members; i++)
		member_fini(&entry->members[i]);
	catalog_usage_free(entry->usage);
	free(entry->extra);
	free(entry->copies);
	free(entry->members);
	free(entry->members_differ);
	free(entry->id);
	free(entry->job);
	free(entry->member_name);
	free(entry->node);
	free(entry->server_version);
	free(entry->file);
	free(entry->hashkv_verified);
	free(entry->rejected);
	free(entry->signature);
	free(entry->key);
	free(entry);
}

/* --- names --- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
	       c == '_' || c == '-';
}

char *catalog_build_id(int64_t started_s, const char *job, const char *member_name,
                       const char *node, int64_t revision)
{
	bool named_alike = strcmp(member_name, node) == 0;
	AUTO(free)
	char *who =
	    xasprintf("%.*s%s%.*s", ID_NAME_MAX, member_name[0] != '\0' ? member_name : "member",
	              named_alike ? "" : "-", ID_NAME_MAX, named_alike ? "" : node);
	char time[CIVIL_TEXT_MAX];

	for (char *p = who; *p != '\0'; p++)
		*p = is_plain(*p) ? *p : '-';
	return xasprintf("%s-%s-%s-r%lld", civil_format_basic(started_s, time), job, who,
	                 (long long) revision);
}

/* It begins with a digit, so it is no hidden file, no option and no "..". */
bool catalog_id_is_good(const char *id)
{
	if (strlen(id) > CATALOG_ID_MAX || id[0] < '0' || id[0] > '9')
		return false;
	for (const char *p = id; *p != '\0'; p++) {
		if (!is_plain(*p))
			return false;
	}
	return true;
}

char *catalog_entry_pattern(const char *job)
{
	return xasprintf("????????T??????Z-%s-*.json", job != NULL ? job : "*");
}

char *catalog_file_name(const struct catalog_entry *entry)
{
	return xasprintf("%s.db%s%s%s", entry->id, entry->n_extra > 0 ? ".tar" : "",
	                 entry->zstd ? ".zst" : "", entry->age ? ".age" : "");
}

/* --- entries and each other --- */

bool catalog_is_good(const struct catalog_entry *entry)
{
	return entry->digest_verified && entry->tree_verified && entry->rejected == NULL;
}

bool catalog_same_line(const struct catalog_entry *a, const struct catalog_entry *b)
{
	return a->cluster_id == b->cluster_id && a->timeline == b->timeline &&
	       strcmp(a->job, b->job) == 0;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

int catalog_compare(const struct catalog_entry *a, const struct catalog_entry *b)
{
	const int steps[] = {
	    strcmp(a->job, b->job),
	    COMPARE(a->cluster_id, b->cluster_id),
	    COMPARE(a->timeline, b->timeline),
	    COMPARE(a->revision, b->revision),
	    COMPARE(a->started_s, b->started_s),
	    strcmp(a->id, b->id),
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (steps[i] != 0)
			return steps[i];
	}
	return 0;
}

bool catalog_is_newest(const struct catalog_entry *const *entries, size_t n,
                       const struct catalog_entry *entry)
{
	for (size_t i = 0; i < n; i++) {
		if (catalog_is_good(entries[i]) && catalog_same_line(entries[i], entry) &&
		    catalog_compare(entries[i], entry) > 0)
			return false;
	}
	return true;
}

int64_t catalog_next_timeline(const struct catalog_entry *const *entries, size_t n,
                              uint64_t cluster_id, int64_t revision)
{
	int64_t timeline = 1, newest = 0;

	for (size_t i = 0; i < n; i++) {
		const struct catalog_entry *e = entries[i];

		if (e->cluster_id != cluster_id || !catalog_is_good(e) || e->timeline < timeline)
			continue;
		newest = e->timeline > timeline ? e->revision : MAX(newest, e->revision);
		timeline = e->timeline;
	}
	return timeline + (revision < newest);
}

const struct catalog_copy *catalog_find_copy(const struct catalog_entry *entry, const char *target)
{
	for (size_t i = 0; i < entry->n_copies; i++) {
		if (strcmp(entry->copies[i].target, target) == 0)
			return &entry->copies[i];
	}
	return NULL;
}

int catalog_set_copy(struct catalog_entry *entry, const struct catalog_copy *copy)
{
	struct catalog_copy fresh = *copy;
	size_t at = 0;

	while (at < entry->n_copies && strcmp(entry->copies[at].target, copy->target) != 0)
		at++;
	if (at == CATALOG_COPIES_MAX)
		return -E2BIG;
	fresh.target = xstrdup(copy->target);
	fresh.key = xstrdup(copy->key);
	if (at < entry->n_copies) {
		copy_fini(&entry->copies[at]);
	} else {
		entry->copies = xreallocarray(entry->copies, entry->n_copies + 1, sizeof(*entry->copies));
		entry->n_copies++;
	}
	entry->copies[at] = fresh;
	return 0;
}

/* --- trust --- */

/* The rules of trust, one place for restores, drills, lists and retention. */

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
