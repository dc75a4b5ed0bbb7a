/* SPDX-License-Identifier: Apache-2.0 */
/* Real connections over loopback, in a namespace of its own. */
#include "net/sockdestroy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"

#define PORT 7000

/* IPv4 in an IPv6 socket is written as mapped. */
static socklen_t fill(struct sockaddr_storage *ss, int family, const char *text, uint16_t port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *) (void *) ss;
	struct sockaddr_in *in = (struct sockaddr_in *) (void *) ss;

	memset(ss, 0, sizeof(*ss));
	if (family == AF_INET6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
		CHECK_EQ_INT(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		return sizeof(*in6);
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	CHECK_EQ_INT(inet_pton(AF_INET, text, &in->sin_addr), 1);
	return sizeof(*in);
}

static int listen_on(int family, const char *text)
{
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, family, text, PORT);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	CHECK_EQ_INT(bind(fd, (struct sockaddr *) &ss, len), 0);
	CHECK_EQ_INT(listen(fd, 8), 0);
	return fd;
}

static int connect_from(int family, const char *from, const char *to)
{
	struct sockaddr_storage ss;
	socklen_t len = fill(&ss, family, from, 0);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_EQ_INT(bind(fd, (struct sockaddr *) &ss, len), 0);
	len = fill(&ss, family, to, PORT);
	CHECK_EQ_INT(connect(fd, (struct sockaddr *) &ss, len), 0);
	return fd;
}

#define RESET_MS 10000 /* it comes by itself, as a packet */

/* What reading says within that time: 0 for "nothing yet", else the errno. */
static int error_of(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char c;

	(void) poll(&p, 1, ms);
	if (recv(fd, &c, 1, MSG_DONTWAIT) >= 0)
		return -1;
	return errno == EAGAIN ? 0 : errno;
}

static void test_destroy(void)
{
	static const struct {
		const char *name;
		int listen_family, client_family;
		const char *listen_on, *from, *to, *lost;
		int want;
	} cases[] = {
	    {"IPv4", AF_INET, AF_INET, "192.0.2.5", "192.0.2.6", "192.0.2.5", "192.0.2.5", 1},
	    {"IPv4, any", AF_INET, AF_INET, "0.0.0.0", "192.0.2.6", "192.0.2.5", "192.0.2.5", 1},
	    {"IPv4 in IPv6", AF_INET6, AF_INET, "::", "192.0.2.6", "192.0.2.5", "192.0.2.5", 1},
	    {"IPv6", AF_INET6, AF_INET6, "::", "2001:db8::6", "2001:db8::5", "2001:db8::5", 1},
	    {"other IPv4", AF_INET, AF_INET, "0.0.0.0", "192.0.2.6", "192.0.2.7", "192.0.2.5", 0},
	    {"other IPv6", AF_INET6, AF_INET6, "::", "2001:db8::6", "2001:db8::7", "2001:db8::5", 0},
	    {"IPv6 that ends like the IPv4 address", AF_INET6, AF_INET6, "::", "2001:db8::6",
	     "2001:db8::192.0.2.5", "192.0.2.5", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(close) int listener = -1;
		AUTO(close) int client = -1;
		AUTO(close) int server = -1;
		AUTO(close) int again = -1;
		struct addr lost;
		int r;

		listener = listen_on(cases[i].listen_family, cases[i].listen_on);
		client = connect_from(cases[i].client_family, cases[i].from, cases[i].to);
		server = accept(listener, NULL, NULL);
		CHECK(server >= 0);
		CHECK_EQ_INT(addr_parse(cases[i].lost, &lost), 0);
		r = sockdestroy_by_local_addr(&lost);
		if (!CHECK_EQ_INT(r, cases[i].want) ||
		    !CHECK_EQ_INT(error_of(server, 0), cases[i].want > 0 ? ECONNABORTED : 0) ||
		    !CHECK_EQ_INT(error_of(client, cases[i].want > 0 ? RESET_MS : 0),
		                  cases[i].want > 0 ? ECONNRESET : 0))
			(void) fprintf(stderr, "in the case \"%s\"\n", cases[i].name);
		/* The listener is still there. */
		again = connect_from(cases[i].client_family, cases[i].from, cases[i].to);
		CHECK(again >= 0);
		CHECK_EQ_INT(sockdestroy_by_local_addr(&lost), cases[i].want);
		CHECK_EQ_INT(sockdestroy_by_local_addr(&lost), 0);
	}
}

/* The table does not fit in one datagram of the kernel's, and half-closed connections count. */
static void test_many(void)
{
	enum { N = 500 };
	AUTO(close) int listener = -1;
	int clients[N], servers[N];
	struct addr lost;

	listener = listen_on(AF_INET, "0.0.0.0");
	for (int i = 0; i < N; i++) {
		clients[i] = connect_from(AF_INET, "192.0.2.6", "192.0.2.5");
		servers[i] = accept(listener, NULL, NULL);
		if (i % 2 == 0)
			CHECK_EQ_INT(shutdown(clients[i], SHUT_WR), 0);
	}
	CHECK_EQ_INT(addr_parse("192.0.2.5", &lost), 0);
	CHECK_EQ_INT(sockdestroy_by_local_addr(&lost), N);
	for (int i = 0; i < N; i++) {
		CHECK(i % 2 == 0 || error_of(servers[i], 0) == ECONNABORTED);
		(void) close(clients[i]);
		(void) close(servers[i]);
	}
}

int main(void)
{
	(void) netns_enter_new();
	netns_run("for a in 5 6 7; do ip addr add 192.0.2.$a/32 dev lo; "
	          "ip addr add 2001:db8::$a/128 dev lo nodad; done; "
	          "ip addr add 2001:db8::192.0.2.5/128 dev lo nodad");
	test_destroy();
	test_many();
	return check_result();
}
