/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	IDLE ──► SENDING ──► PRUNING ──► IDLE
 *	  ▲         │           │
 *	  └──── RETRYING ◄──────┘
 *
 * SENDING is the worker's round; PRUNING follows when there is something to remove.
 */
#include "etcdwatch/recordstore/recordstore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/take/due.h"
#include "etcdwatch/config/s3words.h"
#include "etcdwatch/work/child.h"

/* The worker gives up by itself when nothing moves; this is for one that hangs. */
#define LIMIT_US (6 * 3600 * US_PER_S)
/* So often all of the target's listing is read, whatever is known of it: somebody may have emptied
 * it. */
#define LISTED_US (3600 * US_PER_S)
#define RETRY_MAX_US (60 * US_PER_S)
/* An upload is late after so many rounds and this. */
#define LATE_ROUNDS 3
#define LATE_US (30 * US_PER_S)
#define NUMBER_MAX 24

enum recordstore_state {
	RECORDSTORE_IDLE,
	RECORDSTORE_SENDING,
	RECORDSTORE_PRUNING,
	RECORDSTORE_RETRYING,
};

static const struct fsm_state states[] = {
    [RECORDSTORE_IDLE] = {"idle", FSM_TO(RECORDSTORE_IDLE) | FSM_TO(RECORDSTORE_SENDING) |
                                      FSM_TO(RECORDSTORE_PRUNING)},
    [RECORDSTORE_SENDING] = {"sending", FSM_TO(RECORDSTORE_IDLE) | FSM_TO(RECORDSTORE_PRUNING) |
                                            FSM_TO(RECORDSTORE_RETRYING)},
    [RECORDSTORE_PRUNING] = {"pruning", FSM_TO(RECORDSTORE_IDLE) | FSM_TO(RECORDSTORE_RETRYING)},
    [RECORDSTORE_RETRYING] = {"retrying", FSM_TO(RECORDSTORE_SENDING)},
};

struct recordstore {
	struct recordstore_options options;
	enum recordstore_state state;
	ev_timer timer;
	int64_t began_us; /* mono; the last round */
	struct child *child;
	char *scratch, *signing_key;
	struct recordwriter_figures asked; /* SENDING: that the target is to have */
	struct recordwriter_figures sent;  /* that it has */
	uint64_t known_sequence;           /* recordsend.h; 0: all of it is to be listed */
	uint64_t compared_sequence;        /* recordsend.h; since the start, so that it only grows */
	int64_t listed_us;                 /* mono; when it was */
	uint64_t prune_cluster_id;         /* what was removed last */
	int64_t prune_revision;
	unsigned n_failures; /* in a row */
	uint64_t sent_sequence;
	uint64_t bytes, objects, removed, failures;
	char error[RECORDSTORE_TEXT_MAX];
	int64_t error_s;
	char passed[RECORDSTORE_TEXT_MAX];
	char foreign[RECORDSTORE_TEXT_MAX], untrusted[RECORDSTORE_TEXT_MAX]; /* logged last */
};

static void arm(struct recordstore *s, int64_t after_us)
{
	ev_timer_stop(s->options.ev, &s->timer);
	ev_timer_set(&s->timer, mono_to_ev(after_us), 0.);
	ev_timer_start(s->options.ev, &s->timer);
}

/* What a target lacks grows meanwhile. */
static int64_t retry_us(const struct recordstore *s)
{
	return MIN(due_retry_us(s->n_failures), MAX(s->options.every_us, RETRY_MAX_US));
}

/* The one writer of the state. */
static void change_state(struct recordstore *s, enum recordstore_state state)
{
	fsm_check(states, ARRAY_SIZE(states), s->state, state);
	log_debug("recordstore_state", "job=%s target=%s old=%s new=%s", s->options.job->name,
	          s->options.target->name, states[s->state].name, states[state].name);
	ev_timer_stop(s->options.ev, &s->timer);
	s->state = state;
	switch (state) {
	case RECORDSTORE_IDLE:
		arm(s, MAX(s->began_us + s->options.every_us - mono_now_us(), INT64_C(0)));
		break;
	case RECORDSTORE_RETRYING:
		arm(s, retry_us(s));
		break;
	case RECORDSTORE_SENDING:
	case RECORDSTORE_PRUNING:
		break;
	}
}

static void fail(struct recordstore *s, const char *reason)
{
	(void) snprintf(s->error, sizeof(s->error), "%s", reason);
	s->error_s = wall_now_us() / US_PER_S;
	s->failures++;
	s->n_failures++;
	s->known_sequence = 0;
	log_warning("record_not_uploaded",
	            "job=%s target=%s during=%s failures=%u reason=\"%s\" again_s=%lld",
	            s->options.job->name, s->options.target->name, states[s->state].name, s->n_failures,
	            reason, (long long) (retry_us(s) / US_PER_S));
	change_state(s, RECORDSTORE_RETRYING);
}

