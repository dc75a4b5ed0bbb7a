/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spawns, reads until the output ends, reaps. A program that hangs, or that leaves its output to
 * one that does, is killed with its whole process group.
 */
#include "netconf/host/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"

/* To the end of the output, or -ETIMEDOUT. What is too much is read and dropped. */
static int collect(int fd, int64_t deadline_us, char *output)
{
	size_t len = 0;

	for (;;) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		int64_t left_us = deadline_us - mono_now_us();
		char dropped[512];
		ssize_t n;

		if (left_us <= 0)
			return -ETIMEDOUT;
		if (poll(&pfd, 1, (int) (left_us / US_PER_MS) + 1) <= 0)
			continue;
		n = len < COMMAND_OUTPUT_MAX ? read(fd, output + len, COMMAND_OUTPUT_MAX - len)
		                             : read(fd, dropped, sizeof(dropped));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && len < COMMAND_OUTPUT_MAX)
			len += (size_t) n;
	}
}

/* It may close its output and go on. */
static int wait_for_end(pid_t pid, int64_t deadline_us)
{
	AUTO(close) int fd = pidfd_open(pid, 0);

	if (fd < 0)
		return -errno;
	for (;;) {
		struct pollfd pfd = {.fd = fd, .events = POLLIN};
		int64_t left_us = deadline_us - mono_now_us();

		if (left_us <= 0)
			return -ETIMEDOUT;
		if (poll(&pfd, 1, (int) (left_us / US_PER_MS) + 1) > 0)
			return 0;
	}
}

int command_run(const char *const *argv, int64_t limit_us, char **ret_output)
{
	AUTO(free) char *output = xcalloc(COMMAND_OUTPUT_MAX + 1, 1);
	AUTO(close) int in = -1;
	int ends[2], r, status = 0;
	int64_t deadline_us;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	in = ends[0];
	r = spawn_program(&(struct spawn){.argv = argv,
	                                  .in_path = true,
	                                  .own_group = true,
	                                  .out = ends[1],
	                                  .err = ends[1],
	                                  .given = SPAWN_OUT | SPAWN_ERR},
	                  &pid);
	(void) close(ends[1]);
	if (r < 0)
		return r;
	deadline_us = mono_now_us() + limit_us;
	r = collect(in, deadline_us, output);
	if (r == 0)
		r = wait_for_end(pid, deadline_us);
	if (r < 0)
		(void) kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r == 0 && status != 0)
		r = -EREMOTEIO;
	*ret_output = TAKE_PTR(output);
	return r;
}
