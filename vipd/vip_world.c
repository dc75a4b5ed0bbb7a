/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between one VIP's election and the world: the requests that go to the ledger and their answers,
 * the address that goes on and off the link, and what is announced.
 */
#include "vipd/vip_priv.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "base/mono.h"
#include "net/sockdestroy.h"
#include "vipd/keep.h"

/* --- what the ledger says --- */

static void on_facts(struct vip *v)
{
	/* The first read only says who owned it some time; what changes from then on is alive. */
	if (v->facts.known && v->first_life_us == 0)
		v->first_life_us = v->facts.life.us;
	else if (v->facts.known && v->facts.has_owner && v->facts.life.us != v->first_life_us &&
	         !v->owner_seen)
		vip_see_owner(v);
	history_on_facts(&v->history, &v->facts, mono_now_us());
	if (v->facts.known && facts_node(&v->facts, v->me.node) == NULL)
		nodekey_on_gone(v->nodekey);
	vip_review(v);
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
	if (verdict == ELECTION_DONE)
		vip_defend(v);
}

static void ledger_release_cb(enum election_verdict verdict, int64_t rev, void *userdata)
{
	struct vip *v = userdata;

	election_on_release(v->election, verdict, rev);
}

static void ledger_rewound_cb(void *userdata)
{
	struct vip *v = userdata;

	election_on_rewind(v->election);
}

const struct ledger_callbacks vip_ledger_callbacks = {
    .changed = ledger_changed_cb,
    .on_read = ledger_read_cb,
    .on_take = ledger_take_cb,
    .on_confirm = ledger_confirm_cb,
    .on_release = ledger_release_cb,
    .rewound = ledger_rewound_cb,
};

/* --- what the election wants --- */

static struct mono_moment op_now(void *ctx UNUSED)
{
	return mono_moment_now();
}

static void op_wake_at(int64_t us, void *ctx)
{
	boottimer_set(((struct vip *) ctx)->wake, us);
}

static void op_read(void *ctx)
{
	struct vip *v = ctx;

	ledger_read(v->ledger, election_window_us(v->election));
}

static void op_take(const struct election_claim *claim, void *ctx)
{
	ledger_take(((struct vip *) ctx)->ledger, claim);
}

static void op_beat(void *ctx)
{
	ledger_beat(((struct vip *) ctx)->ledger);
}

static void op_confirm(int64_t rev, int64_t epoch, void *ctx)
{
	struct vip *v = ctx;
	struct record_owner ours = {.epoch = epoch, .window_us = election_window_us(v->election)};

	(void) strcpy(ours.instance, v->me.instance);
	ledger_confirm(v->ledger, &ours, rev);
}

static void op_release(const struct record_owner *record, int64_t rev, void *ctx)
{
	ledger_release(((struct vip *) ctx)->ledger, record, rev);
}

