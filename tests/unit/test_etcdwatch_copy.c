/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One snapshot on its way to a target: what the worker is told to do and in which order, how it
 * ends, and what is said of it meanwhile. The worker, the disk and the clock are the test's.
 */
#include "etcdwatch/target/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/work/child.h"
#include "tests/unit/check.h"

#define SHA256 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_BYTES 100000000
#define MB UINT64_C(1000000)

/* --- the world --- */

static int64_t now_us = 1000 * US_PER_S;

int64_t mono_now_us(void)
{
	return now_us;
}

int64_t wall_now_us(void)
{
	return INT64_C(1795293000) * US_PER_S;
}

struct child {
	char *words; /* behind the program's name and the target's options */
	char *sha256;
	int64_t limit_us;
	child_done_fn done;
	child_line_fn each;
	void *userdata;
};

static struct child *running; /* the worker; NULL: it does not run */
static int start_r;           /* why it does not start, or 0 */
static bool is_gone;          /* the snapshot, from the disk here */
static int note_r, record_r;
static struct catalog_copy recorded;
static unsigned n_noted, n_dropped, n_recorded;
static int64_t timeline_set;
static struct catalog_entry *entry;

int child_start(struct ev_loop *ev UNUSED, const char *const *argv, int64_t limit_us,
                child_done_fn done, void *userdata, struct child **ret_child)
{
	struct child *child;

	if (start_r < 0)
		return start_r;
	child = NEW0(struct child);
	CHECK(running == NULL);
	CHECK_EQ_STR(argv[0], "/worker");
	child->words = xasprintf("%s %s", argv[1], argv[2]);
	for (size_t i = 3, is_behind = 0; argv[i] != NULL; i++) {
		char *before = child->words;

		if (strcmp(argv[i], "--sha256") == 0)
			child->sha256 = xstrdup(argv[i + 1]);
		is_behind += strcmp(argv[i], "--") == 0;
		if (is_behind == 0)
			continue;
		child->words = xasprintf("%s %s", before, argv[i]);
		free(before);
	}
	child->limit_us = limit_us;
	child->done = done;
	child->userdata = userdata;
	*ret_child = running = child;
	return 0;
}

void child_each_line(struct child *child, child_line_fn each)
{
	child->each = each;
}

void child_free(struct child *child)
{
	if (child == NULL)
		return;
	free(child->words);
	free(child->sha256);
	free(child);
	running = NULL;
}

const char *child_error_code(const struct child_result *result)
{
	const char *code = json_string_value(json_object_get(result->last, "error"));

	return code != NULL ? code : "";
}

void unfinished_add(struct unfinished *unfinished UNUSED, const struct names *keys,
                    unfinished_done_fn done, void *userdata)
{
	CHECK_EQ_INT(keys->n, 1);
	n_noted++;
	done(note_r, userdata);
}

void unfinished_drop(struct unfinished *unfinished UNUSED, const struct names *keys)
{
	CHECK_EQ_INT(keys->n, 1);
	n_dropped++;
}

const struct catalog_entry *store_find(const struct store *store UNUSED, const char *id)
{
	return !is_gone && strcmp(id, entry->id) == 0 ? entry : NULL;
}

void store_record_copy(struct store *store UNUSED, const char *id, const struct catalog_copy *copy,
                       store_done_fn done, void *userdata)
{
	CHECK_EQ_STR(id, entry->id);
	recorded = *copy;
	recorded.target = recorded.key = NULL;
	n_recorded++;
	done(record_r, record_r < 0 ? "no room" : "", userdata);
}

void store_set_timeline(struct store *store UNUSED, const char *id UNUSED, int64_t timeline,
                        store_done_fn done, void *userdata)
{
	timeline_set = timeline;
	done(0, "", userdata);
}

/* --- a copy --- */

static struct config_job job = {.name = (char[]){"hourly"}, .directory = (char[]){"/snapshots"}};
static struct config_target target = {
    .name = (char[]){"far"},
    .endpoint = (char[]){"https://s3.example.org"},
    .bucket = (char[]){"b"},
    .prefix = (char[]){""},
    .region = (char[]){"r"},
};

