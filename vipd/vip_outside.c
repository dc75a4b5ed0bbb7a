/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between one VIP and what the nodes see of it from outside (outside.h): a standby looks and tells,
 * an owner counts.
 */
#include "vipd/vip_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "web/http.h"
#include "web/readyz.h"

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

/* --- the probe --- */

/* One attempt at a time; the next one starts a second after the last one started. */

#define INTERVAL_US US_PER_S
#define TIMEOUT_MS 1000

struct outside_probe {
	struct ev_loop *ev;
	const struct addr *vip;
	const struct config_health *config;
	outside_probe_fn fn;
	void *userdata;
	struct http *http; /* NULL until it is needed */
	struct http_req *request;
	ev_timer timer;
	bool on;
	int64_t started_us;
};

static void schedule(struct outside_probe *p, int64_t due_us)
{
	ev_now_update(p->ev);
	loop_timer_in(p->ev, &p->timer, MAX(due_us - mono_now_us(), 0));
}

static void done_cb(const struct http_response *response, void *userdata)
{
	struct outside_probe *p = userdata;
	enum readyz_verdict verdict = readyz_verdict(response->failure, response->status);
	char reason[READYZ_REASON_MAX];

	p->request = NULL;
	schedule(p, p->started_us + INTERVAL_US);
	if (response->failure == HTTP_OK)
		(void) snprintf(reason, sizeof(reason), "connected");
	else
		(void) readyz_describe(response, reason);
	p->fn(verdict != READYZ_DOWN, reason, p->userdata);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct outside_probe *p = CONTAINER_OF(w, struct outside_probe, timer);
	const struct http_request request = {
	    .url = p->config->url,
	    .connect_to = *p->vip,
	    .server_name = p->config->server_name,
	    .ca_file = p->config->ca_file,
	    .handshake_only = true,
	    .timeout_ms = TIMEOUT_MS,
	};

	p->started_us = mono_now_us();
	/* What fails on this side says nothing of the other. */
	if (http_send(p->http, &request, done_cb, p, &p->request) < 0)
		schedule(p, p->started_us + INTERVAL_US);
}

struct outside_probe *outside_probe_new(struct ev_loop *ev, const struct addr *vip,
                                        const struct config_health *config, outside_probe_fn fn,
                                        void *userdata)
{
	struct outside_probe *p = NEW0(struct outside_probe);

	p->ev = ev;
	p->vip = vip;
	p->config = config;
	p->fn = fn;
	p->userdata = userdata;
	ev_timer_init(&p->timer, timer_cb, 0., 0.);
	return p;
}

void outside_probe_free(struct outside_probe *p)
{
	if (p == NULL)
		return;
	outside_probe_run(p, false);
	http_free(p->http);
	free(p);
}

void outside_probe_run(struct outside_probe *p, bool on)
{
	if (on == p->on || (on && p->http == NULL && http_new(p->ev, &p->http) < 0))
		return;
	p->on = on;
	if (on) {
		schedule(p, mono_now_us());
		return;
	}
	ev_timer_stop(p->ev, &p->timer);
	http_cancel(TAKE_PTR(p->request));
}
