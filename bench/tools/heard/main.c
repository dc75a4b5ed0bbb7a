/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the kernel tells of its network while a command runs:
 *
 *   heard [--until ADDRESSES ROUTES [SECONDS]] COMMAND [ARGUMENT...]
 *
 * Links, addresses, routes and rules of this network namespace. With --until the command is a
 * daemon that never says that it is done: it is ended (SIGTERM, SIGKILL after a second) once so
 * many addresses of global scope and so many routes with a gateway have come, or after SECONDS
 * (60), which is a failure. On standard error, behind what the command says, comes one line:
 *
 *   wall_ms=      from the start of the command to its end, or until all had come
 *   cpu_ms=       of the command and of what it waited for, user and system
 *   messages=     of the kernel
 *   addresses= routes=   that came, each once
 *   first_ms= last_ms=   from the start to the first and the last message; -1: none
 *   last_us=      when the last one came, on the clock of netconf's deadlines (mono.h)
 *
 * Exits as the command does.
 */

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "net/attr.h"

#define BUFFER_BYTES (16 << 20)
#define SECONDS_DEFAULT 60
#define GRACE_MS 1000
#define DST_BYTES 16

/* What tells one address or route from another. */
struct key {
	uint8_t dst[DST_BYTES];
	uint32_t link, table;
	uint8_t len, family;
};

struct keys {
	struct key *items;
	size_t n;
};

struct hearing {
	struct mnl_socket *sock;
	struct keys addresses, routes;
	unsigned long messages;
	double cpu_ms;
	int64_t began_us, first_us, last_us; /* 0: none yet */
};

