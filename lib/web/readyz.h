/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an answer to GET /readyz says about a Kubernetes API server. Pure. An API server answers 200
 * when it is ready, 500 with a line "[-]name failed: ..." for each check that failed, 429 when it
 * is overloaded, and 401, 403 or 404 to those it does not know (--anonymous-auth=false), which
 * proves that it lives and says nothing of readiness
 * (https://kubernetes.io/docs/reference/using-api/health-checks/).
 */

#include "base/mono.h"
#include "web/http.h"

enum readyz_verdict {
	READYZ_READY,     /* 2xx */
	READYZ_ALIVE,     /* 3xx, 4xx: it lives, readiness unknown */
	READYZ_BUSY,      /* 429: alive, overloaded */
	READYZ_NOT_READY, /* 5xx */
	READYZ_DOWN,      /* refused, unreachable, no answer to SYN, or reset before any answer */
	READYZ_SILENT,    /* connected, and nothing in time: hung */
	READYZ_UNTRUSTED, /* its certificate or name is wrong: another host, or an attack */
	READYZ_BROKEN,    /* what came was not TLS, or not HTTP, or our own files are unusable */
};
#define READYZ_N_VERDICTS (READYZ_BROKEN + 1)

#define READYZ_REASON_MAX 192

/* Readiness is unknown once a server has answered READYZ_ALIVE and nothing better for so long. An
 * API server that starts answers 403 for some seconds, until it has read the roles. */
#define READYZ_UNKNOWN_US (5 * US_PER_S)

enum readyz_verdict readyz_verdict(enum http_failure failure, int status);
const char *readyz_verdict_name(enum readyz_verdict verdict); /* "ready", "not_ready", ... */

/* Of such a sentence: the API server does not end, but etcd fails it, and so it fails its clients.
 */
bool readyz_blames_etcd(const char *reason);

/* One sentence into buf, the failing checks by name: "readyz 500: etcd failed", "no answer in
 * time". Control characters that the peer sent are replaced. */
const char *readyz_describe(const struct http_response *response,
                            char buf[static READYZ_REASON_MAX]);
