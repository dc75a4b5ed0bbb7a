/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one VIP, and what goes on around it. What comes from outside changes `facts`, `me` or
 * the fitness, then vip_review() asks the policy and runs the election; what the election wants
 * done is in vip_world.c. The state itself is election.c's alone.
 */
#include "vipd/vip_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fsm.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "vipd/timing.h"

/* Policies have a clock in them (hold-down), so they are asked at least this often. */
#define REVIEW_US US_PER_S

/* By then a standby takes from an owner that is dead. */
#define SETTLED_WINDOWS 4

/* More removals a second than this, and the next confirmation is soon enough to add it again. */
#define READDS_MAX 10

static const struct fsm_state phases[VIP_PHASES] = {
    [VIP_STARTING] = {"starting", FSM_TO(VIP_JOINED) | FSM_TO(VIP_STOPPING)},
    [VIP_JOINED] = {"joined", FSM_TO(VIP_STOPPING)},
    [VIP_STOPPING] = {"stopping", FSM_TO(VIP_STOPPING)},
};

static void set_phase(struct vip *v, enum vip_phase to)
{
	fsm_check(phases, ARRAY_SIZE(phases), v->phase, to);
	v->phase = to;
}

/* --- fitness, policy --- */

const char *vip_unfit_because(const struct vip *v, char *buf, size_t size)
{
	if (v->phase == VIP_STOPPING)
		return v->stop_reason;
	if (v->link == VIP_LINK_ABSENT) {
		(void) snprintf(buf, size, "link %s does not exist", v->config->link);
		return buf;
	}
	if (v->config->policy.fence != CONFIG_FENCE_LIFETIME && v->env->gate_error < 0) {
		(void) snprintf(buf, size, "nftables refuses the gate: %s", strerror(-v->env->gate_error));
		return buf;
	}
	if (v->config->policy.fence == CONFIG_FENCE_NFTABLES && v->env->gate == NULL)
		return "fence: nftables is configured, and this kernel has none";
	if (nodekey_state(v->nodekey) == NODEKEY_TAKEN)
		return "node name in use until its lease in etcd ends";
	if (v->phase == VIP_STARTING)
		return v->env->lease_error == -ENOSPC ? "etcd refuses writes: database space exceeded"
		                                      : "etcd has not answered yet";
	if (vip_is_refused(v)) {
		char mac[MAC_TEXT_MAX];

		(void) snprintf(buf, size, "another host answers for it: %s",
		                mac_format(&v->conflict.foreign_mac, mac));
		return buf;
	}
	return NULL;
}

bool vip_etcd_is_full(const struct vip *v)
{
	const struct ledger_trouble *trouble = ledger_trouble(v->ledger);

	return v->env->lease_error == -ENOSPC || (trouble != NULL && trouble->r == -ENOSPC);
}

/* The owner's reasons to hand over, looked at with everything that is known now. */
static void ask_policy(struct vip *v)
{
	int64_t now_us = mono_now_us();
	struct policy_input in = {
	    .facts = &v->facts,
	    .me = &v->me,
	    .policy = &v->config->policy,
	    .tenure = v->tenure,
	    .returns = v->returns,
	    .owned_for_us = now_us - election_since_us(v->election),
	    .asked_rev = v->asked_rev,
	    .asked_for_us = now_us - v->asked_us,
	    .on_hold = v->on_hold,
	    .carrier = v->link == VIP_LINK_UP,
	    .api_is_gone = v->probed.is_gone,
	    .unchecked = v->health == HEALTH_UNCHECKED && v->me.health == HEALTH_UNKNOWN,
	    .cut_off = vip_is_to_go_outside(v),
	};
	struct policy_advice advice;

	if (election_state(v->election) != ELECTION_OWNER || vip_etcd_is_full(v))
		return;
	advice = policy_advise(&in);
	if (advice.ask) {
		v->asked_us = now_us;
		v->asked_rev = v->facts.revision;
		ledger_ask(v->ledger);
	}
	if (!advice.yield)
		return;
	if (advice.cause == POLICY_CAUSE_OUTSIDE) {
		v->me.failed_epoch = election_epoch(v->election);
		nodekey_update(v->nodekey);
	}
	election_yield(v->election, advice.successor, advice.reason);
}

