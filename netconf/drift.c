/* SPDX-License-Identifier: Apache-2.0 */
/* An event, a look, a plan of what costs nothing or of what a lease says, and the settling of that.
 */
#include "netconf/drift.h"

#include <errno.h>
#include <ev.h>
#include <linux/if_addr.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/change/beside.h"
#include "netconf/change/explain.h"
#include "netconf/change/follow.h"
#include "netconf/change/look.h"
#include "netconf/change/settle.h"
#include "netconf/fight.h"

/* --- beside the kernel --- */

/*
 * Drift of names, resolvers, time and drivers' settings. The kernel tells of none of it: libev
 * watches the files, by inotify where it can; what is no file (the kernel's own name of the host, a
 * feature of a driver) is seen by the next look. Blocking.
 */

/* On the loop, when it may be otherwise than it was: then look. */
typedef void (*drift_beside_changed_fn)(void *userdata);

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

static struct drift_beside *drift_beside_new(struct ev_loop *ev, drift_beside_changed_fn changed,
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

static void drift_beside_free(struct drift_beside *b)
{
	if (b == NULL)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		ev_stat_stop(b->ev, &b->files[i].stat);
	ev_timer_stop(b->ev, &b->period);
	beside_free(b->seen);
	free(b);
}

static void drift_beside_forget(struct drift_beside *b)
{
	b->is_due = true;
	beside_free(TAKE_PTR(b->seen));
}

static bool drift_beside_look(struct drift_beside *b, const struct look *look)
{
	AUTO(free) char *error = NULL;
	int r;

	if (!b->is_due)
		return false;
	drift_beside_forget(b);
	b->is_due = false;
	if (look->resolution->model->host.has == 0 && look->resolution->n_ethernets == 0)
		return true;
	r = beside_plan(&host_this_machine, look->resolution, look->have, &b->seen, &error);
	if (r < 0)
		(void) log_warning_errno(r, "observe_failed", "reason=\"%s\"", error);
	return true;
}

/* Sets the host's half right, and looks again. How many steps that took; what fails is told. */
static size_t drift_beside_repair(struct drift_beside *b, const struct look *look,
                                  beside_may_fn may, void *userdata)
{
	AUTO(free) char *error = NULL;
	size_t n = 0;
	int r = beside_repair_host(&host_this_machine, look->resolution, may, userdata, &n, &error);

	if (r < 0)
		(void) log_warning_errno(r, "drift_stays", "reason=\"%s\"", error);
	b->is_due = n > 0;
	(void) drift_beside_look(b, look);
	return n;
}

/* Where routes come and go all the time, they are not looked at all the time. */
#define LOOK_PAUSE_US US_PER_S

struct drift {
	struct ev_loop *ev;
	struct kernel *kernel;
	struct dhcpclients *clients;
	const char *runtime_dir;
	struct ledger *ledger;
	const struct config *config; /* NULL: not watching */
	ev_timer later;
	ev_timer again; /* when what is left alone is tried again */
	int64_t looked_us;
	struct settle *settle; /* one of the two at a time */
	struct follow *follow;
	bool follow_is_due;
	bool is_ambiguous; /* at the last look */
	struct fight *fight;
	struct drift_beside *beside;
	bool only_tells;
	enum drift_state state;
	size_t n_steps, n_waiting;
	uint64_t n_repairs;
	char first[OP_TEXT_MAX];
	char duplicate[OP_TEXT_MAX];
};

static void look_soon(struct drift *drift)
{
	int64_t now_us = mono_now_us();

	if (drift->config == NULL || drift->settle != NULL || drift->follow != NULL ||
	    ev_is_active(&drift->later))
		return;
	ev_timer_set(&drift->later, mono_to_ev(drift->looked_us + LOOK_PAUSE_US - now_us), 0.);
	ev_timer_start(drift->ev, &drift->later);
}

static void on_changed(void *userdata)
{
	look_soon(userdata);
}

static void on_told(const struct kernel_news *news, void *userdata)
{
	struct drift *drift = userdata;

	if (fight_on_news(drift->fight, news, mono_now_us()) && drift->settle != NULL)
		settle_hurry(drift->settle);
}

static void again_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	look_soon(CONTAINER_OF(timer, struct drift, again));
}

static void try_again(struct drift *drift)
{
	int64_t now_us = mono_now_us(), next_us = fight_next_us(drift->fight, now_us);

	ev_timer_stop(drift->ev, &drift->again);
	if (next_us == MONO_NEVER)
		return;
	ev_timer_set(&drift->again, mono_to_ev(next_us - now_us), 0.);
	ev_timer_start(drift->ev, &drift->again);
}

