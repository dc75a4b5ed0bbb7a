/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How soon the writer of the record syncs what it is given, whenever that comes: with a clock and a
 * disk that are the test's own, so that no machine is too slow for it. Time passes from one event
 * to the next: a change comes, the writer's timer fires, the disk is done with a batch. The files
 * are real.
 */
#include "etcdwatch/record/recordwriter.h"

#include <stdlib.h>

#include "base/mem.h"
#include "etcdwatch/work/disk.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define PROMISED_US US_PER_S
#define PUTS 4000
#define LATE_US (5 * US_PER_MS) /* the loop may be, with its timer */

int64_t __wrap_mono_now_us(void);
void __wrap_ev_timer_start(struct ev_loop *ev, ev_timer *w);
void __wrap_disk_do(struct disk *disk, struct disk_task *task);
int __wrap_fdatasync(int fd);

static struct ev_loop *ev;
static int64_t now_us;
static ev_timer *tick; /* the writer's */
static int64_t tick_us;
static struct disk_task *away;
static int64_t back_us;
static int64_t write_us, sync_us; /* what the disk takes */
static bool has_synced;

int64_t __wrap_mono_now_us(void)
{
	return now_us;
}

void __wrap_ev_timer_start(struct ev_loop *unused UNUSED, ev_timer *w)
{
	tick = w;
	tick_us = now_us + (int64_t) (w->repeat * (double) US_PER_S);
}

int __wrap_fdatasync(int fd UNUSED)
{
	has_synced = true;
	return 0;
}

void __wrap_disk_do(struct disk *disk UNUSED, struct disk_task *task)
{
	CHECK(away == NULL);
	has_synced = false;
	task->work(task);
	away = task;
	back_us = now_us + write_us + (has_synced ? sync_us : 0);
}

/* --- the writer --- */

static struct recordwriter *writer;
static bool is_open;
static int64_t put_us[PUTS + 1]; /* by revision */
static int64_t n_put, n_synced;
static int64_t worst_us;

static void opened_cb(struct recordwriter_found *found UNUSED, void *userdata UNUSED)
{
	is_open = true;
}

static void failed_cb(int r, const char *reason, void *userdata UNUSED)
{
	CHECK_EQ_INT(r, 0);
	(void) fprintf(stderr, "  %s\n", reason);
}

static void nothing_cb(void *userdata UNUSED)
{
}

static int64_t base_cb(uint64_t cluster_id UNUSED, void *userdata UNUSED)
{
	return 0;
}

static const struct recordwriter_callbacks callbacks = {
    .opened = opened_cb,
    .failed = failed_cb,
    .room = nothing_cb,
    .closed = nothing_cb,
    .base_revision = base_cb,
};

static void put(void)
{
	struct record_event event = {
	    .key = bytes_of_text("k"), .create_revision = 1, .version = 1, .value = bytes_of_text("v")};

	put_us[++n_put] = now_us;
	CHECK_EQ_INT(recordwriter_put(writer, &(struct record_frame){.type = RECORD_EVENTS,
	                                                             .revision = n_put,
	                                                             .wall_us = now_us,
	                                                             .events = &event,
	                                                             .n_events = 1}),
	             0);
}

/* --- time --- */

static void see_what_is_synced(void)
{
	for (int64_t last = recordwriter_figures(writer).last_revision; n_synced < last;) {
		n_synced++;
		worst_us = MAX(worst_us, now_us - put_us[n_synced]);
	}
}

/* The next event, if it is not later than that. */
static bool pass(int64_t until_us, unsigned *seed)
{
	struct disk_task *task = away;

	if (task != NULL && back_us <= MIN(tick_us, until_us)) {
		now_us = back_us;
		away = NULL;
		task->done(task);
		if (is_open)
			see_what_is_synced();
		return true;
	}
	if (tick_us > until_us)
		return false;
	now_us = tick_us;
	tick_us += (int64_t) (tick->repeat * (double) US_PER_S) + rand_r(seed) % LATE_US;
	ev_invoke(ev, tick, EV_TIMER);
	return true;
}

static void pass_until(int64_t until_us, unsigned *seed)
{
	while (pass(until_us, seed))
		;
	now_us = until_us;
}

/* --- tests --- */

/* Until the next change comes. */
typedef int64_t (*wait_fn)(unsigned *seed);

static int64_t wait_short(unsigned *seed)
{
	return rand_r(seed) % (2 * US_PER_MS);
}

static int64_t wait_long(unsigned *seed)
{
	return rand_r(seed) % (3 * US_PER_S);
}

/* About as long as the writer's own times. */
static int64_t wait_its_time(unsigned *seed)
{
	return RECORDWRITER_SYNC_US / (1 + rand_r(seed) % 3) - 2 * US_PER_MS + rand_r(seed) % 4000;
}

static int64_t wait_any(unsigned *seed)
{
	switch (rand_r(seed) % 4) {
	case 0:
		return 0;
	case 1:
		return wait_short(seed);
	case 2:
		return wait_its_time(seed);
	}
	return wait_long(seed);
}

static const struct {
	const char *name;
	wait_fn wait;
} comings[] = {
    {"close together", wait_short},
    {"far apart", wait_long},
    {"as often as it syncs", wait_its_time},
    {"anyhow", wait_any},
};

static const struct {
	int64_t write_us, sync_us;
} disks[] = {
    {0, 0},
    {100, 2 * US_PER_MS},
    {10 * US_PER_MS, 50 * US_PER_MS},
    {50 * US_PER_MS, 100 * US_PER_MS},
};

static void run(const char *directory, size_t coming, size_t disk)
{
	const struct recordwriter_options options = {
	    .ev = ev,
	    .directory = directory,
	    .keep_us = 3600 * US_PER_S,
	    .max_bytes = UINT64_C(1) << 30,
	    .segment_bytes = 100000,
	    .segment_us = 60 * US_PER_S,
	};
	unsigned seed = (unsigned) (coming + 10 * disk + 1);

	write_us = disks[disk].write_us;
	sync_us = disks[disk].sync_us;
	is_open = false;
	n_put = n_synced = worst_us = 0;
	CHECK_EQ_INT(recordwriter_new(&options, &callbacks, NULL, &writer), 0);
	recordwriter_open(writer);
	pass_until(now_us + US_PER_S, &seed);
	CHECK(is_open);
	recordwriter_begin(
	    writer,
	    &(struct recordwriter_chain){
	        .cluster_id = 1, .member_id = 1, .member = "n1", .first_revision = 1, .begins = true});
	while (n_put < PUTS) {
		put();
		pass_until(now_us + comings[coming].wait(&seed), &seed);
	}
	/* The last as well, behind which nothing comes. */
	pass_until(now_us + 10 * US_PER_S, &seed);
	CHECK_EQ_INT(n_synced, PUTS);
	if (!CHECK(worst_us <= PROMISED_US))
		(void) fprintf(
		    stderr, "  synced after %lld us: changes come %s, the disk takes %lld + %lld us\n",
		    (long long) worst_us, comings[coming].name, (long long) write_us, (long long) sync_us);
	recordwriter_free(TAKE_PTR(writer));
}

int main(void)
{
	ev = ev_default_loop(0);
	scratch_enter();
	for (size_t i = 0; i < ARRAY_SIZE(comings); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(disks); k++) {
			AUTO(free) char *directory = xasprintf("%zu-%zu", i, k);

			run(directory, i, k);
		}
	}
	scratch_leave();
	return check_result();
}
