/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot that is named is looked at first, as only its file says its revision; else the entries
 * of the catalogue do, and one of them is fetched. */
#include "etcdwatch/worker/rebuild/rebuildchoice.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/cleanup.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/common/file.h"
#include "etcdwatch/worker/source/sourcefind.h"

/* --- rebuildroom --- */

/* Rounded up: what is needed is not told as less than it is. */
static uint64_t in_mb(uint64_t bytes)
{
	return (bytes + 999999) / 1000000;
}

int rebuildroom_check(const struct rebuildroom *room, const char *output, struct problem *problem)
{
	AUTO(free) char *copy = xstrdup(output);
	const char *directory = dirname(copy);
	uint64_t need_bytes =
	    room->fetched_bytes + room->unpacked_bytes + room->base_bytes + room->record_bytes;
	uint64_t free_bytes = 0;

	if (room_free_bytes(directory, &free_bytes) < 0 || free_bytes >= need_bytes)
		return 0;
	return problem_set(problem, -ENOSPC, "NO_SPACE",
	                   "%" PRIu64 " MB are free in '%s', and about %" PRIu64
	                   " MB are needed: %" PRIu64 " MB for the database of the snapshot, %" PRIu64
	                   " MB for what was recorded behind it, %" PRIu64
	                   " MB to fetch and unpack the snapshot meanwhile: make room, or name a file "
	                   "on another disk",
	                   free_bytes / 1000000, directory, in_mb(need_bytes), in_mb(room->base_bytes),
	                   in_mb(room->record_bytes),
	                   in_mb(room->fetched_bytes + room->unpacked_bytes));
}

/* --- rebuildhistory --- */

static json_t *time_json(int64_t us)
{
	char text[CIVIL_TEXT_MAX];

	return us == 0 ? json_null() : json_string(civil_format(civil_floor_div(us, US_PER_S), text));
}

/* A snapshot has one revision, and one time. */
static struct chain alone(const struct rebuildhistory_list *list, size_t i)
{
	const struct rebuildpick_base *base = &list->world->bases[i];

	return (struct chain){.cluster_id = base->cluster_id,
	                      .first = base->revision,
	                      .last = base->revision,
	                      .first_us = base->started_s * US_PER_S,
	                      .last_us = base->started_s * US_PER_S};
}

/* {"history":N, "cluster_id", "first", "last", "from", "until", "segment", "base"}: segment null:
 * it is not recorded; base null: there is no snapshot to begin with. */
static json_t *rebuildhistory_json(const struct rebuildhistory_list *list, size_t i)
{
	const struct rebuildpick *pick = &list->picks[i];
	struct chain chain = pick->chain != NULL ? *pick->chain : alone(list, pick->base);
	char cluster[17];
	json_t *json;

	(void) snprintf(cluster, sizeof(cluster), "%" PRIx64, chain.cluster_id);
	json = json_pack(
	    "{s:I, s:s, s:I, s:I, s:o, s:o, s:o}", "history", (json_int_t) i + 1, "cluster_id", cluster,
	    "first", (json_int_t) chain.first, "last", (json_int_t) chain.last, "from",
	    time_json(chain.first_us), "until", time_json(chain.last_us), "segment",
	    pick->chain != NULL ? json_string(chains_segment(list->chains, pick->chain)) : json_null());
	if (list->names != NULL)
		(void) json_object_set_new(
		    json, "base", pick->has_base ? jsonval_text(list->names[pick->base]) : json_null());
	return json;
}

static void print(const struct rebuildhistory_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->n; i++)
		(void) json_array_append_new(array, rebuildhistory_json(list, i));
	result_line(json_pack("{s:o}", "histories", array));
}

/*
 * Which one is meant. wanted: from 1 on; 0: none was named, which is right if there is one. `what`
 * they have, for sentences: "revision 90". HISTORY: it must be named, and the worker has printed a
 * line {"histories":[...]}; USAGE: there is none of that number. The list is not empty.
 */
static int rebuildhistory_choose(const struct rebuildhistory_list *list, unsigned long wanted,
                                 const char *what, struct problem *problem, size_t *ret_i)
{
	if (wanted > list->n)
		return problem_set(problem, -EINVAL, "USAGE", "--history %lu: %zu %s %s", wanted, list->n,
		                   list->n == 1 ? "history has" : "histories have", what);
	if (wanted == 0 && list->n > 1) {
		print(list);
		return problem_set(problem, -ENOTUNIQ, "HISTORY",
		                   "%zu histories of etcd have %s: name one of them by --history N, or the "
		                   "newest by --history latest",
		                   list->n, what);
	}
	*ret_i = wanted > 0 ? wanted - 1 : 0;
	return 0;
}

