/* SPDX-License-Identifier: Apache-2.0 */
/* The sequence in the header orders the segments; a segment whose predecessor is not there, because
 * it was too old to be kept, begins a chain like one that was recorded as the first. */
#include "etcdwatch/worker/rebuild/chains.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/civil.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/common/result.h"

struct segment {
	char *path;
	struct record_header header;
};

struct chains {
	struct segment *segments;
	size_t n_segments;
	struct chain *chains;
	size_t n;
	char *damage;
};

void chains_free(struct chains *chains)
{
	if (chains == NULL)
		return;
	for (size_t i = 0; i < chains->n_segments; i++)
		free(chains->segments[i].path);
	free(chains->damage);
	free(chains->segments);
	free(chains->chains);
	free(chains);
}

size_t chains_count(const struct chains *chains)
{
	return chains->n;
}

const struct chain *chains_at(const struct chains *chains, size_t i)
{
	return &chains->chains[i];
}

const char *chains_segment(const struct chains *chains, const struct chain *chain)
{
	return strrchr(chains->segments[chain->first_segment].path, '/') + 1;
}

const char *chains_damage(const struct chains *chains)
{
	return chains->damage;
}

static void note_damage(struct chains *chains, const char *sentence)
{
	if (chains->damage == NULL)
		chains->damage = xstrdup(sentence);
}

static int blame(int r, const char *fault, struct problem *problem)
{
	const char *code = r == -EBADMSG || r == -ENODATA ? "DAMAGED" : "READ";

	return problem_set(problem, r == -ENODATA ? -EBADMSG : r,
	                   r == -EPROTONOSUPPORT ? "VERSION" : code, "%s", fault);
}

/* A record may be read for long, and a signal ends that. */
static int cancelled(struct problem *problem)
{
	return problem_set(problem, -ECANCELED, "CANCELLED", "cancelled");
}

/* --- the segments --- */

static int compare_segments(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	if (x->header.sequence != y->header.sequence)
		return x->header.sequence < y->header.sequence ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int add_segment(struct chains *chains, const char *path, struct problem *problem)
{
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	char fault[RECORD_FAULT_MAX];
	int r = record_reader_open(path, &reader, fault);

	if (r == -ENODATA || r == -EBADMSG)
		note_damage(chains, fault);
	if (r == -ENODATA || r == -ENOENT || r == -EBADMSG)
		return 0;
	if (r < 0)
		return blame(r, fault, problem);
	chains->segments =
	    xreallocarray(chains->segments, chains->n_segments + 1, sizeof(*chains->segments));
	chains->segments[chains->n_segments++] =
	    (struct segment){.path = xstrdup(path), .header = *record_reader_header(reader)};
	return 0;
}

static int list_segments(struct chains *chains, const char *directory, struct problem *problem)
{
	DIR *stream = opendir(directory);
	const struct dirent *entry;
	int r = 0;

	if (stream == NULL)
		return problem_set_errno(problem, -errno, "cannot look into the record '%s'", directory);
	while (r == 0 && (entry = readdir(stream)) != NULL) {
		struct record_header named;
		AUTO(free) char *path = xasprintf("%s/%s", directory, entry->d_name);

		if (record_name_parse(entry->d_name, &named))
			r = add_segment(chains, path, problem);
	}
	(void) closedir(stream);
	if (chains->n_segments > 0)
		qsort(chains->segments, chains->n_segments, sizeof(*chains->segments), compare_segments);
	return r;
}

/* --- the chains --- */

static bool goes_on(const struct segment *before, const struct segment *next)
{
	return !record_begins_chain(&next->header) &&
	       next->header.sequence == before->header.sequence + 1 &&
	       next->header.cluster_id == before->header.cluster_id &&
	       next->header.first_revision >= before->header.first_revision;
}

/* Reads the last segment. What is damaged ends the chain there. */
static int measure(struct chains *chains, struct chain *chain, struct problem *problem)
{
	const struct segment *last = &chains->segments[chain->first_segment + chain->n_segments - 1];
	AUTO(record_reader_free) struct record_reader *reader = NULL;
	char fault[RECORD_FAULT_MAX];
	struct record_frame frame;
	bool has_gap = false;
	int r = record_reader_open(last->path, &reader, fault);

	if (r < 0)
		return blame(r, fault, problem);
	chain->last_us = last->header.wall_us;
	while ((r = record_reader_next(reader, &frame)) > 0) {
		if (cancel_is_wanted())
			return cancelled(problem);
		has_gap |= frame.type == RECORD_GAP;
		if (!has_gap && record_tells_time(&frame))
			chain->last_us = frame.wall_us;
	}
	chain->last = record_reader_revision(reader);
	if (r == -EBADMSG)
		note_damage(chains, record_reader_fault(reader));
	else if (r < 0)
		return blame(r, record_reader_fault(reader), problem);
	return 0;
}

static int find_chains(struct chains *chains, struct problem *problem)
{
	int r = 0;

	for (size_t i = 0; i < chains->n_segments; i++) {
		const struct segment *s = &chains->segments[i];

		if (i > 0 && goes_on(s - 1, s)) {
			chains->chains[chains->n - 1].n_segments++;
			continue;
		}
		chains->chains = xreallocarray(chains->chains, chains->n + 1, sizeof(*chains->chains));
		chains->chains[chains->n++] = (struct chain){
		    .cluster_id = s->header.cluster_id,
		    .first = s->header.first_revision,
		    .first_us = s->header.wall_us,
		    .begins = record_begins_chain(&s->header),
		    .first_segment = i,
		    .n_segments = 1,
		};
	}
	for (size_t i = 0; i < chains->n && r == 0; i++)
		r = measure(chains, &chains->chains[i], problem);
	return r;
}

int chains_read(const char *directory, struct problem *problem, struct chains **ret_chains)
{
	AUTO(chains_free) struct chains *chains = NEW0(struct chains);
	int r = list_segments(chains, directory, problem);

	if (r == 0)
		r = find_chains(chains, problem);
	if (r < 0)
		return r;
	*ret_chains = TAKE_PTR(chains);
	return 0;
}

uint64_t chains_bytes(const struct chains *chains, const struct chain *chain, int64_t from,
                      int64_t to)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < chain->n_segments; i++) {
		const struct segment *s = &chains->segments[chain->first_segment + i];
		bool is_last = i + 1 == chain->n_segments;
		struct stat st;

		if (s->header.first_revision > to || (!is_last && s[1].header.first_revision <= from) ||
		    stat(s->path, &st) < 0)
			continue;
		bytes += (uint64_t) st.st_size;
	}
	return bytes;
}

