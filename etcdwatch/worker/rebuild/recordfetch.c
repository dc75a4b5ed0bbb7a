/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entries and listing -> manifests -> chains (rebuildpick.h) -> the best of them with a snapshot to
 * begin with (rebuildpick.h) -> its pieces.
 *
 * All who may write to a target can make manifests. Of a segment the one that reaches furthest is
 * taken that is read and signed well; what is refused is dropped from what was listed.
 *
 * To read few manifests, only those of segments that reach behind the likely base are read at
 * first; when that base will not do, all are.
 */
#include "etcdwatch/worker/rebuild/recordfetch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/rebuild/rebuildpick.h"
#include "etcdwatch/worker/record/recordjoin.h"
#include "etcdwatch/worker/record/recordobjects.h"
#include "etcdwatch/worker/source/sourcefind.h"

#define LATEST "latest"
/* Chains that a refusal names. */
#define REACH_MAX 3

struct base {
	struct rebuildpick_base pick;
	int64_t finished_us;
};

struct fetching {
	const struct rebuild_request *request;
	const char *room;
	struct problem *problem;
	struct recordjoin_request joining;
	struct base *bases;
	size_t n_bases;
	struct recordfolders folders;
	struct recordreach_segment *segments; /* whose manifests were read */
	size_t n;
	struct recordstored **stored; /* by recordreach_segment.index */
	struct recordreach reach;
	char unread[PROBLEM_REASON_MAX]; /* why one of them was passed over; "" */
	struct recordfetched result;
};

/* --- bases --- */

static void add_base(const struct catalog_entry *entry, void *userdata)
{
	struct fetching *f = userdata;
	int64_t revision = MAX(MAX(entry->revision, entry->compact_revision), INT64_C(1));

	f->bases = xreallocarray(f->bases, f->n_bases + 1, sizeof(*f->bases));
	f->bases[f->n_bases++] = (struct base){
	    .pick = {.cluster_id = entry->cluster_id,
	             .timeline = entry->timeline,
	             .revision = revision},
	    .finished_us = entry->finished_s * US_PER_S,
	};
}

static int list_bases(struct fetching *f)
{
	const struct source_request *base = &f->request->base;
	struct sourcefound found = {0};
	struct source_passed passed;
	int r;

	if (strcmp(base->name, LATEST) == 0)
		return sourcefind_list(base, f->problem, add_base, f, &passed);
	r = sourcefind_s3(base, f->problem, &found);
	if (r == 0 && found.entry != NULL)
		add_base(found.entry, f);
	sourcefound_fini(&found);
	return r;
}

/* As far as is known without the record: not behind what is wanted. */
static bool is_early(const struct fetching *f, const struct base *base)
{
	const struct rebuild_request *q = f->request;

	switch (q->to) {
	case REBUILD_TO_REVISION:
		return base->pick.revision <= q->revision;
	case REBUILD_TO_TIME:
		return base->finished_us <= q->us;
	case REBUILD_TO_END:
		return true;
	}
	return false;
}

/* The newest snapshot from which the chain can be gone on with; NULL: there is none. */
static const struct base *find_base(const struct fetching *f, const struct chain *chain)
{
	const struct base *newest = NULL;

	for (size_t i = 0; i < f->n_bases; i++) {
		const struct base *b = &f->bases[i];

		if (b->pick.cluster_id == chain->cluster_id && is_early(f, b) &&
		    chain->first <= b->pick.revision + 1 && b->pick.revision <= chain->last &&
		    (newest == NULL || newest->pick.revision < b->pick.revision))
			newest = b;
	}
	return newest;
}

/* --- manifests --- */

/* 1: none of the segment's counts. */
static int find_last(struct fetching *f, const char *node, struct recordstored *stored,
                     struct recordpiece *ret_last)
{
	const struct source_request *base = &f->request->base;
	char reason[PROBLEM_REASON_MAX];

	for (size_t i = 0; i < RECORDSTORED_REFUSED_MAX; i++) {
		int r = recordobjects_read_last(base->s3, base->s3_prefix, node, stored, ret_last, reason,
		                                f->problem);

		if (r == 0 && !recordjoin_allows(&f->joining, ret_last, reason))
			r = 1;
		if (r <= 0)
			return r;
		if (f->unread[0] == '\0')
			memcpy(f->unread, reason, sizeof(f->unread));
		if (!recordstored_drop_last(stored))
			return 1;
	}
	(void) snprintf(f->unread, sizeof(f->unread),
	                "more than %d manifests of '%s' of '%s' are refused: remove those that are not "
	                "of this node",
	                RECORDSTORED_REFUSED_MAX, stored->segment, node);
	stored->n_ranges = 0;
	return 1;
}

