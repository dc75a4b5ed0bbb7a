/* SPDX-License-Identifier: Apache-2.0 */
/*
 * s3 put FILE KEY [--sha256 HEX] [--part-size MIB]
 * s3 get KEY FILE [--sha256 HEX]
 * s3 list [PREFIX] [--read PATTERN]  one line for each object; with its content if its name is so
 * s3 list [PREFIX] --uploads        one line for each upload under way
 * s3 rm KEY... [--uploads]          the objects, or the uploads of those keys that are under way
 * s3 sweep PREFIX [--older-than HOURS]   aborts uploads that nobody has gone on with
 * s3 check [PREFIX] [--write KEY]   whether bucket, credentials and clock are right
 * s3 own                            the prefix is this cluster's from now on
 *
 * and the options of s3target.h. With --owner ID --owner-node NAME --owner-prefix PREFIX nothing is
 * done where another cluster's objects are (storeowner.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/commands.h"
#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/store/s3get.h"
#include "etcdwatch/worker/store/s3list.h"
#include "etcdwatch/worker/store/s3put.h"
#include "etcdwatch/worker/store/s3target.h"
#include "etcdwatch/worker/store/storeowner.h"
#include "web/s3_upload.h"

#define OWN_OPTIONS 3
#define MIB ((uint64_t) 1 << 20)
#define PART_MIB_MAX 5120
/* The slowest upload has ended by then. */
#define SWEEP_HOURS 24
#define SWEEP_HOURS_MAX 87600
#define PROBE_TEXT "written by fairlead to see whether it can be\n"

/* What a subcommand works with; `fields` is its last line. */
struct s3run {
	struct s3 *s3;
	const struct options_list *words;
	const char *sha256;
	struct storeowner owner;
	const char *value; /* of the subcommand's own option, or NULL */
	bool uploads;
	json_t *fields;
	struct problem problem;
	uint64_t n;
};

static int fail(struct s3run *run, int r)
{
	return s3target_fail(run->s3, r, &run->problem);
}

/* --- put and get --- */

static int run_put(struct s3run *run)
{
	struct s3put_request request = {
	    .path = run->words->values[0], .key = run->words->values[1], .sha256 = run->sha256};
	struct s3put_result result;
	unsigned long mib = 0;
	int r = 0;

	if (run->value != NULL)
		r = options_number("--part-size", run->value, 5, PART_MIB_MAX, &mib, &run->problem);
	if (r < 0)
		return r;
	request.part_bytes = mib * MIB;
	r = s3put_run(run->s3, &request, &run->problem, &result);
	if (r < 0)
		return r;
	run->fields = json_pack("{s:o, s:I, s:s, s:o, s:i, s:i, s:b}", "key", jsonval_text(request.key),
	                        "bytes", (json_int_t) result.n_bytes, "sha256", result.sha256, "etag",
	                        jsonval_text(result.etag), "parts", (int) result.n_parts, "parts_kept",
	                        (int) result.n_parts_kept, "was_there", (int) result.was_there);
	return 0;
}

static int run_get(struct s3run *run)
{
	const struct s3get_request request = {
	    .key = run->words->values[0], .path = run->words->values[1], .sha256 = run->sha256};
	struct s3get_result result;
	int r = s3get_run(run->s3, &request, &run->problem, &result);

	if (r < 0)
		return r;
	run->fields = json_pack("{s:o, s:I, s:I, s:s}", "file", jsonval_text(request.path), "bytes",
	                        (json_int_t) result.n_bytes, "bytes_kept",
	                        (json_int_t) result.n_bytes_kept, "sha256", result.sha256);
	return 0;
}

/* --- list, rm and sweep --- */

static int on_upload(const struct s3_upload *upload, void *userdata)
{
	struct s3run *run = userdata;

	run->n++;
	result_line(json_pack("{s:o, s:o, s:o}", "key", jsonval_text(upload->key), "upload",
	                      jsonval_text(upload->id), "initiated", jsonval_text(upload->initiated)));
	return 0;
}

