/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways to end (daemon.h). VIPs are told to hand over, then all that have been told are waited
 * for, for a limited time; then the lease ends if anything that hangs on it has to, then the loop.
 */
#include "vipd/daemon.h"

#include <string.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mono.h"
#include "base/service.h"
#include "net/nftgate.h"
#include "vipd/nodekey.h"
#include "vipd/policy.h"

/* Whoever cannot write `released` by then leaves it to the others' patience. */
#define STOP_LIMIT_US (8 * US_PER_S)
#define LEASE_END_LIMIT_US US_PER_S
/* How often a reload that waits is tried. */
#define RELOAD_RETRY_US (100 * US_PER_MS)

static bool take_off_all(struct daemon *d)
{
	bool all = true;

	for (size_t i = 0; i < d->n_vips; i++)
		all = vip_take_off(d->vips[i]) && all;
	return all;
}

static void finish(struct daemon *d)
{
	int r;

	ev_timer_stop(loop_ev(d->loop), &d->stop_limit);
	/* Nobody is left to open it again; but where an address could not be removed, it stays shut. */
	if (!d->wants_exec && take_off_all(d) && d->gate != NULL) {
		r = nftgate_destroy(d->gate);
		if (r < 0)
			log_warning_errno(r, "gate_not_removed", "table=%s", DAEMON_GATE_TABLE);
	}
	(void) daemon_save(d);
	loop_stop(d->loop, d->exit_code);
}

static void lease_ended_cb(void *userdata)
{
	finish(userdata);
}

static bool vip_must_go(const struct daemon *d, size_t i, const struct config *next)
{
	const struct config_vip *now = vip_config(d->vips[i]);

	for (size_t j = 0; j < next->n_vips; j++) {
		const struct config_vip *then = &next->vips[j];

		if (addr_equal(&now->addr, &then->addr))
			return strcmp(now->link, then->link) != 0 || now->policy.fence != then->policy.fence ||
			       now->policy.announce != then->policy.announce ||
			       (now->hcloud == NULL) != (then->hcloud == NULL) ||
			       strcmp(d->config->node_name, next->node_name) != 0 ||
			       strcmp(d->config->etcd.prefix, next->etcd.prefix) != 0;
	}
	return true;
}

static bool all_stopped(const struct daemon *d)
{
	for (size_t i = 0; i < d->n_vips; i++) {
		if (vip_is_stopping(d->vips[i]) && !vip_is_down(d->vips[i]))
			return false;
	}
	return true;
}

/* Does anything that hangs on the lease have to go with us, or with the configuration of before? */
static bool lease_must_end(const struct daemon *d)
{
	for (size_t i = 0; i < d->n_vips; i++) {
		if (vip_is_stopping(d->vips[i]))
			return true;
	}
	return d->phase == DAEMON_STOPPING || d->leave_lease;
}

void daemon_stopped_cb(void *ctx)
{
	struct daemon *d = ctx;
	bool ending = d->phase == DAEMON_STOPPING || d->phase == DAEMON_RELOADING;

	if (!ending || !ev_is_active(&d->stop_limit) || !all_stopped(d))
		return;
	ev_timer_stop(loop_ev(d->loop), &d->stop_limit);
	if (!lease_must_end(d)) {
		finish(d);
		return;
	}
	d->phase = DAEMON_ENDING;
	loop_timer_in(loop_ev(d->loop), &d->stop_limit, LEASE_END_LIMIT_US);
	nodelease_end(d->lease, lease_ended_cb, d);
}

static void stop_limit_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct daemon *d = CONTAINER_OF(w, struct daemon, stop_limit);

	log_warning("stop_incomplete", "reason=\"%s\"",
	            all_stopped(d)
	                ? "the node's lease could not be revoked; it ends by itself"
	                : "a VIP could not be handed over in time; others take it by its silence");
	finish(d);
}

