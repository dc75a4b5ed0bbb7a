/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a TCP connection comes about. A name is resolved by the C library's own thread. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mono.h"
#include "netconf/probe_priv.h"

struct tcp {
	char *host, *port;
	int64_t timeout_us, deadline_us;
	struct gaicb *asked; /* NULL: the name is not being resolved */
	int fd;              /* -1: none */
};

/* "host:port", "[::1]:port", "::1" is none */
static void split(const char *endpoint, char **ret_host, char **ret_port)
{
	const char *colon = strrchr(endpoint, ':');
	size_t len = colon != NULL ? (size_t) (colon - endpoint) : strlen(endpoint);

	*ret_port = xstrdup(colon != NULL ? colon + 1 : "");
	if (len >= 2 && endpoint[0] == '[' && endpoint[len - 1] == ']')
		*ret_host = xstrndup(endpoint + 1, len - 2);
	else
		*ret_host = xstrndup(endpoint, len);
}

static void drop_question(struct tcp *tcp)
{
	if (tcp->asked == NULL)
		return;
	/* One that cannot be cancelled is still written to: it is left to itself. */
	if (gai_cancel(tcp->asked) == EAI_NOTCANCELED && gai_error(tcp->asked) == EAI_INPROGRESS) {
		tcp->asked = NULL;
		return;
	}
	if (tcp->asked->ar_result != NULL)
		freeaddrinfo(tcp->asked->ar_result);
	free((char *) (uintptr_t) tcp->asked->ar_name);
	free((char *) (uintptr_t) tcp->asked->ar_service);
	free((struct addrinfo *) (uintptr_t) tcp->asked->ar_request);
	free(tcp->asked);
	tcp->asked = NULL;
}

static void hang_up(struct tcp *tcp)
{
	if (tcp->fd >= 0)
		(void) close(tcp->fd);
	tcp->fd = -1;
	drop_question(tcp);
}

static enum probe_verdict start(struct probe *probe, int64_t now_us)
{
	struct tcp *tcp = probe->data;
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM};

	hang_up(tcp);
	tcp->deadline_us = now_us + tcp->timeout_us;
	tcp->asked = NEW0(struct gaicb);
	tcp->asked->ar_name = xstrdup(tcp->host);
	tcp->asked->ar_service = xstrdup(tcp->port);
	tcp->asked->ar_request = xmemdup(&hints, sizeof(hints));
	return getaddrinfo_a(GAI_NOWAIT, &tcp->asked, 1, NULL) == 0 ? PROBE_RUNNING : PROBE_BAD;
}

static enum probe_verdict dial(struct tcp *tcp)
{
	const struct addrinfo *address = tcp->asked->ar_result;
	int r;

	tcp->fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (tcp->fd < 0)
		return PROBE_BAD;
	r = connect(tcp->fd, address->ai_addr, address->ai_addrlen);
	r = r < 0 ? -errno : 0;
	drop_question(tcp);
	if (r == 0)
		return PROBE_GOOD;
	return r == -EINPROGRESS ? PROBE_RUNNING : PROBE_BAD;
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
	enum probe_verdict verdict = PROBE_RUNNING;
	int r;

	if (tcp->fd >= 0) {
		verdict = poll_connection(tcp);
	} else {
		r = gai_error(tcp->asked);
		if (r != EAI_INPROGRESS)
			verdict = r == 0 ? dial(tcp) : PROBE_BAD;
	}
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
	free(tcp->port);
	free(tcp);
}

void probe_tcp_init(struct probe *probe, const char *name, const char *endpoint, int64_t timeout_us)
{
	static const struct probe_kind kind = {NULL, start, poll_all, fini};
	struct tcp *tcp = NEW0(struct tcp);

	split(endpoint, &tcp->host, &tcp->port);
	tcp->timeout_us = timeout_us;
	tcp->fd = -1;
	*probe = (struct probe){.kind = &kind, .data = tcp};
	probe->name = xasprintf("%s (TCP %s)", name, endpoint);
}