static int run_list(struct s3run *run)
{
	const char *prefix = run->words->n > 0 ? run->words->values[0] : "";
	int r;

	if (run->uploads) {
		r = s3_upload_list(run->s3, prefix, on_upload, run);
		r = r < 0 ? fail(run, r) : 0;
	} else {
		r = s3list_run(run->s3, prefix, run->value, &run->problem, &run->n);
	}
	if (r < 0)
		return r;
	run->fields = json_pack("{s:I}", run->uploads ? "uploads" : "objects", (json_int_t) run->n);
	return 0;
}

static int abort_uploads(struct s3run *run, const char *key)
{
	const struct s3sweep_request request = {.prefix = key, .whole_key = true};
	struct s3sweep_result result;
	int r = s3sweep_run(run->s3, &request, &run->problem, &result);

	if (r == 0)
		run->n += result.n_aborted;
	return r;
}

static int delete_object(struct s3run *run, const char *key)
{
	int r = s3_delete(run->s3, key);

	run->n += r == 0 ? 1 : 0;
	return r < 0 ? fail(run, r) : 0;
}

static int run_rm(struct s3run *run)
{
	for (size_t i = 0; i < run->words->n; i++) {
		const char *key = run->words->values[i];
		int r = run->uploads ? abort_uploads(run, key) : delete_object(run, key);

		if (r < 0)
			return r;
		result_line(json_pack("{s:o}", "removed", jsonval_text(key)));
	}
	run->fields = json_pack("{s:I}", run->uploads ? "uploads" : "objects", (json_int_t) run->n);
	return 0;
}

static int run_sweep(struct s3run *run)
{
	struct s3sweep_request request = {.prefix = run->words->values[0]};
	struct s3sweep_result result;
	unsigned long hours = SWEEP_HOURS;
	int r = 0;

	if (run->value != NULL)
		r = options_number("--older-than", run->value, 0, SWEEP_HOURS_MAX, &hours, &run->problem);
	request.older_s = (int64_t) hours * 3600;
	if (r == 0)
		r = s3sweep_run(run->s3, &request, &run->problem, &result);
	if (r != 0)
		return r;
	run->fields = json_pack("{s:I, s:I}", "aborted", (json_int_t) result.n_aborted, "kept",
	                        (json_int_t) result.n_kept);
	return 0;
}

/* --- check --- */

struct expected {
	const char *text;
	size_t len; /* that has come */
	bool same;
};

static int compare_data(const void *data, size_t len, void *userdata)
{
	struct expected *e = userdata;

	e->same =
	    e->same && len <= strlen(e->text) - e->len && memcmp(e->text + e->len, data, len) == 0;
	e->len += len;
	return 0;
}

/* Writes a small object, reads it, removes it. */
static int probe(struct s3run *run, int fd, const char *path)
{
	struct expected expected = {.text = PROBE_TEXT, .same = true};
	struct s3_piece piece;
	int r;

	if (write(fd, PROBE_TEXT, strlen(PROBE_TEXT)) != (ssize_t) strlen(PROBE_TEXT))
		return problem_set_errno(&run->problem, -EIO, "cannot write to '%s'", path);
	r = s3_piece_hash(fd, 0, strlen(PROBE_TEXT), NULL, &piece);
	if (r < 0)
		return problem_set_errno(&run->problem, r, "cannot read from '%s'", path);
	piece.path = path;
	r = s3_put(run->s3, run->value, &piece);
	if (r == 0)
		r = s3_get(run->s3, run->value, 0, compare_data, &expected, NULL);
	if (r == 0)
		r = s3_delete(run->s3, run->value);
	if (r < 0)
		return fail(run, r);
	if (!expected.same || expected.len != strlen(PROBE_TEXT))
		return problem_set(&run->problem, -EBADMSG, "S3_MISMATCH",
		                   "the server returns something else than was written");
	return 0;
}

/* A program that stores it may want a file with a name. */
static int run_probe(struct s3run *run)
{
	char path[] = "/tmp/fairlead-probe-XXXXXX";
	AUTO(close) int fd = mkostemp(path, O_CLOEXEC);
	int r;

	if (fd < 0)
		return problem_set_errno(&run->problem, -errno, "cannot make a file in /tmp");
	r = probe(run, fd, path);
	(void) unlink(path);
	return r;
}

static int ignore_listed(const struct s3_listed *listed UNUSED, void *userdata UNUSED)
{
	return 0;
}

