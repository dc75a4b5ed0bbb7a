/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prove FILE [--revision R --compacted C]: see prove.h.
 *
 * newest [--limit SECONDS] [the options of source.h and of s3target.h]
 *
 * The catalogue entry of what "latest" means there. Nothing is fetched but entries.
 *
 * open NAME --to-fd N --scratch DIR [the options of source.h and s3target.h]
 *
 * Finds a snapshot for a program that reads it (source.h). A plain file is left where it is. All
 * others are unpacked into the open file N, which the caller has made without a name below DIR, so
 * that it is gone when the caller ends, however it ends. What is fetched from S3 for that lies in a
 * workroom in DIR, and DIR is removed with it if nothing else is in it.
 */
#include "etcdwatch/worker/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "base/jsonval.h"
#include "etcdwatch/worker/drill/drillrun.h"
#include "etcdwatch/worker/source/prove.h"
#include "etcdwatch/worker/source/sourcefind.h"

#define LIMIT_S_MAX 3600

struct source_words {
	struct words common;
	int64_t revision, compacted; /* of prove */
	int64_t limit_s;             /* of newest */
	int64_t to_fd;               /* of open */
	const char *scratch;
};

/* --- prove --- */

static const struct options_entry prove_options[] = {
    OPTION_NUMBER("--revision", struct source_words, revision, 1, LONG_MAX, 0),
    OPTION_NUMBER("--compacted", struct source_words, compacted, 0, LONG_MAX, -1),
};

static int prove(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct source_words *w = words;

	if ((w->revision == 0) != (w->compacted < 0))
		return problem_set(problem, -EINVAL, "USAGE", "--revision and --compacted go together");
	return prove_run(w->common.rest.values[0], w->revision, w->compacted, problem, ret_fields);
}

const struct command prove_commands[] = {
    {"prove", 0, 1, 1, sizeof(struct source_words), COMMAND_OPTIONS(prove_options), .run = prove},
    {.name = NULL},
};

/* --- newest --- */

static const struct options_entry newest_options[] = {
    OPTION_NUMBER("--limit", struct source_words, limit_s, 1, LIMIT_S_MAX, 0),
};

static int newest(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct source_words *w = words;
	struct source_request request;
	struct sourcefound found = {0};
	int r;

	/* It ends the process: nothing is left behind. */
	(void) alarm((unsigned) w->limit_s);
	r = sourcewords_request(&w->common.source, "latest", problem, &request);
	if (r < 0)
		return r;
	request.s3 = w->common.s3;
	r = request.s3 != NULL ? sourcefind_s3(&request, problem, &found)
	                       : sourcefind_local(&request, problem, &found);
	if (r == 0) {
		AUTO(free) char *text = catalog_print(found.entry);

		*ret_fields = json_pack("{s:o}", "entry", json_loads(text, 0, NULL));
	}
	sourcefound_fini(&found);
	return r;
}

/* --- open --- */

static const struct options_entry open_options[] = {
    OPTION_NUMBER("--to-fd", struct source_words, to_fd, 3, INT_MAX, 0),
    OPTION("--scratch", TEXT, struct source_words, scratch),
};

static json_t *describe(const struct source *s)
{
	const char *rejected = s->entry != NULL ? s->entry->rejected : NULL;

	return json_pack("{s:o, s:o, s:o, s:b, s:o}", "origin", jsonval_text(s->origin), "id",
	                 jsonval_text(s->id), "file", jsonval_text(s->is_ours ? NULL : s->path),
	                 "unpacked", (int) s->is_ours, "rejected", jsonval_text(rejected));
}

static int check_open_words(const struct source_words *w, struct problem *problem)
{
	if (w->to_fd == 0 || w->scratch == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "--to-fd and --scratch are needed");
	if (fcntl((int) w->to_fd, F_GETFL) < 0)
		return problem_set(problem, -EINVAL, "USAGE", "--to-fd is %d, which is no open file",
		                   (int) w->to_fd);
	return 0;
}

static int open_snapshot(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct source_words *w = words;
	AUTO(source_free) struct source *source = NULL;
	AUTO(workroom_free) struct workroom *room = NULL;
	struct source_request request;
	int fd = (int) w->to_fd, r = check_open_words(w, problem);

	if (r == 0)
		r = sourcewords_request(&w->common.source, w->common.rest.values[0], problem, &request);
	if (r == 0)
		r = workroom_open(w->scratch, problem, &room);
	if (r < 0)
		return r;
	request.s3 = w->common.s3;
	request.unpacked = w->scratch;
	request.unpacked_fd = &fd;
	request.rejected_too = true;
	request.fetched = workroom_path(room);
	r = source_open(&request, problem, &source);
	if (r == 0)
		*ret_fields = describe(source);
	return r;
}

#define FLAGS (COMMAND_URGENT | COMMAND_SOURCE | COMMAND_TARGET | COMMAND_OPENS)

const struct command source_commands[] = {
    {"newest", FLAGS, 0, 0, sizeof(struct source_words), COMMAND_OPTIONS(newest_options),
     .run = newest},
    {"open", FLAGS, 1, 1, sizeof(struct source_words), COMMAND_OPTIONS(open_options),
     .run = open_snapshot},
    {.name = NULL},
};
