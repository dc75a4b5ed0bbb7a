/* SPDX-License-Identifier: Apache-2.0 */
/* A stack of empty pipes: the one used last is the warmest. */
#include "prism/pipes.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"

/* Wider than the kernel's 64 KiB: a slot holds one fragment of a packet, and few fragments are
 * whole pages. */
#define PIPE_BYTES (256 * 1024)
#define UNUSED_MAX 16 /* after a trim */

struct pipes {
	struct pipe *unused;
	unsigned n_unused;
	unsigned n;
	unsigned max;
};

struct pipes *pipes_new(unsigned max)
{
	struct pipes *pipes = NEW0(struct pipes);

	pipes->max = max;
	return pipes;
}

static void destroy(struct pipes *pipes, struct pipe *pipe)
{
	(void) close(pipe->read_fd);
	(void) close(pipe->write_fd);
	free(pipe);
	pipes->n--;
}

static void drop_unused(struct pipes *pipes, unsigned keep)
{
	while (pipes->n_unused > keep) {
		struct pipe *pipe = pipes->unused;

		pipes->unused = pipe->next;
		pipes->n_unused--;
		destroy(pipes, pipe);
	}
}

void pipes_free(struct pipes *pipes)
{
	if (pipes == NULL)
		return;
	drop_unused(pipes, 0);
	assert(pipes->n == 0);
	free(pipes);
}

static struct pipe *add(struct pipes *pipes, int read_fd, int write_fd, size_t bytes)
{
	struct pipe *pipe = malloc(sizeof(*pipe));

	if (pipe == NULL)
		return NULL;
	*pipe = (struct pipe){.read_fd = read_fd, .write_fd = write_fd, .bytes = bytes};
	pipes->n++;
	return pipe;
}

struct pipe *pipes_adopt(struct pipes *pipes, int read_fd, int write_fd)
{
	int bytes = 0;

	if (write_fd < 0 || ioctl(read_fd, FIONREAD, &bytes) < 0 || bytes < 0)
		return NULL;
	return add(pipes, read_fd, write_fd, (size_t) bytes);
}

struct pipe *pipes_get(struct pipes *pipes)
{
	struct pipe *pipe = pipes->unused;
	int fds[2];

	if (pipe != NULL) {
		pipes->unused = pipe->next;
		pipes->n_unused--;
		return pipe;
	}
	if (pipes->n >= pipes->max || pipe2(fds, O_NONBLOCK | O_CLOEXEC) < 0)
		return NULL;
	pipe = add(pipes, fds[0], fds[1], 0);
	if (pipe == NULL) {
		(void) close(fds[0]);
		(void) close(fds[1]);
		return NULL;
	}
	/* Where the user's allowance is used up, it stays as it is. */
	(void) fcntl(pipe->write_fd, F_SETPIPE_SZ, PIPE_BYTES);
	return pipe;
}

void pipes_put(struct pipes *pipes, struct pipe *pipe)
{
	if (pipe->bytes > 0) {
		destroy(pipes, pipe);
		return;
	}
	pipe->next = pipes->unused;
	pipes->unused = pipe;
	pipes->n_unused++;
}

void pipes_trim(struct pipes *pipes)
{
	drop_unused(pipes, UNUSED_MAX);
}

unsigned pipes_count(const struct pipes *pipes)
{
	return pipes->n;
}