/* --- rebuildchoice --- */

#define LATEST "latest"
/* Chains that a refusal names. */
#define REACH_MAX 3

struct candidates {
	struct rebuildpick_base *bases;
	struct rebuildroom *rooms;    /* that each takes */
	struct source_chosen *chosen; /* by these digests */
	char **ids;
	size_t n;
	bool is_elsewhere;
	struct source_passed passed;
};

static void candidates_fini(struct candidates *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->ids[i]);
	free(c->ids);
	free(c->chosen);
	free(c->rooms);
	free(c->bases);
}

/* What etcd, started on it, would call its revision (mvcc.h); the entry has that of the last
 * change.
 */
static int64_t current_of(const struct catalog_entry *entry)
{
	return MAX(MAX(entry->revision, entry->compact_revision), INT64_C(1));
}

static struct rebuildroom file_room(const struct catalog_entry *entry, bool is_elsewhere)
{
	uint64_t db_bytes = (uint64_t) MAX(entry->db_bytes, 0);
	bool is_plain = entry->file_bytes == entry->db_bytes + SNAPSHOT_DIGEST_BYTES;

	return (struct rebuildroom){
	    .fetched_bytes = is_elsewhere ? (uint64_t) MAX(entry->file_bytes, 0) : 0,
	    .unpacked_bytes = is_elsewhere || !is_plain ? db_bytes : 0,
	    .base_bytes = db_bytes,
	};
}

static void add_candidate(const struct catalog_entry *entry, void *userdata)
{
	struct candidates *c = userdata;

	c->bases = xreallocarray(c->bases, c->n + 1, sizeof(*c->bases));
	c->ids = xreallocarray(c->ids, c->n + 1, sizeof(*c->ids));
	c->bases[c->n] = (struct rebuildpick_base){.cluster_id = entry->cluster_id,
	                                           .timeline = entry->timeline,
	                                           .revision = current_of(entry),
	                                           .started_s = entry->started_s};
	c->rooms = xreallocarray(c->rooms, c->n + 1, sizeof(*c->rooms));
	c->rooms[c->n] = file_room(entry, c->is_elsewhere);
	c->chosen = xreallocarray(c->chosen, c->n + 1, sizeof(*c->chosen));
	memcpy(c->chosen[c->n].file_sha256, entry->file_sha256, CATALOG_SHA256_TEXT);
	memcpy(c->chosen[c->n].db_sha256, entry->db_sha256, CATALOG_SHA256_TEXT);
	c->ids[c->n++] = xstrdup(entry->id);
}

/* --- how far the record reaches --- */

static const char *format_us(int64_t us, char buf[static CIVIL_TEXT_MAX])
{
	return civil_format(civil_floor_div(us, US_PER_S), buf);
}

/* "revisions 12 to 90 (2026-11-21T20:30:00Z to ...), ..." to be freed */
static char *describe_reach(const struct chains *chains)
{
	size_t n = chains_count(chains), first = n > REACH_MAX ? n - REACH_MAX : 0;
	char *text = xstrdup(n == 0 ? "nothing" : "revisions");

	for (size_t i = first; i < n; i++) {
		const struct chain *c = chains_at(chains, i);
		char from[CIVIL_TEXT_MAX], to[CIVIL_TEXT_MAX];
		char *more =
		    xasprintf("%s%s %" PRId64 " to %" PRId64 " (%s to %s)", text, i > first ? "," : "",
		              c->first, c->last, format_us(c->first_us, from), format_us(c->last_us, to));

		free(text);
		text = more;
	}
	if (chains_damage(chains) != NULL) {
		char *more = xasprintf("%s; %s", text, chains_damage(chains));

		free(text);
		text = more;
	}
	return text;
}

static int refuse_time(const struct rebuild_request *q, const struct chains *chains,
                       struct problem *problem)
{
	AUTO(free) char *reach = describe_reach(chains);
	char when[CIVIL_TEXT_MAX];

	return problem_set(problem, -ENOENT, "UNREACHABLE",
	                   "nothing says how it was at %s: the record '%s' has %s",
	                   format_us(q->us, when), q->record, reach);
}

