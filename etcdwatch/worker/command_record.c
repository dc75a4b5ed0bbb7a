/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record send --directory DIR --scratch DIR --node NAME [--open SEGMENT --bytes N --revision N
 *     --until-us N] [--known-sequence N] [--compared-sequence N] [--level N] [--recipient R]...
 * [--recipients-file F]...
 *     [--signing-key FILE]
 * record prune --cluster-id HEX --oldest-revision N [--trust KEY]...
 *
 * and --s3-prefix and the options of s3target.h and storeowner.h. While `send` works:
 * {"reached":true} when the target has all that the words say; `prune`:
 * {"removed":SEGMENT,"node":NAME}.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/commands.h"
#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/record/recordobjects.h"
#include "etcdwatch/worker/record/recordsend.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/store/s3target.h"
#include "etcdwatch/worker/store/storeowner.h"
#include "etcdwatch/worker/pack/codec.h"

#define LEVEL 3

struct words {
	struct s3target s3;
	struct storeowner owner;
	const char *prefix;
	const char *bytes, *revision, *until_us, *known_sequence, *compared_sequence, *level,
	    *signing_key, *signed_by;
	const char *cluster_id, *oldest_revision;
	struct options_list recipients, recipient_files, trusted, rest;
	struct recordsend_request send;
};

static int number(const char *option, const char *text, unsigned long max, struct problem *problem,
                  uint64_t *ret_number)
{
	unsigned long n = 0;
	int r = text != NULL ? options_number(option, text, 0, max, &n, problem) : 0;

	if (r == 0)
		*ret_number = n;
	return r;
}

static int parse_words(struct words *w, int argc, char **argv, const struct options_entry *own,
                       size_t n_own, struct problem *problem)
{
	size_t n = n_own + 1 + S3TARGET_OPTIONS + STOREOWNER_OPTIONS;
	AUTO(free) struct options_entry *entries = xcalloc(n, sizeof(entries[0]));
	int r;

	memcpy(entries, own, n_own * sizeof(own[0]));
	entries[n_own] = (struct options_entry){.name = "--s3-prefix", .text = &w->prefix};
	s3target_options(&w->s3, entries + n_own + 1);
	storeowner_options(&w->owner, entries + n_own + 1 + S3TARGET_OPTIONS);
	r = options_parse(argc, argv, entries, n, 0, 0, &w->rest, problem);
	if (w->prefix == NULL)
		w->prefix = "";
	return r;
}

static int open_store(const struct words *w, bool removes, struct problem *problem,
                      struct s3 **ret_s3)
{
	int r = s3target_open(&w->s3, problem, ret_s3);

	return r == 0 ? storeowner_check(*ret_s3, &w->owner, removes, problem) : r;
}

/* --- send --- */

static void reached_cb(void *userdata UNUSED)
{
	result_line(json_pack("{s:b}", "reached", 1));
}

static int parse_numbers(struct words *w, struct problem *problem)
{
	struct recordsend_request *q = &w->send;
	uint64_t revision = 0, until_us = 0, level = LEVEL;
	int r = number("--bytes", w->bytes, LONG_MAX, problem, &q->open_bytes);

	if (r == 0)
		r = number("--revision", w->revision, LONG_MAX, problem, &revision);
	if (r == 0)
		r = number("--until-us", w->until_us, LONG_MAX, problem, &until_us);
	if (r == 0)
		r = number("--known-sequence", w->known_sequence, LONG_MAX, problem, &q->known_sequence);
	if (r == 0)
		r = number("--compared-sequence", w->compared_sequence, LONG_MAX, problem,
		           &q->compared_sequence);
	if (r == 0)
		r = number("--level", w->level, ZSTDFLOW_LEVEL_MAX, problem, &level);
	q->revision = (int64_t) revision;
	q->until_us = (int64_t) until_us;
	q->level = w->level != NULL ? (int) level : LEVEL;
	return r;
}

static int parse_send(struct words *w, int argc, char **argv, struct problem *problem)
{
	struct recordsend_request *q = &w->send;
	const struct options_entry own[] = {
	    {.name = "--directory", .text = &q->directory},
	    {.name = "--scratch", .text = &q->scratch},
	    {.name = "--node", .text = &q->node},
	    {.name = "--open", .text = &q->open_segment},
	    {.name = "--bytes", .text = &w->bytes},
	    {.name = "--revision", .text = &w->revision},
	    {.name = "--until-us", .text = &w->until_us},
	    {.name = "--known-sequence", .text = &w->known_sequence},
	    {.name = "--compared-sequence", .text = &w->compared_sequence},
	    {.name = "--level", .text = &w->level},
	    {.name = "--recipient", .list = &w->recipients},
	    {.name = "--recipients-file", .list = &w->recipient_files},
	    {.name = "--signing-key", .text = &w->signing_key},
	    {.name = "--signed-by", .text = &w->signed_by},
	};
	int r = parse_words(w, argc, argv, own, ARRAY_SIZE(own), problem);

	if (r == 0 && (q->directory == NULL || q->scratch == NULL || q->node == NULL))
		r = problem_set(problem, -EINVAL, "USAGE", "--directory, --scratch and --node are needed");
	if (r == 0)
		r = parse_numbers(w, problem);
	if (q->open_segment == NULL)
		q->open_segment = "";
	q->prefix = w->prefix;
	q->recipients = (struct age_recipients){w->recipients.values, w->recipients.n,
	                                        w->recipient_files.values, w->recipient_files.n};
	q->reached = reached_cb;
	return r;
}