/* --- reading one --- */

struct chainread {
	const struct chains *chains;
	const struct chain *chain;
	size_t next; /* of its segments */
	struct record_reader *reader;
	bool knows_end; /* the segment before ended, with this digest and revision */
	uint8_t digest[DIGEST_SHA256_BYTES];
	int64_t revision;
};

struct chainread *chainread_open(const struct chains *chains, const struct chain *chain,
                                 int64_t revision)
{
	struct chainread *read = NEW0(struct chainread);

	read->chains = chains;
	read->chain = chain;
	while (read->next + 1 < chain->n_segments &&
	       chains->segments[chain->first_segment + read->next + 1].header.first_revision <=
	           revision)
		read->next++;
	return read;
}

void chainread_free(struct chainread *read)
{
	if (read == NULL)
		return;
	record_reader_free(read->reader);
	free(read);
}

/* The next segment is the one that follows. */
static int open_next(struct chainread *read, struct problem *problem)
{
	const struct segment *s = &read->chains->segments[read->chain->first_segment + read->next++];
	char fault[RECORD_FAULT_MAX];
	int r;

	record_reader_free(TAKE_PTR(read->reader));
	r = record_reader_open(s->path, &read->reader, fault);
	if (r < 0)
		return blame(r, fault, problem);
	if (read->knows_end && (memcmp(s->header.previous, read->digest, sizeof(read->digest)) != 0 ||
	                        s->header.first_revision != read->revision + 1))
		return problem_set(problem, -EBADMSG, "DAMAGED",
		                   "'%s' does not belong behind the segment before it", s->path);
	return 0;
}

/* What comes behind an end that is none is in another file, which cannot be. */
static int check_end(struct chainread *read, struct problem *problem)
{
	if (read->next == read->chain->n_segments || read->knows_end)
		return 0;
	return problem_set(problem, -EBADMSG, "DAMAGED",
	                   "'%s' has no end, but the record goes on behind it",
	                   record_reader_path(read->reader));
}

