/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The probe process's end of the socket to prism (prism/checker.h has the messages).
 */

#include <ev.h>
#include <jansson.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "prism/endpoints.h"

struct wire;

struct wire_callbacks {
	/* One message, an object; borrowed until the return. */
	void (*message)(const json_t *message, void *userdata);
	/* Nothing more comes: r is 0 when prism is gone, or -EBADMSG for what is not a message, or
	 * what else went wrong. */
	void (*closed)(int r, void *userdata);
};

/* fd is borrowed, and left as it is; callbacks are borrowed until wire_free(). */
struct wire *wire_new(struct ev_loop *ev, int fd, const struct wire_callbacks *callbacks,
                      void *userdata);
void wire_free(struct wire *wire);
DEFINE_AUTO(struct wire, wire_free);

/* These wait until there is room: while prism does not read, there is nothing else to do. */
void wire_send_verdict(struct wire *wire, uint64_t id, const char *verdict, const char *reason,
                       int64_t rtt_us);
/* Either list or error. */
void wire_send_endpoints(struct wire *wire, const char *source, const struct endpoints_list *list,
                         const char *error);
