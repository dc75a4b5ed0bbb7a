/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spawns, reads until the output ends, reaps. A program that hangs, or that leaves its output to
 * one that does, is killed with its whole process group.
 */
#include "netconf/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/mono.h"

#define ARGS_MAX 32

static int spawn(const char *const *argv, int out, pid_t *ret_pid)
{
	char *args[ARGS_MAX + 1];
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	size_t n = 0;
	int error;

	for (; argv[n] != NULL; n++) {
		if (n == ARGS_MAX)
			return -E2BIG;
		args[n] = (char *) (uintptr_t) argv[n];
	}
	args[n] = NULL;
	(void) sigemptyset(&none);
	(void) sigfillset(&all);
	(void) posix_spawn_file_actions_init(&actions);
	(void) posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void) posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	(void) posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	(void) posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
	(void) posix_spawnattr_init(&attributes);
	(void) posix_spawnattr_setsigmask(&attributes, &none);
	(void) posix_spawnattr_setsigdefault(&attributes, &all);
	(void) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
	                                                 POSIX_SPAWN_SETPGROUP);
	error = posix_spawnp(ret_pid, args[0], &actions, &attributes, args, environ);
	(void) posix_spawnattr_destroy(&attributes);
	(void) posix_spawn_file_actions_destroy(&actions);
	return -error;
}

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
	r = spawn(argv, ends[1], &pid);
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
