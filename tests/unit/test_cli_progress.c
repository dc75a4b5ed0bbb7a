/* SPDX-License-Identifier: Apache-2.0 */
/* What the line about progress says, to the byte, and how fast something is. */
#include "cli/common/progress.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "tests/unit/check.h"

#define MB 1000000

static const struct {
	struct progress_state state;
	size_t width;
	const char *text;
} rows[] = {
    {{"taking", 120 * MB, 240 * MB, true, 10 * MB, 12 * US_PER_S},
     80,
     "taking [##########..........]  50% 120 MB of 240 MB, 10 MB/s, 12s left"},
    {{"taking", 0, 240 * MB, true, 0, US_PER_S},
     80,
     "taking [....................]   0% 0 B of 240 MB, 1s"},
    {{"taking", 240 * MB, 240 * MB, true, 10 * MB, US_PER_S},
     80,
     "taking [####################] 100% 240 MB of 240 MB, 10 MB/s, 0s left"},
    /* More than was thought: nothing is said of the rest. */
    {{"taking", 300 * MB, 240 * MB, true, 10 * MB, 30 * US_PER_S},
     80,
     "taking [####################] 100% 300 MB of 240 MB, 10 MB/s, 30s"},
    {{"rebuilding", 5000, 9000, false, 100, 50 * US_PER_S},
     80,
     "rebuilding [###########.........]  55% 5000 of 9000, 100/s, 40s left"},
    {{"unpacking", 7 * MB, 0, true, MB, 7 * US_PER_S}, 80, "unpacking 7.0 MB, 1.0 MB/s, 7s"},
    {{"proving", -1, 0, false, 0, 61 * US_PER_S}, 80, "proving 1m"},
    {{"proving", -1, 500, false, 0, 61 * US_PER_S}, 80, "proving 1m"},
    /* Where there is less room. */
    {{"taking", 120 * MB, 240 * MB, true, 10 * MB, US_PER_S},
     50,
     "taking 120 MB of 240 MB, 10 MB/s, 12s left"},
    {{"taking", 120 * MB, 240 * MB, true, 10 * MB, US_PER_S}, 10, "taking 120"},
    {{"n\u00e9", -1, 0, false, 0, 0}, 2, "n\u00e9"},
};

static void test_text(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO(free) char *text = progress_text(&rows[i].state, rows[i].width);

		if (!CHECK_EQ_STR(text, rows[i].text) || !CHECK(table_width(text) <= rows[i].width))
			(void) fprintf(stderr, "  row %zu\n", i);
	}
}

static void test_rate(void)
{
	struct progress_meter meter = {0};

	CHECK(progress_rate(&meter) == 0);
	progress_measure(&meter, 0, 100);
	CHECK(progress_rate(&meter) == 0);
	/* Too soon after the last one. */
	progress_measure(&meter, US_PER_S - 1, 5000);
	CHECK(progress_rate(&meter) == 0);
	progress_measure(&meter, US_PER_S, 200);
	CHECK(progress_rate(&meter) == 100);
	/* What is long ago does not count: now it is slow, then it stands. */
	for (int i = 2; i < 20; i++)
		progress_measure(&meter, i * US_PER_S, 200 + i);
	CHECK(progress_rate(&meter) == 1);
	for (int i = 20; i < 40; i++)
		progress_measure(&meter, i * US_PER_S, 219);
	CHECK(progress_rate(&meter) == 0);
}

/* A test's standard error is no terminal when it is recorded, and it may be one: nothing is shown
 * either way. */
static void test_unseen(void)
{
	AUTO(progress_free) struct progress *progress = progress_new(false);

	CHECK(!progress_is_seen(progress));
	progress_show(progress, "taking", 1, 2, true);
	progress_clear();
}

int main(void)
{
	test_text();
	test_rate();
	test_unseen();
	return check_result();
}
