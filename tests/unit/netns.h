/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Network namespaces for unit tests. A test makes its own with netns_enter_new() before anything
 * else, so nothing it does reaches the machine's network; it needs root. A second "host" is another
 * namespace at the other end of a veth pair: sockets stay in the namespace that they were opened
 * in, so one process can speak for both by switching with netns_switch().
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ev.h>

#include "base/macro.h"

static inline NORETURN void netns_die(const char *what)
{
	(void) fprintf(stderr, "cannot %s: %s\n", what, strerror(errno));
	_exit(1);
}

/* A new namespace, with loopback up; this process is in it from now on. Its descriptor. */
static inline UNUSED int netns_enter_new(void)
{
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		netns_die("make a network namespace (needs root)");
	fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		netns_die("open the network namespace");
	if (system("ip link set lo up") != 0)
		netns_die("bring up loopback");
	return fd;
}

static inline UNUSED void netns_switch(int fd)
{
	if (setns(fd, CLONE_NEWNET) < 0)
		netns_die("switch the network namespace");
}

/* Runs a command in the present namespace; it must succeed. */
static inline UNUSED void PRINTF_LIKE(1, 2) netns_run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command) != 0) {
		(void) fprintf(stderr, "command failed: %s\n", command);
		_exit(1);
	}
}

static inline UNUSED void netns_sysctl(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		netns_die(path);
	(void) close(fd);
}

/* A veth pair: `here` in the present namespace and `there` in the one of fd, both up. */
static inline UNUSED void netns_veth(const char *here, const char *here_mac, int fd,
                                     const char *there, const char *there_mac)
{
	int self = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);

	netns_run("ip link add %s address %s type veth peer name %s address %s netns /proc/%d/fd/%d",
	          here, here_mac, there, there_mac, (int) getpid(), fd);
	netns_run("ip link set %s up", here);
	netns_switch(fd);
	netns_run("ip link set %s up", there);
	netns_switch(self);
	(void) close(self);
}

static inline UNUSED void netns_timeout_cb(struct ev_loop *ev, ev_timer *w UNUSED,
                                           int revents UNUSED)
{
	ev_break(ev, EVBREAK_ONE);
}

/* Runs the loop until *flag is true, at most seconds. Whether it is. */
static inline UNUSED bool netns_run_until(struct ev_loop *ev, const bool *flag, double seconds)
{
	ev_timer timer;
	double end = ev_time() + seconds;

	ev_timer_init(&timer, netns_timeout_cb, 0.01, 0.01);
	ev_timer_start(ev, &timer);
	while (!*flag && ev_time() < end)
		ev_run(ev, EVRUN_ONCE);
	ev_timer_stop(ev, &timer);
	return *flag;
}