/* Hands over the VIPs that `next` does not have as they are (all, if it is NULL). */
static void hand_over(struct daemon *d, const struct config *next, const char *reason)
{
	for (size_t i = 0; i < d->n_vips; i++) {
		if (next != NULL && !vip_must_go(d, i, next))
			continue;
		vip_stop(d->vips[i], reason);
		if (next != NULL && d->gate != NULL && vip_is_off(d->vips[i]))
			(void) nftgate_unguard(d->gate, &vip_config(d->vips[i])->addr);
	}
	/* Only now: daemon_stopped_cb() may have been called from inside vip_stop(). */
	loop_timer_in(loop_ev(d->loop), &d->stop_limit, STOP_LIMIT_US);
	daemon_stopped_cb(d);
}

void daemon_stop(struct daemon *d)
{
	if (d->phase == DAEMON_STOPPING || d->phase == DAEMON_ENDING)
		return;
	ev_timer_stop(loop_ev(d->loop), &d->stop_limit);
	d->phase = DAEMON_STOPPING;
	d->wants_exec = false;
	loop_notify(d->loop, "STOPPING=1");
	hand_over(d, NULL, POLICY_REASON_STOPPING);
}

void daemon_leave(struct daemon *d)
{
	log_info("leaving", "reason=\"restart: addresses and fences stay\"");
	(void) daemon_save(d);
	d->wants_exec = false;
	loop_stop(d->loop, 0);
}

/* --- a reload --- */

static bool is_settling(const struct daemon *d)
{
	for (size_t i = 0; i < d->n_vips; i++) {
		if (vip_is_settling(d->vips[i]))
			return true;
	}
	return false;
}

/*
 * The next process begins without a connection to etcd, and what this one has seen of the owner is
 * lost with it. One reload after the other, each before the first answer, would let the fence run
 * out, and no standby would ever have waited for long enough.
 */
void daemon_reload(struct daemon *d)
{
	AUTO(config_free) struct config *next = NULL;

	if (is_settling(d)) {
		if (!ev_is_active(&d->reload_again)) {
			log_info("reload_delayed", "reason=\"the last start is not complete\"");
			ev_timer_again(loop_ev(d->loop), &d->reload_again);
		}
		return;
	}
	ev_timer_stop(loop_ev(d->loop), &d->reload_again);
	if (service_load_next(d->service, &next) < 0)
		return;
	log_info("reload", "vips=%zu", next->n_vips);
	if (d->phase != DAEMON_RUNNING)
		return;
	d->phase = DAEMON_RELOADING;
	d->wants_exec = true;
	/* Its time cannot be changed. */
	d->leave_lease = next->lease_ttl_us != d->config->lease_ttl_us;
	loop_notify_reloading(d->loop);
	hand_over(d, next, POLICY_REASON_RECONFIGURED);
}

static void reload_again_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	daemon_reload(CONTAINER_OF(w, struct daemon, reload_again));
}

void daemon_end_init(struct daemon *d)
{
	ev_timer_init(&d->stop_limit, stop_limit_cb, 0., 0.);
	ev_timer_init(&d->reload_again, reload_again_cb, 0., mono_to_ev(RELOAD_RETRY_US));
}

void daemon_end_fini(struct daemon *d)
{
	ev_timer_stop(loop_ev(d->loop), &d->stop_limit);
	ev_timer_stop(loop_ev(d->loop), &d->reload_again);
}

bool daemon_wants_exec(const struct daemon *d)
{
	return d->wants_exec;
}

void daemon_name_taken_cb(const char *other_instance, void *ctx)
{
	struct daemon *d = ctx;

	if (d->exit_code != 0)
		return;
	log_error("node_name_refused",
	          "node=%s other=%s reason=\"another machine runs vipd under this node name: give each "
	          "its own in NodeConfig, or its own host name\"",
	          d->config->node_name, other_instance);
	d->exit_code = EXIT_CONFIG;
	daemon_stop(d);
}
