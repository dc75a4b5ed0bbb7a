/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a TCP connection comes about; nothing is sent on it. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "netconf/probe/probe_priv.h"

/* --- names --- */

/*
 * One question. A detached thread asks getaddrinfo(3) and ends. Whoever of the two lets go last,
 * the thread or who asked, frees what they share, so that nobody waits for a resolver that hangs.
 */

/* getaddrinfo(3) with its modules is content with less than a tenth of this. */
#define STACK_BYTES (512 * 1024)

/* Where a name server hangs, each thread is there for half a minute, and each attempt of a probe is
 * another one; the unit's TasksMax is for dhcpcd and the quorum's probe as well. */
#define RUNNING_MAX 128

static atomic_uint n_running;

struct lookup {
	pthread_mutex_t lock;
	bool over;                /* under the lock */
	bool dropped;             /* under the lock: nobody waits for it any more */
	int r;                    /* the thread's until it is over: 0, or -ENOENT */
	struct endpoint endpoint; /* the thread's until it is over */
	uint16_t port;
	char host[]; /* with its zero */
};

static void destroy(struct lookup *lookup)
{
	(void) pthread_mutex_destroy(&lookup->lock);
	free(lookup);
}

/* The first address. */
static int ask(const char *host, uint16_t port, struct endpoint *ret_endpoint)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	int r;

	if (getaddrinfo(host, NULL, &hints, &found) != 0)
		return -ENOENT;
	r = endpoint_from_sockaddr(found->ai_addr, ret_endpoint);
	freeaddrinfo(found);
	ret_endpoint->port = port;
	return r < 0 ? -ENOENT : 0;
}

static void *thread_main(void *arg)
{
	struct lookup *lookup = arg;
	bool dropped;

	lookup->r = ask(lookup->host, lookup->port, &lookup->endpoint);
	(void) pthread_mutex_lock(&lookup->lock);
	lookup->over = true;
	dropped = lookup->dropped;
	(void) pthread_mutex_unlock(&lookup->lock);
	if (dropped)
		destroy(lookup);
	atomic_fetch_sub(&n_running, 1);
	return NULL;
}

/* Every signal is the loop's. */
static int start_thread(struct lookup *lookup)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int error;

	(void) sigfillset(&all);
	(void) pthread_attr_init(&attr);
	(void) pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void) pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attr, thread_main, lookup);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void) pthread_attr_destroy(&attr);
	return -error;
}

struct lookup *lookup_start(const char *host, uint16_t port)
{
	size_t len = strlen(host) + 1;
	struct lookup *lookup;

	if (atomic_load(&n_running) >= RUNNING_MAX)
		return NULL;
	lookup = xcalloc(1, sizeof(*lookup) + len);
	memcpy(lookup->host, host, len);
	lookup->port = port;
	(void) pthread_mutex_init(&lookup->lock, NULL);
	atomic_fetch_add(&n_running, 1);
	if (start_thread(lookup) == 0)
		return lookup;
	atomic_fetch_sub(&n_running, 1);
	destroy(lookup);
	return NULL;
}

void lookup_free(struct lookup *lookup)
{
	bool over;

	if (lookup == NULL)
		return;
	(void) pthread_mutex_lock(&lookup->lock);
	lookup->dropped = true;
	over = lookup->over;
	(void) pthread_mutex_unlock(&lookup->lock);
	if (over)
		destroy(lookup);
}

int lookup_result(struct lookup *lookup, struct endpoint *ret_endpoint)
{
	bool over;

	(void) pthread_mutex_lock(&lookup->lock);
	over = lookup->over;
	(void) pthread_mutex_unlock(&lookup->lock);
	if (!over)
		return -EAGAIN;
	if (lookup->r == 0)
		*ret_endpoint = lookup->endpoint;
	return lookup->r;
}

struct tcp {
	char *host;
	uint16_t port;
	int64_t timeout_us, deadline_us;
	struct lookup *lookup; /* NULL: the name is known, or not asked for */
	int fd;                /* -1: none */
};

static void hang_up(struct tcp *tcp)
{
	if (tcp->fd >= 0)
		(void) close(tcp->fd);
	tcp->fd = -1;
	lookup_free(TAKE_PTR(tcp->lookup));
}

static enum probe_verdict start(struct probe *probe, int64_t now_us)
{
	struct tcp *tcp = probe->data;

	hang_up(tcp);
	tcp->deadline_us = now_us + tcp->timeout_us;
	tcp->lookup = lookup_start(tcp->host, tcp->port);
	return tcp->lookup != NULL ? PROBE_RUNNING : PROBE_BAD;
}

static enum probe_verdict dial(struct tcp *tcp, const struct endpoint *endpoint)
{
	struct sockaddr_storage address;
	socklen_t len = endpoint_to_sockaddr(endpoint, &address);

	tcp->fd = socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (tcp->fd < 0)
		return PROBE_BAD;
	if (connect(tcp->fd, (const struct sockaddr *) &address, len) == 0)
		return PROBE_GOOD;
	return errno == EINPROGRESS ? PROBE_RUNNING : PROBE_BAD;
}

static enum probe_verdict poll_lookup(struct tcp *tcp)
{
	struct endpoint endpoint;
	int r = lookup_result(tcp->lookup, &endpoint);

