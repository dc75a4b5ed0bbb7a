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
#include "etcdwatch/worker/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mono.h"
#include "etcdwatch/worker/record/recordobjects.h"
#include "etcdwatch/worker/record/recordsend.h"
#include "etcdwatch/worker/pack/codec.h"

#define LEVEL 3

struct record_words {
	struct words common;
	const char *prefix;
	int64_t open_bytes, known_sequence, compared_sequence, level;
	const char *signing_key, *signed_by;
	const char *cluster_id;
	int64_t oldest_revision;
	struct options_list recipients, recipient_files, trusted;
	struct recordsend_request send;
};

/* --- send --- */

static void reached_cb(void *userdata UNUSED)
{
	result_line(json_pack("{s:b}", "reached", 1));
}

static const struct options_entry send_options[] = {
    OPTION("--s3-prefix", TEXT, struct record_words, prefix),
    OPTION("--directory", TEXT, struct record_words, send.directory),
    OPTION("--scratch", TEXT, struct record_words, send.scratch),
    OPTION("--node", TEXT, struct record_words, send.node),
    OPTION("--open", TEXT, struct record_words, send.open_segment),
    OPTION_NUMBER("--bytes", struct record_words, open_bytes, 0, LONG_MAX, 0),
    OPTION_NUMBER("--revision", struct record_words, send.revision, 0, LONG_MAX, 0),
    OPTION_NUMBER("--until-us", struct record_words, send.until_us, 0, LONG_MAX, 0),
    OPTION_NUMBER("--known-sequence", struct record_words, known_sequence, 0, LONG_MAX, 0),
    OPTION_NUMBER("--compared-sequence", struct record_words, compared_sequence, 0, LONG_MAX, 0),
    OPTION_NUMBER("--level", struct record_words, level, 0, ZSTDFLOW_LEVEL_MAX, LEVEL),
    OPTION("--recipient", LIST, struct record_words, recipients),
    OPTION("--recipients-file", LIST, struct record_words, recipient_files),
    OPTION("--signing-key", TEXT, struct record_words, signing_key),
    OPTION("--signed-by", TEXT, struct record_words, signed_by),
};

/* The daemon read it at its start, and signs snapshots with what was there then. */
static int load_key(const struct record_words *w, struct problem *problem,
                    struct signature_key **ret_key)
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

static int run_send(void *words, struct problem *problem, json_t **ret_fields)
{
	struct record_words *w = words;
	struct recordsend_request *q = &w->send;
	AUTO(signature_key_free) struct signature_key *key = NULL;
	struct recordsend_result result = {0};
	int r;

	if (q->directory == NULL || q->scratch == NULL || q->node == NULL)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--directory, --scratch and --node are needed");
	r = load_key(w, problem, &key);
	if (r < 0)
		return r;
	if (q->open_segment == NULL)
		q->open_segment = "";
	q->open_bytes = (uint64_t) w->open_bytes;
	q->known_sequence = (uint64_t) w->known_sequence;
	q->compared_sequence = (uint64_t) w->compared_sequence;
	q->level = (int) w->level;
	q->prefix = w->prefix != NULL ? w->prefix : "";
	q->recipients = (struct age_recipients){w->recipients.values, w->recipients.n,
	                                        w->recipient_files.values, w->recipient_files.n};
	q->reached = reached_cb;
	q->s3 = w->common.s3;
	q->key = key;
	r = recordsend_run(q, problem, &result);
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

static const struct options_entry prune_options[] = {
    OPTION("--s3-prefix", TEXT, struct record_words, prefix),
    OPTION("--cluster-id", TEXT, struct record_words, cluster_id),
    OPTION_NUMBER("--oldest-revision", struct record_words, oldest_revision, 0, LONG_MAX, -1),
    OPTION("--trust", LIST, struct record_words, trusted),
};

static int run_prune(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct record_words *w = words;
	struct recordprune_rules rules = {
	    .now_us = wall_now_us(),
	    .oldest_revision = w->oldest_revision,
	    .trust = {.keys = w->trusted.values, .n = w->trusted.n, .is_configured = w->trusted.n > 0},
	};
	struct recordprune_result result = {0};
	int r;

	if (w->cluster_id == NULL || w->oldest_revision < 0)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--cluster-id and --oldest-revision are needed");
	r = parse_cluster_id(w->cluster_id, problem, &rules.cluster_id);
	if (r == 0)
		r = recordprune_run(w->common.s3, w->prefix != NULL ? w->prefix : "", &rules, problem,
		                    &result);
	if (r == 0)
		*ret_fields =
		    json_pack("{s:I, s:o}", "objects", (json_int_t) result.n_removed, "untrusted_reason",
		              result.untrusted[0] != '\0' ? jsonval_text(result.untrusted) : json_null());
	return r;
}

#define FLAGS (COMMAND_TIMED | COMMAND_TARGET | COMMAND_STORE | COMMAND_OWNER | COMMAND_CHECKS)

const struct command record_commands[] = {
    {"record send", FLAGS, 0, 0, sizeof(struct record_words), COMMAND_OPTIONS(send_options),
     .run = run_send},
    {"record prune", FLAGS | COMMAND_REMOVES, 0, 0, sizeof(struct record_words),
     COMMAND_OPTIONS(prune_options), .run = run_prune},
    {.name = NULL},
};