struct end {
	unsigned n;
	enum copy_end end;
	char reason[64];
};

static void done_cb(enum copy_end end, const char *id, const char *reason, void *userdata)
{
	struct end *e = userdata;

	CHECK_EQ_STR(id, entry->id);
	e->n++;
	e->end = end;
	(void) snprintf(e->reason, sizeof(e->reason), "%s", reason);
}

static struct copy *begin(struct end *end)
{
	const struct copy_options options = {
	    .job = &job, .target = &target, .worker = "/worker", .entry = entry};

	*end = (struct end){.n = 0};
	start_r = note_r = record_r = 0;
	is_gone = false;
	n_noted = n_dropped = n_recorded = 0;
	return copy_start(&options, done_cb, end);
}

static void say(const char *doing, uint64_t bytes)
{
	json_t *object = json_pack("{s:s, s:I}", "doing", doing, "bytes", (json_int_t) bytes);

	running->each(object, running->userdata);
	json_decref(object);
}

/* The worker ends; NULL: it has done what it was told. */
static void end_worker(const char *code)
{
	struct child *child = running;
	child_done_fn done = child->done;
	void *userdata = child->userdata;
	json_t *last = code == NULL
	                   ? json_pack("{s:b}", "ok", 1)
	                   : json_pack("{s:b, s:s, s:s}", "ok", 0, "error", code, "reason", "so");
	const struct child_result result = {
	    .r = code == NULL ? 0 : -EBADMSG, .last = last, .reason = code == NULL ? "" : "so"};

	child_free(child);
	done(&result, userdata);
	json_decref(last);
}

static void check_sent(const struct copy *copy, uint64_t bytes, uint64_t of, uint64_t per_s)
{
	struct target_sent sent = copy_sent(copy);

	CHECK_EQ_INT(sent.bytes, bytes);
	CHECK_EQ_INT(sent.of_bytes, of);
	CHECK_EQ_INT(sent.bytes_per_s, per_s);
}

static void test_made(void)
{
	struct end end;
	struct copy *copy = begin(&end);

	CHECK_EQ_INT(n_noted, 1);
	CHECK_EQ_STR(copy_state_name(copy), "sending");
	CHECK_EQ_STR(copy_id(copy), entry->id);
	CHECK_EQ_STR(running->words, "s3 put -- /snapshots/a.db 00000000000000c1/a.db");
	CHECK_EQ_STR(running->sha256, SHA256);
	/* An hour, and more for what is large: 20 kB/s. */
	CHECK_EQ_INT(running->limit_us, (3600 + FILE_BYTES / 20000) * US_PER_S);
	end_worker(NULL);
	CHECK_EQ_STR(copy_state_name(copy), "entering");
	CHECK_EQ_STR(running->words, "s3 put -- /snapshots/a.json 00000000000000c1/a.json");
	CHECK_EQ_STR(running->sha256, NULL);
	CHECK_EQ_INT(n_recorded, 0);
	end_worker(NULL);
	CHECK_EQ_INT(end.n, 1);
	CHECK_EQ_INT(end.end, COPY_MADE);
	CHECK_EQ_INT(n_recorded, 1);
	CHECK_EQ_INT(recorded.bytes, FILE_BYTES);
	CHECK_EQ_STR(recorded.sha256, SHA256);
	CHECK_EQ_INT(n_dropped, 1);
}

/* Each is told of the whole, and of the rate since the worker said the first: what it goes on with
 * was sent by another one, some time before. */
