/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks upstreams how they are: GET of the health path over TLS that is verified against a fixed
 * name, or a TCP connection where checks are off. Each upstream has its own kept connection, so
 * that a probe in steady state is one round trip and no handshake. Several are asked at a time.
 */

#include <ev.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/endpoint.h"
#include "prism/probe/wire.h"

/* Upstreams that are known at a time, each with its connection; and open questions. */
#define PROBER_TARGETS_MAX 128
#define PROBER_PROBES_MAX 256

struct prober;

#define PROBER_UNREACHED "unreached"
#define PROBER_STALLED "stalled"

/* The answer to prober_probe(id), once, and never from inside it. verdict: a name of readyz.h,
 * "connected", PROBER_UNREACHED: no connection was made in time, or PROBER_STALLED: a new
 * connection got its handshake, and no answer came. rtt_us: from the request to its answer, or of
 * connecting; 0: there was none. */
typedef void (*prober_verdict_fn)(uint64_t id, const char *verdict, const char *reason,
                                  int64_t rtt_us, void *userdata);

/* settings are borrowed until prober_free(). */
struct prober *prober_new(struct ev_loop *ev, const struct settings *settings,
                          prober_verdict_fn verdict, void *userdata);
/* What is open is not answered any more. */
void prober_free(struct prober *prober);
DEFINE_AUTO(struct prober, prober_free);

void prober_probe(struct prober *prober, uint64_t id, const struct endpoint *endpoint);
/* Closes its connection, after the answer to what is open. */
void prober_forget(struct prober *prober, const struct endpoint *endpoint);