	if (r == -EAGAIN)
		return PROBE_RUNNING;
	return r == 0 ? dial(tcp, &endpoint) : PROBE_BAD;
}

static enum probe_verdict poll_connection(const struct tcp *tcp)
{
	struct pollfd pollfd = {.fd = tcp->fd, .events = POLLOUT};
	int error = 0;
	socklen_t len = sizeof(error);

	if (poll(&pollfd, 1, 0) <= 0)
		return PROBE_RUNNING;
	(void) getsockopt(tcp->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	return error == 0 ? PROBE_GOOD : PROBE_BAD;
}

static enum probe_verdict poll_all(struct probe *probe, int64_t now_us)
{
	struct tcp *tcp = probe->data;
	enum probe_verdict verdict = tcp->fd >= 0 ? poll_connection(tcp) : poll_lookup(tcp);

	if (verdict == PROBE_RUNNING && now_us >= tcp->deadline_us)
		verdict = PROBE_BAD;
	if (verdict != PROBE_RUNNING)
		hang_up(tcp);
	return verdict;
}

static void fini(struct probe *probe)
{
	struct tcp *tcp = probe->data;

	hang_up(tcp);
	free(tcp->host);
	free(tcp);
}

void probe_tcp_init(struct probe *probe, const char *name, const char *host, uint16_t port,
                    int64_t timeout_us)
{
	static const struct probe_kind kind = {NULL, start, poll_all, fini};
	struct tcp *tcp = NEW0(struct tcp);

	tcp->host = xstrdup(host);
	tcp->port = port;
	tcp->timeout_us = timeout_us;
	tcp->fd = -1;
	*probe = (struct probe){.kind = &kind, .data = tcp};
	probe->name = xasprintf("%s (TCP %s port %u)", name, host, port);
}

/* --- members of etcd, the API server --- */

/*
 * Whom a control-plane node talks to: the members of etcd, as the kernel's list of connections has
 * them (proc(5)), and the API server, as kubelet's kubeconfig says. What is on this machine proves
 * nothing about the network and is passed over.
 */

#define PEER_PORT 2380
#define ESTABLISHED 1 /* TCP_ESTABLISHED of net/tcp_states.h */

/* Eight hexadecimal digits are four bytes as a number of this machine. */
static bool read_address(const char *hex, struct addr *ret_addr)
{
	size_t words = strlen(hex) / 8;
	uint8_t bytes[16];

	if (words != 1 && words != 4)
		return false;
	for (size_t i = 0; i < words; i++) {
		uint32_t word;

		if (sscanf(hex + 8 * i, "%8x", &word) != 1)
			return false;
		memcpy(bytes + 4 * i, &word, sizeof(word));
	}
	return addr_from_bytes(words == 1 ? AF_INET : AF_INET6, bytes, 4 * words, ret_addr) == 0;
}

/* IPv4 in IPv6's list, too. */
static struct addr plain(const struct addr *addr)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct addr v4;

	if (addr->family == AF_INET6 && memcmp(addr->bytes, mapped, sizeof(mapped)) == 0 &&
	    addr_from_bytes(AF_INET, addr->bytes + sizeof(mapped), 4, &v4) == 0)
		return v4;
	return *addr;
}

static bool is_known(const struct endpoint *peers, size_t n, const struct endpoint *peer)
{
	for (size_t i = 0; i < n; i++) {
		if (endpoint_equal(&peers[i], peer))
			return true;
	}
	return false;
}

size_t probe_etcd_peers(const char *text, struct endpoint ret_peers[static PROBE_PEERS_MAX])
{
	size_t n = 0;

	for (const char *line = text; line != NULL && n < PROBE_PEERS_MAX;) {
		char local[33], remote[33];
		unsigned local_port, remote_port, state;
		struct addr here, there;
		struct endpoint peer;

		if (sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x", local, &local_port, remote,
		           &remote_port, &state) == 5 &&
		    remote_port == PEER_PORT && state == ESTABLISHED && read_address(local, &here) &&
		    read_address(remote, &there)) {
			peer = (struct endpoint){plain(&there), PEER_PORT};
			if (!addr_equal(&here, &there) && !addr_is_loopback(&peer.addr) &&
			    !is_known(ret_peers, n, &peer))
				ret_peers[n++] = peer;
		}
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return n;
}

char *probe_api_server(const char *text)
{
	static const char key[] = "server: ", scheme[] = "https://";
	const char *at = strstr(text, key);
	AUTO(free) char *host = NULL;
	struct endpoint endpoint;
	size_t len;

	if (at == NULL)
		return NULL;
	at += strlen(key);
	at += strspn(at, "\"' ");
	if (strncmp(at, scheme, strlen(scheme)) != 0)
		return NULL;
	at += strlen(scheme);
	len = strcspn(at, "/\"' \r\n");
	host = xstrndup(at, len);
	if (endpoint_parse(host, 443, &endpoint) == 0 && addr_is_loopback(&endpoint.addr))
		return NULL;
	if (strncmp(host, "localhost", strlen("localhost")) == 0)
		return NULL;
	return TAKE_PTR(host);
}
