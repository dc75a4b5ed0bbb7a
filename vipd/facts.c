/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds news about a VIP's keys into one picture. The rule for all of it: news as of a revision
 * that is not newer than what is known is ignored, and `life` moves only when the owner or beat
 * key really changed.
 */
#include "vipd/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mono.h"
#include "vipd/timing.h"

#define NODE_KEY "node/"

void facts_init(struct facts *f)
{
	memset(f, 0, sizeof(*f));
	f->quorum_since_us = MONO_NEVER;
}

static void set_text(struct facts_text *text, const void *value, size_t len)
{
	text->len = value != NULL && len <= sizeof(text->data) ? len : 0;
	if (text->len > 0)
		memcpy(text->data, value, text->len);
}

static bool key_is(const struct facts_key *k, const char *name)
{
	return k->name_len == strlen(name) && memcmp(k->name, name, k->name_len) == 0;
}

static void set_owner(struct facts *f, const struct facts_key *k, int64_t as_of,
                      struct mono_moment now)
{
	int64_t rev = k != NULL && k->value != NULL ? k->mod_revision : 0;
	int r;

	f->owner_as_of = as_of;
	if (rev == f->owner_rev)
		return;
	f->owner_rev = rev;
	f->life = now;
	set_text(&f->owner_text, k != NULL ? k->value : NULL, k != NULL ? k->value_len : 0);
	/* A deleted record says nothing of how its owner left: its window is still waited for. */
	f->has_owner = rev != 0;
	if (rev == 0)
		return;
	r = record_owner_parse(k->value, k->value_len, &f->owner);
	if (r < 0) {
		memset(&f->owner, 0, sizeof(f->owner));
		f->owner.window_us = FACTS_UNREADABLE_WINDOW_US;
		(void) strcpy(f->owner.node, "?");
		log_debug("owner_unreadable", "rev=%lld", (long long) rev);
	}
	/* A restore brought it: its `released` says nothing of who came after it where it is from. */
	if (f->owner.cluster_id != 0 && f->owner.cluster_id != f->cluster_id)
		f->former_until = timing_later(f->former_until,
		                               timing_take_at(now, f->owner.window_us, f->owner.late_us));
}

static void set_beat(struct facts *f, const struct facts_key *k, int64_t as_of,
                     struct mono_moment now)
{
	int64_t rev = k != NULL && k->value != NULL ? k->mod_revision : 0;

	f->beat_as_of = as_of;
	if (rev == f->beat_rev)
		return;
	f->beat_rev = rev;
	f->life = now;
	set_text(&f->beat_text, k != NULL ? k->value : NULL, k != NULL ? k->value_len : 0);
}

/* Where name stands, or where it would have to be put in. */
static size_t node_position(const struct facts *f, const char *name)
{
	size_t i = 0;

	while (i < f->n_nodes && strcmp(f->nodes[i].node, name) < 0)
		i++;
	return i;
}

static void remove_node(struct facts *f, const char *name)
{
	size_t i = node_position(f, name);

	if (i == f->n_nodes || strcmp(f->nodes[i].node, name) != 0)
		return;
	memmove(&f->nodes[i], &f->nodes[i + 1], (f->n_nodes - i - 1) * sizeof(f->nodes[0]));
	f->n_nodes--;
}

static void set_node(struct facts *f, const struct facts_key *k)
{
	struct record_node n = {0};
	size_t i;

	if (record_node_name_parse(k->name + strlen(NODE_KEY), k->name_len - strlen(NODE_KEY), &n) < 0)
		return;
	if (k->value == NULL || record_node_parse(k->value, k->value_len, &n) < 0) {
		remove_node(f, n.node);
		return;
	}
	i = node_position(f, n.node);
	if (i == f->n_nodes || strcmp(f->nodes[i].node, n.node) != 0) {
		if (f->n_nodes == FACTS_NODES_MAX)
			return;
		memmove(&f->nodes[i + 1], &f->nodes[i], (f->n_nodes - i) * sizeof(f->nodes[0]));
		f->n_nodes++;
	}
	f->nodes[i] = n;
	f->older_seen = f->older_seen || n.answered < 0;
}

static bool key_is_node(const struct facts_key *k)
{
	return k->name_len > strlen(NODE_KEY) && memcmp(k->name, NODE_KEY, strlen(NODE_KEY)) == 0;
}

/* Can a key that stood like this as of `as_of` be as k says it is as of `revision`? */
static bool is_possible(const struct facts_key *k, int64_t revision, int64_t rev, int64_t as_of,
                        const struct facts_text *text)
{
	int64_t new_rev = k != NULL ? k->mod_revision : 0;

	if (revision < as_of)
		return true;
	if (new_rev == rev)
		return k == NULL || text->len == 0 ||
		       (k->value_len == text->len && memcmp(k->value, text->data, text->len) == 0);
	/* It changed after as_of. */
	return new_rev != 0 ? new_rev > as_of : revision > as_of;
}

static const struct facts_key *find_key(const struct facts_key *keys, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (key_is(&keys[i], name))
			return &keys[i];
	}
	return NULL;
}

struct facts_mark facts_mark(const struct facts *f)
{
	return (struct facts_mark){.timeline = f->timeline, .revision = f->revision};
}

enum facts_answer facts_judge(struct facts *f, struct facts_mark mark, uint64_t cluster_id,
                              int64_t revision)
{
	if (mark.timeline != f->timeline)
		return FACTS_STALE;
	if ((f->cluster_id != 0 && cluster_id != f->cluster_id) || revision < mark.revision)
		return FACTS_REWOUND;
	f->cluster_id = cluster_id;
	f->revision = MAX(f->revision, revision);
	return FACTS_CURRENT;
}

