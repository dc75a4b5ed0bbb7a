/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"

#include <assert.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"

static bool is_without_memory;

FILE *__real_open_memstream(char **ret_text, size_t *ret_len);
FILE *__wrap_open_memstream(char **ret_text, size_t *ret_len);

FILE *__wrap_open_memstream(char **ret_text, size_t *ret_len)
{
	return is_without_memory ? NULL : __real_open_memstream(ret_text, ret_len);
}

static void expect_one(void)
{
	(void) mem_expect(NULL);
}

static void open_one(void)
{
	char *text;
	size_t len;

	is_without_memory = true;
	(void) xmemstream_open(&text, &len);
}

/* A stream that has no room is one on /dev/full. */
static FILE *full_one(void)
{
	FILE *stream = fopen("/dev/full", "w");

	assert(stream != NULL);
	(void) fputs("text", stream);
	return stream;
}

static void flush_one(void)
{
	xmemstream_flush(full_one());
}

static void close_one(void)
{
	xmemstream_close(full_one());
}

/* What did not go in before fails the stream for good, also when the last of it goes in. */
static void close_one_that_lost_something(void)
{
	FILE *stream = full_one();

	(void) fflush(stream);
	xmemstream_close(stream);
}

/* The program says why, and aborts. */
static void test_gives_up(void (*what)(void))
{
	static const char wanted[] = "<2>event=out_of_memory\n";
	char said[64] = "";
	int fds[2], status;
	pid_t pid;

	assert(pipe(fds) == 0);
	pid = fork();
	assert(pid >= 0);
	if (pid == 0) {
		(void) dup2(fds[1], STDERR_FILENO);
		what();
		_exit(0);
	}
	(void) close(fds[1]);
	assert(waitpid(pid, &status, 0) == pid);
	assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert(read(fds[0], said, sizeof(said) - 1) == (ssize_t) strlen(wanted));
	assert(strcmp(said, wanted) == 0);
	(void) close(fds[0]);
}

static void test_stream(void)
{
	char *text;
	size_t len;
	FILE *stream = xmemstream_open(&text, &len);

	(void) fputs("one", stream);
	xmemstream_flush(stream);
	assert(strcmp(text, "one") == 0);
	(void) fprintf(stream, " and %d", 2);
	xmemstream_close(stream);
	assert(len == strlen("one and 2") && strcmp(text, "one and 2") == 0);
	free(text);
}

int main(void)
{
	void (*const cases[])(void) = {
	    expect_one, open_one, flush_one, close_one, close_one_that_lost_something,
	};

	assert(mem_expect(&is_without_memory) == &is_without_memory);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		test_gives_up(cases[i]);
	test_stream();
	return 0;
}
