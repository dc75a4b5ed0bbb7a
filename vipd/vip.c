/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wires one VIP's election to etcd, the kernel and the LAN. What comes from outside changes
 * `facts`, `me` or the fitness, then review() asks the policy and runs the election; what the
 * election wants is passed on by the ops at the end of the file. The state itself is election.c's
 * alone.
 */
#include "vipd/vip.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "net/sockdestroy.h"
#include "vipd/announce.h"
#include "vipd/election.h"
#include "vipd/fence.h"
#include "vipd/ledger.h"
#include "vipd/nodekey.h"
#include "vipd/policy.h"
#include "vipd/timing.h"

/* Policies have a clock in them (hold-down), so they are asked at least this often. */
#define REVIEW_US US_PER_S

/* Another host that claims the address is answered at most this often. */
#define DEFEND_US US_PER_S

/* More removals a second than this, and the next confirmation is soon enough to add it again. */
#define READDS_MAX 10

struct vip {
	const struct vip_env *env;
	const struct config_vip *config;
	char text[ADDR_TEXT_MAX];

	struct facts facts;
	struct record_node me;
	struct election *election;
	struct ledger *ledger;
	struct fence *fence;
	struct announcer *announcer;
	struct nodekey *nodekey;
	struct history history;

	ev_timer wake;   /* the election's */
	ev_timer review; /* the policy's */

	/* fitness */
	bool link_present;
	bool carrier;
	bool timing_known;
	bool joined; /* our node key has stood in etcd, or the process before us left us the VIP */
	bool stopping;
	char stop_reason[RECORD_REASON_MAX + 1];

	bool on_hold;
	char health_reason[256];
	int64_t election_timeout_us;
	int64_t granted_lease_s;
	enum policy_tenure tenure;

	/* counters and last values, for reports */
	int64_t rtt_us;
	uint64_t confirmations;
	uint64_t confirmation_failures;
	bool etcd_ok;
	uint64_t conflicts;
	bool has_foreign_mac;
	struct mac foreign_mac;
	int64_t defended_us;
	bool defend; /* announce behind the next confirmation */
	uint64_t readds;
	struct log_ratelimit readd_limit;
	struct log_ratelimit conflict_limit;
	bool sockets_unsupported;
};

static const struct election_ops election_ops;
static const struct ledger_callbacks ledger_callbacks;
static const struct announcer_callbacks announcer_callbacks;

/* --- fitness, policy ---------------------------------------------------------------------------
 */

static const char *unfit_because(const struct vip *v, char *buf, size_t size)
{
	if (v->stopping)
		return v->stop_reason;
	if (!v->link_present) {
		(void) snprintf(buf, size, "link %s does not exist", v->config->link);
		return buf;
	}
	if (v->config->policy.fence == CONFIG_FENCE_NFTABLES && v->env->gate == NULL)
		return "fence: nftables is configured, and this kernel has none";
	if (nodekey_state(v->nodekey) == NODEKEY_TAKEN)
		return "node name in use by another node";
	if (!v->timing_known || !v->joined)
		return "etcd has not answered yet";
	return NULL;
}

/* The owner's reasons to hand over, looked at with everything that is known now. */
static void ask_policy(struct vip *v)
{
	struct policy_input in = {
	    .facts = &v->facts,
	    .me = &v->me,
	    .policy = &v->config->policy,
	    .tenure = v->tenure,
	    .owned_for_us = mono_now_us() - election_since_us(v->election),
	    .on_hold = v->on_hold,
	    .carrier = v->carrier,
	};
	struct policy_advice advice;

	if (election_state(v->election) != ELECTION_OWNER)
		return;
	advice = policy_advise(&in);
	if (advice.yield)
		election_yield(v->election, advice.successor, advice.reason);
}

static void review(struct vip *v)
{
	char buf[64];
	const char *unfit = unfit_because(v, buf, sizeof(buf));

	v->me.eligible = v->link_present && v->carrier && !v->on_hold;
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
	v->timing_known = true;
	configure_timing(v);
	warn_about_window(v);
	review(v);
}