/* --- telling --- */

static size_t count_steps(const struct drift *drift, const struct plan *plan)
{
	return plan->n_ops + beside_count(drift->beside->seen);
}

static const char *first_step(const struct drift *drift, const struct plan *plan,
                              char buf[static BESIDE_TEXT_MAX])
{
	enum op_class class;

	if (plan->n_ops > 0)
		return op_format(&plan->ops[0], buf);
	return count_steps(drift, plan) > 0 ? beside_format(drift->beside->seen, 0, buf, &class) : "";
}

static void tell(struct drift *drift, const struct plan *plan, const struct resolution *resolution)
{
	enum drift_state old = drift->state;
	char text[OP_TEXT_MAX] = "", buf[BESIDE_TEXT_MAX];
	struct fight_left left;

	drift->n_waiting = resolution->waiting.n;
	for (size_t i = 0; i < plan->n_obstacles; i++)
		drift->n_waiting += plan->obstacles[i].kind == PLAN_MISSING_LINK;
	drift->n_steps = count_steps(drift, plan);
	(void) snprintf(text, sizeof(text), "%s", first_step(drift, plan, buf));
	if (drift->n_steps == 0)
		drift->state = DRIFT_NONE;
	else
		drift->state =
		    fight_get(drift->fight, 0, mono_now_us(), &left) ? DRIFT_FIGHT : DRIFT_DIFFERS;
	if (drift->state != old || strcmp(text, drift->first) != 0) {
		if (drift->state == DRIFT_NONE)
			log_info("net_as_confirmed", "waiting=%zu", drift->n_waiting);
		else
			log_warning("net_differs", "steps=%zu class=%s first=\"%s\"", drift->n_steps,
			            op_class_name(explain_class(plan, drift->beside->seen)), text);
	}
	memcpy(drift->first, text, sizeof(drift->first));
}

static void tell_ambiguous(struct drift *drift, const struct resolution *resolution)
{
	bool is_ambiguous = resolution->problems.n > 0;

	if (is_ambiguous && !drift->is_ambiguous)
		log_error("net_ambiguous",
		          "reason=\"%s: the network is left as it is until the devices are others\"",
		          resolution->problems.items[0]);
	/* A lease of a link that was disputed has waited for this. */
	if (drift->is_ambiguous && !is_ambiguous && drift->config->n_dhcps > 0)
		drift->follow_is_due = true;
	drift->is_ambiguous = is_ambiguous;
	if (!is_ambiguous)
		return;
	drift->state = DRIFT_OFF;
	drift->n_steps = 0;
	drift->first[0] = '\0';
}

/* An address that we want and have, and that the kernel does not use because another host has it.
 */
static void tell_duplicate(struct drift *drift, const struct look *look)
{
	char text[OP_TEXT_MAX] = "", addr[ADDR_TEXT_MAX];

	for (size_t i = 0; i < look->resolution->model->n_addresses && text[0] == '\0'; i++) {
		const struct address *want = &look->resolution->model->addresses[i];
		const struct address *have = model_find_address(look->have, want->link, &want->prefix);

		if (have != NULL && (have->state & IFA_F_DADFAILED) != 0)
			(void) snprintf(text, sizeof(text), "%s dev %s", addr_format(&want->prefix.addr, addr),
			                want->link);
	}
	if (text[0] != '\0' && strcmp(text, drift->duplicate) != 0)
		log_warning(
		    "address_duplicate",
		    "address=\"%s\" reason=\"another host on the link has it, so the kernel does not "
		    "use it\"",
		    text);
	memcpy(drift->duplicate, text, sizeof(drift->duplicate));
}

/* --- setting right --- */

static int take_look(const struct drift *drift, struct look *ret_look)
{
	return look_take(drift->kernel, ledger_owned(drift->ledger), drift->runtime_dir, drift->config,
	                 ret_look);
}

static int plan_cb(struct plan **ret_plan, struct model **ret_have, void *userdata)
{
	static const struct plan_options options = {.management_link = "", .only_hitless = true};
	struct drift *drift = userdata;
	struct look look;
	int r = take_look(drift, &look);

	if (r < 0)
		return r;
	*ret_plan = plan_make(look.resolution->model, look.have, &options);
	fight_hold(drift->fight, *ret_plan, look.have, mono_now_us());
	*ret_have = TAKE_PTR(look.have);
	look_fini(&look);
	return 0;
}