void vip_review(struct vip *v)
{
	char buf[RECORD_REASON_MAX + 1];
	const char *unfit;

	vip_review_conflict(v);
	unfit = vip_unfit_because(v, buf, sizeof(buf));
	v->me.eligible = unfit == NULL && v->link == VIP_LINK_UP && !v->on_hold;
	v->me.owned = v->env->owned(v->env->ctx);
	v->me.answered = v->facts.ask_rev;
	vip_review_outside(v);
	nodekey_update(v->nodekey);
	election_set_fit(v->election, unfit == NULL, unfit != NULL ? unfit : "");
	ask_policy(v);
}

static void configure_timing(struct vip *v)
{
	int64_t window_us = v->config->policy.fence_window_us;
	enum fence_kind kind = fence_kind(v->fence);

	if (window_us == 0)
		window_us = timing_window_auto_us(v->election_timeout_us, kind);
	election_configure(v->election, window_us, kind, v->config->policy.avoid_etcd_leader);
}

static void warn_about_window(const struct vip *v)
{
	int64_t advised_us = timing_window_advised_us(v->election_timeout_us);

	if (election_window_us(v->election) < advised_us)
		log_warning(
		    "fence_window_short", "vip=%s window_ms=%lld advised_ms=%lld election_timeout_ms=%lld",
		    v->text, (long long) (election_window_us(v->election) / US_PER_MS),
		    (long long) (advised_us / US_PER_MS), (long long) (v->election_timeout_us / US_PER_MS));
}

void vip_set_election_timeout(struct vip *v, int64_t election_timeout_us)
{
	v->election_timeout_us = election_timeout_us;
	configure_timing(v);
	warn_about_window(v);
	vip_review(v);
}

void vip_on_lease_error(struct vip *v)
{
	/* Without a lease it takes no part, and reads nothing by itself: who owns the VIP is to be
	 * known all the same. */
	if (v->env->lease_error == -ENOSPC)
		ledger_follow(v->ledger);
	vip_review(v);
}

void vip_set_lease(struct vip *v, int64_t lease, int64_t granted_s)
{
	v->granted_lease_s = granted_s;
	nodekey_set_lease(v->nodekey, lease);
}

/* From what the probes and the member have told. */
static void weigh_health(struct vip *v)
{
	enum health_state before = v->health;
	const char *reason = v->probed_reason;

	v->health = health_second_hand(v->probed.state, v->probed.is_unknown, v->member_silent);
	if (v->health != v->probed.state)
		reason = "readiness unknown, and this node's etcd member does not answer";
	(void) snprintf(v->health_reason, sizeof(v->health_reason), "%s", reason);
	if (v->health != before) {
		v->health_since_us = mono_now_us();
		log_line(v->health == HEALTH_BAD ? LOG_LEVEL_WARNING
		         : before == HEALTH_BAD  ? LOG_LEVEL_NOTICE
		                                 : LOG_LEVEL_INFO,
		         "health", "vip=%s state=%s reason=\"%s\"", v->text, health_state_name(v->health),
		         reason);
	}
	/* What is off by configuration counts as fit; of what waits for its CA nothing is known. */
	v->me.health = v->health == HEALTH_UNCHECKED ? HEALTH_UNKNOWN : v->health;
	vip_review(v);
}

void vip_set_member(struct vip *v, bool leads, bool is_silent)
{
	v->me.etcd_leader = leads;
	v->member_silent = is_silent;
	if (v->config->policy.health.enabled)
		weigh_health(v);
	else
		vip_review(v);
}

void vip_set_health(struct vip *v, const struct health_view *view)
{
	if (view->is_unknown && !v->probed.is_unknown)
		log_warning("readiness_unknown", "vip=%s reason=\"%s\"", v->text, view->reason);
	v->probed = *view;
	v->probed.reason = v->probed_reason;
	v->me.ready = view->is_ready;
	(void) snprintf(v->probed_reason, sizeof(v->probed_reason), "%s", view->reason);
	weigh_health(v);
}

bool vip_others_are_ready(const struct vip *v)
{
	for (size_t i = 0; i < v->facts.n_nodes; i++) {
		const struct record_node *n = &v->facts.nodes[i];

		if (n->ready && strcmp(n->node, v->me.node) != 0)
			return true;
	}
	return false;
}

void vip_set_hold(struct vip *v, bool on_hold)
{
	v->on_hold = on_hold;
	vip_review(v);
}

/* --- the link and what others do to the address --- */

static bool has_put(const struct onlink *o)
{
	return o->is_own || o->is_put;
}

