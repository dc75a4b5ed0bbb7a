/* SPDX-License-Identifier: Apache-2.0 */
/* From JSON and back. A field that is not there is as if it had never been written. */
#include "etcdwatch/drill/drillstate.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/civil.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define VERSION 1

void drillstate_fini(struct drillstate *state)
{
	json_decref(state->result);
	*state = (struct drillstate){.since_s = 0};
}

void drillstate_add(struct drillstate *state, int64_t began_s, const char *id, int64_t took_ms,
                    const char *code, const char *reason, const json_t *result)
{
	json_t *copy = result != NULL ? json_deep_copy(result) : NULL;

	json_decref(state->result);
	state->result = copy;
	state->last_s = began_s;
	state->last_took_ms = took_ms;
	state->last_ok = code[0] == '\0';
	(void) snprintf(state->last_id, sizeof(state->last_id), "%s", id);
	(void) snprintf(state->code, sizeof(state->code), "%s", code);
	(void) snprintf(state->reason, sizeof(state->reason), "%s", reason);
	if (!state->last_ok) {
		state->failures++;
		return;
	}
	state->failures = 0;
	state->good_s = began_s;
	(void) snprintf(state->good_id, sizeof(state->good_id), "%s", id);
}

/* --- JSON --- */

static bool read_moment(const json_t *object, const char *key, int64_t *ret_s)
{
	const json_t *value = json_object_get(object, key);

	*ret_s = 0;
	if (value == NULL || json_is_null(value))
		return true;
	return json_is_string(value) && civil_parse(json_string_value(value), ret_s) == 0 && *ret_s > 0;
}

static bool read_text(const json_t *object, const char *key, char *text, size_t size)
{
	const json_t *value = json_object_get(object, key);

	if (value == NULL || json_is_null(value))
		return true;
	if (!json_is_string(value) || json_string_length(value) >= size ||
	    strlen(json_string_value(value)) != json_string_length(value))
		return false;
	(void) snprintf(text, size, "%s", json_string_value(value));
	return true;
}

static bool read_integer(const json_t *object, const char *key, int64_t max, int64_t *ret_value)
{
	const json_t *value = json_object_get(object, key);

	*ret_value = json_integer_value(value);
	return value == NULL || (json_is_integer(value) && *ret_value >= 0 && *ret_value <= max);
}

static bool read_all(const json_t *object, struct drillstate *s)
{
	int64_t failures = 0;
	bool good = json_integer_value(json_object_get(object, "version")) == VERSION &&
	            read_moment(object, "since", &s->since_s) &&
	            read_moment(object, "last", &s->last_s) &&
	            read_moment(object, "good", &s->good_s) &&
	            read_text(object, "last_id", s->last_id, sizeof(s->last_id)) &&
	            read_text(object, "good_id", s->good_id, sizeof(s->good_id)) &&
	            read_text(object, "code", s->code, sizeof(s->code)) &&
	            read_text(object, "reason", s->reason, sizeof(s->reason)) &&
	            read_integer(object, "last_took_ms", INT64_MAX, &s->last_took_ms) &&
	            read_integer(object, "failures", INT_MAX, &failures);

	s->last_ok = json_is_true(json_object_get(object, "last_ok"));
	s->failures = (unsigned) failures;
	return good;
}

int drillstate_parse(const char *text, size_t len, struct drillstate *ret_state)
{
	json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	struct drillstate state = {.since_s = 0};
	json_t *result = json_object_get(object, "result");
	bool good = json_is_object(object) && read_all(object, &state) &&
	            (result == NULL || json_is_null(result) || json_is_object(result));

	if (good && json_is_object(result))
		state.result = json_incref(result);
	json_decref(object);
	if (!good)
		return -EINVAL;
	*ret_state = state;
	return 0;
}

char *drillstate_print(const struct drillstate *s)
{
	json_t *object = json_pack(
	    "{s:i, s:o, s:o, s:o, s:b, s:o, s:o, s:I, s:O*, s:I, s:o, s:o}", "version", VERSION,
	    "since", jsonval_moment(s->since_s), "last", jsonval_moment(s->last_s), "last_id",
	    jsonval_text(s->last_id), "last_ok", (int) s->last_ok, "code", jsonval_text(s->code),
	    "reason", jsonval_text(s->reason), "last_took_ms", (json_int_t) s->last_took_ms, "result",
	    s->result, "failures", (json_int_t) s->failures, "good", jsonval_moment(s->good_s),
	    "good_id", jsonval_text(s->good_id));
	char *text = json_dumps(object, JSON_INDENT(1));

	json_decref(object);
	return text;
}

/* --- drilldue --- */

/* The schedule, the catching up, and the pauses behind failures. */

#define RETRY_MIN_S INT64_C(300)
#define RETRY_MAX_S INT64_C(21600)
#define GRACE_S INT64_C(900)

