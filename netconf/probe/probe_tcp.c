/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a TCP connection comes about; nothing is sent on it. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "netconf/probe/lookup.h"
#include "netconf/probe/probe_priv.h"

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
