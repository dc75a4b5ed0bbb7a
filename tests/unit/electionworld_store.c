/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store, and messages on their way: requests are carried out when they arrive, also those of
 * the dead and of clients that have given up; answers are lost and late.
 */
#include "electionworld_priv.h"

/* One that is not used; all others may move. */
static struct message *new_message(struct world *w)
{
	size_t i = 0;

	while (i < w->messages_end && w->messages[i].used)
		i++;
	if (i == w->messages_max) {
		w->messages_max = MAX(2 * w->messages_max, (size_t) 64);
		w->messages = xreallocarray(w->messages, w->messages_max, sizeof(w->messages[0]));
	}
	w->messages_end = MAX(w->messages_end, i + 1);
	memset(&w->messages[i], 0, sizeof(w->messages[i]));
	return &w->messages[i];
}

struct message *world_send(struct node *n, enum message_kind kind)
{
	struct world *w = n->world;
	struct message *m = new_message(w);

	m->used = true;
	m->kind = kind;
	m->node = (size_t) (n - w->nodes);
	m->life = n->life;
	m->sent_local_us = local_us(n);
	m->mark = facts_mark(&n->facts);
	m->owner_text = n->facts.owner_text;
	m->beat_text = n->facts.beat_text;
	m->endpoint = chance(w, 70) ? n->primary : (size_t) random_below(w, NODES);
	/* The swap, whose guards matter most, is often very late. */
	m->at_us = w->now_us + random_delay(w, kind == MESSAGE_TAKE ? 50 : 90, 6 * US_PER_S);
	m->give_up_us = w->now_us + US_PER_S;
	return m;
}

struct store *world_store(struct world *w, size_t endpoint)
{
	return w->has_strange && endpoint == w->strange_endpoint ? &w->strange : &w->store;
}

/* As add_guards() in ledger.c: the value counts where it is known. */
static bool guard_holds(const struct world *w, int64_t rev, const char *value, int64_t want_rev,
                        const struct facts_text *want)
{
	if (rev != want_rev)
		return false;
	return w->mutation == MUTATION_TRUSTING || rev == 0 || want->len == 0 ||
	       (want->len == strlen(value) && memcmp(want->data, value, want->len) == 0);
}

/* Whoever finds the new owner dead waits by its record alone, for the one before it as well. */
static void check_covered(struct world *w, const struct message *m)
{
	const struct record_owner *o = &m->claim.record;
	int64_t wait_us = timing_take_at((struct mono_moment){0}, o->window_us, o->late_us).us *
	                  1000000 / (1000000 + TIMING_HARDWARE_PPM);

	for (size_t i = 0; i < NODES; i++) {
		if (i != m->node && w->nodes[i].held && w->nodes[i].silent_at_us > w->now_us + wait_us)
			w->uncovered++;
	}
}

static void write_owner(struct world *w, struct store *s, struct message *m)
{
	AUTO(free) char *text = NULL;

	if (m->kind == MESSAGE_TAKE && s == &w->store)
		check_covered(w, m);
	s->owner = m->claim.record;
	if (w->mutation == MUTATION_SHORT_WORD && m->kind == MESSAGE_TAKE)
		s->owner.window_us /= 6;
	text = record_owner_format(&s->owner);
	(void) strcpy(s->owner_text, text);
	s->owner_rev = ++s->revision;
	m->verdict = ELECTION_DONE;
}

static void put_beat(struct store *s, const char *text)
{
	(void) strcpy(s->beat_text, text);
	s->beat_rev = ++s->revision;
}

static void delete_beat(struct store *s)
{
	if (s->beat_rev == 0)
		return;
	s->beat_rev = 0;
	s->beat_gone_rev = ++s->revision;
}

static void confirm(struct world *w, struct store *s, struct message *m)
{
	if (!m->deletes)
		put_beat(s, m->beat);
	else if (w->mutation != MUTATION_SIGNLESS)
		delete_beat(s);
	/* It reads the record, too, and would notice a short word. */
	if (w->mutation == MUTATION_TRUSTING || w->mutation == MUTATION_SHORT_WORD ||
	    (strcmp(s->owner.instance, m->claim.record.instance) == 0 &&
	     s->owner.epoch == m->claim.record.epoch &&
	     s->owner.window_us / US_PER_MS == m->claim.record.window_us / US_PER_MS &&
	     !s->owner.released))
		m->verdict = ELECTION_DONE;
}

