/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes that say much, little, nothing or nonsense, and that do not end,
 * not even when they are killed. */
#include "etcdwatch/work/child.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

struct end {
	unsigned n;
	int r;
	char reason[600];
	json_int_t answer;
};

static void done_cb(const struct child_result *result, void *userdata)
{
	struct end *end = userdata;

	end->n++;
	end->r = result->r;
	(void) snprintf(end->reason, sizeof(end->reason), "%s", result->reason);
	end->answer = json_integer_value(json_object_get(result->last, "answer"));
}

static struct end run(const char *script, int64_t limit_us)
{
	struct ev_loop *ev = ev_default_loop(0);
	const char *argv[] = {"/bin/sh", "-c", script, NULL};
	struct child *child = NULL;
	struct end end = {0};
	int64_t until_us = mono_now_us() + 10 * US_PER_S;

	CHECK_EQ_INT(child_start(ev, argv, limit_us, done_cb, &end, &child), 0);
	CHECK_EQ_INT(end.n, 0);
	while (end.n == 0 && mono_now_us() < until_us)
		turn_once(ev);
	CHECK_EQ_INT(end.n, 1);
	return end;
}

static void test_ends(void)
{
	static const struct {
		const char *script;
		int r;
		json_int_t answer;
		const char *reason;
	} cases[] = {
	    {"echo '{\"ok\":true,\"answer\":42}'", 0, 42, ""},
	    {"echo '{\"step\":1}'; echo '{\"ok\":true,\"answer\":7}'", 0, 7, ""},
	    {"printf '{\"ok\":true,\"answer\":1}'", 0, 1, ""}, /* no newline */
	    {"echo noise; echo '{\"ok\":true,\"answer\":3}'", 0, 3, ""},
	    {"echo '{\"ok\":false,\"error\":\"X\",\"reason\":\"it is bad\"}'; exit 1", -EBADMSG, 0,
	     "it is bad"},
	    /* A good word does not help who ended badly, nor the other way round. */
	    {"echo '{\"ok\":true}'; exit 3", -ECHILD, 0, "it ended with code 3 and said nothing"},
	    {"exit 0", -ECHILD, 0, "it ended with code 0 and said nothing"},
	    {"echo '{\"ok\":true}'; kill -9 $$", -ECHILD, 0, "it was killed by signal 9"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct end end = run(cases[i].script, 10 * US_PER_S);

		CHECK_EQ_INT(end.r, cases[i].r);
		CHECK_EQ_INT(end.answer, cases[i].answer);
		CHECK_EQ_STR(end.reason, cases[i].reason);
	}
}

/* A line that never ends costs no memory, and the one behind it is heard. */
static void test_long_line(void)
{
	struct end end = run("head -c 300000 /dev/zero | tr '\\0' x; echo; "
	                     "echo '{\"ok\":true,\"answer\":5}'",
	                     10 * US_PER_S);

	CHECK_EQ_INT(end.r, 0);
	CHECK_EQ_INT(end.answer, 5);
}

/* What it has started goes with it: or its output would never end. */
static void test_limit(void)
{
	int64_t began_us = mono_now_us();
	struct end end = run("sleep 60 & sleep 60", 200 * US_PER_MS);

	CHECK_EQ_INT(end.r, -ETIMEDOUT);
	CHECK(mono_now_us() - began_us < 50 * US_PER_S);
}

static bool has_children(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static pid_t hanging;

static void each_cb(const json_t *object, void *userdata UNUSED)
{
	hanging = (pid_t) json_integer_value(json_object_get(object, "pid"));
}

/* Not one of its group any more, and so not killed with it: as if a disk kept it from ending. */
static int hang(void)
{
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (setpgid(0, getpgid(getppid())) < 0)
		return 1;
	(void) printf("{\"pid\":%d}\n", (int) getpid());
	(void) fflush(stdout);
	for (;;)
		(void) pause();
}

/* Nobody waits for one that was killed and does not end; it is reaped when it does. */
static void test_hanging(void)
{
	struct ev_loop *ev = ev_default_loop(0);
	const char *argv[] = {"/proc/self/exe", "hang", NULL};
	struct child *child = NULL;
	struct end end = {0};
	int64_t until_us = mono_now_us() + 120 * US_PER_S;

	CHECK_EQ_INT(child_start(ev, argv, US_PER_S, done_cb, &end, &child), 0);
	child_each_line(child, each_cb);
	while (end.n == 0 && mono_now_us() < until_us)
		turn_once(ev);
	CHECK_EQ_INT(end.n, 1);
	CHECK_EQ_INT(end.r, -ETIMEDOUT);
	if (!CHECK(hanging > 0))
		return;
	CHECK_EQ_INT(kill(hanging, SIGKILL), 0);
	while (has_children() && mono_now_us() < until_us)
		turn_once(ev);
	CHECK(!has_children());
	CHECK_EQ_INT(end.n, 1);
}

static void test_missing(void)
{
	const char *argv[] = {"/nonexistent/program", NULL};
	struct child *child = NULL;
	struct end end = {0};

	CHECK_EQ_INT(child_start(ev_default_loop(0), argv, US_PER_S, done_cb, &end, &child), -ENOENT);
	CHECK(child == NULL);
}

/* Nobody waits for it, since it may wait for a disk. */
static void test_free(void)
{
	const char *argv[] = {"/bin/sh", "-c", "sleep 60", NULL};
	struct child *child = NULL;
	struct end end = {0};

	CHECK_EQ_INT(child_start(ev_default_loop(0), argv, 60 * US_PER_S, done_cb, &end, &child), 0);
	child_free(child);
	CHECK_EQ_INT(end.n, 0);
	/* It is reaped all the same. */
	CHECK(has_children());
	for (unsigned i = 0; has_children() && i < 1000; i++)
		turn_once(ev_default_loop(0));
	CHECK(!has_children());
	CHECK_EQ_INT(end.n, 0);
}

static void test_told(void)
{
	struct ev_loop *ev = ev_default_loop(0);
	const char *argv[] = {"/bin/sh", "-c", "exec cat", NULL};
	struct child *child = NULL;
	struct end end = {0};
	int64_t until_us = mono_now_us() + 60 * US_PER_S;

	CHECK_EQ_INT(child_start_told(ev, argv, "{\"ok\":true,\"answer\":5}", 60 * US_PER_S, done_cb,
	                              &end, &child),
	             0);
	while (end.n == 0 && mono_now_us() < until_us)
		turn_once(ev);
	CHECK_EQ_INT(end.r, 0);
	CHECK_EQ_INT(end.answer, 5);
}

struct told {
	struct end end;
	struct doing doing;
	char before[4][DOING_STEP_MAX]; /* the step that was kept when each line was told of */
	size_t n;
};

static void told_done_cb(const struct child_result *result, void *userdata)
{
	struct told *told = userdata;

	done_cb(result, &told->end);
}

/* A line is told of before it is kept: who is told may begin anew with what is kept. */
static void told_cb(const json_t *object, void *userdata)
{
	struct told *told = userdata;

	if (told->n < ARRAY_SIZE(told->before))
		(void) snprintf(told->before[told->n++], sizeof(told->before[0]), "%s", told->doing.step);
	if (json_object_get(object, "phase") != NULL)
		told->doing = (struct doing){.bytes = 0};
}

static void test_doing(void)
{
	struct ev_loop *ev = ev_default_loop(0);
	const char *argv[] = {"/bin/sh", "-c",
	                      "echo '{\"doing\":\"one\",\"bytes\":1,\"of_bytes\":2}';"
	                      "echo '{\"phase\":\"next\"}';"
	                      "echo '{\"doing\":\"two\",\"bytes\":3,\"of_bytes\":4}';"
	                      "echo '{\"ok\":true,\"answer\":5}'",
	                      NULL};
	struct child *child = NULL;
	struct told told = {.n = 0};
	int64_t until_us = mono_now_us() + 60 * US_PER_S;

	CHECK_EQ_INT(child_start(ev, argv, 60 * US_PER_S, told_done_cb, &told, &child), 0);
	child_each_line(child, told_cb);
	child_keep_doing(child, &told.doing);
	while (told.end.n == 0 && mono_now_us() < until_us)
		turn_once(ev);
	CHECK_EQ_INT(told.end.answer, 5);
	CHECK_EQ_INT(told.n, 4);
	CHECK_EQ_STR(told.before[0], "");
	CHECK_EQ_STR(told.before[1], "one");
	CHECK_EQ_STR(told.before[2], "");
	CHECK_EQ_STR(told.before[3], "two");
	CHECK_EQ_STR(told.doing.step, "two");
	CHECK_EQ_INT(told.doing.bytes, 3);
	CHECK_EQ_INT(told.doing.of_bytes, 4);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "hang") == 0)
		return hang();
	test_ends();
	test_long_line();
	test_limit();
	test_hanging();
	test_missing();
	test_free();
	test_told();
	test_doing();
	return check_result();
}