static _Noreturn void die(const char *what)
{
	(void) fprintf(stderr, "heard: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void keys_add(struct keys *keys, const struct key *key)
{
	for (size_t i = 0; i < keys->n; i++) {
		if (memcmp(&keys->items[i], key, sizeof(*key)) == 0)
			return;
	}
	keys->items = xreallocarray(keys->items, keys->n + 1, sizeof(*key));
	keys->items[keys->n++] = *key;
}

static void take_address(struct hearing *h, const struct nlmsghdr *nlh)
{
	const struct nlattr *attrs[IFA_MAX + 1];
	struct ifaddrmsg ifa;
	struct key key;

	if (!attr_read(nlh, &ifa, sizeof(ifa), attrs, ARRAY_SIZE(attrs)) ||
	    ifa.ifa_scope != RT_SCOPE_UNIVERSE || attrs[IFA_ADDRESS] == NULL)
		return;
	memset(&key, 0, sizeof(key));
	key.family = ifa.ifa_family;
	key.len = ifa.ifa_prefixlen;
	key.link = ifa.ifa_index;
	memcpy(key.dst, attr_data(attrs[IFA_ADDRESS]), MIN(attr_len(attrs[IFA_ADDRESS]), DST_BYTES));
	keys_add(&h->addresses, &key);
}

static void take_route(struct hearing *h, const struct nlmsghdr *nlh)
{
	const struct nlattr *attrs[RTA_MAX + 1];
	struct rtmsg rtm;
	struct key key;

	if (!attr_read(nlh, &rtm, sizeof(rtm), attrs, ARRAY_SIZE(attrs)) || attrs[RTA_GATEWAY] == NULL)
		return;
	memset(&key, 0, sizeof(key));
	key.family = rtm.rtm_family;
	key.len = rtm.rtm_dst_len;
	key.table = rtm.rtm_table;
	if (attrs[RTA_DST] != NULL)
		memcpy(key.dst, attr_data(attrs[RTA_DST]), MIN(attr_len(attrs[RTA_DST]), DST_BYTES));
	keys_add(&h->routes, &key);
}

static void take_message(struct hearing *h, const struct nlmsghdr *nlh)
{
	if (nlh->nlmsg_type < NLMSG_MIN_TYPE)
		return;
	h->messages++;
	h->last_us = mono_now_us();
	if (h->first_us == 0)
		h->first_us = h->last_us;
	if (nlh->nlmsg_type == RTM_NEWADDR)
		take_address(h, nlh);
	else if (nlh->nlmsg_type == RTM_NEWROUTE)
		take_route(h, nlh);
}

/* All that there is at the moment. */
static void listen_once(struct hearing *h)
{
	static uint8_t buf[65536];
	const struct nlmsghdr *nlh;
	ssize_t n;
	int left;

	for (;;) {
		n = recv(mnl_socket_get_fd(h->sock), buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0)
			die("the kernel's messages");
		left = (int) n;
		for (nlh = (const void *) buf; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			take_message(h, nlh);
	}
}

static void open_socket(struct hearing *h)
{
	static const unsigned groups[] = {
	    RTNLGRP_LINK,       RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE,
	    RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,   RTNLGRP_IPV6_RULE,
	};
	int bytes = BUFFER_BYTES;

	h->sock = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (h->sock == NULL || mnl_socket_bind(h->sock, 0, MNL_SOCKET_AUTOPID) < 0)
		die("netlink");
	if (setsockopt(mnl_socket_get_fd(h->sock), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) <
	    0)
		die("SO_RCVBUFFORCE");
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		unsigned group = groups[i];

		if (mnl_socket_setsockopt(h->sock, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
			die("joining");
	}
}

static double ms_of(struct timeval t)
{
	return (double) t.tv_sec * 1e3 + (double) t.tv_usec / 1e3;
}

/* How it ended. */
static int wait_for(struct hearing *h, pid_t pid)
{
	struct rusage used;
	int status;

	if (wait4(pid, &status, 0, &used) < 0)
		die("wait4");
	h->cpu_ms = ms_of(used.ru_utime) + ms_of(used.ru_stime);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

static void end_daemon(struct hearing *h, pid_t pid, int pidfd)
{
	struct pollfd end = {.fd = pidfd, .events = POLLIN};

	(void) kill(pid, SIGTERM);
	if (poll(&end, 1, GRACE_MS) == 0)
		(void) kill(pid, SIGKILL);
	(void) wait_for(h, pid);
}

struct wanted {
	size_t addresses, routes;
	int64_t limit_us;
	bool is_daemon;
};

/* The exit status. */
static int follow(struct hearing *h, const struct wanted *wanted, pid_t pid, int64_t *ret_end_us)
{
	struct pollfd fds[] = {
	    {.fd = mnl_socket_get_fd(h->sock), .events = POLLIN},
	    {.fd = pidfd_open(pid, 0), .events = POLLIN},
	};
	int code;

	if (fds[1].fd < 0)
		die("pidfd_open");
	while (poll(fds, ARRAY_SIZE(fds), 100) >= 0) {
		listen_once(h);
		*ret_end_us = mono_now_us();
		if (wanted->is_daemon && h->addresses.n >= wanted->addresses &&
		    h->routes.n >= wanted->routes) {
			end_daemon(h, pid, fds[1].fd);
			return 0;
		}
		if (wanted->is_daemon && *ret_end_us - h->began_us > wanted->limit_us) {
			(void) fputs("heard: not all has come in time\n", stderr);
			end_daemon(h, pid, fds[1].fd);
			return 124;
		}
		if ((fds[1].revents & POLLIN) == 0)
			continue;
		code = wait_for(h, pid);
		listen_once(h);
		return code;
	}
	die("poll");
}

static double since_ms(const struct hearing *h, int64_t us)
{
	return us == 0 ? -1 : (double) (us - h->began_us) / 1e3;
}

static int parse(int argc, char **argv, struct wanted *wanted)
{
	int at = 1;

	if (argc > 4 && strcmp(argv[1], "--until") == 0) {
		wanted->is_daemon = true;
		wanted->addresses = strtoul(argv[2], NULL, 10);
		wanted->routes = strtoul(argv[3], NULL, 10);
		wanted->limit_us = strtol(argv[4], NULL, 10) * US_PER_S;
		at = wanted->limit_us > 0 ? 5 : 4;
		if (wanted->limit_us == 0)
			wanted->limit_us = SECONDS_DEFAULT * US_PER_S;
	}
	if (at < argc)
		return at;
	(void) fputs("usage: heard [--until ADDRESSES ROUTES [SECONDS]] COMMAND [ARGUMENT...]\n",
	             stderr);
	exit(125);
}

int main(int argc, char **argv)
{
	struct wanted wanted = {0};
	struct hearing h = {0};
	int64_t ended_us = 0;
	int at = parse(argc, argv, &wanted), code;
	pid_t pid;

	open_socket(&h);
	h.began_us = mono_now_us();
	pid = fork();
	if (pid == 0) {
		(void) execvp(argv[at], argv + at);
		_exit(127);
	}
	if (pid < 0)
		die("fork");
	code = follow(&h, &wanted, pid, &ended_us);
	(void) fprintf(
	    stderr,
	    "wall_ms=%.2f cpu_ms=%.2f messages=%lu addresses=%zu routes=%zu first_ms=%.2f last_ms=%.2f "
	    "last_us=%lld\n",
	    since_ms(&h, ended_us), h.cpu_ms, h.messages, h.addresses.n, h.routes.n,
	    since_ms(&h, h.first_us), since_ms(&h, h.last_us), (long long) h.last_us);
	return code;
}
