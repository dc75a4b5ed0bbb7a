/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One client's connection to the origin: reads requests (common/wire.h), answers each.
 */

#include <stdint.h>

#include "bench/tools/common/reactor.h"

struct sessions;

/* number: what answers are made of. reactor is borrowed until sessions_free(). */
struct sessions *sessions_new(struct reactor *reactor, uint8_t number);
void sessions_free(struct sessions *sessions);
DEFINE_AUTO(struct sessions, sessions_free);

/* Takes the connection, also on failure. */
void sessions_serve(struct sessions *sessions, int fd);

/* Those without an unanswered request end now, the others when they have been answered. */
void sessions_drain(struct sessions *sessions);
unsigned sessions_n(const struct sessions *sessions);