static int will_cb(const struct plan *plan, const struct model *have, void *userdata)
{
	const struct drift *drift = userdata;

	ledger_expect_or_warn(drift->ledger, have, plan);
	return 0;
}

static void on_settled(const struct settle_result *result, void *userdata)
{
	struct drift *drift = userdata;

	drift->settle = NULL;
	drift->n_repairs += result->n_done;
	if (result->r < 0)
		(void) log_warning_errno(result->r, "drift_stays", "reason=\"%s\"", result->reason);
	else
		log_notice("drift_repaired", "steps=%zu", result->n_done);
	if (result->r < 0 && result->is_refused && result->left != NULL)
		fight_refused(drift->fight, result->left, mono_now_us());
	if (result->have != NULL)
		ledger_settle(drift->ledger, result->have, NULL);
	look_soon(drift);
}

/* --- leases --- */

static int beside_cb(const struct look *look, char **ret_error, void *userdata UNUSED)
{
	AUTO(beside_free) struct beside *beside = NULL;
	int r = beside_plan_host(&host_this_machine, look->resolution, look->resolution->leased,
	                         &beside, ret_error);

	if (r == 0 && beside_problems(beside)->n > 0) {
		*ret_error = xstrdup(beside_problems(beside)->items[0]);
		r = -EEXIST;
	}
	return r == 0 ? beside_carry_out(beside, ret_error) : r;
}

static void on_followed(const struct settle_result *result, void *userdata)
{
	struct drift *drift = userdata;

	drift->follow = NULL;
	follow_tell(result);
	look_soon(drift);
}

static void follow(struct drift *drift)
{
	drift->follow_is_due = false;
	drift->follow = follow_start(&(struct follow_host){
	    .ev = drift->ev,
	    .kernel = drift->kernel,
	    .ledger = drift->ledger,
	    .runtime_dir = drift->runtime_dir,
	    .config = drift->config,
	    .will = will_cb,
	    .beside = beside_cb,
	    .done = on_followed,
	    .userdata = drift,
	});
}

/* --- looking --- */

/* What has begun to be left alone now. */
static void tell_fights(struct drift *drift, int64_t now_us)
{
	struct fight_left left;

	for (size_t i = 0; fight_get(drift->fight, i, now_us, &left); i++) {
		if (left.from_us != now_us)
			continue;
		log_error("drift_fight",
		          "op=\"%s\" by=\"%s\" reason=\"another process sets it back again and again: it "
		          "is left alone for %d s\"",
		          left.step, left.by, (int) ((left.until_us - now_us) / US_PER_S));
	}
}

static bool may_do(const char *step, void *userdata)
{
	struct drift *drift = userdata;
	int64_t now_us = mono_now_us();
	bool may = fight_may_step(drift->fight, step, &drift->config->policy.fight, now_us);

	tell_fights(drift, now_us);
	return may;
}

static bool is_told_only(const struct drift *drift)
{
	return drift->only_tells || drift->config->policy.drift != CONFIG_DRIFT_REPAIR;
}

/* Before it is told: it takes no time, and no frames. */
static void look_beside(struct drift *drift, const struct look *look)
{
	size_t n;

	if (!drift_beside_look(drift->beside, look) || is_told_only(drift) ||
	    beside_count(drift->beside->seen) == 0)
		return;
	n = drift_beside_repair(drift->beside, look, may_do, drift);
	drift->n_repairs += n;
	if (n > 0)
		log_notice("drift_repaired", "steps=%zu", n);
}

static void repair(struct drift *drift, const struct look *look)
{
	static const struct plan_options options = {.management_link = "", .only_hitless = true};
	static const struct settle_ops ops = {.plan = plan_cb, .will = will_cb};
	AUTO(plan_free) struct plan *plan = NULL;
	int64_t now_us = mono_now_us();

	if (is_told_only(drift))
		return;
	plan = plan_make(look->resolution->model, look->have, &options);
	fight_count(drift->fight, plan, look->have, &drift->config->policy.fight, now_us);
	tell_fights(drift, now_us);
	if (plan->n_ops > 0)
		drift->settle = settle_start(drift->ev, drift->kernel, &ops, true, on_settled, drift);
}

static void look_for_fights(struct drift *drift, const struct plan *plan)
{
	char text[BESIDE_TEXT_MAX];
	enum op_class class;

	fight_look(drift->fight, plan, drift->config->policy.fight.window_us, mono_now_us());
	for (size_t i = 0; i < beside_count(drift->beside->seen); i++)
		fight_look_at(drift->fight, beside_format(drift->beside->seen, i, text, &class));
}

