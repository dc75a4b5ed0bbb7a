/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Counters and a list of times. Lines carry the wall clock, because that is what a story can
 * compare them with ($EPOCHREALTIME).
 */

#include "tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

static const char *const names[N_OUTCOMES] = {
    [OUTCOME_OK] = "ok",         [OUTCOME_REFUSED] = "refused", [OUTCOME_RESET] = "reset",
    [OUTCOME_CLOSED] = "closed", [OUTCOME_TIMEOUT] = "timeout", [OUTCOME_UNREACHED] = "unreached",
    [OUTCOME_CUT] = "cut",       [OUTCOME_STALLED] = "stalled", [OUTCOME_UNTRUSTED] = "untrusted",
    [OUTCOME_BROKEN] = "broken", [OUTCOME_WRONG] = "wrong",     [OUTCOME_LOCAL] = "local",
};

enum outcome outcome_of_end(enum link_end end, bool begun)
{
	switch (end) {
	case LINK_EOF:
		return begun ? OUTCOME_CUT : OUTCOME_CLOSED;
	case LINK_RESET:
		return begun ? OUTCOME_CUT : OUTCOME_RESET;
	case LINK_REFUSED:
		return OUTCOME_REFUSED;
	case LINK_UNREACHED:
		return begun ? OUTCOME_CUT : OUTCOME_UNREACHED;
	case LINK_UNTRUSTED:
		return OUTCOME_UNTRUSTED;
	case LINK_BROKEN:
		return OUTCOME_BROKEN;
	case LINK_LOCAL:
		break;
	}
	return OUTCOME_LOCAL;
}

void tally_event(const char *word, uint64_t id, int64_t after_us, const char *why)
{
	int64_t now_us = wall_now_us();

	(void) printf("%" PRId64 ".%06" PRId64 " %s conn=%" PRIu64 " after_ms=%" PRId64 " %s\n",
	              now_us / US_PER_S, now_us % US_PER_S, word, id, after_us / US_PER_MS, why);
	(void) fflush(stdout);
}

void tally_add(struct tally *t, enum outcome outcome, uint64_t id, int64_t took_us, const char *why)
{
	t->counts[outcome]++;
	if (outcome != OUTCOME_OK) {
		tally_event(names[outcome], id, took_us, why);
		return;
	}
	if (t->n_took == t->room) {
		t->room = MAX(t->room * 2, (size_t) 1024);
		t->took_us = xreallocarray(t->took_us, t->room, sizeof(*t->took_us));
	}
	t->took_us[t->n_took++] = took_us;
}

static int compare_times(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static json_t *ms(int64_t us)
{
	return json_real((double) us / (double) US_PER_MS);
}

static int64_t percentile_us(const struct tally *t, size_t percent)
{
	return t->n_took == 0 ? 0 : t->took_us[(t->n_took - 1) * percent / 100];
}

void tally_fill(struct tally *t, json_t *object)
{
	json_t *failures = json_object();
	uint64_t failed = 0;

	for (size_t i = OUTCOME_OK + 1; i < N_OUTCOMES; i++) {
		failed += t->counts[i];
		(void) json_object_set_new(failures, names[i], json_integer((json_int_t) t->counts[i]));
	}
	if (t->n_took > 0)
		qsort(t->took_us, t->n_took, sizeof(*t->took_us), compare_times);
	(void) json_object_set_new(object, "ok", json_integer((json_int_t) t->counts[OUTCOME_OK]));
	(void) json_object_set_new(object, "failed", json_integer((json_int_t) failed));
	(void) json_object_set_new(object, "failures", failures);
	(void) json_object_set_new(object, "p50_ms", ms(percentile_us(t, 50)));
	(void) json_object_set_new(object, "p99_ms", ms(percentile_us(t, 99)));
	(void) json_object_set_new(object, "max_ms", ms(percentile_us(t, 100)));
	(void) json_object_set_new(object, "late_ms", ms(t->late_us));
}

void tally_fini(struct tally *t)
{
	free(t->took_us);
	*t = (struct tally){0};
}
