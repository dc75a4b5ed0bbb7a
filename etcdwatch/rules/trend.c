/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring of readings for each member: its pages of the last five minutes, its sizes of the last
 * four hours. And one ring for the cluster: when its term was seen to rise, which is an election.
 */
#include "etcdwatch/rules/trend.h"

#include <math.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"

/* Readings that lie closer together than this are not kept. */
#define PAGE_STEP_US (25 * US_PER_S)
#define SIZE_STEP_US (300 * US_PER_S)
/* Anything said of less would be chance. */
#define PAGE_SPAN_MIN_US (60 * US_PER_S)
#define WRITES_MIN 20

#define PAGES (TREND_WINDOW_US / PAGE_STEP_US + 1)
#define SIZES (TREND_GROWTH_MAX_US / SIZE_STEP_US + 1)
#define TERMS 16

struct page_at {
	int64_t at_us;
	struct pagefigures page;
};

struct size_at {
	int64_t at_us;
	int64_t bytes;
};

/* Oldest first. They are short, and are moved up when one is dropped. */
struct member_trend {
	uint64_t id;
	struct page_at pages[PAGES];
	size_t n_pages;
	struct size_at sizes[SIZES];
	size_t n_sizes;
};

struct term_at {
	int64_t at_us;
	uint64_t term;
};

struct trend {
	struct member_trend *members[VIEW_MEMBERS_MAX];
	size_t n_members;
	struct term_at terms[TERMS];
	size_t n_terms;
	int64_t now_us;
};

/* Forgets the oldest: of `n` those for which it is time, and one if there is no room. */
#define MAKE_ROOM(ring, n, capacity, horizon_us)                  \
	do {                                                          \
		size_t drop_ = 0;                                         \
		while (drop_ < (n) && (ring)[drop_].at_us < (horizon_us)) \
			drop_++;                                              \
		if (drop_ == 0 && (n) == (capacity))                      \
			drop_ = 1;                                            \
		for (size_t i_ = drop_; i_ < (n); i_++)                   \
			(ring)[i_ - drop_] = (ring)[i_];                      \
		(n) -= drop_;                                             \
	} while (0)

struct trend *trend_new(void)
{
	return NEW0(struct trend);
}

void trend_free(struct trend *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->n_members; i++)
		free(t->members[i]);
	free(t);
}

static struct member_trend *find(const struct trend *t, uint64_t id)
{
	for (size_t i = 0; i < t->n_members; i++) {
		if (t->members[i]->id == id)
			return t->members[i];
	}
	return NULL;
}

/* --- remembering --- */

static void forget_members(struct trend *t, const struct observation *o)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n_members; i++) {
		bool there = false;

		for (size_t k = 0; k < o->n_members; k++)
			there |= o->members[k].id == t->members[i]->id;
		if (there)
			t->members[kept++] = t->members[i];
		else
			free(t->members[i]);
	}
	t->n_members = kept;
}

/* A member that was started anew counts from 0. */
static bool is_same_run(const struct pagefigures *a, const struct pagefigures *b)
{
	return a->started_s >= b->started_s && a->started_s <= b->started_s;
}

static void add_page(struct member_trend *m, int64_t now_us, const struct pagefigures *page)
{
	if (m->n_pages > 0 && !is_same_run(&m->pages[m->n_pages - 1].page, page))
		m->n_pages = 0;
	if (m->n_pages > 0 && now_us - m->pages[m->n_pages - 1].at_us < PAGE_STEP_US)
		return;
	MAKE_ROOM(m->pages, m->n_pages, PAGES, now_us - TREND_WINDOW_US);
	m->pages[m->n_pages++] = (struct page_at){now_us, *page};
}

/* A database shrinks only when it is defragmented, and then begins a new history. */
static void add_size(struct member_trend *m, int64_t now_us, int64_t bytes)
{
	if (m->n_sizes > 0 && bytes < m->sizes[m->n_sizes - 1].bytes)
		m->n_sizes = 0;
	if (m->n_sizes > 0 && now_us - m->sizes[m->n_sizes - 1].at_us < SIZE_STEP_US)
		return;
	MAKE_ROOM(m->sizes, m->n_sizes, SIZES, now_us - TREND_GROWTH_MAX_US);
	m->sizes[m->n_sizes++] = (struct size_at){now_us, bytes};
}

/* A lower term is another cluster, or an older one. */
static void add_term(struct trend *t, const struct observation *o)
{
	uint64_t term = 0;

	for (size_t i = 0; i < o->n_members; i++) {
		/* One that is cut off raises its own, again and again, and follows nobody. */
		if (o->members[i].answer == OBSERVED_GOOD && o->members[i].leader_id != 0)
			term = MAX(term, o->members[i].raft_term);
	}
	if (term == 0)
		return;
	if (t->n_terms > 0 && term < t->terms[t->n_terms - 1].term)
		t->n_terms = 0;
	if (t->n_terms > 0 && term == t->terms[t->n_terms - 1].term)
		return;
	MAKE_ROOM(t->terms, t->n_terms, TERMS, INT64_MIN);
	t->terms[t->n_terms++] = (struct term_at){o->now_us, term};
}

