/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash that more than half of all voters have is the right one, and whoever has another
 * differs. Where none has so many, as between the two that are left of three, the cluster differs
 * and nobody is blamed. A member that gave no answer stays what it was.
 */
#include "etcdwatch/health/hashes.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/mono.h"

#define LEADER_EVERY_US (86400 * US_PER_S)
/* To confirm what differs; to see whether it is cured; and for what could not be compared. */
#define CONFIRM_US (60 * US_PER_S)
#define AGAIN_US (600 * US_PER_S)
#define SHARE 10

/* --- whom to ask --- */

static bool can_be_asked(const struct observation_member *m)
{
	return m->listed && !m->learner && m->answer == OBSERVED_GOOD && m->endpoint[0] != '\0';
}

static void add(struct hashes *h, const struct observation_member *m)
{
	struct hashes_member *added = &h->members[h->n++];

	added->id = m->id;
	(void) snprintf(added->name, sizeof(added->name), "%s", m->name);
	(void) snprintf(added->endpoint, sizeof(added->endpoint), "%s", m->endpoint);
	h->revision = h->n == 1 ? m->revision : MIN(h->revision, m->revision);
}

/* Those that lead by their own word; a deposed one is no harm here. */
static bool add_some(struct hashes *h, const struct observation *o, bool leaders,
                     const char **version)
{
	for (size_t i = 0; i < o->n_members; i++) {
		const struct observation_member *m = &o->members[i];

		if (!can_be_asked(m) || (m->leader_id == m->id) != leaders)
			continue;
		if (h->n == 0)
			*version = m->version;
		if (strcmp(m->version, *version) != 0)
			return false;
		add(h, m);
		if (leaders)
			h->leader = m->id;
	}
	return true;
}

static void add_voters(const struct observation *o, struct hashes *h)
{
	for (size_t i = 0; i < o->n_members; i++) {
		if (o->members[i].listed && !o->members[i].learner)
			h->voters[h->n_voters++] = o->members[i].id;
	}
}

static bool has_no_space(const struct observation *o)
{
	bool stands = o->other_no_space;

	for (size_t i = 0; i < o->n_members; i++)
		stands |= o->members[i].no_space;
	return stands;
}

bool hashes_plan(const struct observation *o, struct hashes *ret)
{
	const char *version = "";

	*ret = (struct hashes){0};
	add_voters(o, ret);
	if (!o->list_known || has_no_space(o) || !add_some(ret, o, false, &version) ||
	    !add_some(ret, o, true, &version))
		return false;
	ret->may_ask_at_present = strncmp(version, "3.4.", strlen("3.4.")) == 0;
	return ret->n >= 2 && ret->revision > 0;
}

/* --- what they say --- */

static bool are_comparable(const struct hashes_member *a, const struct hashes_member *b)
{
	return a->answered && b->answered && a->revision == b->revision &&
	       a->compact_revision == b->compact_revision;
}

/* Those that `m` can be compared with, itself among them; and how many of them have its hash. */
static size_t count(const struct hashes *h, const struct hashes_member *m, size_t *ret_same)
{
	size_t n = 0, same = 0;

	for (size_t i = 0; i < h->n; i++) {
		if (!are_comparable(&h->members[i], m))
			continue;
		n++;
		same += h->members[i].hash == m->hash ? 1 : 0;
	}
	*ret_same = same;
	return n;
}

/* Of those whose hashes compare with most others', one whose hash most have; NULL: none compare. */
static const struct hashes_member *find_measure(const struct hashes *h)
{
	const struct hashes_member *best = NULL;
	size_t best_n = 1, best_same = 0;

	for (size_t i = 0; i < h->n; i++) {
		size_t same, n = count(h, &h->members[i], &same);

		if (n > best_n || (n == best_n && n > 1 && same > best_same)) {
			best = &h->members[i];
			best_n = n;
			best_same = same;
		}
	}
	return best;
}

bool hashes_need_leader(const struct hashes *h, const struct hashes_memory *memory, int64_t now_us)
{
	const struct hashes_member *measure = find_measure(h);
	bool is_due = true;
	size_t same;

	if (h->leader == 0)
		return false;
	if (measure == NULL || count(h, measure, &same) != same)
		return true;
	for (size_t i = 0; i < memory->n; i++) {
		const struct hashes_known *known = &memory->items[i];

		/* Without its answer nobody would say that this still is so, or is not. */
		if ((known->id == h->leader || known->id == 0) && known->n_differs > 0)
			return true;
		if (known->id == h->leader && known->compared)
			is_due = now_us - known->compared_us >= LEADER_EVERY_US;
	}
	return is_due;
}

