/* SPDX-License-Identifier: Apache-2.0 */
/*
 * open NAME --to-fd N --scratch DIR [the options of source.h and s3target.h]
 *
 * Finds a snapshot for a program that reads it (source.h). A plain file is left where it is. All
 * others are unpacked into the open file N, which the caller has made without a name below DIR, so
 * that it is gone when the caller ends, however it ends. What is fetched from S3 for that lies in a
 * workroom in DIR, and DIR is removed with it if nothing else is in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/commands.h"
#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/store/s3target.h"
#include "etcdwatch/worker/source/source.h"
#include "etcdwatch/worker/drill/drillrun.h"

struct words {
	const char *to_fd;
	const char *scratch;
	struct sourcewords source;
	struct s3target s3;
	struct options_list rest;
};

static int parse(int argc, char **argv, struct words *w, int *ret_fd, struct problem *problem)
{
	const struct options_entry own[] = {
	    {.name = "--to-fd", .text = &w->to_fd},
	    {.name = "--scratch", .text = &w->scratch},
	};
	struct options_entry entries[ARRAY_SIZE(own) + S3TARGET_OPTIONS + SOURCEWORDS_OPTIONS];
	unsigned long fd = 0;
	int r;

	memcpy(entries, own, sizeof(own));
	s3target_options(&w->s3, entries + ARRAY_SIZE(own));
	sourcewords_options(&w->source, entries + ARRAY_SIZE(own) + S3TARGET_OPTIONS);
	r = options_parse(argc, argv, entries, ARRAY_SIZE(entries), 1, 1, &w->rest, problem);
	if (r == 0 && (w->to_fd == NULL || w->scratch == NULL))
		r = problem_set(problem, -EINVAL, "USAGE", "--to-fd and --scratch are needed");
	if (r == 0)
		r = options_number("--to-fd", w->to_fd, 3, INT_MAX, &fd, problem);
	if (r == 0 && fcntl((int) fd, F_GETFL) < 0)
		r = problem_set(problem, -EINVAL, "USAGE", "--to-fd is %lu, which is no open file", fd);
	*ret_fd = (int) fd;
	return r;
}

static json_t *describe(const struct source *s)
{
	const char *rejected = s->entry != NULL ? s->entry->rejected : NULL;

	return json_pack("{s:o, s:o, s:o, s:b, s:o}", "origin", jsonval_text(s->origin), "id",
	                 jsonval_text(s->id), "file", jsonval_text(s->is_ours ? NULL : s->path),
	                 "unpacked", (int) s->is_ours, "rejected", jsonval_text(rejected));
}

static int run(const struct words *w, int fd, struct problem *problem, json_t **ret_fields)
{
	AUTO(source_free) struct source *source = NULL;
	AUTO(workroom_free) struct workroom *room = NULL;
	AUTO(s3_free) struct s3 *s3 = NULL;
	struct source_request request;
	int r = sourcewords_request(&w->source, w->rest.values[0], problem, &request);

	if (r == 0)
		r = workroom_open(w->scratch, problem, &room);
	if (r == 0 && s3target_is_named(&w->s3))
		r = s3target_open(&w->s3, problem, &s3);
	if (r < 0)
		return r;
	request.s3 = s3;
	request.unpacked = w->scratch;
	request.unpacked_fd = &fd;
	request.rejected_too = true;
	request.fetched = workroom_path(room);
	r = source_open(&request, problem, &source);
	if (r == 0)
		*ret_fields = describe(source);
	return r;
}

int command_open(int argc, char **argv)
{
	AUTO(free) struct words *words = NEW0(struct words);
	struct problem problem = {0};
	json_t *fields = NULL;
	int r, fd;

	r = parse(argc, argv, words, &fd, &problem);
	if (r == 0)
		r = run(words, fd, &problem, &fields);
	return r < 0 ? result_fail(&problem) : result_ok(fields);
}