static void start(struct recordstore *s, const struct s3words *words, child_done_fn done)
{
	int r = child_start(s->options.ev, words->argv, LIMIT_US, done, s, &s->child);

	if (r < 0) {
		AUTO(free) char *reason = xasprintf("cannot start the worker: %s", strerror(-r));

		fail(s, reason);
	}
}

static void begin_words(struct recordstore *s, struct s3words *words, const char *subcommand)
{
	s3words_start(words, s->options.worker, "record");
	s3words_option(words, subcommand, NULL);
	s3words_target(words, s->options.target);
	s3words_owner(words, s->options.target);
	s3words_option(words, "--s3-prefix", s->options.target->prefix);
}

static uint64_t number_of(const struct child_result *said, const char *key)
{
	return (uint64_t) json_integer_value(json_object_get(said->last, key));
}

/* --- pruning --- */

static void note_untrusted(struct recordstore *s, const char *reason)
{
	if (strncmp(reason, s->untrusted, sizeof(s->untrusted) - 1) == 0)
		return;
	log_warning("record_prune_untrusted", "job=%s target=%s reason=\"%s\"", s->options.job->name,
	            s->options.target->name, reason);
	(void) snprintf(s->untrusted, sizeof(s->untrusted), "%s", reason);
}

static void add_trust(struct s3words *words, const struct trust *trust)
{
	for (size_t i = 0; trust != NULL && trust->is_configured && i < trust->n; i++)
		s3words_option(words, "--trust", trust->keys[i]);
}

static void pruned_cb(const struct child_result *said, void *userdata)
{
	struct recordstore *s = userdata;
	const char *untrusted;

	s->child = NULL;
	if (said->r < 0) {
		s->prune_revision = 0;
		fail(s, said->reason);
		return;
	}
	untrusted = json_string_value(json_object_get(said->last, "untrusted_reason"));
	if (untrusted != NULL)
		note_untrusted(s, untrusted);
	s->removed += number_of(said, "objects");
	if (number_of(said, "objects") > 0)
		log_info("record_pruned", "job=%s target=%s objects=%" PRIu64 " rev=%" PRId64,
		         s->options.job->name, s->options.target->name, number_of(said, "objects"),
		         s->prune_revision);
	change_state(s, RECORDSTORE_IDLE);
}

static void prune(struct recordstore *s)
{
	const struct recordstore_options *o = &s->options;
	char cluster_id[NUMBER_MAX], revision[NUMBER_MAX];
	struct s3words words;
	uint64_t id = 0;
	int64_t oldest = 0;

	if (!o->callbacks->oldest(o->job, o->target, &id, &oldest, o->userdata) ||
	    (id == s->prune_cluster_id && oldest == s->prune_revision)) {
		change_state(s, RECORDSTORE_IDLE);
		return;
	}
	change_state(s, RECORDSTORE_PRUNING);
	s->prune_cluster_id = id;
	s->prune_revision = oldest;
	(void) snprintf(cluster_id, sizeof(cluster_id), "%016" PRIx64, id);
	(void) snprintf(revision, sizeof(revision), "%" PRId64, oldest);
	begin_words(s, &words, "prune");
	s3words_option(&words, "--cluster-id", cluster_id);
	s3words_option(&words, "--oldest-revision", revision);
	add_trust(&words, o->target->trust);
	start(s, &words, pruned_cb);
}

/* --- sending --- */

static void line_cb(const json_t *object, void *userdata)
{
	struct recordstore *s = userdata;

	if (json_is_true(json_object_get(object, "reached")))
		s->sent = s->asked;
}

static void note_passed(struct recordstore *s, const char *reason)
{
	if (reason[0] != '\0' && strcmp(reason, s->passed) != 0)
		log_error("record_segment_not_uploaded", "job=%s target=%s reason=\"%s\"",
		          s->options.job->name, s->options.target->name, reason);
	(void) snprintf(s->passed, sizeof(s->passed), "%s", reason);
}

static void note_foreign(struct recordstore *s, const char *reason)
{
	if (strncmp(reason, s->foreign, sizeof(s->foreign) - 1) == 0)
		return;
	log_warning("record_object_foreign", "job=%s target=%s reason=\"%s\"", s->options.job->name,
	            s->options.target->name, reason);
	(void) snprintf(s->foreign, sizeof(s->foreign), "%s", reason);
}

static void sent_cb(const struct child_result *said, void *userdata)
{
	struct recordstore *s = userdata;
	const char *passed, *foreign;

	s->child = NULL;
	if (said->r < 0) {
		fail(s, said->reason);
		return;
	}
	passed = json_string_value(json_object_get(said->last, "passed_reason"));
	if (s->known_sequence == 0 || passed != NULL)
		note_passed(s, passed != NULL ? passed : "");
	foreign = json_string_value(json_object_get(said->last, "foreign_reason"));
	if (foreign != NULL)
		note_foreign(s, foreign);
	s->bytes += number_of(said, "bytes");
	s->objects += number_of(said, "objects");
	s->sent_sequence = number_of(said, "sent_sequence");
	s->known_sequence = number_of(said, "known_sequence");
	s->compared_sequence = MAX(s->compared_sequence, s->known_sequence);
	s->n_failures = 0;
	s->error[0] = '\0';
	prune(s);
}

