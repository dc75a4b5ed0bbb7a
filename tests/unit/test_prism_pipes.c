/* SPDX-License-Identifier: Apache-2.0 */
/* The pool of pipes: what goes into it is empty, and it is as small as it should be. */
#include "prism/flow.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/check.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_an_empty_one_is_used_again(void)
{
	AUTO(pipes_free) struct pipes *pipes = pipes_new(4);
	struct pipe *first = pipes_get(pipes);
	struct pipe *second;

	CHECK(first != NULL && first->bytes == 0);
	CHECK_EQ_INT(fcntl(first->read_fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK);
	CHECK_EQ_INT(fcntl(first->read_fd, F_GETFD), FD_CLOEXEC);
	pipes_put(pipes, first);
	second = pipes_get(pipes);
	CHECK(second == first);
	CHECK_EQ_INT(pipes_count(pipes), 1);
	pipes_put(pipes, second);
}

static void test_one_with_a_rest_is_closed(void)
{
	AUTO(pipes_free) struct pipes *pipes = pipes_new(4);
	struct pipe *pipe = pipes_get(pipes);
	int read_fd = pipe->read_fd, write_fd = pipe->write_fd;

	CHECK_EQ_INT(write(write_fd, "secret", 6), 6);
	pipe->bytes = 6;
	pipes_put(pipes, pipe);
	CHECK_EQ_INT(pipes_count(pipes), 0);
	CHECK(!is_open(read_fd) && !is_open(write_fd));
}

static void test_there_is_a_limit(void)
{
	AUTO(pipes_free) struct pipes *pipes = pipes_new(2);
	struct pipe *a = pipes_get(pipes);
	struct pipe *b = pipes_get(pipes);

	CHECK(a != NULL && b != NULL);
	CHECK(pipes_get(pipes) == NULL);
	pipes_put(pipes, a);
	a = pipes_get(pipes);
	CHECK(a != NULL);
	pipes_put(pipes, a);
	pipes_put(pipes, b);
}

static void test_the_pool_shrinks(void)
{
	AUTO(pipes_free) struct pipes *pipes = pipes_new(100);
	struct pipe *all[40];

	for (size_t i = 0; i < 40; i++)
		all[i] = pipes_get(pipes);
	for (size_t i = 0; i < 40; i++)
		pipes_put(pipes, all[i]);
	CHECK_EQ_INT(pipes_count(pipes), 40);
	pipes_trim(pipes);
	CHECK(pipes_count(pipes) <= 16);
	/* One that is in use is not its business. */
	all[0] = pipes_get(pipes);
	pipes_trim(pipes);
	CHECK(is_open(all[0]->read_fd));
	pipes_put(pipes, all[0]);
}

static void test_another_process_had_it(void)
{
	AUTO(pipes_free) struct pipes *pipes = pipes_new(0);
	struct pipe *adopted;
	int fds[2];

	CHECK_EQ_INT(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	CHECK_EQ_INT(write(fds[1], "12345", 5), 5);
	/* Also above the limit: there are bytes in it. */
	adopted = pipes_adopt(pipes, fds[0], fds[1]);
	CHECK(adopted != NULL);
	CHECK_EQ_INT(adopted->bytes, 5);
	pipes_put(pipes, adopted);
	CHECK(!is_open(fds[0]) && !is_open(fds[1]));

	CHECK_EQ_INT(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	CHECK(pipes_adopt(pipes, -1, fds[1]) == NULL);
	CHECK(pipes_adopt(pipes, fds[0], -1) == NULL);
	CHECK(is_open(fds[0]) && is_open(fds[1]));
	(void) close(fds[0]);
	(void) close(fds[1]);
}

int main(void)
{
	test_an_empty_one_is_used_again();
	test_one_with_a_rest_is_closed();
	test_there_is_a_limit();
	test_the_pool_shrinks();
	test_another_process_had_it();
	pipes_free(NULL);
	return check_result();
}