void vip_set_lease(struct vip *v, int64_t lease, int64_t granted_s)
{
	v->granted_lease_s = granted_s;
	nodekey_set_lease(v->nodekey, lease);
}

void vip_set_etcd_leader(struct vip *v, bool leads)
{
	v->me.etcd_leader = leads;
	review(v);
}

void vip_set_health(struct vip *v, enum health_state state, const char *reason)
{
	v->me.health = state;
	(void) snprintf(v->health_reason, sizeof(v->health_reason), "%s", reason);
	review(v);
}

void vip_set_hold(struct vip *v, bool on_hold)
{
	v->on_hold = on_hold;
	review(v);
}

/* --- the link and what others do to the address ------------------------------------------------
 */

void vip_on_link_changed(struct vip *v)
{
	const struct rtnl_link *link = rtnl_link_by_name(v->env->rtnl, v->config->link);
	bool carrier = link != NULL && link->up && link->carrier;
	int r;

	if ((link != NULL) != v->link_present)
		log_info("vip_link", "vip=%s ifname=%s present=%d", v->text, v->config->link, link != NULL);
	v->link_present = link != NULL;
	fence_set_link(v->fence, link != NULL ? link->ifindex : 0);
	r = announcer_set_link(v->announcer, link != NULL && link->has_mac ? link->ifindex : 0,
	                       link != NULL ? &link->mac : NULL);
	if (r < 0)
		log_warning_errno(r, "announcer_failed", "vip=%s ifname=%s", v->text, v->config->link);
	if (carrier && !v->carrier && election_state(v->election) == ELECTION_OWNER)
		announcer_start(v->announcer);
	v->carrier = carrier;
	review(v);
}

