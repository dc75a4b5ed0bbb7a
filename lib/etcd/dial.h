/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A socket that is connected to an endpoint: the name is looked up, and its addresses are tried one
 * after another until one of them takes the connection.
 */

#include <ev.h>

#include "etcd/url.h"

#define DIAL_TEXT_MAX 256

struct dial;

/* From the loop, exactly once, and never after dial_cancel(); the handle is gone by then. fd:
 * non-blocking, and the callee's; or -1, and text says what became of the last address. */
typedef void (*dial_done_fn)(int fd, const char *text, void *userdata);

/* each_us: how long one address is waited for. */
struct dial *dial_start(struct ev_loop *ev, const struct url *url, int64_t each_us,
                        dial_done_fn done, void *userdata);
void dial_cancel(struct dial *dial); /* NULL is fine */
