/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between one VIP and what the nodes see of it from outside (outside.h): a standby looks and tells,
 * an owner counts.
 */
#include "vipd/vip_priv.h"

#include <string.h>

#include "base/macro.h"
#include "base/mono.h"

static bool is_on(const struct vip *v)
{
	return v->config->policy.outside_check && v->config->policy.health.enabled;
}

/* --- a standby --- */

/* A node that has the address by another program's hand, or no link, would see only itself. */
static bool may_look(const struct vip *v)
{
	return is_on(v) && election_state(v->election) == ELECTION_STANDBY && v->link == VIP_LINK_UP &&
	       !v->onlink.is_own && !v->onlink.is_put && v->health != HEALTH_UNCHECKED &&
	       vip_owner(v)[0] != '\0' && strcmp(vip_owner(v), v->me.node) != 0;
}

static void looked_cb(bool reached, const char *reason, void *userdata)
{
	struct vip *v = userdata;

	if (!outside_on_look(&v->outside.view, &v->me, v->facts.owner.epoch, reached))
		return;
	log_line(reached ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, "vip_outside",
	         "vip=%s owner=%s epoch=%lld reached=%d reason=\"%s\"", v->text, vip_owner(v),
	         (long long) v->facts.owner.epoch, reached, reason);
	nodekey_update(v->nodekey);
}

static void look(struct vip *v)
{
	bool on = may_look(v);

	if (on && v->outside.looking_epoch != v->facts.owner.epoch)
		/* An attempt that is under way may be at the owner before. */
		outside_probe_run(v->outside.probe, false);
	v->outside.looking_epoch = on ? v->facts.owner.epoch : 0;
	outside_probe_run(v->outside.probe, on);
	/* What it does not look at any more it does not tell. */
	if (!on && vip_owner(v)[0] != '\0' && v->me.looked_epoch == v->facts.owner.epoch) {
		v->me.looked_epoch = 0;
		v->outside.view.epoch = 0;
	}
}

void vip_outside_init(struct vip *v)
{
	v->outside.probe =
	    outside_probe_new(v->env->ev, &v->config->addr, &v->config->policy.health, looked_cb, v);
}

/* --- the owner --- */

static void say_cut_off(struct vip *v, const struct outside_count *count)
{
	if (v->outside.cut_off)
		log_warning("vip_cut_off", "vip=%s epoch=%lld others=%u unreached=%u", v->text,
		            (long long) v->facts.owner.epoch, count->others, count->unreached);
	else
		log_notice("vip_cut_off_over", "vip=%s others=%u unreached=%u owner=\"%s\"", v->text,
		           count->others, count->unreached, vip_owner(v));
}

void vip_review_outside(struct vip *v)
{
	bool owner = election_state(v->election) == ELECTION_OWNER;
	struct outside_count count = outside_count(&v->facts);
	bool cut_off = is_on(v) && owner && v->health == HEALTH_GOOD && outside_is_cut_off(&count) &&
	               v->facts.owner.epoch == election_epoch(v->election);

	outside_on_facts(&v->outside.moves, &v->facts, mono_now_us());
	outside_review_mark(&v->me, &v->outside.marked_us, owner, v->facts.owner.epoch, &count,
	                    mono_now_us());
	look(v);
	if (cut_off == v->outside.cut_off)
		return;
	v->outside.cut_off = cut_off;
	say_cut_off(v, &count);
}

const char *vip_outside_stays(const struct vip *v)
{
	int64_t now_us = mono_now_us();

	return outside_stays(
	    &v->outside.moves, now_us - v->health_since_us,
	    policy_successor(&v->facts, &v->me, v->config->policy.avoid_etcd_leader, POLICY_UNASKED),
	    now_us);
}

bool vip_is_to_go_outside(const struct vip *v)
{
	return v->outside.cut_off && vip_outside_stays(v) == NULL;
}
