/* SPDX-License-Identifier: Apache-2.0 */
/* One descriptor, which becomes readable when the time has come. */
#include "base/boottimer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

struct boottimer {
	struct ev_loop *ev;
	boottimer_fn fn;
	void *userdata;
	ev_io io;
};

/* What was set anew since the loop saw it has nothing to be read. */
static void readable_cb(struct ev_loop *ev UNUSED, ev_io *w, int revents)
{
	struct boottimer *timer = CONTAINER_OF(w, struct boottimer, io);
	uint64_t n_expired;

	loop_expect_watched(revents);
	if (read(timer->io.fd, &n_expired, sizeof(n_expired)) == sizeof(n_expired))
		timer->fn(timer->userdata);
}

int boottimer_new(struct ev_loop *ev, boottimer_fn fn, void *userdata, struct boottimer **ret_timer)
{
	int fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	struct boottimer *timer;

	if (fd < 0)
		return -errno;
	timer = NEW0(struct boottimer);
	timer->ev = ev;
	timer->fn = fn;
	timer->userdata = userdata;
	ev_io_init(&timer->io, readable_cb, fd, EV_READ);
	ev_io_start(ev, &timer->io);
	*ret_timer = timer;
	return 0;
}

void boottimer_free(struct boottimer *timer)
{
	if (timer == NULL)
		return;
	ev_io_stop(timer->ev, &timer->io);
	(void) close(timer->io.fd);
	free(timer);
}

void boottimer_set(struct boottimer *timer, int64_t at_us)
{
	struct itimerspec when = {.it_interval = {0}};
	int r;

	/* All zero is never: nobody sets a time before the machine was started. */
	if (at_us < MONO_NEVER) {
		at_us = MAX(at_us, 1);
		when.it_value.tv_sec = (time_t) (at_us / US_PER_S);
		when.it_value.tv_nsec = (long) (at_us % US_PER_S * 1000);
	}
	r = timerfd_settime(timer->io.fd, TFD_TIMER_ABSTIME, &when, NULL);
	assert(r == 0);
}