void vip_on_address_changed(struct vip *v)
{
	struct onlink now = {0};
	char prefix[PREFIX_TEXT_MAX];
	int r;

	r = onlink_look(v->env->rtnl, v->config, &now);
	if (r < 0 && r != -ENODEV)
		return;
	if (has_put(&now) && !has_put(&v->onlink))
		log_warning("vip_address_foreign",
		            "vip=%s ifname=%s address=%s reason=\"another program has put it on this node, "
		            "whose own traffic to the VIP is dropped\"",
		            v->text, now.ifname, prefix_format(&now.found.prefix, prefix));
	v->onlink = now;
	if (now.subnet_len > 0)
		asker_set_subnet(v->conflict.asker, now.subnet_len);
}

static enum vip_link link_state(const struct vip *v, const struct rtnl_link *link)
{
	if (link == NULL)
		return VIP_LINK_ABSENT;
	return link->up && (link->carrier || !v->outlet->needs_carrier) ? VIP_LINK_UP : VIP_LINK_DOWN;
}

void vip_on_link_changed(struct vip *v)
{
	const struct rtnl_link *link = rtnl_link_by_name(v->env->rtnl, v->config->link);
	enum vip_link now = link_state(v, link);
	bool news = now == VIP_LINK_UP && (v->link != VIP_LINK_UP || !mac_equal(&link->mac, &v->mac));

	if ((now == VIP_LINK_ABSENT) != (v->link == VIP_LINK_ABSENT))
		log_info("vip_link", "vip=%s ifname=%s present=%d", v->text, v->config->link, link != NULL);
	fence_set_link(v->fence, link != NULL ? link->ifindex : 0);
	v->outlet->on_link(v, link);
	/* The switch port is new, or our MAC is (a bond that changed its port). */
	if (news && election_state(v->election) == ELECTION_OWNER)
		v->outlet->tell(v);
	v->link = now;
	if (link != NULL)
		v->mac = link->mac;
	v->me.mac = v->mac;
	vip_on_address_changed(v);
	vip_review(v);
}

static bool may_put_back(struct vip_readds *r, int64_t now_us)
{
	r->count++;
	if (r->second_us == 0 || now_us - r->second_us >= US_PER_S) {
		r->second_us = now_us;
		r->in_second = 0;
	}
	if (r->in_second == READDS_MAX) {
		r->left_out++;
		return false;
	}
	r->in_second++;
	return true;
}

static void put_back(struct vip *v)
{
	if (!may_put_back(&v->readds, mono_now_us()))
		return;
	log_warning("vip_address_removed",
	            "vip=%s ifname=%s suppressed=%u reason=\"another program removed it, added again\"",
	            v->text, v->config->link, v->readds.left_out);
	v->readds.left_out = 0;
	election_renew_hold(v->election);
	v->outlet->tell(v);
}

void vip_check_address(struct vip *v)
{
	/* The notice of an address that we dropped and added since comes late: ask the kernel. */
	if (election_state(v->election) == ELECTION_OWNER && !fence_is_held(v->fence))
		put_back(v);
}

void vip_on_gate_restored(struct vip *v)
{
	election_renew_hold(v->election);
}

void vip_on_gate_refused(struct vip *v)
{
	/* That alone makes it unfit. */
	vip_review(v);
}

/* --- our own key in the race --- */

static void nodekey_changed_cb(enum nodekey_state state, void *userdata)
{
	struct vip *v = userdata;

	if (state == NODEKEY_PRESENT && v->phase == VIP_STARTING)
		set_phase(v, VIP_JOINED);
	if (state == NODEKEY_TAKEN)
		/* Most often this node's own of before a power loss, which ends with its lease. */
		log_warning("node_name_taken",
		            "vip=%s node=%s other=%s left_s=%lld reason=\"waiting for its lease to end\"",
		            v->text, v->me.node, nodekey_other_instance(v->nodekey),
		            (long long) (nodekey_other_left_us(v->nodekey) / US_PER_S));
	vip_review(v);
}

static void check_name(struct vip *v)
{
	if (v->phase == VIP_STARTING && nodekey_other_lives(v->nodekey))
		v->env->name_taken(nodekey_other_instance(v->nodekey), v->env->ctx);
}

static void wake_cb(void *userdata)
{
	election_run(((struct vip *) userdata)->election);
}

static void review_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct vip *v = CONTAINER_OF(w, struct vip, review);

	check_name(v);
	if (v->link == VIP_LINK_ABSENT)
		v->outlet->on_link(v, NULL);
	vip_review(v);
}