static void put_back(struct vip *v)
{
	unsigned suppressed;

	v->readds++;
	if (!log_ratelimit_allow(&v->readd_limit, mono_now_us(), &suppressed))
		return;
	log_warning("vip_address_removed",
	            "vip=%s ifname=%s suppressed=%u reason=\"another program removed it, added again\"",
	            v->text, v->config->link, suppressed);
	election_renew_hold(v->election);
	announcer_start(v->announcer);
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

static void claimed_cb(const struct mac *from, void *userdata)
{
	struct vip *v = userdata;
	int64_t now_us = mono_now_us();
	char mac[MAC_TEXT_MAX];
	unsigned suppressed;

	if (election_state(v->election) != ELECTION_OWNER)
		return;
	v->conflicts++;
	v->foreign_mac = *from;
	v->has_foreign_mac = true;
	if (log_ratelimit_allow(&v->conflict_limit, now_us, &suppressed))
		log_warning("vip_conflict", "vip=%s ifname=%s foreign_mac=%s suppressed=%u", v->text,
		            v->config->link, mac_format(from, mac), suppressed);
	if (now_us - v->defended_us < DEFEND_US)
		return;
	v->defended_us = now_us;
	/* Are we the owner still? The answer decides: announce over the claim, or yield. */
	v->defend = true;
	election_check_now(v->election);
}

static bool entitled_cb(void *userdata)
{
	const struct vip *v = userdata;

	return election_state(v->election) == ELECTION_OWNER &&
	       mono_now_us() < election_deadline_us(v->election);
}

static const struct announcer_callbacks announcer_callbacks = {
    .entitled = entitled_cb,
    .claimed = claimed_cb,
};

/* --- what the ledger says ----------------------------------------------------------------------
 */

static void on_facts(struct vip *v)
{
	history_on_facts(&v->history, &v->facts, mono_now_us());
	if (v->facts.known && facts_node(&v->facts, v->me.node) == NULL)
		nodekey_on_gone(v->nodekey);
	review(v);
}

static void ledger_changed_cb(void *userdata)
{
	on_facts(userdata);
}

static void ledger_read_cb(bool ok, void *userdata)
{
	struct vip *v = userdata;

	v->etcd_ok = ok;
	election_on_read(v->election, ok);
	if (ok)
		on_facts(v);
}

static void ledger_take_cb(enum election_verdict verdict, int64_t rev, int64_t sent_us,
                           void *userdata)
{
	struct vip *v = userdata;

	if (verdict == ELECTION_DONE)
		history_on_facts(&v->history, &v->facts, mono_now_us());
	election_on_take(v->election, verdict, rev, sent_us);
}

static void ledger_confirm_cb(enum election_verdict verdict, int64_t rev, int64_t sent_us,
                              int64_t rtt_us, void *userdata)
{
	struct vip *v = userdata;

	v->etcd_ok = verdict != ELECTION_UNKNOWN;
	if (verdict == ELECTION_DONE) {
		v->confirmations++;
		v->rtt_us = rtt_us;
	} else {
		v->confirmation_failures++;
	}
	election_on_confirm(v->election, verdict, rev, sent_us);
	if (election_state(v->election) != ELECTION_OWNER)
		return;
	v->env->kept_changed(v->env->ctx);
	if (verdict == ELECTION_DONE && v->defend) {
		v->defend = false;
		announcer_start(v->announcer);
	}
}

static void ledger_release_cb(enum election_verdict verdict, int64_t rev, void *userdata)
{
	struct vip *v = userdata;

	election_on_release(v->election, verdict, rev);
}

static const struct ledger_callbacks ledger_callbacks = {
    .changed = ledger_changed_cb,
    .on_read = ledger_read_cb,
    .on_take = ledger_take_cb,
    .on_confirm = ledger_confirm_cb,
    .on_release = ledger_release_cb,
};

static void nodekey_changed_cb(enum nodekey_state state, void *userdata)
{
	struct vip *v = userdata;

	if (state == NODEKEY_PRESENT)
		v->joined = true;
	if (state == NODEKEY_TAKEN)
		log_error("node_name_taken", "vip=%s node=%s other=%s", v->text, v->me.node,
		          nodekey_other_instance(v->nodekey));
	review(v);
}

/* A crashed predecessor's key ends with its lease; one that stands for longer is alive. */
static void check_name(struct vip *v)
{
	int64_t since_us = nodekey_taken_since_us(v->nodekey);
	int64_t patience_us = MAX(v->env->lease_ttl_us, v->granted_lease_s * US_PER_S) + 2 * US_PER_S;

	if (!v->joined && since_us != 0 && mono_now_us() - since_us > patience_us)
		v->env->name_taken(nodekey_other_instance(v->nodekey), v->env->ctx);
}

/* --- what the election wants -------------------------------------------------------------------
 */

static int64_t op_now(void *ctx UNUSED)
{
	return mono_now_us();
}

static void op_wake_at(int64_t us, void *ctx)
{
	struct vip *v = ctx;

	ev_timer_stop(v->env->ev, &v->wake);
	if (us >= MONO_NEVER)
		return;
	/* The loop's idea of now may be old, after a callback that took long or a stopped process. */
	ev_now_update(v->env->ev);
	ev_timer_set(&v->wake, mono_to_ev(us - mono_now_us()), 0.);
	ev_timer_start(v->env->ev, &v->wake);
}

static void op_read(void *ctx)
{
	ledger_read(((struct vip *) ctx)->ledger);
}

static void op_take(const struct election_claim *claim, void *ctx)
{
	ledger_take(((struct vip *) ctx)->ledger, claim);
}

static void op_confirm(int64_t rev, int64_t epoch, void *ctx)
{
	ledger_confirm(((struct vip *) ctx)->ledger, rev, epoch);
}

static void op_release(const struct record_owner *record, int64_t rev, void *ctx)
{
	ledger_release(((struct vip *) ctx)->ledger, record, rev);
}

static int op_hold(int64_t deadline_us, void *ctx)
{
	struct vip *v = ctx;
	int r;

	r = fence_hold(v->fence, deadline_us);
	if (r < 0)
		return log_warning_errno(r, "vip_hold_failed", "vip=%s ifname=%s kernel=\"%s\"", v->text,
		                         v->config->link, fence_error_text(v->fence));
	return 0;
}

static void destroy_sockets(struct vip *v)
{
	int r;

	if (!v->config->policy.destroy_sockets)
		return;
	r = sockdestroy_by_local_addr(&v->config->addr);
	v->sockets_unsupported = r == -EOPNOTSUPP;
	if (r < 0 && r != -EOPNOTSUPP)
		log_warning_errno(r, "socket_destroy_failed", "vip=%s", v->text);
	else if (r > 0)
		log_info("sockets_destroyed", "vip=%s count=%d", v->text, r);
}

static int op_drop(bool lost, void *ctx)
{
	struct vip *v = ctx;
	int r;

	announcer_stop(v->announcer);
	r = fence_drop(v->fence);
	if (r < 0)
		log_error_errno(r, "vip_drop_failed", "vip=%s ifname=%s kernel=\"%s\"", v->text,
		                v->config->link, fence_error_text(v->fence));
	if (lost)
		destroy_sockets(v);
	return r;
}

static void op_changed(enum election_state from, enum election_state to, const char *reason,
                       void *ctx)
{
	struct vip *v = ctx;
	bool owned = from == ELECTION_OWNER || to == ELECTION_OWNER;

	log_line(owned ? LOG_LEVEL_NOTICE : LOG_LEVEL_INFO, "vip_state",
	         "vip=%s old=%s new=%s reason=\"%s\" epoch=%lld rev=%lld", v->text,
	         election_state_name(from), election_state_name(to), reason,
	         (long long) v->facts.owner.epoch, (long long) v->facts.owner_rev);
	if (owned)
		v->env->kept_changed(v->env->ctx);
	if (to == ELECTION_OWNER) {
		v->tenure = strcmp(reason, POLICY_REASON_HEALTH) == 0 ? POLICY_TENURE_HEALTH
		                                                      : POLICY_TENURE_ORDINARY;
		history_on_held(&v->history, mono_now_us());
		announcer_start(v->announcer);
	}
	if (to == ELECTION_DOWN && v->stopping)
		v->env->stopped(v->env->ctx);
}

static const struct election_ops election_ops = {
    .now_us = op_now,
    .wake_at = op_wake_at,
    .read = op_read,
    .take = op_take,
    .confirm = op_confirm,
    .release = op_release,
    .hold = op_hold,
    .drop = op_drop,
    .changed = op_changed,
};

static void wake_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	election_run(CONTAINER_OF(w, struct vip, wake)->election);
}

