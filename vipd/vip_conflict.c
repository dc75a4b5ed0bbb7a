/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether another host has the VIP: when to ask the LAN, and what an answer means here.
 *
 * Before a first take, that is until this process has seen an owner of ours alive, a foreign answer
 * refuses the VIP (conflict: refuse). It only ever keeps this node from taking, so it adds no
 * owner. In a failover it warns and does not refuse: clients of an address that our nodes had until
 * now are better served by two hosts than by the foreign one alone. The former owner may answer
 * until its fence has acted; its MAC is in its node key. While a node of an older version is in the
 * race, its key has no MAC, and no answer before a take counts as foreign.
 */
#include "vipd/vip_priv.h"

#include "base/mono.h"
#include "vipd/timing.h"

#define ASK_WAITING_US US_PER_S
#define ASK_OWNER_US (10 * US_PER_S)
/* Answers to so many questions in a row may be lost before the other host counts as gone. */
#define ANSWERS_LOST_MAX 3
/* Another host that claims the address is answered at most this often. */
#define DEFEND_US US_PER_S

static int64_t interval_of(const struct vip *v)
{
	if (v->config->policy.conflict == CONFIG_CONFLICT_OFF || !v->outlet->asks ||
	    v->link != VIP_LINK_UP || v->phase == VIP_STOPPING)
		return 0;
	switch (election_state(v->election)) {
	case ELECTION_OWNER:
		return ASK_OWNER_US;
	case ELECTION_TAKING:
		return ASK_WAITING_US;
	case ELECTION_DOWN:
	case ELECTION_STANDBY:
		return v->owner_seen ? 0 : ASK_WAITING_US;
	case ELECTION_YIELDING:
	case ELECTION_STATES:
		break;
	}
	return 0;
}

static bool takes_after_asking(const struct vip *v)
{
	return v->config->policy.conflict == CONFIG_CONFLICT_REFUSE && !v->owner_seen &&
	       interval_of(v) != 0;
}

/* When the last answer counts no longer. */
static int64_t foreign_until_us(const struct vip *v)
{
	return v->conflict.foreign_us == 0
	           ? 0
	           : v->conflict.foreign_us + ANSWERS_LOST_MAX * interval_of(v) + ASKER_CHECK_US;
}

void vip_ask(struct vip *v)
{
	asker_set_interval(v->conflict.asker, interval_of(v));
	if (!takes_after_asking(v))
		return;
	election_not_before(v->election, asker_done_us(v->conflict.asker));
	/* The first read may come with leave to take: what is known of the wire counts before it. */
	if (!v->facts.known)
		election_not_before(v->election, foreign_until_us(v));
}

/* An owner of ours that confirms answers on each of its links in this LAN, and only the MAC of one
 * is known. */
static bool may_be_owned(const struct vip *v)
{
	const struct facts *f = &v->facts;

	return f->has_owner && !f->owner.released &&
	       mono_now_us() < f->life.us + timing_overdue_us(f->owner.window_us);
}

bool vip_is_in_use(const struct vip *v)
{
	if (interval_of(v) == 0 || mono_now_us() >= foreign_until_us(v))
		return false;
	/* Of an owner the record is its own: who else has the address has it wrongly. */
	if (election_state(v->election) == ELECTION_OWNER)
		return facts_node_of_mac(&v->facts, &v->conflict.foreign_mac) == NULL;
	return facts_is_foreign_mac(&v->facts, &v->conflict.foreign_mac) && !may_be_owned(v);
}

bool vip_is_refused(const struct vip *v)
{
	const enum election_state state = election_state(v->election);

	return (state == ELECTION_DOWN || state == ELECTION_STANDBY) && takes_after_asking(v) &&
	       vip_is_in_use(v);
}

void vip_review_conflict(struct vip *v)
{
	const bool in_use = vip_is_in_use(v);
	char mac[MAC_TEXT_MAX];

	vip_ask(v);
	if (in_use == v->conflict.was_in_use)
		return;
	v->conflict.was_in_use = in_use;
	if (!in_use)
		log_notice("vip_in_use_over", "vip=%s ifname=%s foreign_mac=%s", v->text, v->config->link,
		           mac_format(&v->conflict.foreign_mac, mac));
	else if (election_state(v->election) != ELECTION_OWNER)
		log_warning("vip_in_use", "vip=%s ifname=%s foreign_mac=%s taken=%d", v->text,
		            v->config->link, mac_format(&v->conflict.foreign_mac, mac), !vip_is_refused(v));
}