/* --- life --- */

/* The process before us left the address on the link: go on as its owner, if it is still there. */
static void adopt(struct vip *v, const struct keep_vip *kept)
{
	const struct rtnl_link *link = rtnl_link_by_name(v->env->rtnl, v->config->link);

	if (kept->deadline_us <= mono_now_us() || link == NULL || link->ifindex != kept->ifindex ||
	    !fence_adopt(v->fence, kept->deadline_us)) {
		log_info("vip_not_adopted", "vip=%s ifname=%s left_ms=%lld", v->text, v->config->link,
		         (long long) ((kept->deadline_us - mono_now_us()) / US_PER_MS));
		(void) fence_drop(v->fence);
		return;
	}
	set_phase(v, VIP_JOINED);
	election_adopt(v->election, kept->epoch, kept->rev, kept->window_us, kept->deadline_us);
	/* An owner confirms and reads nothing: without this it would never learn who else is there. */
	ledger_follow(v->ledger);
}

static void arm_fence(struct vip *v)
{
	int r;

	r = fence_arm(v->fence);
	if (r < 0)
		/* fence_hold() tries again and refuses the address without it. */
		log_warning_errno(r, "fence_arm_failed", "vip=%s kernel=\"%s\"", v->text,
		                  fence_error_text(v->fence));
}

void vip_on_gate_made(struct vip *v)
{
	if (v->config->policy.fence == CONFIG_FENCE_LIFETIME)
		return;
	fence_set_gate(v->fence, v->env->gate);
	/* It carries the promise from now on, so the window may be another. */
	configure_timing(v);
	arm_fence(v);
	vip_review(v);
}

struct vip *vip_new(const struct vip_env *env, const struct config_vip *config, size_t turn,
                    const struct keep_vip *kept)
{
	struct vip *v = NEW0(struct vip);
	int r;

	v->env = env;
	v->config = config;
	v->made_us = mono_now_us();
	v->rtt_us = REPORT_NONE;
	v->renewal_limit = (struct log_ratelimit){.interval_us = 10 * US_PER_S, .burst = 3};
	(void) addr_format(&config->addr, v->text);
	facts_init(&v->facts);
	v->facts.turn = turn;
	v->asked_us = -POLICY_ASK_US;
	(void) snprintf(v->me.node, sizeof(v->me.node), "%s", env->node_name);
	(void) snprintf(v->me.instance, sizeof(v->me.instance), "%s", env->instance);
	v->me.priority = config->policy.priority;
	v->health = config->policy.health.enabled ? HEALTH_UNKNOWN : HEALTH_UNCHECKED;
	v->probed.state = v->health;
	v->me.health = v->health;
	v->me.has_mac = true;
	v->election_timeout_us = TIMING_ELECTION_DEFAULT_US;

	r = boottimer_new(env->ev, wake_cb, v, &v->wake);
	if (r < 0) {
		(void) log_error_errno(r, "timer_failed", "vip=%s", v->text);
		abort(); /* for want of descriptors; whoever restarts us closes them all */
	}
	ev_timer_init(&v->review, review_cb, mono_to_ev(REVIEW_US), mono_to_ev(REVIEW_US));
	ev_timer_start(env->ev, &v->review);
	v->fence = fence_new(
	    env->rtnl, config->policy.fence == CONFIG_FENCE_LIFETIME ? NULL : env->gate, &config->addr);
	v->election = election_new(&v->facts, &v->me, &vip_election_ops, v);
	v->ledger = ledger_new(env->ev, env->etcd, env->key_prefix, &config->addr, &v->facts,
	                       &vip_ledger_callbacks, v);
	v->nodekey =
	    nodekey_new(env->ev, env->etcd, ledger_prefix(v->ledger), &v->me, nodekey_changed_cb, v);
	vip_outside_init(v);
	r = vip_outlet_init(v);
	if (r < 0) {
		(void) log_error_errno(r, "hcloud_client_failed", "vip=%s", v->text);
		abort(); /* for want of memory, as above; or of what libcurl needs of the machine */
	}
	vip_conflict_init(v);
	configure_timing(v);
	arm_fence(v);
	if (kept != NULL) {
		const struct rtnl_link *link = rtnl_link_by_name(env->rtnl, config->link);

		fence_set_link(v->fence, link != NULL ? link->ifindex : 0);
		adopt(v, kept);
	}
	vip_on_link_changed(v);
	return v;
}