static void review_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct vip *v = CONTAINER_OF(w, struct vip, review);

	check_name(v);
	review(v);
}

/* --- life --------------------------------------------------------------------------------------
 */

/* The process before us left the address on the link: go on as its owner, if it is still there. */
static void adopt(struct vip *v, const struct keep_vip *kept)
{
	const struct rtnl_link *link = rtnl_link_by_name(v->env->rtnl, v->config->link);

	if (kept->deadline_us <= mono_now_us() || link == NULL || link->ifindex != kept->ifindex ||
	    !fence_is_held(v->fence)) {
		log_info("vip_not_adopted", "vip=%s ifname=%s left_ms=%lld", v->text, v->config->link,
		         (long long) ((kept->deadline_us - mono_now_us()) / US_PER_MS));
		(void) fence_drop(v->fence);
		return;
	}
	/* The window must be the one that the record promises to others, whatever is configured now. */
	election_configure(v->election, kept->window_us, fence_kind(v->fence),
	                   v->config->policy.avoid_etcd_leader);
	v->timing_known = true;
	v->joined = true;
	election_adopt(v->election, kept->epoch, kept->rev, kept->deadline_us);
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

struct vip *vip_new(const struct vip_env *env, const struct config_vip *config,
                    const struct keep_vip *kept)
{
	struct vip *v = NEW0(struct vip);

	v->env = env;
	v->config = config;
	v->rtt_us = REPORT_NONE;
	v->readd_limit = (struct log_ratelimit){.interval_us = US_PER_S, .burst = READDS_MAX};
	v->conflict_limit = (struct log_ratelimit){.interval_us = 10 * US_PER_S, .burst = 3};
	(void) addr_format(&config->addr, v->text);
	facts_init(&v->facts);
	(void) snprintf(v->me.node, sizeof(v->me.node), "%s", env->node_name);
	(void) snprintf(v->me.instance, sizeof(v->me.instance), "%s", env->instance);
	v->me.priority = config->policy.priority;
	v->me.health = config->policy.health.enabled ? HEALTH_UNKNOWN : HEALTH_UNCHECKED;
	v->election_timeout_us = TIMING_ELECTION_DEFAULT_US;

	ev_timer_init(&v->wake, wake_cb, 0., 0.);
	ev_timer_init(&v->review, review_cb, mono_to_ev(REVIEW_US), mono_to_ev(REVIEW_US));
	ev_timer_start(env->ev, &v->review);
	v->fence = fence_new(
	    env->rtnl, config->policy.fence == CONFIG_FENCE_LIFETIME ? NULL : env->gate, &config->addr);
	v->election = election_new(&v->facts, &v->me, &election_ops, v);
	v->ledger =
	    ledger_new(env->etcd, env->key_prefix, &config->addr, &v->facts, &ledger_callbacks, v);
	v->nodekey =
	    nodekey_new(env->ev, env->etcd, ledger_prefix(v->ledger), &v->me, nodekey_changed_cb, v);
	v->announcer = announcer_new(env->ev, &config->addr, &announcer_callbacks, v);
	announcer_configure(v->announcer, config->policy.announce_repeats,
	                    config->policy.announce_refresh_us);
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
	ev_timer_stop(v->env->ev, &v->wake);
	ev_timer_stop(v->env->ev, &v->review);
	announcer_free(v->announcer);
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

const char *vip_text(const struct vip *v)
{
	return v->text;
}

void vip_stop(struct vip *v, const char *reason)
{
	const struct record_node *best =
	    policy_successor(&v->facts, &v->me, v->config->policy.avoid_etcd_leader);

	v->stopping = true;
	(void) snprintf(v->stop_reason, sizeof(v->stop_reason), "%s", reason);
	election_yield(v->election, best != NULL ? best->node : "", reason);
	review(v);
}

bool vip_is_stopping(const struct vip *v)
{
	return v->stopping;
}

bool vip_is_down(const struct vip *v)
{
	return election_state(v->election) == ELECTION_DOWN;
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
		to = policy_successor(&v->facts, &v->me, v->config->policy.avoid_etcd_leader);
	if (to == NULL || !to->eligible)
		return VIP_MOVE_NO_CANDIDATE;
	election_yield(v->election, to->node, "moved by hand");
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

/* --- reporting ----------------------------------------------------------------------------------
 */

static void add_warning(struct vip_report_room *room, struct vip_report *report, const char *fmt,
                        ...) PRINTF_LIKE(3, 4);

static void add_warning(struct vip_report_room *room, struct vip_report *report, const char *fmt,
                        ...)
{
	size_t i = report->n_warnings;
	va_list ap;

	if (i == ARRAY_SIZE(room->warnings))
		return;
	va_start(ap, fmt);
	(void) vsnprintf(room->warning_text[i], sizeof(room->warning_text[i]), fmt, ap);
	va_end(ap);
	room->warnings[i] = room->warning_text[i];
	report->n_warnings++;
}

static void add_warnings(const struct vip *v, struct vip_report_room *room,
                         struct vip_report *report)
{
	int64_t advised_us = timing_window_advised_us(v->election_timeout_us);
	char buf[64];
	const char *unfit = unfit_because(v, buf, sizeof(buf));

	if (unfit != NULL)
		add_warning(room, report, "takes no part: %s", unfit);
	if (v->link_present && !v->carrier)
		add_warning(room, report, "link %s is down or has no carrier", v->config->link);
	if (election_window_us(v->election) < advised_us)
		add_warning(
		    room, report,
		    "fenceWindow of %lld ms is shorter than 2.5 x etcd's election timeout of %lld ms: "
		    "an etcd election may interrupt the address",
		    (long long) (election_window_us(v->election) / US_PER_MS),
		    (long long) (v->election_timeout_us / US_PER_MS));
	if (v->granted_lease_s * US_PER_S > v->env->lease_ttl_us)
		add_warning(room, report, "etcd raised the lease TTL from %lld s to %lld s",
		            (long long) (v->env->lease_ttl_us / US_PER_S), (long long) v->granted_lease_s);
	if (fence_kind(v->fence) == FENCE_LIFETIME && v->config->policy.fence != CONFIG_FENCE_LIFETIME)
		add_warning(room, report,
		            "no nftables in this kernel: the address lifetime is the only fence");
	if (v->sockets_unsupported)
		add_warning(room, report,
		            "this kernel cannot end the connections to a lost address (SOCK_DESTROY)");
	report->warnings = room->warnings;
}

static void add_candidates(const struct vip *v, struct vip_report_room *room,
                           struct vip_report *report)
{
	for (size_t i = 0; i < v->facts.n_nodes; i++)
		room->candidates[i] = (struct vip_report_candidate){
		    .node = v->facts.nodes[i].node,
		    .health = health_state_name(v->facts.nodes[i].health),
		    .priority = v->facts.nodes[i].priority,
		};
	report->candidates = room->candidates;
	report->n_candidates = v->facts.n_nodes;
}

void vip_fill_report(const struct vip *v, struct vip_report_room *room,
                     struct vip_report *ret_report)
{
	bool owner = election_state(v->election) == ELECTION_OWNER;
	int64_t now_us = mono_now_us();
	int64_t window_us, late_us;
	struct vip_report r = {
	    .vip = addr_format(&v->config->addr, room->vip),
	    .link = v->config->link,
	    .node = v->me.node,
	    .state = election_state_name(election_state(v->election)),
	    .reason = election_reason(v->election),
	    .in_state_us = now_us - election_since_us(v->election),
	    .owner = vip_owner(v)[0] != '\0' ? vip_owner(v) : NULL,
	    .epoch = v->facts.owner.epoch,
	    .owner_revision = v->facts.owner_rev,
	    .fence = fence_kind(v->fence) == FENCE_NFTABLES ? "nftables" : "lifetime",
	    .fence_left_us = owner ? election_deadline_us(v->election) - now_us : REPORT_NONE,
	    .confirm_rtt_us = v->rtt_us,
	    .confirmations = v->confirmations,
	    .confirmation_failures = v->confirmation_failures,
	    .health = v->me.health,
	    .health_reason = v->health_reason,
	    .priority = v->me.priority,
	    .hold = v->on_hold,
	    .etcd_leader = v->me.etcd_leader,
	    .etcd_endpoint = ledger_endpoint(v->ledger)[0] != '\0' ? ledger_endpoint(v->ledger) : NULL,
	    .etcd_ok = v->etcd_ok,
	    .conflicts = v->conflicts,
	    .foreign_mac = v->has_foreign_mac ? mac_format(&v->foreign_mac, room->foreign_mac) : NULL,
	    .readds = v->readds,
	};

	/* What is in force is what the present owner recorded. */
	decide_awaited(&v->facts, election_window_us(v->election), election_late_us(v->election),
	               &window_us, &late_us);
	r.fence_window_us = window_us;
	r.fence_late_us = late_us;
	r.bound_us = timing_bound_us(window_us, late_us);
	history_report(&v->history, &r, room->counts);
	add_candidates(v, room, &r);
	add_warnings(v, room, &r);
	*ret_report = r;
}