void trend_add(struct trend *t, const struct observation *o)
{
	t->now_us = o->now_us;
	forget_members(t, o);
	for (size_t i = 0; i < o->n_members; i++) {
		const struct observation_member *seen = &o->members[i];
		struct member_trend *m = find(t, seen->id);

		if (seen->answer != OBSERVED_GOOD)
			continue;
		if (m == NULL) {
			m = NEW0(struct member_trend);
			m->id = seen->id;
			t->members[t->n_members++] = m;
		}
		if (seen->page_known)
			add_page(m, o->now_us, &seen->page);
		add_size(m, o->now_us, seen->db_bytes);
	}
	add_term(t, o);
}

/* --- telling --- */

/* The oldest and the newest page of the window. */
static bool ends(const struct trend *t, uint64_t id, const struct page_at **ret_first,
                 const struct page_at **ret_last)
{
	const struct member_trend *m = find(t, id);
	size_t first = 0;

	if (m == NULL || m->n_pages == 0)
		return false;
	while (first < m->n_pages && m->pages[first].at_us < t->now_us - TREND_WINDOW_US)
		first++;
	if (first == m->n_pages ||
	    m->pages[m->n_pages - 1].at_us - m->pages[first].at_us < PAGE_SPAN_MIN_US)
		return false;
	*ret_first = &m->pages[first];
	*ret_last = &m->pages[m->n_pages - 1];
	return true;
}

bool trend_fsync_p99(const struct trend *t, uint64_t id, double *ret_s)
{
	const struct page_at *first, *last;

	return ends(t, id, &first, &last) &&
	       pagefigures_p99(&first->page.fsync, &last->page.fsync, WRITES_MIN, ret_s);
}

bool trend_commit_p99(const struct trend *t, uint64_t id, double *ret_s)
{
	const struct page_at *first, *last;

	return ends(t, id, &first, &last) &&
	       pagefigures_p99(&first->page.commit, &last->page.commit, WRITES_MIN, ret_s);
}

bool trend_proposals_failed(const struct trend *t, uint64_t id, double *ret_per_s)
{
	const struct page_at *first, *last;

	if (!ends(t, id, &first, &last) || !first->page.has_failed || !last->page.has_failed ||
	    last->page.proposals_failed < first->page.proposals_failed)
		return false;
	*ret_per_s = (double) (last->page.proposals_failed - first->page.proposals_failed) *
	             (double) US_PER_S / (double) (last->at_us - first->at_us);
	return true;
}

/* Least squares; around the means, so that large numbers do no harm. They are two or more, at
 * different times. */
static double slope_of(const struct size_at *sizes, size_t n)
{
	double mean_s = 0, mean_bytes = 0, above = 0, below = 0;
	int64_t base_us = sizes[0].at_us;

	for (size_t i = 0; i < n; i++) {
		mean_s += (double) (sizes[i].at_us - base_us) / (double) US_PER_S;
		mean_bytes += (double) sizes[i].bytes;
	}
	mean_s /= (double) n;
	mean_bytes /= (double) n;
	for (size_t i = 0; i < n; i++) {
		double s = (double) (sizes[i].at_us - base_us) / (double) US_PER_S - mean_s;

		above += s * ((double) sizes[i].bytes - mean_bytes);
		below += s * s;
	}
	return above / below;
}

/* A database that was defragmented soon is as large as before, and then stays so: a line through
 * all of that would foretell for hours what is over. */
bool trend_growth(const struct trend *t, uint64_t id, double *ret_bytes_per_s)
{
	const struct member_trend *m = find(t, id);
	size_t recent;
	int64_t recent_us;

	if (m == NULL || m->n_sizes < 2)
		return false;
	recent_us = m->sizes[m->n_sizes - 1].at_us - TREND_GROWTH_MIN_US;
	if (m->sizes[0].at_us > recent_us)
		return false;
	recent = m->n_sizes - 1;
	while (m->sizes[recent].at_us > recent_us)
		recent--;
	*ret_bytes_per_s =
	    MIN(slope_of(m->sizes, m->n_sizes), slope_of(&m->sizes[recent], m->n_sizes - recent));
	return true;
}

bool trend_runway(const struct trend *t, const struct observation_member *m, double *ret_s)
{
	double growth;

	if (m->answer != OBSERVED_GOOD || m->quota_bytes <= 0 || !trend_growth(t, m->id, &growth))
		return false;
	*ret_s = growth > 0 ? (double) MAX(m->quota_bytes - m->db_bytes, 0) / growth : INFINITY;
	return true;
}

bool trend_elections(const struct trend *t, uint64_t *ret_n)
{
	size_t base = 0;

	if (t->n_terms == 0)
		return false;
	for (size_t i = 0; i < t->n_terms; i++) {
		if (t->terms[i].at_us <= t->now_us - TREND_ELECTIONS_US)
			base = i;
	}
	/* Not by how much: one that was cut off comes back with all the terms that it tried. */
	*ret_n = t->n_terms - 1 - base;
	return true;
}
