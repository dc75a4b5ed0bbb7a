/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The probe process, seen from prism: starts it, asks it, starts it again when it ends. TLS, HTTP,
 * JSON from the network, and DNS live over there (prism/probe), so that a handshake never holds up
 * the relay, a fault in them never ends a client's connection, and prism stays small.
 *
 * Both ends of a SOCK_SEQPACKET pair send one JSON object a message, CHECKER_MESSAGE_MAX bytes at
 * most. To the probe process, first of all and once:
 *   {"type":"settings","checks":true,"path":"/readyz","serverName":"kubernetes","caFile":...,
 *    "clientCertFile":...,"clientKeyFile":...,"tokenFile":...,"timeoutMs":2000,
 *    "kubeconfig":...,"slicesIntervalMs":30000,"through":"127.0.0.1:7445",
 *    "membersSocket":...,"membersFile":...,"membersPort":6443,
 *    "names":[{"name":"cp.example.org","port":6443}]}      (null: not wanted)
 * then as often as prism likes:
 *   {"type":"probe","id":7,"endpoint":"10.0.0.5:6443"}
 *   {"type":"forget","endpoint":"10.0.0.5:6443"}            (its kept connection can go)
 * From it:
 *   {"type":"verdict","id":7,"verdict":"ready","reason":"readyz 200","rttUs":800}
 *      verdict: a name of readyz.h, or "connected"; rttUs: of the request, 0 when there was none
 *   {"type":"endpoints","source":"slices","endpoints":["10.0.0.5:6443"],"error":null}
 *      source: "slices", "members", "dns"; error: why there is no list, then endpoints is absent
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "prism/config.h"
#include "prism/endpoints.h"
#include "prism/judge.h"

#define CHECKER_MESSAGE_MAX 8192

struct checker;

struct checker_callbacks {
	/* The answer to checker_probe(id); an id is answered at most once. */
	void (*verdict)(uint64_t id, enum judge_evidence evidence, const char *reason, int64_t rtt_us,
	                void *userdata);
	void (*endpoints)(enum endpoints_source source, const struct endpoints_list *list,
	                  void *userdata);
	/* The process ended: what was asked will not be answered. It is started again by itself. */
	void (*lost)(void *userdata);
};

/* program: the path of prism-probe. through: where EndpointSlices are asked for, a listener of
 * prism itself. config and callbacks are borrowed until checker_free(). 0 or -errno. */
int checker_new(struct ev_loop *ev, const char *program, const struct config *config,
                const struct checker_callbacks *callbacks, void *userdata,
                struct checker **ret_checker);
void checker_free(struct checker *checker); /* ends the process and waits for it */
DEFINE_AUTO(struct checker, checker_free);

/* False when there is no process to ask at the moment. */
bool checker_probe(struct checker *checker, uint64_t id, const struct endpoint *endpoint);
void checker_forget(struct checker *checker, const struct endpoint *endpoint);

bool checker_is_running(const struct checker *checker);
unsigned checker_restarts(const struct checker *checker);
/* Why a source gave no list at last; "" when it did. Borrowed. */
const char *checker_source_error(const struct checker *checker, enum endpoints_source source);
