/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The probe process, seen from prism: starts it, asks it, starts it again when it ends. TLS, HTTP,
 * JSON from the network, and DNS live over there (prism/probe), so that a handshake never holds up
 * the relay, a fault in them never ends a client's connection, and prism stays small.
 *
 * Both ends of a SOCK_SEQPACKET pair send one JSON object a message. The probe process has its end
 * as descriptor CHECKER_FD, and ends when that is closed. To it, first of all and once:
 *   {"type":"settings","debug":false,"checks":true,"path":"/readyz","serverName":"kubernetes",
 *    "caFile":...,"clientCertFile":...,"clientKeyFile":...,"tokenFile":...,"timeoutMs":2000,
 *    "kubeconfig":...,"slicesIntervalMs":30000,"through":"127.0.0.1:7445",
 *    "membersSocket":...,"membersFile":...,"membersPort":6443,
 *    "names":[{"name":"cp.example.org","port":6443}]}      (null: not wanted)
 * then as often as prism likes:
 *   {"type":"probe","id":7,"endpoint":"10.0.0.5:6443"}
 *   {"type":"forget","endpoint":"10.0.0.5:6443"}            (its kept connection can go)
 * From it:
 *   {"type":"verdict","id":7,"verdict":"ready","reason":"readyz 200","rttUs":800}
 *      verdict: a name of readyz.h, "connected", "unreached": no connection was made in time, or
 *      "stalled": a handshake was done and no answer came; rttUs: of the request, 0 without one
 *   {"type":"endpoints","source":"slices","endpoints":["10.0.0.5:6443"],"error":null}
 *      source: "slices", "members", "dns"; error: why there is no list, then endpoints is absent;
 *      a list is never empty
 * An id is answered within one and a half timeoutMs. A process that leaves one open for three
 * timeoutMs, and at least 6 s, or says anything else than this, is killed and started again.
 */

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/spawn.h"
#include "prism/config.h"
#include "prism/endpoints.h"
#include "prism/judge.h"

/*
 * The messages between prism and its probe process, prism's side: written, and read with the
 * distrust that a process deserves which talks to the network. Pure. checker.h has the format.
 */

/* New objects: the caller owns them. */
json_t *checkermsg_settings(const struct config *config, bool debug);
json_t *checkermsg_probe(uint64_t id, const struct endpoint *endpoint);
json_t *checkermsg_forget(const struct endpoint *endpoint);

enum checkermsg_type {
	CHECKERMSG_VERDICT,
	CHECKERMSG_ENDPOINTS, /* `list` */
	CHECKERMSG_ERROR,     /* of a source: `text` */
};

struct checkermsg {
	enum checkermsg_type type;
	uint64_t id;
	enum judge_evidence evidence;
	int64_t rtt_us;
	enum endpoints_source source;
	struct endpoints_list list;
	char text[READYZ_REASON_MAX]; /* the reason, or the error; cut, never empty as an error */
};

/* 0, or -EBADMSG: not such a message. */
int checkermsg_parse(const char *data, size_t len, struct checkermsg *ret_message);

/* To it: settings with the longest paths and names fit. From it: the longest list does. */
#define CHECKER_MESSAGE_MAX 65536
#define CHECKER_ANSWER_MAX 8192
#define CHECKER_FD SPAWN_EXTRA_FD
/* Open questions at a time; more cannot be asked. */
#define CHECKER_PROBES_MAX 128

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

/* ev is the default loop: libev reaps children there only. program: the path of prism-probe.
 * EndpointSlices are asked for through config's first listener. config and callbacks are borrowed
 * until checker_free(), which may be called inside them. 0, or -errno when nothing could be
 * started, or -E2BIG for settings that fit into no message. */
int checker_new(struct ev_loop *ev, const char *program, const struct config *config,
                const struct checker_callbacks *callbacks, void *userdata,
                struct checker **ret_checker);
void checker_free(struct checker *checker); /* ends the process and waits for it */
DEFINE_AUTO(struct checker, checker_free);

/* False when there is nobody to ask at the moment, or too much is open already. */
bool checker_probe(struct checker *checker, uint64_t id, const struct endpoint *endpoint);
void checker_forget(struct checker *checker, const struct endpoint *endpoint);

bool checker_is_running(const struct checker *checker);
unsigned checker_restarts(const struct checker *checker);
/* Why a source gave no list at last; "" when it did. Borrowed. */
const char *checker_source_error(const struct checker *checker, enum endpoints_source source);
