/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a connection needs of all the others; conns.c has it. */

#include <ev.h>

#include "prism/config.h"
#include "prism/conns.h"
#include "prism/flow.h"
#include "prism/upstream.h"

/* Each connection is looked at once in this time. */
#define CONN_REVIEW_US US_PER_S
/* An upstream that has not answered for so long is doubted. */
#define CONN_DOUBT_US US_PER_S

struct conn_host {
	struct ev_loop *ev;
	const struct config *config;
	struct upstreams *upstreams;
	struct flow_room room;
	struct conns_counts counts;
};