/* --- what stays known --- */

static struct hashes_known *find(struct hashes_memory *memory, uint64_t id)
{
	for (size_t i = 0; i < memory->n; i++) {
		if (memory->items[i].id == id)
			return &memory->items[i];
	}
	return NULL;
}

static void note(struct hashes_memory *memory, uint64_t id, bool differs, int64_t now_us)
{
	struct hashes_known *known = find(memory, id);

	if (known == NULL) {
		if (memory->n == ARRAY_SIZE(memory->items))
			return;
		known = &memory->items[memory->n++];
		*known = (struct hashes_known){.id = id};
	}
	known->n_differs = differs ? known->n_differs + 1 : 0;
	known->compared = true;
	known->compared_us = now_us;
}

static bool is_voter(const struct hashes *h, uint64_t id)
{
	for (size_t i = 0; i < h->n_voters; i++) {
		if (h->voters[i] == id)
			return true;
	}
	return false;
}

/* One that is no member any more, and may come back with other data. */
static void forget(struct hashes_memory *memory, const struct hashes *h)
{
	size_t kept = 0;

	for (size_t i = 0; i < memory->n; i++) {
		if (memory->items[i].id == 0 || is_voter(h, memory->items[i].id))
			memory->items[kept++] = memory->items[i];
	}
	memory->n = kept;
}

bool hashes_forget(struct hashes_memory *memory, const struct observation *o)
{
	struct hashes list = {0};
	size_t n = memory->n;

	if (!o->list_known)
		return false;
	add_voters(o, &list);
	forget(memory, &list);
	if (list.n_voters == 1)
		memory->n = 0;
	return memory->n != n;
}

enum hashes_result hashes_judge(const struct hashes *h, struct hashes_memory *memory,
                                int64_t now_us)
{
	const struct hashes_member *measure = find_measure(h);
	size_t n, same;
	bool split;

	if (measure == NULL)
		return HASHES_NOTHING;
	forget(memory, h);
	n = count(h, measure, &same);
	split = same < n && same * 2 <= h->n_voters;
	note(memory, 0, split, now_us);
	for (size_t i = 0; i < h->n && !split; i++) {
		const struct hashes_member *m = &h->members[i];

		if (are_comparable(m, measure))
			note(memory, m->id, m->hash != measure->hash, now_us);
	}
	return same < n ? HASHES_DIFFER : HASHES_SAME;
}

bool hashes_are_confirmed(const struct hashes_memory *memory)
{
	for (size_t i = 0; i < memory->n; i++) {
		if (memory->items[i].n_differs >= HASHES_CONFIRMED)
			return true;
	}
	return false;
}

bool hashes_have_differed(const struct hashes_memory *memory)
{
	for (size_t i = 0; i < memory->n; i++) {
		if (memory->items[i].n_differs > 0)
			return true;
	}
	return false;
}

static enum observed observe(const struct hashes_memory *memory, uint64_t id)
{
	for (size_t i = 0; i < memory->n; i++) {
		const struct hashes_known *known = &memory->items[i];

		if (known->id != id)
			continue;
		if (known->n_differs >= HASHES_CONFIRMED)
			return OBSERVED_BAD;
		return known->n_differs == 0 ? OBSERVED_GOOD : OBSERVED_NOTHING;
	}
	return OBSERVED_NOTHING;
}

void hashes_fill(const struct hashes_memory *memory, struct observation *o)
{
	o->data = observe(memory, 0);
	for (size_t i = 0; i < o->n_members; i++)
		o->members[i].data = observe(memory, o->members[i].id);
}

/* --- when --- */

int64_t hashes_pause_us(enum hashes_result result, const struct hashes_memory *memory,
                        int64_t every_us, int64_t took_us, unsigned spread)
{
	/* From three quarters of it to five quarters, so that the nodes do not ask at the same time. */
	int64_t pause_us = every_us / 4 * 3 + every_us / 2000 * (int64_t) spread;

	if (result == HASHES_NOTHING)
		pause_us = MIN(pause_us, AGAIN_US);
	for (size_t i = 0; i < memory->n; i++) {
		unsigned n = memory->items[i].n_differs;

		if (n > 0)
			pause_us = MIN(pause_us, n < HASHES_CONFIRMED ? CONFIRM_US : AGAIN_US);
	}
	return MAX(pause_us, SHARE * took_us);
}