static void later_timer_cb(struct ev_loop *ev UNUSED, ev_timer *timer, int revents UNUSED)
{
	struct drift *drift = CONTAINER_OF(timer, struct drift, later);
	static const struct plan_options options = {.management_link = ""};
	AUTO(plan_free) struct plan *plan = NULL;
	struct look look;
	int r;

	drift->looked_us = mono_now_us();
	r = take_look(drift, &look);
	if (r < 0) {
		(void) log_warning_errno(r, "observe_failed", "reason=\"%s\"",
		                         kernel_error_text(drift->kernel));
		look_soon(drift);
		return;
	}
	kernel_read_news(drift->kernel);
	tell_ambiguous(drift, look.resolution);
	dhcpclients_want(drift->clients, look.resolution, look.have);
	/* Two parts of it mean one device now: nobody knows what is wanted. */
	if (look.resolution->problems.n == 0)
		dhcpclients_forget_others(drift->clients);
	if (drift->follow_is_due) {
		follow(drift);
	} else if (look.resolution->problems.n == 0) {
		plan = plan_make(look.resolution->model, look.have, &options);
		look_for_fights(drift, plan);
		look_beside(drift, &look);
		repair(drift, &look);
		tell(drift, plan, look.resolution);
		tell_duplicate(drift, &look);
		try_again(drift);
	}
	look_fini(&look);
}

/* --- the watch --- */

int drift_new(struct ev_loop *ev, struct kernel *kernel, struct dhcpclients *clients,
              const char *runtime_dir, struct drift **ret_drift)
{
	AUTO(drift_free) struct drift *drift = NEW0(struct drift);
	int r;

	drift->ev = ev;
	drift->kernel = kernel;
	drift->clients = clients;
	drift->runtime_dir = runtime_dir;
	drift->fight = fight_new();
	drift->beside = drift_beside_new(ev, on_changed, drift);
	ev_timer_init(&drift->later, later_timer_cb, 0., 0.);
	ev_timer_init(&drift->again, again_timer_cb, 0., 0.);
	r = kernel_monitor(kernel, on_changed, on_told, drift);
	if (r < 0)
		return r;
	*ret_drift = TAKE_PTR(drift);
	return 0;
}

void drift_free(struct drift *drift)
{
	if (drift == NULL)
		return;
	ev_timer_stop(drift->ev, &drift->later);
	ev_timer_stop(drift->ev, &drift->again);
	settle_free(drift->settle);
	follow_free(drift->follow);
	fight_free(drift->fight);
	drift_beside_free(drift->beside);
	free(drift);
}

void drift_watch(struct drift *drift, struct ledger *ledger, const struct config *config)
{
	ev_timer_stop(drift->ev, &drift->later);
	ev_timer_stop(drift->ev, &drift->again);
	fight_free(drift->fight);
	drift->fight = fight_new();
	settle_free(TAKE_PTR(drift->settle));
	follow_free(TAKE_PTR(drift->follow));
	/* One may have run out while nobody looked. */
	drift->follow_is_due = config != NULL && config->n_dhcps > 0;
	drift->ledger = ledger;
	drift->config = config;
	drift->is_ambiguous = false;
	drift->only_tells = false;
	drift->state = DRIFT_OFF;
	drift->n_steps = drift->n_waiting = 0;
	drift->first[0] = '\0';
	drift->duplicate[0] = '\0';
	drift->looked_us = 0;
	drift_beside_forget(drift->beside);
	look_soon(drift);
}

void drift_only_tell(struct drift *drift)
{
	drift->only_tells = true;
}

void drift_follow(struct drift *drift)
{
	if (drift->config == NULL)
		return;
	drift->follow_is_due = true;
	drift->looked_us = 0;
	ev_timer_stop(drift->ev, &drift->later);
	look_soon(drift);
}

bool drift_is_following(const struct drift *drift)
{
	return drift->follow_is_due || drift->follow != NULL;
}

void drift_report(const struct drift *drift, struct drift_report *ret_report)
{
	*ret_report = (struct drift_report){
	    .state = drift->state,
	    .fight = drift->fight,
	    .n_steps = drift->n_steps,
	    .first = drift->first,
	    .duplicate = drift->duplicate,
	    .n_repairs = drift->n_repairs,
	    .n_waiting = drift->n_waiting,
	};
}

const char *drift_state_name(enum drift_state state)
{
	switch (state) {
	case DRIFT_OFF:
		return "off";
	case DRIFT_NONE:
		return "none";
	case DRIFT_DIFFERS:
		return "differs";
	case DRIFT_FIGHT:
		return "fight";
	}
	return "";
}