/* The daemon read it at its start, and signs snapshots with what was there then. */
static int load_key(const struct words *w, struct problem *problem, struct signature_key **ret_key)
{
	AUTO(signature_key_free) struct signature_key *key = NULL;
	const char *path = w->signing_key;
	int r = path != NULL ? signature_key_load(path, &key) : 0;

	if (r < 0 && signature_key_advice(r)[0] != '\0')
		return problem_set(problem, r, "SIGNING_KEY", "'%s' cannot be the key that signs: %s", path,
		                   signature_key_advice(r));
	if (r < 0)
		return problem_set_errno(problem, r, "cannot read the key '%s'", path);
	if (key != NULL && w->signed_by != NULL && strcmp(signature_key_public(key), w->signed_by) != 0)
		return problem_set(
		    problem, -EPERM, "SIGNING_KEY",
		    "'%s' is %s, and etcdwatch has signed with %s since its start: reload it, "
		    "or put that key back",
		    path, signature_key_public(key), w->signed_by);
	*ret_key = TAKE_PTR(key);
	return 0;
}

static int run_send(int argc, char **argv, struct words *w, struct problem *problem,
                    json_t **ret_fields)
{
	AUTO(signature_key_free) struct signature_key *key = NULL;
	AUTO(s3_free) struct s3 *s3 = NULL;
	struct recordsend_result result = {0};
	int r = parse_send(w, argc, argv, problem);

	if (r == 0)
		r = load_key(w, problem, &key);
	if (r == 0)
		r = open_store(w, false, problem, &s3);
	w->send.s3 = s3;
	w->send.key = key;
	if (r == 0)
		r = recordsend_run(&w->send, problem, &result);
	if (r < 0)
		return r;
	*ret_fields = json_pack(
	    "{s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "bytes", (json_int_t) result.n_bytes, "objects",
	    (json_int_t) result.n_objects, "sent_sequence", (json_int_t) result.sent_sequence,
	    "known_sequence", (json_int_t) result.known_sequence, "passed",
	    (json_int_t) result.n_passed, "passed_reason",
	    result.passed[0] != '\0' ? jsonval_text(result.passed) : json_null(), "foreign_reason",
	    result.foreign[0] != '\0' ? jsonval_text(result.foreign) : json_null());
	return 0;
}

/* --- prune --- */

static int parse_cluster_id(const char *text, struct problem *problem, uint64_t *ret_id)
{
	char *end = NULL;

	errno = 0;
	*ret_id = strtoull(text, &end, 16);
	if (errno != 0 || *end != '\0' || text[0] == '\0')
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--cluster-id: takes hexadecimal digits, not '%s'", text);
	return 0;
}

static int run_prune(int argc, char **argv, struct words *w, struct problem *problem,
                     json_t **ret_fields)
{
	const struct options_entry own[] = {
	    {.name = "--cluster-id", .text = &w->cluster_id},
	    {.name = "--oldest-revision", .text = &w->oldest_revision},
	    {.name = "--trust", .list = &w->trusted},
	};
	struct recordprune_rules rules = {.now_us = wall_now_us()};
	AUTO(s3_free) struct s3 *s3 = NULL;
	struct recordprune_result result = {0};
	uint64_t revision = 0;
	int r = parse_words(w, argc, argv, own, ARRAY_SIZE(own), problem);

	if (r == 0 && (w->cluster_id == NULL || w->oldest_revision == NULL))
		r = problem_set(problem, -EINVAL, "USAGE", "--cluster-id and --oldest-revision are needed");
	if (r == 0)
		r = parse_cluster_id(w->cluster_id, problem, &rules.cluster_id);
	if (r == 0)
		r = number("--oldest-revision", w->oldest_revision, LONG_MAX, problem, &revision);
	rules.oldest_revision = (int64_t) revision;
	rules.trust = (struct trust){
	    .keys = w->trusted.values, .n = w->trusted.n, .is_configured = w->trusted.n > 0};
	if (r == 0)
		r = open_store(w, true, problem, &s3);
	if (r == 0)
		r = recordprune_run(s3, w->prefix, &rules, problem, &result);
	if (r == 0)
		*ret_fields =
		    json_pack("{s:I, s:o}", "objects", (json_int_t) result.n_removed, "untrusted_reason",
		              result.untrusted[0] != '\0' ? jsonval_text(result.untrusted) : json_null());
	return r;
}

int command_record(int argc, char **argv)
{
	AUTO(free) struct words *words = NEW0(struct words);
	int64_t began_us = mono_now_us();
	struct problem problem = {0};
	json_t *fields = NULL;
	int r;

	if (argc > 1 && strcmp(argv[1], "send") == 0)
		r = run_send(argc - 1, argv + 1, words, &problem, &fields);
	else if (argc > 1 && strcmp(argv[1], "prune") == 0)
		r = run_prune(argc - 1, argv + 1, words, &problem, &fields);
	else
		r = problem_set(&problem, -EINVAL, "USAGE", "record takes send or prune");
	if (r < 0)
		return result_fail(&problem);
	(void) json_object_set_new(fields, "took_ms",
	                           json_integer((mono_now_us() - began_us) / US_PER_MS));
	return result_ok(fields);
}
