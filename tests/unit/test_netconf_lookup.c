/* SPDX-License-Identifier: Apache-2.0 */
/* Looking names up: addresses, and a name server that takes its time while nobody waits any more.
 */
#include "netconf/probe/probe_priv.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"

#define PACKET_MAX 512
#define LIMIT_US (30 * US_PER_S)

static atomic_uint n_freed; /* answers that were there and are no more */

void freeaddrinfo(struct addrinfo *info)
{
	void (*next)(struct addrinfo *);

	*(void **) &next = dlsym(RTLD_NEXT, "freeaddrinfo");
	n_freed++;
	next(info);
}

/* The file is this process's alone. */
static int name_server_new(void)
{
	struct sockaddr_in at = {
	    .sin_family = AF_INET, .sin_port = htons(53), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		netns_die("make a mount namespace (needs root)");
	netns_run("mount -t tmpfs tmpfs /tmp && echo nameserver 127.0.0.1 >/tmp/resolv.conf && "
	          "mount --bind /tmp/resolv.conf $(readlink -f /etc/resolv.conf)");
	if (fd < 0 || bind(fd, (const struct sockaddr *) &at, sizeof(at)) < 0)
		netns_die("be a name server");
	return fd;
}

/* The next question is there. */
static bool is_asked(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};

	return poll(&pollfd, 1, (int) (LIMIT_US / US_PER_MS)) == 1;
}

/* One question: 192.0.2.9 for IPv4, nothing for IPv6. */
static void answer(int fd)
{
	static const uint8_t record[] = {0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 9};
	uint8_t packet[PACKET_MAX + sizeof(record)];
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	ssize_t n = recvfrom(fd, packet, PACKET_MAX, 0, (struct sockaddr *) &from, &from_len);
	size_t len = (size_t) n;

	if (!CHECK(n > 17))
		return;
	packet[2] |= 0x80;                   /* an answer */
	packet[7] = packet[len - 3] == 0x01; /* for a question of type A one record */
	if (packet[7] == 1) {
		memcpy(packet + len, record, sizeof(record));
		len += sizeof(record);
	}
	(void) sendto(fd, packet, len, 0, (const struct sockaddr *) &from, from_len);
}

static int wait_for(struct lookup *lookup, struct endpoint *ret_endpoint)
{
	int64_t end_us = mono_now_us() + LIMIT_US;
	int r;

	do {
		(void) poll(NULL, 0, 5);
		r = lookup_result(lookup, ret_endpoint);
	} while (r == -EAGAIN && mono_now_us() < end_us);
	return r;
}

static void check_answer(struct lookup *lookup, const char *want)
{
	struct endpoint endpoint = {0};
	char text[ENDPOINT_TEXT_MAX];

	if (!CHECK(lookup != NULL) || !CHECK_EQ_INT(wait_for(lookup, &endpoint), 0))
		return;
	CHECK_EQ_STR(endpoint_format(&endpoint, text), want);
}

static void test_address(void)
{
	AUTO(lookup_free) struct lookup *lookup = lookup_start("192.0.2.7", 80);

	check_answer(lookup, "192.0.2.7:80");
}

static void test_name(int fd)
{
	AUTO(lookup_free) struct lookup *lookup = lookup_start("a.test.", 80);

	for (int i = 0; i < 2 && CHECK(is_asked(fd)); i++)
		answer(fd);
	check_answer(lookup, "192.0.2.9:80");
}

/* What the thread finds for nobody it frees. */
static void test_let_go(int fd)
{
	struct lookup *lookup = lookup_start("b.test.", 80);
	int64_t end_us = mono_now_us() + LIMIT_US;

	n_freed = 0;
	if (!CHECK(lookup != NULL) || !CHECK(is_asked(fd)))
		return;
	lookup_free(lookup);
	CHECK_EQ_INT(n_freed, 0);
	for (int i = 0; i < 2 && CHECK(is_asked(fd)); i++)
		answer(fd);
	while (n_freed == 0 && mono_now_us() < end_us)
		(void) poll(NULL, 0, 5);
	CHECK_EQ_INT(n_freed, 1);
}

/* The name server hangs, and nobody waits. */
static void test_too_many(void)
{
	unsigned n = 0;

	for (; n < 1000; n++) {
		struct lookup *lookup = lookup_start("c.test.", 80);

		if (lookup == NULL)
			break;
		lookup_free(lookup);
	}
	CHECK_EQ_INT(n, 128);
}

int main(void)
{
	AUTO(close) int fd = -1;

	(void) netns_enter_new();
	fd = name_server_new();
	lookup_free(NULL);
	test_address();
	test_name(fd);
	test_let_go(fd);
	test_too_many();
	return check_result();
}
