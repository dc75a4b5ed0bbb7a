/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every rule: no finding while all is well, raised after its time and not before, cleared after its
 * hold time and not before.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/judgeworld.h"

static void run_row(const struct row *row)
{
	struct judge_settings settings;
	AUTO(judge_free) struct judge *j = NULL;
	AUTO(free) struct world *w = NEW0(struct world);
	const struct rules_rule *rule = &rules[row->rule];
	int64_t at_s = 1000, took_s;
	bool ok;

	judge_default_settings(&settings);
	j = judge_new(&settings);
	for (int64_t end_s = at_s + 3 * WINDOW; at_s < end_s; at_s += STEP_S) {
		make_well(w, at_s);
		judge_look(j, &w->o, ignore, NULL);
	}
	ok = CHECK_EQ_INT(count(j), 0);
	took_s = until(j, w, row, true, at_s, rule->after_s + row->later_s + STEP_S);
	ok &= CHECK(took_s >= (int64_t) rule->after_s);
	ok &= CHECK(row->later_s > 0 || took_s < (int64_t) rule->after_s + STEP_S);
	at_s += MAX(took_s, 0) + STEP_S;
	took_s = until(j, w, row, false, at_s, rule->hold_s + row->longer_s + STEP_S);
	ok &= CHECK(took_s >= (int64_t) rule->hold_s);
	ok &= CHECK(row->longer_s > 0 || took_s < (int64_t) rule->hold_s + STEP_S);
	if (!ok)
		(void) fprintf(stderr, "  at %s of '%s'\n", rule->id, row->subject);
}

static void test_rows(void)
{
	bool seen[RULES_N] = {false};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		run_row(&rows[i]);
		seen[rows[i].rule] = true;
	}
	for (size_t i = 0; i < RULES_N; i++) {
		if (!CHECK(seen[i]))
			(void) fprintf(stderr, "  no row for %s\n", rules[i].id);
		CHECK_EQ_INT(rules_find(rules[i].id), i);
	}
	CHECK_EQ_INT(rules_find("no-such-rule"), RULES_N);
}

int main(void)
{
	test_rows();
	return check_result();
}