static char *describe_nearest(const struct rebuildpick_nearest *nearest,
                              const struct source_passed *passed)
{
	AUTO(free) char *others = sourcefind_describe_passed(passed);

	if (nearest->below == 0 && nearest->above == 0)
		return xasprintf("there is no snapshot to begin with%s", others);
	if (nearest->above == 0)
		return xasprintf("the nearest that can be had is %" PRId64, nearest->below);
	if (nearest->below == 0)
		return xasprintf("the nearest that can be had is %" PRId64, nearest->above);
	return xasprintf("the nearest that can be had are %" PRId64 " and %" PRId64, nearest->below,
	                 nearest->above);
}

static int refuse_revision(const struct rebuild_request *q, const struct rebuildhistory_list *list,
                           const struct source_passed *passed, int64_t revision,
                           struct problem *problem)
{
	struct rebuildpick_nearest nearest = rebuildpick_nearest(list->world, revision);
	AUTO(free) char *reach = describe_reach(list->chains);
	AUTO(free) char *instead = describe_nearest(&nearest, passed);

	return problem_set(problem, -ENOENT, "UNREACHABLE",
	                   "no snapshot and what was recorded behind it lead to revision %" PRId64
	                   ": %s; the record '%s' has %s",
	                   revision, instead, q->record, reach);
}

/* --- the choice --- */

/* As histories, for one of them to be chosen. */
static void list_chains(struct rebuildhistory_list *list, const struct chain *const *chains,
                        size_t n)
{
	list->n = n;
	for (size_t i = 0; i < n; i++)
		list->picks[i] = (struct rebuildpick){.chain = chains[i]};
}

static int find_end(const struct rebuild_request *q, struct rebuildhistory_list *list,
                    struct problem *problem, const struct chain **ret_chain, int64_t *ret_revision)
{
	size_t n = MIN(list->world->n_chains, (size_t) REBUILDPICK_HISTORIES_MAX), i;
	const struct chain *chains[REBUILDPICK_HISTORIES_MAX];
	int r;

	if (n == 0)
		return problem_set(problem, -ENOENT, "UNREACHABLE", "nothing is recorded in '%s'",
		                   q->record);
	for (i = 0; i < n; i++)
		chains[i] = &list->world->chains[list->world->n_chains - 1 - i];
	list_chains(list, chains, n);
	r = rebuildhistory_choose(list, q->history > 0 ? q->history : REBUILDHISTORY_LATEST, "an end",
	                          problem, &i);
	if (r < 0)
		return r;
	*ret_chain = chains[i];
	*ret_revision = chains[i]->last;
	return 0;
}

static int find_time(const struct rebuild_request *q, struct rebuildhistory_list *list,
                     struct problem *problem, const struct chain **ret_chain, int64_t *ret_revision)
{
	const struct chain *chains[REBUILDPICK_HISTORIES_MAX];
	size_t n = rebuildpick_time(list->world, q->us, chains), i;
	int r;

	if (n == 0)
		return refuse_time(q, list->chains, problem);
	list_chains(list, chains, n);
	r = rebuildhistory_choose(list, q->history, "that time", problem, &i);
	if (r < 0)
		return r;
	*ret_chain = chains[i];
	return chains_revision_at(list->chains, chains[i], q->us, problem, ret_revision);
}

/* Up to which revision; and of which chain, unless any may be used. */
static int find_revision(const struct rebuild_request *q, struct rebuildhistory_list *list,
                         struct problem *problem, const struct chain **ret_chain,
                         int64_t *ret_revision)
{
	switch (q->to) {
	case REBUILD_TO_REVISION:
		*ret_revision = q->revision;
		return 0;
	case REBUILD_TO_END:
		return find_end(q, list, problem, ret_chain, ret_revision);
	case REBUILD_TO_TIME:
		return find_time(q, list, problem, ret_chain, ret_revision);
	}
	return -EINVAL;
}

/* A file that is named may have no entry, and then nothing says whose it is. */
static void add_named(struct candidates *c, const struct source *base)
{
	const struct catalog_entry *entry = base->entry;

	c->bases = xreallocarray(c->bases, 1, sizeof(*c->bases));
	c->ids = xreallocarray(c->ids, 1, sizeof(*c->ids));
	c->bases[0] = (struct rebuildpick_base){.cluster_id = entry != NULL ? entry->cluster_id : 0,
	                                        .revision = base->content.reach.current,
	                                        .started_s = entry != NULL ? entry->started_s : 0};
	c->ids[0] = xstrdup(base->origin);
	c->n = 1;
}