void facts_rewind(struct facts *f, struct mono_moment now)
{
	struct mono_moment until = f->former_until;
	unsigned timeline = f->timeline;
	size_t turn = f->turn;
	bool older_seen = f->older_seen;

	if (f->owner.window_us != 0)
		until = timing_later(until, timing_take_at(now, f->owner.window_us, f->owner.late_us));
	facts_init(f);
	f->timeline = timeline + 1;
	f->turn = turn;
	f->older_seen = older_seen;
	f->former_until = until;
}

static void apply_read(struct facts *f, int64_t revision, const struct facts_key *keys,
                       size_t n_keys, struct mono_moment now)
{
	bool nodes_are_news = revision > f->nodes_as_of;

	if (nodes_are_news) {
		f->n_nodes = 0;
		f->nodes_as_of = revision;
	}
	for (size_t i = 0; i < n_keys; i++) {
		if (nodes_are_news && key_is_node(&keys[i]))
			set_node(f, &keys[i]);
		else if (key_is(&keys[i], "ask"))
			f->ask_rev = MAX(f->ask_rev, keys[i].mod_revision);
	}
	if (revision > f->owner_as_of)
		set_owner(f, find_key(keys, n_keys, "owner"), revision, now);
	if (revision > f->beat_as_of)
		set_beat(f, find_key(keys, n_keys, "beat"), revision, now);
}

static bool read_is_possible(const struct facts *f, int64_t revision, const struct facts_key *keys,
                             size_t n_keys)
{
	return is_possible(find_key(keys, n_keys, "owner"), revision, f->owner_rev, f->owner_as_of,
	                   &f->owner_text) &&
	       is_possible(find_key(keys, n_keys, "beat"), revision, f->beat_rev, f->beat_as_of,
	                   &f->beat_text);
}

enum facts_answer facts_on_read(struct facts *f, struct facts_mark mark, uint64_t cluster_id,
                                int64_t revision, const struct facts_key *keys, size_t n_keys,
                                int64_t sent_us, struct mono_moment now)
{
	enum facts_answer answer = facts_judge(f, mark, cluster_id, revision);

	if (answer == FACTS_CURRENT && !read_is_possible(f, revision, keys, n_keys))
		answer = FACTS_REWOUND;
	if (answer == FACTS_STALE)
		return answer;
	if (answer == FACTS_REWOUND)
		facts_rewind(f, now);
	f->cluster_id = cluster_id;
	f->revision = MAX(f->revision, revision);
	if (!f->known) {
		f->known = true;
		/* Whoever has just come waits from its own first read, even if there is no key at all. */
		f->life = now;
	}
	if (f->quorum_since_us == MONO_NEVER)
		f->quorum_since_us = sent_us;
	if (sent_us > f->quorum_last_us)
		f->quorum_last_us = sent_us;
	apply_read(f, revision, keys, n_keys, now);
	return answer;
}

void facts_on_read_failed(struct facts *f, int64_t sent_us)
{
	/* An older read may give up after a newer one was answered: that breaks nothing. */
	if (sent_us >= f->quorum_last_us)
		f->quorum_since_us = MONO_NEVER;
}

void facts_on_event(struct facts *f, const struct facts_key *k, struct mono_moment now)
{
	f->revision = MAX(f->revision, k->mod_revision);
	if (key_is(k, "owner")) {
		if (k->mod_revision > f->owner_as_of)
			set_owner(f, k, k->mod_revision, now);
	} else if (key_is(k, "beat")) {
		if (k->mod_revision > f->beat_as_of)
			set_beat(f, k, k->mod_revision, now);
	} else if (key_is(k, "ask")) {
		f->ask_rev = MAX(f->ask_rev, k->mod_revision);
	} else if (key_is_node(k) && k->mod_revision > f->nodes_as_of) {
		/* Not raised to this revision: it may hold several events. Applying one twice is harmless,
		 * and the watch goes forward only. */
		set_node(f, k);
		f->nodes_as_of = k->mod_revision - 1;
	}
}

void facts_on_owner_written(struct facts *f, const struct record_owner *owner, int64_t revision,
                            struct mono_moment now)
{
	AUTO(free) char *text = NULL;

	if (revision <= f->owner_as_of)
		return;
	f->owner_as_of = revision;
	f->owner_rev = revision;
	f->owner = *owner;
	/* As it was written. */
	text = record_owner_format(owner);
	set_text(&f->owner_text, text, strlen(text));
	f->has_owner = true;
	f->life = now;
}

const struct record_node *facts_node(const struct facts *f, const char *name)
{
	size_t i = node_position(f, name);

	return i < f->n_nodes && strcmp(f->nodes[i].node, name) == 0 ? &f->nodes[i] : NULL;
}

const char *facts_node_of_mac(const struct facts *f, const struct mac *mac)
{
	for (size_t i = 0; i < f->n_nodes; i++) {
		if (f->nodes[i].has_mac && mac_equal(&f->nodes[i].mac, mac))
			return f->nodes[i].node;
	}
	return NULL;
}

bool facts_is_foreign_mac(const struct facts *f, const struct mac *mac)
{
	if (!f->known || facts_node_of_mac(f, mac) != NULL)
		return false;
	for (size_t i = 0; i < f->n_nodes; i++) {
		if (!f->nodes[i].has_mac)
			return false;
	}
	return !f->has_owner || facts_node(f, f->owner.node) != NULL;
}