static int read_manifest(struct fetching *f, const char *node, struct recordstored *stored)
{
	struct recordpiece last;
	int r = find_last(f, node, stored, &last);

	if (r != 0)
		return MIN(r, 0);
	f->segments = xreallocarray(f->segments, f->n + 1, sizeof(*f->segments));
	f->stored = xreallocarray(f->stored, f->n + 1, sizeof(*f->stored));
	f->stored[f->n] = stored;
	f->segments[f->n] = (struct recordreach_segment){
	    .named = stored->named, .begins = stored->begins, .last = last, .index = f->n};
	f->n++;
	return 0;
}

/* Of the segments with something behind the revision. */
static int read_manifests(struct fetching *f, int64_t revision)
{
	int r = 0;

	f->n = 0;
	for (size_t i = 0; i < f->folders.n; i++) {
		struct recordlisting *l = &f->folders.items[i].listing;

		for (size_t k = 0; k < l->n && r == 0; k++) {
			const struct recordstored *next = k + 1 < l->n ? &l->items[k + 1] : NULL;

			if (cancel_is_wanted())
				return problem_set(f->problem, -ECANCELED, "CANCELLED", "cancelled");
			if (!recordreach_is_passed(&l->items[k], next, revision))
				r = read_manifest(f, f->folders.items[i].node, &l->items[k]);
		}
	}
	recordreach_fini(&f->reach);
	if (r == 0)
		recordreach_find(f->segments, f->n, &f->reach);
	return r;
}

/* --- which chain --- */

static bool reaches(const struct fetching *f, const struct chain *chain)
{
	const struct rebuild_request *q = f->request;

	switch (q->to) {
	case REBUILD_TO_REVISION:
		return chain->last >= q->revision;
	case REBUILD_TO_TIME:
		return chain->first_us <= q->us && q->us <= chain->last_us;
	case REBUILD_TO_END:
		return true;
	}
	return false;
}

/* The one that ended last, but for `n_passed` better ones; NULL: there is no other. */
static const struct chain *choose(const struct fetching *f, size_t n_passed)
{
	for (size_t i = f->reach.n; i-- > 0;) {
		const struct chain *chain = &f->reach.chains[i];

		if (reaches(f, chain) && find_base(f, chain) != NULL && n_passed-- == 0)
			return chain;
	}
	return NULL;
}

static const char *format_us(int64_t us, char buf[static CIVIL_TEXT_MAX])
{
	return civil_format(civil_floor_div(us, US_PER_S), buf);
}

static int refuse(struct fetching *f)
{
	char *text = xstrdup(f->reach.n == 0 ? "nothing" : "");
	size_t n = f->reach.n, first = n > REACH_MAX ? n - REACH_MAX : 0;

	for (size_t i = first; i < n; i++) {
		const struct chain *c = &f->reach.chains[i];
		char from[CIVIL_TEXT_MAX], to[CIVIL_TEXT_MAX];
		char *more = xasprintf("%s%srevisions %" PRId64 " to %" PRId64 " of '%s' (%s to %s)", text,
		                       i > first ? ", " : "", c->first, c->last,
		                       f->segments[c->first_segment].last.node,
		                       format_us(c->first_us, from), format_us(c->last_us, to));

		free(text);
		text = more;
	}
	(void) problem_set(f->problem, -ENOENT, "UNREACHABLE",
	                   "no snapshot and what was recorded behind it lead there: the target has %zu "
	                   "snapshots that count, and of the record %s%s%s",
	                   f->n_bases, text, f->unread[0] != '\0' ? "; " : "", f->unread);
	free(text);
	return -ENOENT;
}

/* A snapshot of just that revision needs no record, unless another history has it as well. */
static bool is_base_enough(const struct fetching *f)
{
	const struct rebuild_request *q = f->request;
	bool is_enough = false;

	for (size_t i = 0; q->to == REBUILD_TO_REVISION && i < f->n_bases; i++)
		is_enough |= f->bases[i].pick.revision == q->revision;
	for (size_t i = 0; i < f->reach.n; i++)
		is_enough &=
		    q->revision < f->reach.chains[i].first || f->reach.chains[i].last < q->revision;
	return is_enough;
}

/* --- fetching --- */

static int join(struct fetching *f, const struct recordreach_segment *segment)
{
	result_doing("fetch", segment->last.segment);
	return recordjoin_run(&f->joining, &segment->last, f->stored[segment->index], f->problem,
	                      &f->result.joined);
}

