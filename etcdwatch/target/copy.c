/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	NOTING ──► SENDING ──► ENTERING ──► RECORDING ──► over
 *
 * NOTING writes down what is begun, and puts the entry's timeline right. SENDING copies the
 * snapshot, ENTERING its entry, RECORDING says so in the entry here. Each may end it.
 */
#include "etcdwatch/target/copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/target/inventory.h"
#include "etcdwatch/config/s3words.h"

/* The worker gives up by itself when nothing moves; this is for one that hangs (20 kB/s). */
#define LIMIT_MIN_US (3600 * US_PER_S)
#define US_PER_BYTE 50

enum copy_state {
	STATE_NOTING,
	STATE_SENDING,
	STATE_ENTERING,
	STATE_RECORDING,
};

static const struct fsm_state states[] = {
    [STATE_NOTING] = {"noting", FSM_TO(STATE_SENDING)},
    [STATE_SENDING] = {"sending", FSM_TO(STATE_ENTERING)},
    [STATE_ENTERING] = {"entering", FSM_TO(STATE_RECORDING)},
    [STATE_RECORDING] = {"recording", 0},
};

struct copy {
	struct copy_options options;
	copy_done_fn done;
	void *userdata;
	enum copy_state state;
	char *id;
	char *path, *entry_path;
	char *key, *entry_key;
	int64_t bytes;
	char sha256[CATALOG_SHA256_TEXT];
	/* SENDING: what the worker has said, and first said, which is more than nothing where it goes
	 * on with an upload that was cut off. */
	uint64_t sent_bytes, first_bytes;
	int64_t first_us; /* 0: not yet */
	struct child *child;
};

static void change_state(struct copy *c, enum copy_state state)
{
	fsm_check(states, ARRAY_SIZE(states), c->state, state);
	log_debug("copy_state", "target=%s id=%s old=%s new=%s", c->options.target->name, c->id,
	          states[c->state].name, states[state].name);
	c->state = state;
}

void copy_abandon(struct copy *c)
{
	if (c == NULL)
		return;
	child_free(c->child);
	free(c->id);
	free(c->path);
	free(c->entry_path);
	free(c->key);
	free(c->entry_key);
	free(c);
}

/* Calls out: last act. */
static void finish(struct copy *c, enum copy_end end, const char *reason)
{
	c->done(end, c->id, reason, c->userdata);
	copy_abandon(c);
}

/* --- recording --- */

static void recorded_cb(int r, const char *reason, void *userdata)
{
	struct copy *c = userdata;
	const struct names keys = {.items = &c->key, .n = 1};

	/* It is there, whatever has become of the one here. */
	if (r < 0 && store_find(c->options.store, c->id) != NULL) {
		finish(c, COPY_FAILED, reason);
		return;
	}
	unfinished_drop(c->options.unfinished, &keys);
	log_notice("snapshot_copied", "job=%s target=%s id=%s key=\"%s\" bytes=%lld",
	           c->options.job->name, c->options.target->name, c->id, c->key, (long long) c->bytes);
	finish(c, COPY_MADE, "");
}

static void record(struct copy *c)
{
	struct catalog_copy copy = {
	    .target = c->options.target->name,
	    .key = c->key,
	    .bytes = c->bytes,
	    .at_s = wall_now_us() / US_PER_S,
	};

	change_state(c, STATE_RECORDING);
	(void) snprintf(copy.sha256, sizeof(copy.sha256), "%s", c->sha256);
	store_record_copy(c->options.store, c->id, &copy, recorded_cb, c);
}

/* --- sending --- */

/* Before this the target was looked at with the same credentials, so these codes are about the file
 * here. */
static enum copy_end judge(const struct copy *c, const struct child_result *said)
{
	static const char *const about_file[] = {"NOT_FOUND", "IO", "PERMISSION"};
	const char *code = child_error_code(said);

	if (strcmp(code, "MISMATCH") == 0 && c->state == STATE_SENDING)
		return COPY_DAMAGED;
	for (size_t i = 0; i < ARRAY_SIZE(about_file); i++) {
		if (strcmp(code, about_file[i]) == 0)
			return COPY_NOT_READ;
	}
	return COPY_FAILED;
}

/* How far it is, with the snapshot and not with reading it back. */
static void line_cb(const json_t *object, void *userdata)
{
	struct copy *c = userdata;
	const char *doing = json_string_value(json_object_get(object, "doing"));

	if (doing == NULL || strcmp(doing, "send") != 0)
		return;
	c->sent_bytes = (uint64_t) json_integer_value(json_object_get(object, "bytes"));
	if (c->first_us == 0) {
		c->first_us = mono_now_us();
		c->first_bytes = c->sent_bytes;
	}
}