static void carry_out(struct world *w, struct message *m)
{
	struct store *s = world_store(w, m->endpoint);

	w->n_strange += s == &w->strange;
	bool is_refused = w->is_full && m->kind != MESSAGE_READ && !m->deletes;

	/* The put that is one too many lands, and is refused in words. */
	if (is_refused && chance(w, 90))
		return;
	m->verdict = ELECTION_LOST;
	switch (m->kind) {
	case MESSAGE_READ:
		break;
	case MESSAGE_TAKE:
		if (guard_holds(w, s->owner_rev, s->owner_text, m->claim.owner_rev, &m->owner_text) &&
		    (w->mutation == MUTATION_NO_GUARD ||
		     guard_holds(w, s->beat_rev, s->beat_text, m->claim.beat_rev, &m->beat_text)))
			write_owner(w, s, m);
		break;
	case MESSAGE_CONFIRM:
		/* By the revision alone: an adopted record's text is not known. */
		if (s->owner_rev == m->rev)
			confirm(w, s, m);
		break;
	case MESSAGE_BEAT:
		if (guard_holds(w, s->owner_rev, s->owner_text, m->rev, &m->owner_text) && s->beat_rev == 0)
			put_beat(s, m->beat);
		break;
	case MESSAGE_RELEASE:
		if (guard_holds(w, s->owner_rev, s->owner_text, m->rev, &m->owner_text))
			write_owner(w, s, m);
		break;
	}
	m->ok = !is_refused;
	m->snapshot = *s;
	m->answer_rev = s->owner_rev;
}

/* All keys of the store, as facts_key. */
struct keys {
	struct facts_key keys[NODES + 2];
	size_t count;
	char names[NODES][16];
	char *values[NODES];
};

static struct facts_key make_key(const char *name, const char *value, int64_t rev)
{
	return (struct facts_key){.name = name,
	                          .name_len = strlen(name),
	                          .value = value,
	                          .value_len = strlen(value),
	                          .mod_revision = rev};
}

static void keys_free(struct keys *k)
{
	for (size_t i = 0; i < NODES; i++)
		free(k->values[i]);
	free(k);
}
DEFINE_AUTO(struct keys, keys_free);

static struct keys *keys_of(struct world *w, const struct store *s)
{
	struct keys *k = NEW0(struct keys);

	if (s->owner_rev != 0)
		k->keys[k->count++] = make_key("owner", s->owner_text, s->owner_rev);
	if (s->beat_rev != 0)
		k->keys[k->count++] = make_key("beat", s->beat_text, s->beat_rev);
	for (size_t i = 0; i < NODES; i++) {
		(void) snprintf(k->names[i], sizeof(k->names[i]), "node/%s", w->nodes[i].name);
		k->values[i] = record_node_format(&w->nodes[i].me);
		k->keys[k->count++] = make_key(k->names[i], k->values[i], s->revision);
	}
	return k;
}

static void rewound(struct node *n)
{
	election_on_rewind(n->election);
}

static bool tell_read(struct node *n, const struct message *m)
{
	AUTO(keys_free) struct keys *k = keys_of(n->world, &m->snapshot);
	struct facts_mark mark = m->mark;
	enum facts_answer answer;

	if (n->world->mutation == MUTATION_TRUSTING) {
		/* Believed if it is newer, and nothing is concluded if it is not. */
		mark.revision = 0;
		if (m->snapshot.revision < n->facts.revision) {
			n->facts.quorum_last_us = MAX(n->facts.quorum_last_us, m->sent_local_us);
			n->facts.quorum_since_us = MIN(n->facts.quorum_since_us, m->sent_local_us);
			return true;
		}
		n->facts.owner_text.len = n->facts.beat_text.len = 0;
	}
	answer = facts_on_read(&n->facts, mark, m->snapshot.cluster_id, m->snapshot.revision, k->keys,
	                       k->count, m->sent_local_us, local_now(n));
	if (answer == FACTS_STALE)
		return false;
	if (n->watched_timeline != n->facts.timeline || n->watched_rev == 0) {
		n->watched_timeline = n->facts.timeline;
		n->watched_rev = m->snapshot.revision;
	}
	if (answer == FACTS_REWOUND)
		rewound(n);
	return true;
}

/* The watch waits for revisions that it has not seen; in a store that was rewound it is deaf. */
void world_tell_watch(struct node *n)
{
	const struct store *s = &n->world->store;
	struct facts_key gone = {.name = "beat", .name_len = strlen("beat")};
	AUTO(keys_free) struct keys *k = NULL;

	if (n->world->has_strange && n->facts.cluster_id == n->world->strange.cluster_id)
		s = &n->world->strange;

	if (n->watched_timeline != n->facts.timeline || s->revision <= n->watched_rev)
		return;
	k = keys_of(n->world, s);
	for (size_t i = 0; i < k->count; i++) {
		if (k->keys[i].mod_revision > n->watched_rev)
			facts_on_event(&n->facts, &k->keys[i], local_now(n));
	}
	gone.mod_revision = s->beat_gone_rev;
	if (s->beat_rev == 0 && s->beat_gone_rev > n->watched_rev)
		facts_on_event(&n->facts, &gone, local_now(n));
	n->watched_rev = s->revision;
	election_run(n->election);
}