static void remove_segments(const struct fetching *f)
{
	for (size_t i = 0; i < f->n; i++) {
		AUTO(free) char *file = recordpiece_record_file(f->segments[i].last.segment);
		AUTO(free) char *path = xasprintf("%s/%s", f->room, file);

		(void) unlink(path);
	}
}

/* Of all histories of the series that lead there, as the rebuild asks which one is meant. */
static int64_t find_floor(const struct fetching *f, size_t series)
{
	int64_t floor = INT64_MAX;

	for (size_t i = 0; i < f->reach.n; i++) {
		const struct chain *chain = &f->reach.chains[i];
		const struct base *base = reaches(f, chain) ? find_base(f, chain) : NULL;

		if (base != NULL && f->segments[chain->first_segment].series == series)
			floor = MIN(floor, base->pick.revision);
	}
	return floor;
}

/* The whole series behind that. */
static int fetch(struct fetching *f, const struct chain *chain)
{
	const struct recordreach_segment *first = &f->segments[chain->first_segment];
	int64_t floor = find_floor(f, first->series);
	int r = 0;

	f->result.n_segments = 0;
	f->result.joined = (struct recordjoined){0};
	(void) snprintf(f->result.node, sizeof(f->result.node), "%s", first->last.node);
	for (size_t i = 0; i < f->n && r == 0; i++) {
		const struct recordreach_segment *s = &f->segments[i];
		bool has_next = i + 1 < f->n && s[1].series == s->series;

		if (s->series != first->series ||
		    recordreach_is_passed(f->stored[s->index], has_next ? f->stored[s[1].index] : NULL,
		                          floor))
			continue;
		r = join(f, s);
		f->result.n_segments++;
	}
	return r;
}

/* What is damaged or not ours, as opposed to a store that does not answer. */
static bool is_of_pieces(const struct problem *problem)
{
	static const char *const codes[] = {"MISMATCH", "CORRUPT", "MANIFEST", "S3_NOT_FOUND",
	                                    "WINDOW",   "PLAIN",   "AGE",      "UNTRUSTED"};

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		if (strcmp(problem->code, codes[i]) == 0)
			return true;
	}
	return false;
}

/* 1: no chain leads there. */
static int try_chains(struct fetching *f)
{
	struct problem first = {0};

	for (size_t n_passed = 0;; n_passed++) {
		const struct chain *chain = choose(f, n_passed);
		int r;

		if (chain == NULL && n_passed == 0)
			return 1;
		if (chain == NULL) {
			*f->problem = first;
			return -EBADMSG;
		}
		*f->problem = (struct problem){0};
		r = fetch(f, chain);
		if (r == 0 || !is_of_pieces(f->problem)) {
			memcpy(f->result.passed, first.reason, sizeof(f->result.passed));
			return r;
		}
		remove_segments(f);
		if (n_passed == 0)
			first = *f->problem;
	}
}

static int run(struct fetching *f)
{
	const struct source_request *base = &f->request->base;
	int64_t floors[2] = {0, 0};
	int r;

	result_doing("find", "record");
	r = list_bases(f);
	if (r == 0)
		r = recordfolders_list(base->s3, base->s3_prefix, &f->folders, f->problem);
	for (size_t i = 0; i < f->n_bases; i++) {
		if (is_early(f, &f->bases[i]))
			floors[0] = MAX(floors[0], f->bases[i].pick.revision);
	}
	for (size_t i = 0; i < ARRAY_SIZE(floors) && r == 0; i++) {
		if (i > 0 && floors[0] == 0)
			break;
		r = read_manifests(f, floors[i]);
		if (r == 0 && is_base_enough(f))
			return 0;
		if (r == 0)
			r = try_chains(f);
		if (r <= 0)
			return r;
		r = 0;
	}
	return r < 0 ? r : refuse(f);
}

int recordfetch_run(const struct rebuild_request *request, const char *room,
                    struct problem *problem, struct recordfetched *ret_fetched)
{
	const struct source_request *base = &request->base;
	struct fetching f = {
	    .request = request,
	    .room = room,
	    .problem = problem,
	    .joining = {.s3 = base->s3,
	                .prefix = base->s3_prefix,
	                .room = room,
	                .keys = {.files = base->identities, .n_files = base->n_identities},
	                .encrypted = base->encrypted && !base->allow_plain,
	                .trust = base->trust},
	};
	int r = run(&f);

	if (r == 0)
		*ret_fetched = f.result;
	recordreach_fini(&f.reach);
	recordfolders_fini(&f.folders);
	free(f.segments);
	free(f.stored);
	free(f.bases);
	return r;
}
