/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libev watches the files, by inotify where it can; what is no file (the kernel's own name of the
 * host, a feature of a driver) is seen by the next look.
 */
#include "netconf/drift_beside.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* Asking for services starts a process, so it is not asked at every route that comes or goes. */
#define PERIOD_S 30.
/* Where there is no inotify. */
#define POLL_S 5.

static const char *const paths[] = {
    "/etc/hostname",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/systemd/resolved.conf.d/90-fairlead.conf",
    "/etc/systemd/timesyncd.conf.d/90-fairlead.conf",
};

struct drift_beside {
	struct ev_loop *ev;
	drift_beside_changed_fn changed;
	void *userdata;
	struct watched {
		ev_stat stat;
		struct drift_beside *owner;
	} files[ARRAY_SIZE(paths)];
	ev_timer period;
	bool is_due;
	struct beside *seen;
};

static void on_due(struct drift_beside *b)
{
	b->is_due = true;
	b->changed(b->userdata);
}

/* Reading it is no change, though that may have left its time. */
static bool is_other(const ev_statdata *a, const ev_statdata *b)
{
	return a->st_nlink != b->st_nlink || a->st_dev != b->st_dev || a->st_ino != b->st_ino ||
	       a->st_size != b->st_size || a->st_ctim.tv_sec != b->st_ctim.tv_sec ||
	       a->st_ctim.tv_nsec != b->st_ctim.tv_nsec;
}

static void file_stat_cb(struct ev_loop *ev UNUSED, ev_stat *stat, int revents UNUSED)
{
	if (is_other(&stat->prev, &stat->attr))
		on_due(CONTAINER_OF(stat, struct watched, stat)->owner);
}

static void period_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	on_due(CONTAINER_OF(timer, struct drift_beside, period));
}

struct drift_beside *drift_beside_new(struct ev_loop *ev, drift_beside_changed_fn changed,
                                      void *userdata)
{
	struct drift_beside *b = NEW0(struct drift_beside);

	b->ev = ev;
	b->changed = changed;
	b->userdata = userdata;
	b->is_due = true;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		b->files[i].owner = b;
		ev_stat_init(&b->files[i].stat, file_stat_cb, paths[i], POLL_S);
		ev_stat_start(ev, &b->files[i].stat);
	}
	ev_timer_init(&b->period, period_timer_cb, PERIOD_S, PERIOD_S);
	ev_timer_start(ev, &b->period);
	return b;
}

void drift_beside_free(struct drift_beside *b)
{
	if (b == NULL)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		ev_stat_stop(b->ev, &b->files[i].stat);
	ev_timer_stop(b->ev, &b->period);
	beside_free(b->seen);
	free(b);
}

void drift_beside_forget(struct drift_beside *b)
{
	b->is_due = true;
	beside_free(TAKE_PTR(b->seen));
}

static bool is_asked_for(const struct resolution *resolution)
{
	return resolution->model->host.has != 0 || resolution->n_ethernets > 0;
}

bool drift_beside_look(struct drift_beside *b, const struct look *look)
{
	AUTO(free) char *error = NULL;
	int r;

	if (!b->is_due)
		return false;
	drift_beside_forget(b);
	b->is_due = false;
	if (!is_asked_for(look->resolution))
		return true;
	r = beside_plan(&host_this_machine, look->resolution, look->have, &b->seen, &error);
	if (r < 0)
		(void) log_warning_errno(r, "observe_failed", "reason=\"%s\"", error);
	return true;
}

const struct beside *drift_beside_seen(const struct drift_beside *b)
{
	return b->seen;
}

static bool may_do_all(const struct beside *plan, drift_beside_may_fn may, void *userdata)
{
	char text[BESIDE_TEXT_MAX];
	enum op_class class;

	for (size_t i = 0; i < beside_count(plan); i++) {
		if (!may(beside_format(plan, i, text, &class), userdata))
			return false;
	}
	return true;
}

size_t drift_beside_repair(struct drift_beside *b, const struct look *look, drift_beside_may_fn may,
                           void *userdata)
{
	AUTO(beside_free) struct beside *plan = NULL;
	AUTO(free) char *error = NULL;
	int r = beside_plan_host(&host_this_machine, look->resolution, HOST_ALL, &plan, &error);

	if (r == 0 && (beside_problems(plan)->n > 0 || beside_count(plan) == 0 ||
	               !may_do_all(plan, may, userdata)))
		return 0;
	if (r == 0)
		r = beside_carry_out(plan, &error);
	if (r < 0) {
		(void) log_warning_errno(r, "drift_stays", "reason=\"%s\"", error);
		return 0;
	}
	b->is_due = true;
	(void) drift_beside_look(b, look);
	return beside_count(plan);
}