int chainread_next(struct chainread *read, struct problem *problem, struct record_frame *ret_frame)
{
	for (;;) {
		int r = 0;

		if (cancel_is_wanted())
			return cancelled(problem);
		if (read->reader != NULL)
			r = record_reader_next(read->reader, ret_frame);
		if (r < 0)
			return blame(r, record_reader_fault(read->reader), problem);
		if (r > 0) {
			read->knows_end = ret_frame->type == RECORD_END;
			if (read->knows_end) {
				memcpy(read->digest, ret_frame->digest, sizeof(read->digest));
				read->revision = ret_frame->revision;
			}
			return 1;
		}
		if (read->reader != NULL)
			r = check_end(read, problem);
		if (r < 0 || read->next == read->chain->n_segments)
			return r;
		r = open_next(read, problem);
		if (r < 0)
			return r;
	}
}

/* --- times --- */

/* What was seen before a segment began is not worth reading. */
static int64_t begin_of(const struct chains *chains, const struct chain *chain, int64_t us)
{
	int64_t revision = chain->first;

	for (size_t i = 0; i < chain->n_segments; i++) {
		const struct record_header *h = &chains->segments[chain->first_segment + i].header;

		if (h->wall_us > us)
			break;
		revision = h->first_revision;
	}
	return revision;
}

static const struct record_header *first_header(const struct chainread *read)
{
	return &read->chains->segments[read->chain->first_segment + read->next].header;
}

/* When it was seen says when it happened only if it would have been seen before, too. */
static int check_blind(int64_t seen_us, int64_t before, const struct record_frame *next,
                       struct problem *problem)
{
	char from[CIVIL_TEXT_MAX], to[CIVIL_TEXT_MAX];

	if (next->type != RECORD_EVENTS || next->wall_us - seen_us <= CHAINS_BLIND_US)
		return 0;
	return problem_set(
	    problem, -ENOENT, "UNREACHABLE",
	    "nothing was seen from %s to %s, so when the changes happened that were seen "
	    "then is not known: revision %" PRId64 " is the last before that, and %" PRId64
	    " the first behind it",
	    civil_format(civil_floor_div(seen_us, US_PER_S), from),
	    civil_format(civil_floor_div(next->wall_us, US_PER_S), to), before, next->revision);
}

/* Whether the clock was set back behind `revision`, so that it was `us` once more later. What
 * cannot be read behind that cannot be had either. */
static int check_again(struct chainread *read, int64_t us, int64_t revision,
                       struct problem *problem)
{
	struct problem unread = {0};
	struct record_frame frame;
	char when[CIVIL_TEXT_MAX];
	int64_t again = revision;

	while (chainread_next(read, &unread, &frame) > 0) {
		if (record_tells_time(&frame) && frame.wall_us <= us)
			again = frame.revision;
	}
	if (cancel_is_wanted())
		return cancelled(problem);
	if (again == revision)
		return 0;
	return problem_set(
	    problem, -ENOENT, "UNREACHABLE",
	    "the clock was set meanwhile, so that it was %s more than once: first behind "
	    "revision %" PRId64 ", and last behind revision %" PRId64,
	    civil_format(civil_floor_div(us, US_PER_S), when), revision, again);
}

int chains_revision_at(const struct chains *chains, const struct chain *chain, int64_t us,
                       struct problem *problem, int64_t *ret_revision)
{
	AUTO(chainread_free)
	struct chainread *read = chainread_open(chains, chain, begin_of(chains, chain, us));
	int64_t revision = first_header(read)->first_revision - 1;
	int64_t seen_us = first_header(read)->wall_us;
	struct record_frame next;
	bool has_next = false;
	int r = 0;

	while (seen_us <= us && revision < chain->last &&
	       (r = chainread_next(read, problem, &next)) > 0) {
		if (!record_tells_time(&next))
			continue;
		has_next = next.wall_us > us;
		if (has_next)
			break;
		revision = next.revision;
		seen_us = next.wall_us;
	}
	if (r >= 0)
		r = check_again(read, us, revision, problem);
	if (r >= 0 && has_next)
		r = check_blind(seen_us, revision, &next, problem);
	if (r < 0)
		return r;
	*ret_revision = revision;
	return 0;
}
