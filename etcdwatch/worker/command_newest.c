/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newest [--limit SECONDS] [the options of source.h and of s3target.h]
 *
 * The catalogue entry of what "latest" means there. Nothing is fetched but entries.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/commands.h"
#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/store/s3target.h"
#include "etcdwatch/worker/source/sourcefind.h"
#include "etcdwatch/worker/source/source.h"

#define LIMIT_S_MAX 3600

struct words {
	const char *limit;
	struct sourcewords source;
	struct s3target s3;
	struct options_list rest;
};

static int parse(int argc, char **argv, struct words *w, struct problem *problem)
{
	struct options_entry entries[1 + SOURCEWORDS_OPTIONS + S3TARGET_OPTIONS] = {
	    {.name = "--limit", .text = &w->limit},
	};
	unsigned long limit_s = 0;
	int r;

	sourcewords_options(&w->source, entries + 1);
	s3target_options(&w->s3, entries + 1 + SOURCEWORDS_OPTIONS);
	r = options_parse(argc, argv, entries, ARRAY_SIZE(entries), 0, 0, &w->rest, problem);
	if (r == 0 && w->limit != NULL)
		r = options_number("--limit", w->limit, 1, LIMIT_S_MAX, &limit_s, problem);
	/* It ends the process: nothing is left behind. */
	if (r == 0)
		(void) alarm((unsigned) limit_s);
	return r;
}

static int run(const struct words *w, struct problem *problem, json_t **ret_fields)
{
	AUTO(s3_free) struct s3 *s3 = NULL;
	struct source_request request;
	struct sourcefound found = {0};
	int r = sourcewords_request(&w->source, "latest", problem, &request);

	if (r == 0 && s3target_is_named(&w->s3))
		r = s3target_open(&w->s3, problem, &s3);
	if (r < 0)
		return r;
	request.s3 = s3;
	r = s3 != NULL ? sourcefind_s3(&request, problem, &found)
	               : sourcefind_local(&request, problem, &found);
	if (r == 0) {
		AUTO(free) char *text = catalog_print(found.entry);

		*ret_fields = json_pack("{s:o}", "entry", json_loads(text, 0, NULL));
	}
	sourcefound_fini(&found);
	return r;
}

int command_newest(int argc, char **argv)
{
	AUTO(free) struct words *words = NEW0(struct words);
	struct problem problem = {0};
	json_t *fields = NULL;
	int r;

	r = parse(argc, argv, words, &problem);
	if (r == 0)
		r = run(words, &problem, &fields);
	return r < 0 ? result_fail(&problem) : result_ok(fields);
}