/* What lies ahead was written while the clock was wrong, and says nothing. */
static int64_t past(int64_t then_s, int64_t now_s)
{
	return then_s <= now_s ? then_s : 0;
}

static int64_t pause_s(unsigned failures)
{
	int64_t s = RETRY_MIN_S;

	for (unsigned i = 1; i < failures && s < RETRY_MAX_S; i++)
		s *= 2;
	return MIN(s, RETRY_MAX_S);
}

/* 0: none is. */
static int64_t wanted_from_s(const struct config_job *job, int64_t since_s, int64_t now_s)
{
	int64_t scheduled_s = schedule_previous(&job->drill.schedule, job->zone, now_s);

	if (scheduled_s >= since_s)
		return scheduled_s;
	return job->catch_up ? since_s : 0;
}

void drilldue_look(const struct config_job *job, const struct drilldue_history *history,
                   int64_t now_s, struct drilldue *ret_due)
{
	int64_t since_s = past(history->since_s, now_s);
	int64_t last_s = past(history->last_s, now_s);
	int64_t good_s = past(history->good_s, now_s);
	int64_t wanted_s = wanted_from_s(job, since_s, now_s);

	*ret_due = (struct drilldue){.next_s = 0};
	if (history->since_s == 0)
		return;
	if (wanted_s == 0 || good_s >= wanted_s) {
		ret_due->next_s = schedule_next(&job->drill.schedule, job->zone, now_s);
		return;
	}
	ret_due->next_s = last_s >= wanted_s ? last_s + pause_s(history->failures) : wanted_s;
	ret_due->is_due = ret_due->next_s <= now_s;
	ret_due->is_overdue = now_s > wanted_s + job->drill.timeout_us / US_PER_S + GRACE_S;
}

/* --- drillpick --- */

/* Where the job encrypts, a snapshot that is not encrypted may be a stranger's. */

const struct catalog_entry *drillpick_here(const struct config_job *job,
                                           const struct catalog_entry *const *entries, size_t n,
                                           const struct config_target *copied_to)
{
	for (size_t i = n; i-- > 0;) {
		if (catalog_is_good(entries[i]) && (entries[i]->age || !job->encrypted) &&
		    (copied_to == NULL || catalog_find_copy(entries[i], copied_to->name) != NULL))
			return entries[i];
	}
	return NULL;
}

const struct catalog_entry *drillpick_there(const struct config_job *job,
                                            const struct inventory *there)
{
	size_t n;
	const struct catalog_entry *const *trusted = inventory_trusted(there, &n);

	return drillpick_here(job, trusted, n, NULL);
}

/* --- drillwords --- */

/* From the configuration to a command line. The entry of a local snapshot is read by the worker, as
 * it lies on the disk; that of another one is told. */

static void add_source(struct drillwords *d, const struct config_job *job,
                       const struct catalog_entry *entry)
{
	if (job->drill.source == NULL) {
		d->file = xasprintf("%s/%s", job->directory, entry->file);
		d->entry = xasprintf("%s/%s.json", job->directory, entry->id);
		s3words_option(&d->words, "--catalog", d->entry);
		return;
	}
	d->file = inventory_file_key(job->drill.source, entry);
	d->entry = catalog_print(entry);
	s3words_option(&d->words, "--entry", d->entry);
	s3words_target(&d->words, job->drill.source);
}

void drillwords_init(struct drillwords *d, const char *worker, const struct config_job *job,
                     const struct catalog_entry *entry)
{
	const struct config_drill *drill = &job->drill;

	(void) snprintf(d->timeout, sizeof(d->timeout), "%lld",
	                (long long) (drill->timeout_us / US_PER_S));
	(void) snprintf(d->reserve, sizeof(d->reserve), "%lld", (long long) job->reserve_bytes);
	s3words_start(&d->words, worker, "drill");
	add_source(d, job, entry);
	s3words_option(&d->words, "--directory", drill->directory);
	s3words_option(&d->words, "--timeout", d->timeout);
	s3words_option(&d->words, "--reserve", d->reserve);
	s3words_option_if_set(&d->words, "--identity", drill->identity_file);
	/* What lies here is this node's own, perhaps from before keys were configured. */
	for (size_t i = 0;
	     drill->source != NULL && job->trusted_keys != NULL && i < job->trusted_keys->n; i++)
		s3words_option(&d->words, "--trust", job->trusted_keys->items[i]);
	if (job->encrypted)
		s3words_option(&d->words, "--encrypted", NULL);
	s3words_option_if_set(&d->words, "--etcd", drill->etcd);
	s3words_option_if_set(&d->words, "--etcdutl", drill->etcdutl);
	s3words_add(&d->words, d->file);
}

void drillwords_fini(struct drillwords *d)
{
	free(d->file);
	free(d->entry);
}