static void test_sent(void)
{
	static const struct {
		int64_t after_us;
		const char *doing; /* NULL: nothing is said */
		uint64_t bytes, want_bytes, want_per_s;
	} steps[] = {
	    {0, NULL, 0, 0, 0},
	    {US_PER_S, "hash", 70 * MB, 0, 0},
	    {US_PER_S, "send", 40 * MB, 40 * MB, 0},
	    {0, "send", 41 * MB, 41 * MB, 0}, /* no time has passed */
	    {2 * US_PER_S, NULL, 0, 41 * MB, MB / 2},
	    {2 * US_PER_S, "send", 48 * MB, 48 * MB, 2 * MB},
	    {4 * US_PER_S, NULL, 0, 48 * MB, MB}, /* it stands still */
	    {US_PER_S / 2, "read-back", 5 * MB, 48 * MB, 8 * MB * 10 / 85},
	    {3 * US_PER_S / 2, "send", 100 * MB, 100 * MB, 6 * MB},
	};
	struct end end;
	struct copy *copy = begin(&end);

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		now_us += steps[i].after_us;
		if (steps[i].doing != NULL)
			say(steps[i].doing, steps[i].bytes);
		check_sent(copy, steps[i].want_bytes, FILE_BYTES, steps[i].want_per_s);
	}
	end_worker(NULL);
	/* The entry is no part of it. */
	say("send", 300);
	now_us += US_PER_S;
	check_sent(copy, 0, 0, 0);
	copy_abandon(copy);
	CHECK_EQ_INT(end.n, 0);
	CHECK(running == NULL);
}

static void test_ends(void)
{
	static const struct {
		const char *sending, *entering; /* the code that the worker fails with; NULL: it does not */
		enum copy_end end;
	} cases[] = {
	    {"NOT_FOUND", NULL, COPY_NOT_READ},
	    {"IO", NULL, COPY_NOT_READ},
	    {"PERMISSION", NULL, COPY_NOT_READ},
	    {"MISMATCH", NULL, COPY_DAMAGED},
	    {"S3_DENIED", NULL, COPY_FAILED},
	    {"", NULL, COPY_FAILED},
	    {NULL, "NOT_FOUND", COPY_NOT_READ},
	    {NULL, "S3_DENIED", COPY_FAILED},
	    /* Nobody has proven the entry. */
	    {NULL, "MISMATCH", COPY_FAILED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct end end;

		(void) begin(&end);
		end_worker(cases[i].sending);
		if (cases[i].sending == NULL)
			end_worker(cases[i].entering);
		CHECK_EQ_INT(end.n, 1);
		CHECK_EQ_INT(end.end, cases[i].end);
		CHECK_EQ_STR(end.reason, "so");
		CHECK_EQ_INT(n_recorded + n_dropped, 0);
	}
}

/* Of the disk here: a note that cannot be made costs no copy, one that is not recorded is none,
 * unless the snapshot has gone meanwhile. */
static void test_disk(void)
{
	struct end end;

	(void) begin(&end);
	end_worker(NULL);
	record_r = -ENOSPC;
	end_worker(NULL);
	CHECK_EQ_INT(end.end, COPY_FAILED);
	CHECK_EQ_STR(end.reason, "no room");
	CHECK_EQ_INT(n_dropped, 0);

	(void) begin(&end);
	end_worker(NULL);
	record_r = -ENOENT;
	is_gone = true;
	end_worker(NULL);
	CHECK_EQ_INT(end.end, COPY_MADE);
	CHECK_EQ_INT(n_dropped, 1);
}

static void test_not_started(void)
{
	const struct copy_options options = {
	    .job = &job, .target = &target, .worker = "/worker", .entry = entry};
	struct end end = {.n = 0};

	start_r = -ENOMEM;
	note_r = -ENOSPC;
	(void) copy_start(&options, done_cb, &end);
	CHECK_EQ_INT(end.n, 1);
	CHECK_EQ_INT(end.end, COPY_FAILED);
	CHECK_EQ_STR(end.reason, "cannot start the worker: Cannot allocate memory");
}

int main(void)
{
	entry = catalog_entry_new();
	free(entry->id);
	free(entry->file);
	entry->id = xstrdup("a");
	entry->file = xstrdup("a.db");
	entry->cluster_id = 0xc1;
	entry->file_bytes = FILE_BYTES;
	(void) snprintf(entry->file_sha256, sizeof(entry->file_sha256), "%s", SHA256);
	test_made();
	test_sent();
	test_ends();
	test_disk();
	test_not_started();
	CHECK_EQ_INT(timeline_set, 0);
	catalog_entry_free(entry);
	return check_result();
}
