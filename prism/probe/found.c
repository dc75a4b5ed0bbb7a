/* SPDX-License-Identifier: Apache-2.0 */
/* The pace at which sources look, and which addresses of others can be used. */
#include "prism/probe/found.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mono.h"

#define JITTER_DIVISOR 10
#define RETRY_US (5 * US_PER_S)

bool found_add_remote(struct endpoints_list *list, const struct addr *addr, uint16_t port)
{
	const struct endpoint endpoint = {.addr = *addr, .port = port};

	if (addr_is_loopback(addr) || addr_is_linklocal(addr) || addr_is_multicast(addr) ||
	    addr_is_unspecified(addr))
		return false;
	(void) endpoints_add(list, &endpoint);
	return true;
}

void search_begin(struct search *s, struct ev_loop *ev, const struct settings *settings,
                  int64_t interval_us, void (*look)(struct ev_loop *, ev_timer *, int),
                  found_fn found, void *userdata)
{
	*s = (struct search){.ev = ev,
	                     .settings = settings,
	                     .interval_us = interval_us,
	                     .found = found,
	                     .userdata = userdata};
	ev_timer_init(&s->timer, look, 0., 0.);
	ev_timer_start(ev, &s->timer);
}

void search_again(struct search *s, bool retry)
{
	int64_t interval_us = retry ? MIN(s->interval_us, RETRY_US) : s->interval_us;
	int64_t spread_us = MIN(interval_us / JITTER_DIVISOR, (int64_t) INT32_MAX);
	int64_t jitter_us = (int64_t) arc4random_uniform((uint32_t) (2 * spread_us + 1)) - spread_us;

	ev_timer_set(&s->timer, mono_to_ev(interval_us + jitter_us), 0.);
	ev_timer_start(s->ev, &s->timer);
}

void search_end(struct search *s)
{
	ev_timer_stop(s->ev, &s->timer);
}