static int run_check(struct s3run *run)
{
	int64_t ahead_s = 0;
	json_t *clock;
	/* Keys may be allowed to list their own prefix alone. */
	const char *prefix = run->words->n > 0 ? run->words->values[0] : "";
	int r = s3_list(run->s3, prefix, 1, ignore_listed, NULL);

	if (r < 0)
		return fail(run, r);
	if (run->value != NULL) {
		r = run_probe(run);
		if (r < 0)
			return r;
	}
	clock = s3_get_clock_ahead_s(run->s3, &ahead_s) ? json_integer(-ahead_s) : json_null();
	run->fields =
	    json_pack("{s:o, s:b}", "clock_ahead_s", clock, "written", (int) (run->value != NULL));
	return 0;
}

/* --- own --- */

static int run_own(struct s3run *run)
{
	AUTO(free) char *before = NULL;
	int r;

	if (run->owner.id == NULL)
		return problem_set(&run->problem, -EINVAL, "USAGE", "--owner is needed");
	r = storeowner_take_over(run->s3, &run->owner, &run->problem, &before);
	if (r == 0)
		run->fields =
		    json_pack("{s:s, s:o}", "owner", run->owner.id, "before", jsonval_text(before));
	return r;
}

/* --- all --- */

static const struct subcommand {
	const char *name;
	size_t min;
	size_t max;
	const char *option; /* of its own, with a value */
	bool takes_sha256;
	bool takes_uploads;
	bool removes;
	int (*run)(struct s3run *run);
} subcommands[] = {
    {"put", 2, 2, "--part-size", true, false, false, run_put},
    {"get", 2, 2, NULL, true, false, false, run_get},
    {"list", 0, 1, "--read", false, true, false, run_list},
    {"rm", 1, OPTIONS_LIST_MAX, NULL, false, true, true, run_rm},
    {"sweep", 1, 1, "--older-than", false, false, true, run_sweep},
    {"check", 0, 1, "--write", false, false, false, run_check},
    {"own", 0, 0, NULL, false, false, false, run_own},
};

static const struct subcommand *find_subcommand(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++) {
		if (strcmp(subcommands[i].name, name) == 0)
			return &subcommands[i];
	}
	return NULL;
}

static int parse(const struct subcommand *sub, int argc, char **argv, struct s3target *target,
                 struct options_list *words, struct s3run *run)
{
	struct options_entry entries[S3TARGET_OPTIONS + STOREOWNER_OPTIONS + OWN_OPTIONS];
	size_t n = S3TARGET_OPTIONS;

	s3target_options(target, entries);
	storeowner_options(&run->owner, entries + n);
	n += STOREOWNER_OPTIONS;
	if (sub->option != NULL)
		entries[n++] = (struct options_entry){.name = sub->option, .text = &run->value};
	if (sub->takes_sha256)
		entries[n++] = (struct options_entry){.name = "--sha256", .text = &run->sha256};
	if (sub->takes_uploads)
		entries[n++] = (struct options_entry){.name = "--uploads", .flag = &run->uploads};
	run->words = words;
	return options_parse(argc, argv, entries, n, sub->min, sub->max, words, &run->problem);
}

int command_s3(int argc, char **argv)
{
	const struct subcommand *sub = argc > 1 ? find_subcommand(argv[1]) : NULL;
	int64_t began_us = mono_now_us();
	struct s3target target = {0};
	struct options_list words;
	struct s3run run = {0};
	int r;

	if (sub == NULL) {
		(void) problem_set(&run.problem, -EINVAL, "USAGE",
		                   "s3 takes put, get, list, rm, sweep, check or own");
		return result_fail(&run.problem);
	}
	r = parse(sub, argc - 1, argv + 1, &target, &words, &run);
	if (r == 0)
		r = s3target_open(&target, &run.problem, &run.s3);
	if (r == 0 && sub->run != run_own)
		r = storeowner_check(run.s3, &run.owner, sub->removes, &run.problem);
	if (r == 0)
		r = sub->run(&run);
	s3_free(run.s3);
	if (r < 0)
		return result_fail(&run.problem);
	(void) json_object_set_new(run.fields, "took_ms",
	                           json_integer((mono_now_us() - began_us) / US_PER_MS));
	return result_ok(run.fields);
}