static enum election_verdict judge(struct node *n, const struct message *m)
{
	struct facts_mark mark = m->mark;

	if (!m->ok)
		return ELECTION_UNKNOWN;
	if (n->world->mutation == MUTATION_TRUSTING)
		mark.revision = 0;
	switch (facts_judge(&n->facts, mark, m->snapshot.cluster_id, m->snapshot.revision)) {
	case FACTS_CURRENT:
		return m->verdict;
	case FACTS_STALE:
		return ELECTION_UNKNOWN;
	case FACTS_REWOUND:
		break;
	}
	facts_rewind(&n->facts, local_now(n));
	rewound(n);
	return ELECTION_UNKNOWN;
}

static void deliver(struct world *w, struct message *m)
{
	struct node *n = &w->nodes[m->node];
	int64_t stamp_us = w->mutation == MUTATION_LATE_STAMP ? local_us(n) : m->sent_local_us;
	enum election_verdict verdict;
	bool ok;

	if (m->kind == MESSAGE_BEAT)
		return;
	if (m->kind == MESSAGE_READ) {
		ok = m->ok && tell_read(n, m);
		if (!ok)
			facts_on_read_failed(&n->facts, m->sent_local_us);
		election_on_read(n->election, ok);
		return;
	}
	verdict = judge(n, m);
	if (verdict == ELECTION_DONE && m->kind != MESSAGE_CONFIRM)
		facts_on_owner_written(&n->facts, &m->claim.record, m->answer_rev, local_now(n));
	if (m->kind == MESSAGE_TAKE)
		election_on_take(n->election, verdict, m->answer_rev, stamp_us);
	else if (m->kind == MESSAGE_CONFIRM)
		election_on_confirm(n->election, verdict, m->rev, stamp_us);
	else
		election_on_release(n->election, verdict, m->rev);
}

void world_step_messages(struct world *w)
{
	bool late_stamp = w->mutation == MUTATION_LATE_STAMP;

	while (w->messages_end > 0 && !w->messages[w->messages_end - 1].used)
		w->messages_end--;
	for (size_t i = 0; i < w->messages_end; i++) {
		struct message *m = &w->messages[i];
		struct node *n = &w->nodes[m->node];

		if (!m->used)
			continue;
		if (n->life != m->life || n->election == NULL) {
			/* A request of a dead process may still land; its answer goes nowhere. */
			if (m->answer)
				m->used = false;
			else if (m->at_us <= w->now_us && w->store_silent_until_us <= w->now_us) {
				carry_out(w, m);
				m->used = false;
			}
			continue;
		}
		if (!m->answer && m->at_us <= w->now_us && n->cluster.id != 0 &&
		    MAX(n->cut_until_us, n->mute_until_us) <= w->now_us &&
		    w->store_silent_until_us <= w->now_us) {
			carry_out(w, m);
			if (m->snapshot.cluster_id != n->cluster.id && w->mutation != MUTATION_ANY_CLUSTER) {
				/* The client does not believe it, and goes on to the next endpoint. */
				m->endpoint = (m->endpoint + 1) % NODES;
				m->at_us = w->now_us + random_below(w, 5 * US_PER_MS);
				continue;
			}
			m->answer = true;
			m->lost = !w->calm && chance(w, 3);
			/* Where the time of a confirmation's answer counts, these dawdle. */
			if (late_stamp && m->kind == MESSAGE_CONFIRM)
				m->at_us = w->now_us + random_delay(w, 20, US_PER_S);
			else
				m->at_us = w->now_us + random_delay(w, 85, 2 * US_PER_S);
		}
		if (!node_is_running(n))
			continue;
		if (m->answer && !m->lost && m->at_us <= w->now_us && n->cut_until_us <= w->now_us &&
		    w->now_us < m->give_up_us) {
			struct message answer = *m;

			/* While it is delivered its place may be taken, and all may move. */
			m->used = false;
			n->primary = m->endpoint;
			deliver(w, &answer);
		} else if (w->now_us >= m->give_up_us) {
			struct message request = *m;

			/* The client gives up; what has not arrived may still land, unheard. */
			m->used = false;
			if (!request.answer) {
				struct message *ghost = m;

				*ghost = request;
				ghost->life = 0;
			}
			request.ok = false;
			deliver(w, &request);
		}
	}
}
