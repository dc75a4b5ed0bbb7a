/* SPDX-License-Identifier: Apache-2.0 */
/* The disk's thread: order, the loop that goes on meanwhile, how long it has been at it, and an end
 * with work left. */
#include "etcdwatch/work/disk.h"

#include <stdbool.h>
#include <unistd.h>

#include "base/macro.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

#define N 100

struct step {
	struct disk_task task;
	unsigned *counter;  /* the thread's */
	unsigned worked_as; /* which it was, of all */
	unsigned *n_done;
	unsigned done_as;
	unsigned sleep_us;
};

static void work(struct disk_task *task)
{
	struct step *s = CONTAINER_OF(task, struct step, task);

	if (s->sleep_us > 0)
		(void) usleep(s->sleep_us);
	s->worked_as = ++*s->counter;
}

static void done(struct disk_task *task)
{
	struct step *s = CONTAINER_OF(task, struct step, task);

	s->done_as = ++*s->n_done;
}

static void test_order(void)
{
	struct ev_loop *ev = ev_default_loop(0);
	struct step steps[N];
	struct disk *disk = NULL;
	unsigned counter = 0, n_done = 0;
	int64_t until_us = mono_now_us() + TURN_LIMIT_US;

	CHECK_EQ_INT(disk_new(ev, &disk), 0);
	for (unsigned i = 0; i < N; i++) {
		steps[i] = (struct step){
		    .task = {.work = work, .done = done}, .counter = &counter, .n_done = &n_done};
		disk_do(disk, &steps[i].task);
	}
	CHECK_EQ_INT(n_done, 0); /* never from inside */
	while (n_done < N && mono_now_us() < until_us)
		turn_once(ev);
	for (unsigned i = 0; i < N; i++) {
		CHECK_EQ_INT(steps[i].worked_as, i + 1);
		CHECK_EQ_INT(steps[i].done_as, i + 1);
	}
	disk_free(disk);
}

/* The one under way is waited for, the others are not begun, and nobody is told. */
static void test_end(void)
{
	struct ev_loop *ev = ev_default_loop(0);
	struct step steps[3];
	struct disk *disk = NULL;
	unsigned counter = 0, n_done = 0;

	CHECK_EQ_INT(disk_new(ev, &disk), 0);
	for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
		steps[i] = (struct step){.task = {.work = work, .done = done},
		                         .counter = &counter,
		                         .n_done = &n_done,
		                         .sleep_us = 100000};
		disk_do(disk, &steps[i].task);
	}
	(void) usleep(20000);
	disk_free(disk);
	CHECK(counter <= 1);
	turn_for(ev, 20 * US_PER_MS);
	CHECK_EQ_INT(n_done, 0);
}

/* A task that waits to be let go: the disk is busy for as long, and nothing behind it is begun. */
struct hanging {
	struct disk_task task;
	int fd;
	unsigned n_done;
};

static void hang_work(struct disk_task *task)
{
	struct hanging *h = CONTAINER_OF(task, struct hanging, task);
	char byte;

	CHECK_EQ_INT(read(h->fd, &byte, 1), 1);
}

static void hang_done(struct disk_task *task)
{
	CONTAINER_OF(task, struct hanging, task)->n_done++;
}

static void test_busy(void)
{
	struct ev_loop *ev = ev_default_loop(0);
	struct hanging hanging[2];
	struct disk *disk = NULL;
	int64_t until_us = mono_now_us() + 60 * US_PER_S, asked_us, busy_us;
	int ends[2];

	CHECK_EQ_INT(pipe(ends), 0);
	CHECK_EQ_INT(disk_new(ev, &disk), 0);
	CHECK_EQ_INT(disk_busy_us(disk), 0);
	asked_us = mono_now_us();
	for (unsigned i = 0; i < ARRAY_SIZE(hanging); i++) {
		hanging[i] =
		    (struct hanging){.task = {.work = hang_work, .done = hang_done}, .fd = ends[0]};
		disk_do(disk, &hanging[i].task);
	}
	while (disk_busy_us(disk) < 50 * US_PER_MS && mono_now_us() < until_us)
		turn_once(ev);
	busy_us = disk_busy_us(disk);
	CHECK(busy_us >= 50 * US_PER_MS);
	CHECK(busy_us <= mono_now_us() - asked_us);
	/* The next begins anew, when this one is over. */
	asked_us = mono_now_us();
	CHECK_EQ_INT(write(ends[1], "x", 1), 1);
	while (hanging[0].n_done == 0 && mono_now_us() < until_us)
		turn_once(ev);
	busy_us = disk_busy_us(disk);
	CHECK(busy_us <= mono_now_us() - asked_us);
	CHECK_EQ_INT(hanging[1].n_done, 0);
	CHECK_EQ_INT(write(ends[1], "x", 1), 1);
	while (hanging[1].n_done == 0 && mono_now_us() < until_us)
		turn_once(ev);
	CHECK_EQ_INT(disk_busy_us(disk), 0);
	disk_free(disk);
	(void) close(ends[0]);
	(void) close(ends[1]);
}

int main(void)
{
	test_order();
	test_busy();
	test_end();
	return check_result();
}