void vip_free(struct vip *v)
{
	if (v == NULL)
		return;
	boottimer_free(v->wake);
	ev_timer_stop(v->env->ev, &v->review);
	outside_probe_free(v->outside.probe);
	vip_conflict_fini(v);
	hcloud_free(v->hcloud);
	nodekey_free(v->nodekey);
	ledger_free(v->ledger);
	election_free(v->election);
	fence_free(v->fence);
	free(v);
}

const struct config_vip *vip_config(const struct vip *v)
{
	return v->config;
}

void vip_stop(struct vip *v, const char *reason)
{
	const struct record_node *best =
	    policy_successor(&v->facts, &v->me, v->config->policy.avoid_etcd_leader, POLICY_UNASKED);

	set_phase(v, VIP_STOPPING);
	(void) snprintf(v->stop_reason, sizeof(v->stop_reason), "%s", reason);
	election_yield(v->election, best != NULL ? best->node : "", reason);
	vip_review(v);
}

bool vip_is_stopping(const struct vip *v)
{
	return v->phase == VIP_STOPPING;
}

bool vip_is_settling(const struct vip *v)
{
	int64_t window_us = election_window_us(v->election);
	int64_t now_us = mono_now_us();

	if (v->phase == VIP_STOPPING || now_us - v->made_us > SETTLED_WINDOWS * window_us)
		return false;
	switch (election_state(v->election)) {
	case ELECTION_DOWN:
		return v->phase == VIP_STARTING;
	case ELECTION_STANDBY:
		return vip_owner(v)[0] == '\0' || v->facts.life.us == v->first_life_us ||
		       now_us - v->facts.life.us > window_us;
	case ELECTION_OWNER:
		return v->confirmations == 0;
	case ELECTION_TAKING:
	case ELECTION_YIELDING:
	case ELECTION_STATES:
		break;
	}
	return true;
}

bool vip_is_down(const struct vip *v)
{
	return election_state(v->election) == ELECTION_DOWN;
}

bool vip_is_ours(const struct vip *v)
{
	return election_rev(v->election) != 0;
}

bool vip_is_off(const struct vip *v)
{
	return fence_is_off(v->fence);
}

bool vip_take_off(struct vip *v)
{
	return fence_is_off(v->fence) || vip_drop(v) == 0;
}

enum vip_move_result vip_move(struct vip *v, const char *successor)
{
	const struct record_node *to;

	if (election_state(v->election) != ELECTION_OWNER)
		return VIP_MOVE_NOT_OWNER;
	if (strcmp(successor, v->me.node) == 0)
		return VIP_MOVE_SELF;
	if (successor[0] != '\0')
		to = facts_node(&v->facts, successor);
	else
		to = policy_successor(&v->facts, &v->me, v->config->policy.avoid_etcd_leader,
		                      POLICY_UNASKED);
	if (to == NULL || !to->eligible || vip_etcd_is_full(v))
		return VIP_MOVE_NO_CANDIDATE;
	/* It would hand it over again at once. */
	if (to->health == HEALTH_BAD && v->me.health != HEALTH_BAD)
		return VIP_MOVE_NO_CANDIDATE;
	election_yield(v->election, to->node, POLICY_REASON_BY_HAND);
	return VIP_MOVE_STARTED;
}

const char *vip_owner(const struct vip *v)
{
	return v->facts.has_owner && !v->facts.owner.released ? v->facts.owner.node : "";
}

int64_t vip_epoch(const struct vip *v)
{
	return v->facts.owner.epoch;
}

int64_t vip_fence_us(const struct vip *v)
{
	int64_t window_us, late_us;

	decide_awaited(&v->facts, election_window_us(v->election), election_late_us(v->election),
	               &window_us, &late_us);
	return timing_take_at((struct mono_moment){0}, window_us, late_us).us;
}

bool vip_keep(const struct vip *v, struct keep_vip *ret_kept)
{
	const struct rtnl_link *link = rtnl_link_by_name(v->env->rtnl, v->config->link);

	if (election_state(v->election) != ELECTION_OWNER || link == NULL)
		return false;
	*ret_kept = (struct keep_vip){
	    .vip = v->config->addr,
	    .ifindex = link->ifindex,
	    .epoch = election_epoch(v->election),
	    .rev = election_rev(v->election),
	    .deadline_us = election_deadline_us(v->election),
	    .window_us = election_window_us(v->election),
	};
	return true;
}