/* A snapshot that is named leads to the histories that go on from it, and no others. */
static void keep_of_named(struct rebuildhistory_list *list)
{
	bool any_fits = false;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		any_fits |= list->picks[i].has_base && list->picks[i].fits_by_time;
	for (size_t i = 0; i < list->n; i++) {
		if (list->picks[i].has_base && (list->picks[i].fits_by_time || !any_fits))
			list->picks[n++] = list->picks[i];
	}
	list->n = n;
}

/* The index of this chain among those that have the revision; n if it is none of them. */
static size_t index_of(const struct rebuildhistory_list *list, const struct chain *chain)
{
	size_t i = 0;

	while (i < list->n && list->picks[i].chain != chain)
		i++;
	return i;
}

/* Which history; `only`: it must be of this chain. */
static int choose(const struct rebuild_request *q, const struct rebuildhistory_list *list,
                  const struct chain *only, int64_t revision, struct problem *problem,
                  size_t *ret_i)
{
	AUTO(free) char *what = xasprintf("revision %" PRId64, revision);

	if (only != NULL)
		*ret_i = index_of(list, only);
	else if (list->n > 0)
		return rebuildhistory_choose(list, q->history, what, problem, ret_i);
	return 0;
}

static int pick(const struct rebuild_request *q, const struct candidates *c,
                struct rebuildhistory_list *list, const struct chain *only,
                struct rebuildchoice *choice, struct problem *problem, size_t *ret_base)
{
	size_t i = 0;
	int r;

	list->n = rebuildpick_revision(list->world, choice->revision, list->picks);
	if (choice->base != NULL)
		keep_of_named(list);
	r = choose(q, list, only, choice->revision, problem, &i);
	if (r < 0)
		return r;
	if (i >= list->n || !list->picks[i].has_base)
		return refuse_revision(q, list, &c->passed, choice->revision, problem);
	choice->chain = list->picks[i].chain;
	choice->history = rebuildhistory_json(list, i);
	choice->n_histories = list->n;
	*ret_base = list->picks[i].base;
	return 0;
}

uint64_t rebuildchoice_record_bytes(const struct rebuildchoice *choice, int64_t base_revision)
{
	return choice->chain != NULL
	           ? chains_bytes(choice->chains, choice->chain, base_revision + 1, choice->revision)
	           : 0;
}

/* It is asked for by its id, and must be the one that was listed. The file says what the catalogue
 * says, or it would not be taken. */
static int take_picked(const struct rebuild_request *q, const struct source_request *base,
                       const struct candidates *c, size_t i, struct rebuildchoice *choice,
                       struct problem *problem)
{
	struct source_request request = *base;
	struct rebuildroom room = c->rooms[i];
	int r;

	room.record_bytes = rebuildchoice_record_bytes(choice, c->bases[i].revision);
	r = rebuildroom_check(&room, q->output, problem);
	request.name = c->ids[i];
	request.chosen = &c->chosen[i];
	return r == 0 ? source_take(&request, problem, &choice->base) : r;
}

int rebuildchoice_make(const struct rebuild_request *q, const struct source_request *base,
                       struct problem *problem, struct rebuildchoice *choice)
{
	bool is_named = strcmp(base->name, LATEST) != 0;
	struct candidates candidates = {.is_elsewhere = base->s3 != NULL};
	struct rebuildpick_world world = {0};
	struct rebuildhistory_list list = {.world = &world};
	const struct chain *only = NULL;
	size_t i = 0;
	int r = chains_read(q->record, problem, &choice->chains);

	if (r == 0) {
		list.chains = choice->chains;
		world.n_chains = chains_count(choice->chains);
		world.chains = world.n_chains > 0 ? chains_at(choice->chains, 0) : NULL;
		r = find_revision(q, &list, problem, &only, &choice->revision);
	}
	if (r == 0 && is_named)
		r = source_take(base, problem, &choice->base);
	else if (r == 0)
		r = sourcefind_list(base, problem, add_candidate, &candidates, &candidates.passed);
	if (r == 0 && is_named)
		add_named(&candidates, choice->base);
	world.bases = candidates.bases;
	world.n_bases = candidates.n;
	list.names = candidates.ids;
	if (r == 0)
		r = pick(q, &candidates, &list, only, choice, problem, &i);
	if (r == 0 && !is_named)
		r = take_picked(q, base, &candidates, i, choice, problem);
	candidates_fini(&candidates);
	return r;
}

void rebuildchoice_fini(struct rebuildchoice *choice)
{
	source_free(choice->base);
	chains_free(choice->chains);
	json_decref(choice->history);
}
