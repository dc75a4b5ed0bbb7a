/* SPDX-License-Identifier: Apache-2.0 */
/* The next read begins a little after the answer to the one before it. */
#include "etcdwatch/steer/stall.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/cluster/survey.h"

#define PAUSE_US (10 * US_PER_MS)
#define READ_TIMEOUT_MS 600000 /* what is measured must not be cut off */

struct stall {
	struct ev_loop *ev;
	struct etcd *etcd;
	char *endpoint;
	struct etcd_call *call;
	int64_t asked_us;
	int64_t longest_us;
	ev_timer timer;
};

static void read_cb(const struct etcd_outcome *outcome UNUSED,
                    const struct etcd_range_result *result UNUSED, void *userdata)
{
	struct stall *s = userdata;

	s->call = NULL;
	s->longest_us = MAX(s->longest_us, mono_now_us() - s->asked_us);
	ev_timer_set(&s->timer, mono_to_ev(PAUSE_US), 0.);
	ev_timer_start(s->ev, &s->timer);
}

static int ask(struct stall *s)
{
	const struct etcd_range range = {.key = ETCD_STR(SURVEY_KEY), .count_only = true};

	s->asked_us = mono_now_us();
	return etcd_endpoint_range(s->etcd, s->endpoint, &range, READ_TIMEOUT_MS, read_cb, s, &s->call);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	(void) ask(CONTAINER_OF(w, struct stall, timer));
}

struct stall *stall_start(const struct cluster_env *env, const char *endpoint)
{
	struct stall *s = NEW0(struct stall);

	s->ev = env->ev;
	s->etcd = env->etcd;
	s->endpoint = xstrdup(endpoint);
	ev_init(&s->timer, timer_cb);
	if (ask(s) < 0) {
		(void) stall_stop(s);
		return NULL;
	}
	return s;
}

int64_t stall_stop(struct stall *s)
{
	int64_t longest_us;

	if (s == NULL)
		return -1;
	longest_us = s->longest_us;
	if (s->call != NULL)
		longest_us = MAX(longest_us, mono_now_us() - s->asked_us);
	ev_timer_stop(s->ev, &s->timer);
	etcd_call_cancel(s->call);
	free(s->endpoint);
	free(s);
	return longest_us;
}