static void put(struct copy *c, const char *path, const char *key, const char *sha256,
                child_done_fn done)
{
	struct s3words words;
	int r;

	s3words_begin(&words, c->options.worker, "put", c->options.target);
	if (sha256 != NULL)
		s3words_option(&words, "--sha256", sha256);
	s3words_add(&words, path);
	s3words_add(&words, key);
	r = child_start(c->options.ev, words.argv, LIMIT_MIN_US + c->bytes * US_PER_BYTE, done, c,
	                &c->child);
	if (r < 0) {
		AUTO(free) char *reason = xasprintf("cannot start the worker: %s", strerror(-r));

		finish(c, COPY_FAILED, reason);
		return;
	}
	child_each_line(c->child, line_cb);
}

static void entered_cb(const struct child_result *said, void *userdata)
{
	struct copy *c = userdata;

	c->child = NULL;
	if (said->r < 0)
		finish(c, judge(c, said), said->reason);
	else
		record(c);
}

static void sent_cb(const struct child_result *said, void *userdata)
{
	struct copy *c = userdata;

	c->child = NULL;
	if (said->r < 0) {
		finish(c, judge(c, said), said->reason);
		return;
	}
	change_state(c, STATE_ENTERING);
	put(c, c->entry_path, c->entry_key, NULL, entered_cb);
}

/* --- noting --- */

static void noted_cb(int r, void *userdata)
{
	struct copy *c = userdata;

	/* A disk without room is no reason to have no copy. */
	if (r < 0)
		(void) log_warning_errno(r, "copy_not_noted", "job=%s target=%s id=%s",
		                         c->options.job->name, c->options.target->name, c->id);
	change_state(c, STATE_SENDING);
	put(c, c->path, c->key, c->sha256, sent_cb);
}

static void note(struct copy *c)
{
	const struct names keys = {.items = &c->key, .n = 1};

	unfinished_add(c->options.unfinished, &keys, noted_cb, c);
}

static void timeline_cb(int r, const char *reason, void *userdata)
{
	struct copy *c = userdata;

	if (r < 0)
		finish(c, store_find(c->options.store, c->id) != NULL ? COPY_FAILED : COPY_NOT_READ,
		       reason);
	else
		note(c);
}

struct copy *copy_start(const struct copy_options *options, copy_done_fn done, void *userdata)
{
	const struct catalog_entry *e = options->entry;
	int64_t timeline = options->there != NULL ? copies_timeline(options->there, e) : e->timeline;
	struct copy *c = NEW0(struct copy);

	c->options = *options;
	c->options.entry = NULL;
	c->options.there = NULL;
	c->done = done;
	c->userdata = userdata;
	c->id = xstrdup(e->id);
	c->path = xasprintf("%s/%s", options->job->directory, e->file);
	c->entry_path = xasprintf("%s/%s" LISTING_ENTRY_SUFFIX, options->job->directory, e->id);
	c->key = inventory_file_key(options->target, e);
	c->entry_key = inventory_entry_key(options->target, e);
	c->bytes = e->file_bytes;
	(void) snprintf(c->sha256, sizeof(c->sha256), "%s", e->file_sha256);
	if (timeline == e->timeline) {
		note(c);
		return c;
	}
	log_notice("timeline_changed", "job=%s id=%s old=%lld new=%lld reason=\"by what is in %s\"",
	           e->job, e->id, (long long) e->timeline, (long long) timeline, options->target->name);
	store_set_timeline(options->store, e->id, timeline, timeline_cb, c);
	return c;
}

const char *copy_id(const struct copy *c)
{
	return c->id;
}

const char *copy_state_name(const struct copy *c)
{
	return states[c->state].name;
}

struct target_sent copy_sent(const struct copy *c)
{
	int64_t took_us = c->first_us != 0 ? mono_now_us() - c->first_us : 0;
	bool has_rate = took_us > 0 && c->sent_bytes > c->first_bytes;

	if (c->state != STATE_SENDING)
		return (struct target_sent){0};
	return (struct target_sent){
	    .bytes = c->sent_bytes,
	    .of_bytes = (uint64_t) c->bytes,
	    .bytes_per_s = has_rate ? (uint64_t) ((double) (c->sent_bytes - c->first_bytes) *
	                                          (double) US_PER_S / (double) took_us)
	                            : 0,
	};
}
