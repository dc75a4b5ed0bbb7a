/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round asks each endpoint for its status, which needs no quorum: an old member that has lost its
 * quorum still says that the old cluster lives. What other calls hear meanwhile counts as well.
 */
#include "vipd/clusterid.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

/* From one round to the next: without a cluster, with any endpoint in doubt, and else. */
#define UNCHOSEN_US (250 * US_PER_MS)
#define DOUBT_US US_PER_S
#define CALM_US (5 * US_PER_S)
#define RANGE_MS 1000
/* What was heard last is reported for so long. */
#define REPORTED_US (2 * CALM_US)

struct question {
	struct clusterid *cluster;
	const char *endpoint; /* borrowed from the client */
	struct etcd_call *call;
};

struct clusterid {
	struct ev_loop *ev;
	struct etcd *etcd;
	const char *key_prefix;
	const struct clusterid_callbacks *callbacks;
	void *userdata;
	struct clusterchoice choice;
	struct question questions[ETCD_ENDPOINTS_MAX];
	size_t n_open;
	int64_t round_us;
	char said[512]; /* the warning that was logged */
	ev_timer timer;
};

static void weigh(struct clusterid *c)
{
	struct etcd_heard heard[ETCD_ENDPOINTS_MAX];
	size_t n = etcd_endpoints_heard(c->etcd, heard);
	uint64_t before = c->choice.id;
	int64_t now_us = mono_now_us();
	/* A round may take longer where callTimeout is long, and all of its answers count. */
	int64_t fence_us = MAX(c->callbacks->fence_us(c->userdata), now_us - c->round_us);

	if (!clusterchoice_weigh(&c->choice, heard, n, c->n_open == 0, now_us, fence_us))
		return;
	log_notice("etcd_cluster", "old=%" PRIx64 " new=%" PRIx64 " reason=\"%s\"", before,
	           c->choice.id,
	           before == 0 ? "the endpoints answer for it"
	                       : "no endpoint answers for the old one any more");
	etcd_expect_cluster(c->etcd, c->choice.id);
	c->callbacks->changed(c->userdata);
}

static bool is_answered(const struct clusterid *c)
{
	struct etcd_heard heard[ETCD_ENDPOINTS_MAX];
	size_t n = etcd_endpoints_heard(c->etcd, heard);

	for (size_t i = 0; i < n; i++) {
		if (heard[i].cluster_id == c->choice.id && heard[i].heard_us >= c->round_us)
			return true;
	}
	return false;
}

static void end_round(struct clusterid *c)
{
	char text[sizeof(c->said)];
	bool doubt = clusterid_warning(c, text, sizeof(text));
	int64_t after_us = doubt || !is_answered(c) ? DOUBT_US : CALM_US;

	if (doubt && strcmp(text, c->said) != 0)
		log_warning("etcd_clusters", "reason=\"%s\"", text);
	(void) snprintf(c->said, sizeof(c->said), "%s", doubt ? text : "");
	loop_timer_in(c->ev, &c->timer, c->choice.id == 0 ? UNCHOSEN_US : after_us);
}

/* Who answered, and for which cluster, the client has noted. */
static void on_answered(struct question *q)
{
	struct clusterid *c = q->cluster;

	q->call = NULL;
	c->n_open--;
	weigh(c);
	if (c->n_open == 0)
		end_round(c);
}

static void range_cb(const struct etcd_outcome *outcome UNUSED,
                     const struct etcd_range_result *result UNUSED, void *userdata)
{
	on_answered(userdata);
}

static void status_cb(const struct etcd_outcome *outcome, const struct etcd_status *status UNUSED,
                      void *userdata)
{
	struct question *q = userdata;
	struct clusterid *c = q->cluster;
	const struct etcd_range range = {
	    .key = ETCD_STR(c->key_prefix), .serializable = true, .count_only = true};

	/* From 3.5.28 and 3.6.0 on etcd wants the role root for a status, where it has users. A refusal
	 * names no cluster. */
	if (outcome->r == -EACCES &&
	    etcd_endpoint_range(c->etcd, q->endpoint, &range, RANGE_MS, range_cb, q, &q->call) >= 0)
		return;
	on_answered(q);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct clusterid *c = CONTAINER_OF(w, struct clusterid, timer);
	const char *const *endpoints;
	size_t n = etcd_endpoints(c->etcd, &endpoints);

	c->round_us = mono_now_us();
	for (size_t i = 0; i < n; i++) {
		int r;

		c->questions[i].endpoint = endpoints[i];
		r = etcd_endpoint_status(c->etcd, endpoints[i], status_cb, &c->questions[i],
		                         &c->questions[i].call);
		assert(r >= 0);
		c->n_open++;
	}
}

struct clusterid *clusterid_new(struct ev_loop *ev, struct etcd *etcd, const char *key_prefix,
                                uint64_t remembered, const struct clusterid_callbacks *callbacks,
                                void *userdata)
{
	struct clusterid *c = NEW0(struct clusterid);

	c->ev = ev;
	c->etcd = etcd;
	c->key_prefix = key_prefix;
	c->callbacks = callbacks;
	c->userdata = userdata;
	c->choice.id = remembered;
	for (size_t i = 0; i < ARRAY_SIZE(c->questions); i++)
		c->questions[i].cluster = c;
	etcd_expect_cluster(etcd, remembered);
	ev_timer_init(&c->timer, timer_cb, 0., 0.);
	ev_timer_start(ev, &c->timer);
	return c;
}

void clusterid_free(struct clusterid *c)
{
	if (c == NULL)
		return;
	ev_timer_stop(c->ev, &c->timer);
	for (size_t i = 0; i < ARRAY_SIZE(c->questions); i++)
		etcd_call_cancel(c->questions[i].call);
	free(c);
}

uint64_t clusterid_get(const struct clusterid *c)
{
	return c->choice.id;
}

static void append(char *buf, size_t size, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void append(char *buf, size_t size, const char *fmt, ...)
{
	size_t len = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(buf + len, size - len, fmt, ap);
	va_end(ap);
}

bool clusterid_warning(const struct clusterid *c, char *buf, size_t size)
{
	struct etcd_heard heard[ETCD_ENDPOINTS_MAX];
	size_t n = etcd_endpoints_heard(c->etcd, heard);
	uint64_t first = c->choice.id;
	bool differs = false, is_heard = false;

	buf[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		uint64_t id = heard[i].heard_us + REPORTED_US > mono_now_us() ? heard[i].cluster_id : 0;

		first = first != 0 ? first : id;
		differs |= id != 0 && id != first;
		is_heard |= id != 0 && id == c->choice.id;
		if (id != 0 && id != c->choice.id)
			append(buf, size, "%s%.80s (%" PRIx64 ")", buf[0] != '\0' ? ", " : "",
			       heard[i].endpoint, id);
	}
	if (!differs)
		return false;
	if (c->choice.id != 0 && !is_heard)
		append(buf, size,
		       ": of another etcd cluster; none answers for %" PRIx64
		       " any more: this node goes along with the other after a fence window",
		       c->choice.id);
	else if (c->choice.id != 0)
		append(buf, size,
		       ": of another etcd cluster, and not used; this node works with %" PRIx64
		       ": stop that etcd, or make it a member again",
		       c->choice.id);
	else
		append(buf, size,
		       ": etcd endpoints of different clusters, and none has most: stop the etcd that is "
		       "not meant, or take it out of EtcdClientConfig");
	return true;
}
