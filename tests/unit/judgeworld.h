/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the watchdog sees: a cluster that is well, each thing that can be worse about it, and what
 * the judge finds then.
 */

#include "etcdwatch/rules/judge.h"

#define STEP_S 10
#define MIB INT64_C(1048576)
#define HALF_HOUR 1800
#define WINDOW 300

/* A cluster of three that is well, and what one row makes worse in it. */
struct world {
	struct observation o;
	uint64_t fast, slow, very_slow; /* writes so far */
	uint64_t slow_commits, failed;
	int64_t grown_bytes;
};

/* A rule, what makes it find something, and about whom. */
struct row {
	enum rules_id rule;
	void (*worsen)(struct world *w, int64_t s);
	const char *subject;
	/* By how much later than its times it may be raised and cleared, because it is told from
	 * more than one observation. */
	int64_t later_s, longer_s;
};

/* At least one for each rule. */
#define N_ROWS 52
extern const struct row rows[N_ROWS];

/* All is well, at that time. */
void make_well(struct world *w, int64_t at_s);

/* --- what is worse; `s` seconds after that has begun --- */

void no_answer(struct observation_member *m);
void one_down(struct world *w, int64_t s);
void no_space(struct world *w, int64_t s);
void corrupt(struct world *w, int64_t s);
void other_data(struct world *w, int64_t s);
void full(struct world *w, int64_t s);
void grows(struct world *w, int64_t s);
void file_14_days(struct world *w, int64_t s);
void file_7_days(struct world *w, int64_t s);
void gap(struct world *w, int64_t s);
void no_chain(struct world *w, int64_t s);
void record_off(struct world *w, int64_t s);

/* --- what is found --- */

/* Nothing is done with what the judge tells. */
void ignore(const struct judge_finding *finding, bool raised, void *userdata);
/* NULL: there is no such finding. */
const struct judge_finding *find(const struct judge *j, enum rules_id rule, const char *subject);
size_t count(const struct judge *j);
/* From `from_s` on until the finding is there, or is not; how long that took, or -1. */
int64_t until(struct judge *j, struct world *w, const struct row *row, bool worse, int64_t from_s,
              int64_t limit_s);
/* Once, with all well but for that (NULL: all). */
void look(struct judge *j, struct world *w, int64_t at_s,
          void (*worsen)(struct world *w, int64_t s));