void vip_see_owner(struct vip *v)
{
	v->owner_seen = true;
	if (!v->conflict.was_in_use)
		v->conflict.foreign_us = 0;
}

void vip_defend(struct vip *v)
{
	if (!v->conflict.defend)
		return;
	v->conflict.defend = false;
	v->outlet->tell(v);
}

/* --- what is heard --- */

static void contest(struct vip *v, const struct mac *from)
{
	const char *node = facts_node_of_mac(&v->facts, from);
	int64_t now_us = mono_now_us();
	char mac[MAC_TEXT_MAX];
	unsigned suppressed;

	v->conflict.count++;
	if (log_ratelimit_allow(&v->conflict.limit, now_us, &suppressed))
		log_warning("vip_conflict", "vip=%s ifname=%s foreign_mac=%s node=%s suppressed=%u",
		            v->text, v->config->link, mac_format(from, mac), node != NULL ? node : "-",
		            suppressed);
	v->conflict.foreign_mac = *from;
	v->conflict.foreign_us = now_us;
	if (now_us - v->conflict.defended_us < DEFEND_US)
		return;
	v->conflict.defended_us = now_us;
	/* Are we the owner still? The answer decides: announce over the claim, or yield. */
	v->conflict.defend = true;
	election_check_now(v->election);
}

static void answered_cb(const struct mac *from, void *userdata)
{
	struct vip *v = userdata;

	if (election_state(v->election) == ELECTION_OWNER) {
		contest(v, from);
		return;
	}
	v->conflict.foreign_mac = *from;
	v->conflict.foreign_us = mono_now_us();
	vip_review(v);
}

static void probe_cb(const struct addr *addr, void *userdata)
{
	announcer_probe(((struct vip *) userdata)->conflict.announcer, addr);
}

static void forget_cb(const struct addr *addr, void *userdata)
{
	announcer_forget(((struct vip *) userdata)->conflict.announcer, addr);
}

static const struct asker_callbacks asker_callbacks = {
    .probe = probe_cb,
    .forget = forget_cb,
    .claimed = answered_cb,
};

struct own_mac {
	const struct mac *mac;
	bool found;
};

static void own_mac_cb(const struct rtnl_link *link, void *userdata)
{
	struct own_mac *own = userdata;

	own->found = own->found || (link->has_mac && mac_equal(&link->mac, own->mac));
}

/* Linux answers on every link for an address of any (arp_ignore), so another link of this node in
 * the same LAN answers for the VIP. */
static bool is_own_mac(const struct vip *v, const struct mac *mac)
{
	struct own_mac own = {.mac = mac};

	rtnl_link_list(v->env->rtnl, own_mac_cb, &own);
	return own.found;
}

static void claimed_cb(const struct addr *addr, const struct mac *from, void *userdata)
{
	struct vip *v = userdata;
	const bool ours = facts_node_of_mac(&v->facts, from) != NULL;
	const bool owner = election_state(v->election) == ELECTION_OWNER;
	const bool again = vip_is_in_use(v) && mac_equal(from, &v->conflict.foreign_mac);

	if (is_own_mac(v, from))
		return;
	if (owner && addr_equal(addr, &v->config->addr) && (ours || again || interval_of(v) == 0)) {
		contest(v, from);
	} else if (!ours && interval_of(v) != 0) {
		asker_on_claim(v->conflict.asker, addr, from);
		vip_ask(v);
	}
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

void vip_conflict_init(struct vip *v)
{
	const struct config_vip *config = v->config;

	v->conflict.limit = (struct log_ratelimit){.interval_us = 10 * US_PER_S, .burst = 3};
	v->conflict.announcer = announcer_new(v->env->ev, &config->addr, &announcer_callbacks, v);
	v->conflict.asker = asker_new(v->env->ev, &config->addr, &asker_callbacks, v);
	announcer_configure(v->conflict.announcer, config->policy.announce_repeats,
	                    config->policy.announce_refresh_us);
}

void vip_conflict_fini(struct vip *v)
{
	asker_free(v->conflict.asker);
	announcer_free(v->conflict.announcer);
}
