/* SPDX-License-Identifier: Apache-2.0 */
/* One part after the other; each ends in the callback that begins the next. */
#include "netconf/change/apply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "netconf/change/checkpoint.h"
#include "netconf/change/follow.h"
#include "netconf/change/look.h"
#include "netconf/change/modeljson.h"

#define LEASE_POLL_S 0.1

struct apply {
	struct apply_host host;
	ev_timer wait; /* for first leases */
	bool is_made;  /* all steps are taken: only leases may change something yet */
	struct settle *settle;
	struct follow *follow;
	size_t n_done;
	unsigned rounds;
	char refusal[EXPLAIN_REFUSAL_MAX]; /* "" */
};

void apply_free(struct apply *a)
{
	if (a == NULL)
		return;
	ev_timer_stop(a->host.ev, &a->wait);
	settle_free(a->settle);
	follow_free(a->follow);
	free(a);
}

static void finish(struct apply *a, int r, const char *reason)
{
	struct settle_result result = {.r = r, .n_done = a->n_done, .rounds = a->rounds};
	struct apply_host host = a->host;

	(void) snprintf(result.reason, sizeof(result.reason), "%s", reason != NULL ? reason : "");
	apply_free(a);
	host.done(&result, host.userdata);
}

static int take_look(const struct apply *a, struct look *ret_look)
{
	return look_take(a->host.kernel, ledger_owned(a->host.ledger), a->host.runtime_dir,
	                 a->host.config, ret_look);
}

static void want_clients(const struct apply *a)
{
	struct look look;

	if (a->host.config->n_dhcps == 0 || take_look(a, &look) < 0)
		return;
	dhcpclients_want(a->host.clients, look.resolution, look.have);
	look_fini(&look);
}

/* What is not in the plan on the disk would not be undone. The first round is there already, unless
 * the network has changed since. */
static int will_cb(const struct plan *plan, const struct model *have, void *userdata)
{
	const struct apply *a = userdata;
	int r;

	plan_append(a->host.plan, plan);
	r = checkpoint_write_plan(a->host.dir, a->host.plan);
	return r < 0 ? r : ledger_expect(a->host.ledger, have, plan);
}

/* --- what leases change --- */

static int beside_cb(const struct look *look, char **ret_error, void *userdata)
{
	const struct apply *a = userdata;
	struct beside *beside = a->host.beside;
	json_t *json;
	int r;

	/* Two parts of the configuration mean one device now. */
	if (look->resolution->problems.n > 0)
		return 0;
	r = beside_plan_again(beside, look->resolution, ret_error);
	if (r < 0 || beside_count(beside) == 0)
		return r;
	json = beside_to_json(beside);
	r = checkpoint_write_beside(a->host.dir, json);
	json_decref(json);
	return r < 0 ? r : beside_carry_out(beside, ret_error);
}

/* What was dropped and is back is its owner's again. */
static int keep_settled(struct apply *a, const struct model *have)
{
	return plan_settle(a->host.plan, have) ? checkpoint_write_plan(a->host.dir, a->host.plan) : 0;
}

static void on_followed(const struct settle_result *result, void *userdata)
{
	struct apply *a = userdata;
	int r = result->r;

	a->follow = NULL;
	a->n_done += result->n_done;
	a->rounds += result->rounds;
	if (r == 0)
		r = keep_settled(a, result->have);
	finish(a, r, r == result->r ? result->reason : strerror(-r));
}

static void follow(struct apply *a)
{
	a->follow = follow_start(&(struct follow_host){
	    .ev = a->host.ev,
	    .kernel = a->host.kernel,
	    .ledger = a->host.ledger,
	    .runtime_dir = a->host.runtime_dir,
	    .config = a->host.config,
	    .will = will_cb,
	    .beside = beside_cb,
	    .done = on_followed,
	    .userdata = a,
	});
}

/* --- all of it --- */

static int plan_cb(struct plan **ret_plan, struct model **ret_have, void *userdata)
{
	struct apply *a = userdata;
	const struct plan_options options = {.management_link = a->host.management};
	AUTO(plan_free) struct plan *plan = NULL;
	struct look look;
	int r = take_look(a, &look);

	if (r < 0)
		return r;
	plan = plan_make(look.resolution->model, look.have, &options);
	/* Somebody else was faster, since it was planned first. */
	if (explain_refusal(plan, look.resolution, a->refusal)) {
		r = -EEXIST;
	} else {
		*ret_plan = TAKE_PTR(plan);
		*ret_have = TAKE_PTR(look.have);
	}
	look_fini(&look);
	return r;
}

static void await_leases(struct apply *a)
{
	want_clients(a);
	ev_timer_set(&a->wait, 0., LEASE_POLL_S);
	ev_timer_start(a->host.ev, &a->wait);
}

static void on_settled(const struct settle_result *result, void *userdata)
{
	struct apply *a = userdata;
	AUTO(free) char *error = NULL;
	int r = result->r;

	a->settle = NULL;
	a->n_done = result->n_done;
	a->rounds = result->rounds;
	if (r < 0) {
		AUTO(free) char *reason = xstrdup(a->refusal[0] != '\0' ? a->refusal : result->reason);

		finish(a, r, reason);
		return;
	}
	r = keep_settled(a, result->have);
	if (r < 0)
		error = xasprintf("what has settled cannot be written down: %s", strerror(-r));
	else
		r = beside_carry_out(a->host.beside, &error);
	if (r < 0 || a->host.config->n_dhcps == 0) {
		finish(a, r, error);
		return;
	}
	a->is_made = true;
	await_leases(a);
}

static void wait_timer_cb(struct ev_loop *ev, ev_timer *timer, int revents UNUSED)
{
	static const struct settle_ops ops = {.plan = plan_cb, .will = will_cb};
	struct apply *a = CONTAINER_OF(timer, struct apply, wait);

	if (a->host.config->n_dhcps > 0 && dhcpclients_wait(a->host.clients, a->host.kernel))
		return;
	ev_timer_stop(ev, timer);
	if (a->is_made)
		follow(a);
	else
		a->settle = settle_start(a->host.ev, a->host.kernel, &ops, false, on_settled, a);
}

/* --- the begin --- */

static struct apply *new_apply(const struct apply_host *host)
{
	struct apply *a = NEW0(struct apply);

	a->host = *host;
	ev_timer_init(&a->wait, wait_timer_cb, 0., LEASE_POLL_S);
	return a;
}

struct apply *apply_start(const struct apply_host *host)
{
	struct apply *a = new_apply(host);

	await_leases(a);
	return a;
}

struct apply *apply_follow(const struct apply_host *host)
{
	struct apply *a = new_apply(host);

	want_clients(a);
	follow(a);
	return a;
}
