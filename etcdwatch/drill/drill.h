/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The rehearsals of a job: knows when one is due, waits until the job rests, has the worker restore
 * the newest good snapshot and ask an etcd that runs on it (etcdwatch/worker/drill/drillrun.h), and
 * remembers how it went. While a drill is under way its job takes no snapshot.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "etcdwatch/drill/drillinfo.h"
#include "etcdwatch/job/job.h"

struct drill;

/* job is one whose drills are enabled, borrowed like the rest until drill_free(). 0, or -errno: its
 * thread cannot be started. */
int drill_new(struct ev_loop *ev, const char *worker, struct job *job, struct drill **ret_drill);
/* Before the job. What is under way is killed; the next start clears away what it leaves. */
void drill_free(struct drill *drill);
DEFINE_AUTO(struct drill, drill_free);

/* Ends what is under way in good order. True: it is over; false: `stopped` is called, once, as its
 * last act. Only drill_free() may follow. */
bool drill_stop(struct drill *drill, void (*stopped)(void *userdata), void *userdata);

/*
 * One now, whatever the schedule says. `phase` is called as each phase begins, "waiting" while the
 * job does not rest; `done` once, never from inside, with what the worker told of it, or NULL, and
 * the reason if it failed. -EBUSY: it is at one already; -ENOENT: there is no snapshot.
 */
struct drill_asker {
	void (*phase)(const char *phase, void *userdata);
	void (*done)(bool ok, const char *reason, const json_t *result, void *userdata);
	void *userdata;
};
int drill_ask(struct drill *drill, const struct drill_asker *asker);
/* The answer is not wanted any more; the drill is. */
void drill_forget_asker(struct drill *drill);

/* Every string in it is borrowed until the next turn of the loop. */
void drill_fill_info(const struct drill *drill, struct drillinfo *ret_info);
