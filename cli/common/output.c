/* SPDX-License-Identifier: Apache-2.0 */
/* A child in a process group of its own, a pipe, and one deadline for both. */
#include "cli/common/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"

#define PIECE_BYTES 65536
/* What is killed ends at once, unless the kernel cannot let it go. */
#define KILLED_WAIT_US (2 * US_PER_S)
#define LOOK_AGAIN_US (5 * US_PER_MS)

void output_fini(struct output *output)
{
	free(output->text);
	*output = (struct output){0};
}

static void keep(struct output *o, const char *piece, size_t len, size_t max_bytes)
{
	size_t room = max_bytes - o->len;

	if (len > room) {
		o->is_cut = true;
		len = room;
	}
	o->text = xreallocarray(o->text, o->len + len + 1, 1);
	memcpy(o->text + o->len, piece, len);
	o->len += len;
	o->text[o->len] = '\0';
}

/* To the end of what it prints: 0, or -ETIMEDOUT. What is too much is read and dropped, so that the
 * program can end. */
static int read_all(int fd, int64_t deadline_us, size_t max_bytes, struct output *o)
{
	AUTO(free) char *piece = xcalloc(1, PIECE_BYTES);

	for (;;) {
		int64_t left_us = deadline_us - mono_now_us();
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (left_us <= 0)
			return -ETIMEDOUT;
		if (poll(&p, 1, (int) (left_us / US_PER_MS) + 1) <= 0)
			continue;
		n = read(fd, piece, PIECE_BYTES);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0)
			keep(o, piece, (size_t) n, max_bytes);
	}
}

/* Whether it has ended by then. */
static bool has_ended(pid_t pid, int64_t deadline_us, int *ret_status)
{
	for (;;) {
		pid_t ended = waitpid(pid, ret_status, WNOHANG);

		if (ended == pid)
			return true;
		if ((ended < 0 && errno != EINTR) || mono_now_us() >= deadline_us)
			return false;
		(void) usleep(LOOK_AGAIN_US);
	}
}

int output_run(const char *const *words, int64_t timeout_us, size_t max_bytes, struct output *ret)
{
	int64_t deadline_us = mono_now_us() + timeout_us;
	struct output o = {.text = xstrdup(""), .exit_code = -1};
	AUTO(close) int in = -1;
	AUTO(close) int out = -1;
	struct spawn spawn = {
	    .argv = words, .in_path = true, .own_group = true, .given = SPAWN_OUT | SPAWN_ERR};
	int pair[2], status = 0, r;
	pid_t pid = 0;

	*ret = o;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	in = pair[0];
	out = pair[1];
	spawn.out = spawn.err = out;
	r = spawn_program(&spawn, &pid);
	(void) close(TAKE_FD(out));
	if (r < 0)
		return r;
	r = read_all(in, deadline_us, max_bytes, &o);
	if (r == 0 && !has_ended(pid, deadline_us, &status))
		r = -ETIMEDOUT;
	else if (r == 0)
		o.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (r < 0) {
		(void) kill(-pid, SIGKILL);
		(void) has_ended(pid, mono_now_us() + KILLED_WAIT_US, &status);
	}
	*ret = o;
	return r;
}
