/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the probe*.c files share. Nobody else includes this. */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/endpoint.h"
#include "netconf/probe/probe.h"

enum probe_verdict {
	PROBE_BAD,
	PROBE_LOST, /* bad, and it will not come right by being tried again */
	PROBE_RUNNING,
	PROBE_GOOD,
};

struct probe;

/* One that is neither good nor bad yet is polled; a bad one may be started anew. */
struct probe_kind {
	/* The network as it is now, before start(). May be NULL. */
	void (*look)(struct probe *probe, const struct model *have);
	enum probe_verdict (*start)(struct probe *probe, int64_t now_us);
	enum probe_verdict (*poll)(struct probe *probe, int64_t now_us);
	void (*fini)(struct probe *probe);
};

struct probe {
	const struct probe_kind *kind;
	char *name; /* for people: "the default gateway of IPv4" */
	char *loss; /* what its loss means, for people; NULL: it no longer answers */
	void *data; /* the kind's */
	enum probe_verdict verdict;
	bool worked; /* before the change */
	int64_t
	    needs_us; /* set by look(), start(): it is given so long, whatever the configuration says */
};

/* All that the configuration asks for, on this machine; the caller ends and frees them. */
void probe_make_list(const struct probe_host *host, const struct config *config,
                     struct probe **ret_list, size_t *ret_n);

/* probe_gateway.c */
void probe_gateway_init(struct probe *probe, sa_family_t family);
/* probe_duplicate.c, probe_arp.c: they are always good before a change. */
void probe_duplicate_init(struct probe *probe);
void probe_arp_init(struct probe *probe, struct ev_loop *ev);
/* IFA_F_* of an IPv6 address, from the text of /proc/net/if_inet6; 0 if it is not there. Pure. */
unsigned probe_address_flags(const char *text, const char *link, const struct addr *addr);
/* probe_tcp.c: whether a connection comes about. Texts are copied. */
void probe_tcp_init(struct probe *probe, const char *name, const char *host, uint16_t port,
                    int64_t timeout_us);
/* probe_http.c. -EINVAL: that is no URL. */
int probe_http_init(struct probe *probe, const struct probe_host *host, const char *name,
                    const char *url, int64_t timeout_us);

/* probe_cluster.c: whom this node talks to. */
#define PROBE_PEERS_MAX 16
/* The other ends of connections to other members of etcd, at most PROBE_PEERS_MAX; `text` is that
 * of /proc/net/tcp or /proc/net/tcp6. How many. Pure. */
size_t probe_etcd_peers(const char *text, struct endpoint ret_peers[static PROBE_PEERS_MAX]);
/* "host:port" of the API server in a kubeconfig's text, unless it is on this machine; the caller
 * frees it. NULL: none. Pure. */
char *probe_api_server(const char *text);

/* The addresses of a host's name, asked of the system's resolver in a thread of its own, so that
 * nothing waits for a name server. Not getaddrinfo_a(3): its threads are the C library's, and
 * ThreadSanitizer crashes in them. */

struct lookup;

/* An address is its own answer. NULL: there is no thread to be had, or too many hang. */
struct lookup *lookup_start(const char *host, uint16_t port);
/* Does not wait for the thread, which ends by itself. */
void lookup_free(struct lookup *lookup);
DEFINE_AUTO(struct lookup, lookup_free);

/* -EAGAIN: no answer yet; -ENOENT: there is no such host; 0: the first of its addresses. */
int lookup_result(struct lookup *lookup, struct endpoint *ret_endpoint);
