/* SPDX-License-Identifier: Apache-2.0 */
/* Programs as stages: much data both ways, and programs that end early, hang, crash or are not
 * there. */
#include "etcdwatch/worker/common/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"
#include "tests/unit/check.h"

#define MUCH_BYTES (8 << 20)
/* Nobody stands still for this long for the machine's sake. */
#define LONG_MS 30000

static unsigned stall_ms = LONG_MS;

/* Gives n_bytes of zeros to a shell command. */
static int run(const char *command, size_t n_bytes, struct problem *problem,
               struct tap_result *ret_result)
{
	const char *const argv[] = {"sh", "-c", command, NULL};
	const struct filter_program program = {
	    .argv = argv, .extra_fd = -1, .stall_ms = stall_ms, .code = "OWN", .missing_code = "GONE"};
	AUTO(free) char *zeros = xcalloc(1, n_bytes + 1);
	AUTO(sink_free) struct sink *sink = NULL;
	int r;

	*problem = (struct problem){0};
	*ret_result = (struct tap_result){0};
	r = filter_new(&program, tap_new(NULL, ret_result), problem, &sink);
	if (r == 0)
		r = sink_write(sink, zeros, n_bytes);
	if (r == 0)
		r = sink_finish(sink);
	return r;
}

static void test_good(void)
{
	struct problem problem;
	struct tap_result result;

	CHECK_EQ_INT(run("cat", MUCH_BYTES, &problem, &result), 0);
	CHECK_EQ_INT(result.n_bytes, MUCH_BYTES);
	CHECK_EQ_INT(run("cat", 0, &problem, &result), 0);
	CHECK_EQ_INT(result.n_bytes, 0);
	/* More than goes in, and all of it before the input is read. */
	CHECK_EQ_INT(run("head -c 20000000 /dev/zero; cat >/dev/null", MUCH_BYTES, &problem, &result),
	             0);
	CHECK_EQ_INT(result.n_bytes, 20000000);
	/* Much on stderr, which is not in anybody's way. */
	CHECK_EQ_INT(run("head -c 3000000 /dev/zero >&2; cat", MUCH_BYTES, &problem, &result), 0);
	CHECK_EQ_INT(result.n_bytes, MUCH_BYTES);
	/* It has no terminal, and none of our descriptors. */
	CHECK_EQ_INT(
	    run("test ! -e /proc/self/fd/3 && ! (: </dev/tty) 2>/dev/null", 0, &problem, &result), 0);
}

static void test_bad(void)
{
	static const struct {
		const char *command;
		size_t n_bytes;
		const char *reason;
	} cases[] = {
	    {"exit 1", 0, "did not say why"},
	    {"cat; echo one >&2; echo two >&2; exit 7", MUCH_BYTES, "sh failed: one"},
	    {"echo early >&2; exit 1", MUCH_BYTES, "sh failed: early"},
	    {"exit 0", MUCH_BYTES, "ended before its input did"},
	    {"head -c 100 >/dev/null", MUCH_BYTES, "ended before its input did"},
	    {"kill -SEGV $$", MUCH_BYTES, "killed by signal 11"},
	    {"cat >/dev/null; kill -KILL $$", MUCH_BYTES, "killed by signal 9"},
	    {"exec sleep 60", MUCH_BYTES, "stood still for 1 s"},
	    {"cat >/dev/null; exec sleep 60", 10, "stood still for 1 s"},
	    /* It closed what we read from, and does not end. */
	    {"exec >&- 2>&-; sleep 60", 10, "killed by signal 9"},
	    {"printf 'a\\033[2Jb' >&2; exit 1", 0, "a?[2Jb"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct problem problem;
		struct tap_result result;
		int64_t began_us = mono_now_us();

		stall_ms = strstr(cases[i].command, "sleep 60") != NULL ? 1000 : LONG_MS;
		CHECK(run(cases[i].command, cases[i].n_bytes, &problem, &result) < 0);
		stall_ms = LONG_MS;
		CHECK_EQ_STR(problem.code, "OWN");
		if (!CHECK(strstr(problem.reason, cases[i].reason) != NULL))
			(void) fprintf(stderr, "  '%s' lacks '%s'\n", problem.reason, cases[i].reason);
		CHECK(mono_now_us() - began_us < 50 * US_PER_S);
		/* What was cut off has no digest. */
		CHECK_EQ_STR(result.sha256, "");
	}
}

static void test_missing(void)
{
	const char *const argv[] = {"no-such-program", NULL}, *const folder[] = {"/", NULL};
	struct filter_program program = {
	    .argv = argv, .extra_fd = -1, .code = "OWN", .missing_code = "GONE"};
	struct problem problem = {0};
	struct tap_result result;
	struct sink *sink = NULL;

	CHECK_EQ_INT(filter_new(&program, tap_new(NULL, &result), &problem, &sink), -ENOENT);
	CHECK_EQ_STR(problem.code, "GONE");
	problem = (struct problem){0};
	program.argv = folder;
	CHECK_EQ_INT(filter_new(&program, tap_new(NULL, &result), &problem, &sink), -EACCES);
	CHECK_EQ_STR(problem.code, "OWN");
	CHECK(sink == NULL);
}

/* A descriptor of ours, from wherever it is, is its descriptor 3. */
static void test_extra(void)
{
	static const int places[] = {3, 4, 100};
	const char *const argv[] = {"cat", "/dev/fd/3", NULL};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct filter_program program = {
		    .argv = argv, .code = "OWN", .missing_code = "GONE", .stall_ms = LONG_MS};
		struct problem problem = {0};
		struct tap_result result = {0};
		struct sink *sink = NULL;
		int fds[2], spare = -1;

		CHECK(pipe2(fds, O_CLOEXEC) == 0 && write(fds[1], "secret", 6) == 6 && close(fds[1]) == 0);
		if (fds[0] != places[i]) {
			spare = places[i];
			CHECK(dup3(fds[0], spare, O_CLOEXEC) == spare && close(fds[0]) == 0);
		}
		program.extra_fd = places[i];
		CHECK_EQ_INT(filter_new(&program, tap_new(NULL, &result), &problem, &sink), 0);
		CHECK_EQ_INT(sink_finish(sink), 0);
		CHECK_EQ_INT(result.n_bytes, 6);
		sink_free(sink);
		CHECK(close(places[i]) == 0);
	}
}

/* Nothing is left behind. */
static void test_no_children(void)
{
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void test_cancel(void)
{
	struct problem problem;
	struct tap_result result;
	pid_t parent = getpid(), pid = fork();

	if (pid == 0) {
		(void) usleep(200 * 1000);
		_exit(kill(parent, SIGTERM));
	}
	CHECK_EQ_INT(run("exec sleep 60", MUCH_BYTES, &problem, &result), -ECANCELED);
	CHECK_EQ_STR(problem.code, "CANCELLED");
	CHECK(waitpid(pid, NULL, 0) == pid);
}

int main(void)
{
	cancel_watch();
	test_good();
	test_bad();
	test_missing();
	test_extra();
	test_no_children();
	test_cancel();
	test_no_children();
	return check_result();
}