static int op_hold(int64_t deadline_us, void *ctx)
{
	struct vip *v = ctx;
	unsigned suppressed;
	int r;

	r = fence_hold(v->fence, deadline_us);
	if (r == FENCE_KEPT && log_ratelimit_allow(&v->renewal_limit, mono_now_us(), &suppressed))
		log_warning("vip_not_renewed", "vip=%s ifname=%s left_ms=%lld suppressed=%u kernel=\"%s\"",
		            v->text, v->config->link,
		            (long long) ((election_deadline_us(v->election) - mono_now_us()) / US_PER_MS),
		            suppressed, fence_error_text(v->fence));
	if (r < 0)
		return log_warning_errno(r, "vip_address_failed", "vip=%s ifname=%s kernel=\"%s\"", v->text,
		                         v->config->link, fence_error_text(v->fence));
	return r;
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

int vip_drop(struct vip *v)
{
	int r = fence_drop(v->fence);

	if (r < 0)
		log_error_errno(r, "vip_drop_failed", "vip=%s ifname=%s kernel=\"%s\"", v->text,
		                v->config->link, fence_error_text(v->fence));
	return r;
}

static int op_drop(bool lost, void *ctx)
{
	struct vip *v = ctx;

	v->outlet->hush(v);
	if (lost) {
		/* Without the address there is no route for a reset, and clients would wait for a timeout.
		 */
		(void) fence_silence(v->fence);
		destroy_sockets(v);
	}
	return vip_drop(v);
}

static void op_changed(enum election_state from, enum election_state to, const char *reason,
                       void *ctx)
{
	struct vip *v = ctx;
	enum policy_cause cause = election_cause(v->election);
	bool owned = from == ELECTION_OWNER || to == ELECTION_OWNER;
	/* Of our own record while there is one: an adopted one is not in the facts yet. */
	bool ours = election_rev(v->election) != 0;
	int64_t epoch = ours ? election_epoch(v->election) : v->facts.owner.epoch;
	int64_t rev = ours ? election_rev(v->election) : v->facts.owner_rev;

	log_line(!owned                     ? LOG_LEVEL_INFO
	         : policy_is_planned(cause) ? LOG_LEVEL_NOTICE
	                                    : LOG_LEVEL_WARNING,
	         "vip_state", "vip=%s old=%s new=%s reason=\"%s\" epoch=%lld rev=%lld", v->text,
	         election_state_name(from), election_state_name(to), reason, (long long) epoch,
	         (long long) rev);
	if (owned)
		v->env->kept_changed(v->env->ctx);
	if (to == ELECTION_OWNER) {
		vip_see_owner(v);
		v->tenure = cause == POLICY_CAUSE_HEALTH ? POLICY_TENURE_HEALTH : POLICY_TENURE_ORDINARY;
		v->returns = cause == POLICY_CAUSE_TAKEN_BACK ? v->returns + 1 : 0;
		history_on_held(&v->history, mono_now_us());
		v->outlet->tell(v);
	}
	vip_ask(v);
	if (to == ELECTION_DOWN && v->phase == VIP_STOPPING)
		v->env->stopped(v->env->ctx);
}

static void op_unsettled(enum election_action next, void *ctx)
{
	struct vip *v = ctx;

	log_error("election_unsettled", "vip=%s state=%s next=%d reason=\"trying again in 100 ms\"",
	          v->text, election_state_name(election_state(v->election)), (int) next);
}

const struct election_ops vip_election_ops = {
    .now = op_now,
    .wake_at = op_wake_at,
    .read = op_read,
    .take = op_take,
    .beat = op_beat,
    .confirm = op_confirm,
    .release = op_release,
    .hold = op_hold,
    .drop = op_drop,
    .changed = op_changed,
    .unsettled = op_unsettled,
};

/* --- how the network around it learns where the address is --- */

/*
 * The ways in which the network around this node learns where the address is. What the kernel does
 * with the address, and when, is the same in all of them (vip_world.c, fence.c).
 *
 *   layer2  the announcer speaks ARP and neighbour discovery on the link
 *   bgp     nothing is sent: BIRD or FRR sees the address come and go, and exports it. It sits on
 *           a link that leads nowhere, which is made here if there is none
 *   hcloud  Hetzner Cloud is told to send the address's packets here
 */

#define MAKE_AGAIN_US US_PER_S          /* somebody keeps removing it */
#define MAKE_REFUSED_US (10 * US_PER_S) /* each try may start modprobe */

/* --- layer2 --- */

static void layer2_on_link(struct vip *v, const struct rtnl_link *link)
{
	int r;

	r = announcer_set_link(v->conflict.announcer, link != NULL && link->has_mac ? link->ifindex : 0,
	                       link != NULL ? &link->mac : NULL);
	if (r < 0)
		log_warning_errno(r, "announcer_failed", "vip=%s ifname=%s", v->text, v->config->link);
}

static void layer2_tell(struct vip *v)
{
	announcer_start(v->conflict.announcer);
}

static void layer2_hush(struct vip *v)
{
	announcer_stop(v->conflict.announcer);
}

/* --- bgp --- */

static void make_link(struct vip *v)
{
	int64_t now_us = mono_now_us();
	int r;

	if (v->phase == VIP_STOPPING || now_us < v->make_link_at_us)
		return;
	r = rtnl_link_add_dummy(v->env->rtnl, v->config->link, LEFTOVERS_LINK_GROUP);
	if (r == -EEXIST)
		r = 0; /* the news of it is on the way */
	else if (r == 0)
		log_info("vip_link_made", "vip=%s ifname=%s kind=dummy", v->text, v->config->link);
	else if (r != v->make_link_error)
		log_warning_errno(r, "vip_link_not_made", "vip=%s ifname=%s kind=dummy kernel=\"%s\"",
		                  v->text, v->config->link, rtnl_error_text(v->env->rtnl));
	v->make_link_error = r;
	v->make_link_at_us = now_us + (r < 0 ? MAKE_REFUSED_US : MAKE_AGAIN_US);
}

static void bgp_on_link(struct vip *v, const struct rtnl_link *link)
{
	if (link == NULL)
		make_link(v);
	else
		v->make_link_error = 0;
}

/* Coming and going of the address itself say it all. */
static void bgp_say_nothing(struct vip *v UNUSED)
{
}

/* --- hcloud --- */

static struct hcloud_entitled entitled_cb(void *userdata)
{
	const struct vip *v = userdata;
	bool owner = election_state(v->election) == ELECTION_OWNER;

	return (struct hcloud_entitled){
	    .until_us = owner ? election_deadline_us(v->election) : 0,
	    .window_us = election_window_us(v->election),
	};
}

static void hcloud_on_link(struct vip *v UNUSED, const struct rtnl_link *link UNUSED)
{
}

static void hcloud_tell(struct vip *v)
{
	hcloud_acquire(v->hcloud);
}

static void hcloud_hush(struct vip *v)
{
	hcloud_release(v->hcloud);
}

/* --- all --- */

static const struct vip_outlet announced[] = {
    [CONFIG_ANNOUNCE_LAYER2] =
        {
            .name = "layer2",
            .needs_carrier = true,
            .asks = true,
            .on_link = layer2_on_link,
            .tell = layer2_tell,
            .hush = layer2_hush,
        },
    [CONFIG_ANNOUNCE_BGP] =
        {
            .name = "bgp",
            .on_link = bgp_on_link,
            .tell = bgp_say_nothing,
            .hush = bgp_say_nothing,
        },
};

static const struct vip_outlet by_hcloud = {
    .name = "hcloud",
    .needs_carrier = true,
    .on_link = hcloud_on_link,
    .tell = hcloud_tell,
    .hush = hcloud_hush,
};

int vip_outlet_init(struct vip *v)
{
	const struct config_vip *config = v->config;

	if (config->hcloud == NULL) {
		v->outlet = &announced[config->policy.announce];
		if (config->policy.announce == CONFIG_ANNOUNCE_BGP)
			fence_set_routed(v->fence);
		return 0;
	}
	v->outlet = &by_hcloud;
	return hcloud_new(v->env->ev, v->env->hcloud_queue, config->hcloud, &config->addr, entitled_cb,
	                  v, &v->hcloud);
}