static void add_packing(struct recordstore *s, struct s3words *words, char level[static NUMBER_MAX])
{
	const struct config_job *job = s->options.job;

	if (job->compression == CONFIG_COMPRESSION_ZSTD) {
		(void) snprintf(level, NUMBER_MAX, "%d", job->compression_level);
		s3words_option(words, "--level", level);
	}
	for (size_t i = 0; i < job->recipients.n; i++)
		s3words_option(words, "--recipient", job->recipients.items[i]);
	if (job->recipients_file != NULL)
		s3words_option(words, "--recipients-file", job->recipients_file);
}

static void upload(struct recordstore *s)
{
	const struct recordwriter_figures *f = &s->asked;
	char bytes[NUMBER_MAX], revision[NUMBER_MAX], until[NUMBER_MAX], known[NUMBER_MAX];
	char compared[NUMBER_MAX], level[NUMBER_MAX];
	struct s3words words;

	change_state(s, RECORDSTORE_SENDING);
	if (s->known_sequence == 0 || mono_now_us() - s->listed_us >= LISTED_US) {
		s->known_sequence = 0;
		s->listed_us = mono_now_us();
	}
	(void) snprintf(bytes, sizeof(bytes), "%" PRIu64, f->open_bytes);
	(void) snprintf(revision, sizeof(revision), "%" PRId64, f->last_revision);
	(void) snprintf(until, sizeof(until), "%" PRId64, f->reached_us);
	(void) snprintf(known, sizeof(known), "%" PRIu64, s->known_sequence);
	(void) snprintf(compared, sizeof(compared), "%" PRIu64, s->compared_sequence);
	begin_words(s, &words, "send");
	s3words_option(&words, "--directory", s->options.directory);
	s3words_option(&words, "--scratch", s->scratch);
	s3words_option(&words, "--node", s->options.node);
	s3words_option(&words, "--revision", revision);
	s3words_option(&words, "--until-us", until);
	s3words_option(&words, "--known-sequence", known);
	if (f->open_segment[0] != '\0') {
		s3words_option(&words, "--open", f->open_segment);
		s3words_option(&words, "--bytes", bytes);
	}
	if (s->signing_key != NULL) {
		s3words_option(&words, "--signing-key", s->signing_key);
		s3words_option(&words, "--signed-by", s->options.signed_by);
	}
	add_packing(s, &words, level);
	s3words_option(&words, "--compared-sequence", compared);
	start(s, &words, sent_cb);
	if (s->child != NULL)
		child_each_line(s->child, line_cb);
}

/* Before it is known which cluster this is, nothing can be done in a store. */
static bool may_upload(const struct recordstore *s)
{
	const struct config_owner *owner = s->options.target->owner;

	return owner == NULL || owner->id[0] != '\0';
}

static bool is_new(const struct recordwriter_figures *f, const struct recordwriter_figures *sent)
{
	return f->n_segments > 0 &&
	       (f->open_bytes != sent->open_bytes || f->reached_us != sent->reached_us ||
	        strcmp(f->open_segment, sent->open_segment) != 0);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct recordstore *s = CONTAINER_OF(w, struct recordstore, timer);

	s->began_us = mono_now_us();
	s->asked = s->options.callbacks->figures(s->options.userdata);
	if (!may_upload(s))
		change_state(s, RECORDSTORE_IDLE);
	else if (is_new(&s->asked, &s->sent) || s->error[0] != '\0')
		upload(s);
	else
		prune(s);
}

/* --- beginning and end --- */

struct recordstore *recordstore_new(const struct recordstore_options *options)
{
	struct recordstore *s = NEW0(struct recordstore);

	s->options = *options;
	s->signing_key = options->signing_key != NULL ? xstrdup(options->signing_key) : NULL;
	s->scratch =
	    xasprintf("%s/.%s-%s", options->directory, options->job->name, options->target->name);
	ev_init(&s->timer, timer_cb);
	arm(s, US_PER_S);
	return s;
}

void recordstore_free(struct recordstore *s)
{
	if (s == NULL)
		return;
	ev_timer_stop(s->options.ev, &s->timer);
	child_free(s->child);
	free(s->scratch);
	free(s->signing_key);
	free(s);
}

void recordstore_fill_report(const struct recordstore *s, struct recordstore_report *ret_report)
{
	*ret_report = (struct recordstore_report){
	    .job = s->options.job->name,
	    .target = s->options.target->name,
	    .state = states[s->state].name,
	    .revision = s->sent.last_revision,
	    .until_us = s->sent.reached_us,
	    .limit_us = LATE_ROUNDS * s->options.every_us + LATE_US,
	    .sent_sequence = s->sent_sequence,
	    .bytes = s->bytes,
	    .objects = s->objects,
	    .removed = s->removed,
	    .failures = s->failures,
	    .error = s->error,
	    .error_s = s->error[0] != '\0' ? s->error_s : 0,
	    .passed = s->passed,
	};
}
