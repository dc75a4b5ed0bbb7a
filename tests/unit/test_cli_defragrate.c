/* SPDX-License-Identifier: Apache-2.0 */
/* What a member that is done tells of how long the next one takes, and what tells nothing. */
#include "cli/etcd/defragrate.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

#define DONE "\"step\":\"defragment\",\"node\":\"n1\",\"state\":\"done\""
#define STEP "\"step\":\"defragment\",\"node\":\"n2\""

static const struct {
	const char *done; /* before */
	const char *step;
	const char *what; /* NULL: not known */
	int64_t expect_us;
} rows[] = {
    {"{" DONE ",\"bytes_after\":400000000,\"took_ms\":8000}",
     "{" STEP ",\"in_use_bytes\":200000000}", "defragment n2: 200 MB to write", 4 * US_PER_S},
    /* Nobody was done before. */
    {"{}", "{" STEP ",\"in_use_bytes\":200000000}", "defragment n2: 200 MB to write", 0},
    /* A daemon that does not tell how much it is, or a compaction comes before. */
    {"{" DONE ",\"bytes_after\":400000000,\"took_ms\":8000}", "{" STEP "}", NULL, 0},
    /* Something else was done, or is. */
    {"{\"step\":\"compact\",\"bytes_after\":4000,\"took_ms\":8000}",
     "{" STEP ",\"in_use_bytes\":200000000}", "defragment n2: 200 MB to write", 0},
    {"{" DONE ",\"bytes_after\":400000000,\"took_ms\":8000}",
     "{\"step\":\"disarm\",\"in_use_bytes\":200000000}", NULL, 0},
    /* What cannot be divided by. */
    {"{" DONE ",\"bytes_after\":0,\"took_ms\":8000}", "{" STEP ",\"in_use_bytes\":200000000}",
     "defragment n2: 200 MB to write", 0},
    {"{" DONE ",\"bytes_after\":400000000,\"took_ms\":0}", "{" STEP ",\"in_use_bytes\":200000000}",
     "defragment n2: 200 MB to write", 0},
};

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct defragrate rate = {.bytes_per_us = 0};
		json_t *done = json_loads(rows[i].done, 0, NULL);
		json_t *step = json_loads(rows[i].step, 0, NULL);
		AUTO(free) char *what = NULL;

		defragrate_take(&rate, done);
		what = defragrate_what(step);
		if (!CHECK_EQ_STR(what, rows[i].what) ||
		    !CHECK_EQ_INT(defragrate_expect(&rate, step), rows[i].expect_us))
			(void) fprintf(stderr, "  row %zu\n", i);
		json_decref(done);
		json_decref(step);
	}
	return check_result();
}
