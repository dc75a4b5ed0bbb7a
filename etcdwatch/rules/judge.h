/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From observations to findings. A rule that holds for its time becomes a finding; one that no
 * longer holds for its hold time is none any more; in between nothing changes, so nothing flaps.
 * While it cannot be told, everything stays as it is. Pure: a memory of bounded size, and time
 * comes with the observations.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/rules/rules.h"

/* Held or waited for at once; more are dropped. */
#define JUDGE_SLOTS_MAX 256
/* A rule that was not seen to hold for longer than this has not held without a break. */
#define JUDGE_GAP_US (90 * US_PER_S)

struct judge;

struct judge_settings {
	struct {
		int64_t after_us;
		int64_t hold_us;
		bool off; /* never a finding */
	} of[RULES_N];
};

/* Those of the table. */
void judge_default_settings(struct judge_settings *ret_settings);

struct judge_finding {
	const struct rules_rule *rule;
	char subject[RULES_SUBJECT_MAX]; /* "" for the cluster */
	uint64_t number;                 /* that stands for it */
	int64_t since_us;                /* since when the rule holds; mono_now_us() */
	int64_t raised_us;
	char sentence[RULES_SENTENCE_MAX]; /* as it was last seen to hold */
};

/* settings are copied. */
struct judge *judge_new(const struct judge_settings *settings);
void judge_free(struct judge *judge);
DEFINE_AUTO(struct judge, judge_free);

/* Called for what has changed, in no order; the finding is borrowed for the length of the call. */
typedef void (*judge_changed_fn)(const struct judge_finding *finding, bool raised, void *userdata);

/* Each observation once, in their order. */
void judge_look(struct judge *judge, const struct observation *o, judge_changed_fn changed,
                void *userdata);

/* What it remembers of the members; borrowed until the next look. */
const struct trend *judge_trend(const struct judge *judge);

/* All that stand now, without those of which a stronger one says the same; borrowed until the next
 * look. The critical ones come first, then by rule, then by subject. Returns how many. */
size_t judge_findings(const struct judge *judge,
                      const struct judge_finding *ret_findings[static JUDGE_SLOTS_MAX]);
