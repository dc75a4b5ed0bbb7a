/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of endpoints that sources find, and the pace at which they look. */
#include "prism/probe/found.h"

#include <stdlib.h>

#include "base/macro.h"

#define JITTER_DIVISOR 10

void found_add(struct endpoints_list *list, const struct endpoint *endpoint)
{
	for (size_t i = 0; i < list->n; i++) {
		if (endpoint_equal(&list->items[i], endpoint))
			return;
	}
	if (list->n < ENDPOINTS_MAX)
		list->items[list->n++] = *endpoint;
}

bool found_add_remote(struct endpoints_list *list, const struct addr *addr, uint16_t port)
{
	const struct endpoint endpoint = {.addr = *addr, .port = port};

	if (addr_is_loopback(addr) || addr_is_linklocal(addr) || addr_is_multicast(addr) ||
	    addr_is_unspecified(addr))
		return false;
	found_add(list, &endpoint);
	return true;
}

int64_t found_jittered_us(int64_t interval_us)
{
	int64_t spread_us = MIN(interval_us / JITTER_DIVISOR, (int64_t) INT32_MAX);

	return interval_us - spread_us + (int64_t) arc4random_uniform((uint32_t) (2 * spread_us + 1));
}
