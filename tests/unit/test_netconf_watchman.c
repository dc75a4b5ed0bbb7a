/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which guard counts as one: that of an earlier change, which is about to end, does not. This
 * program is the guard, too.
 */
#include "netconf/change/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "netconf/change/statedir.h"
#include "tests/unit/netns.h"
#include "tests/unit/scratch.h"

#define LOCK "state/guard.lock"

static void pause_ms(long ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000};

	(void) nanosleep(&time, NULL);
}

/* Waits for the lock, as a guard does, and has it until it is killed. */
static NORETURN void be_guard(const char *state_dir)
{
	char *path = statedir_path(state_dir, STATEDIR_GUARD_LOCK);

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (lockfile_take(path) == -EAGAIN)
		pause_ms(10);
	for (;;)
		(void) pause();
}

static pid_t earlier_guard(void)
{
	pid_t pid = fork();

	if (pid == 0)
		be_guard("state");
	while (lockfile_holder(LOCK) != pid)
		pause_ms(10);
	return pid;
}

static void end_guard(pid_t pid)
{
	if (CHECK(pid > 0) && kill(pid, SIGKILL) == 0)
		(void) waitpid(pid, NULL, 0);
}

struct seen {
	bool is_watched, has_failed;
};

static void on_watched(void *userdata)
{
	((struct seen *) userdata)->is_watched = true;
}

static void on_failed(void *userdata)
{
	((struct seen *) userdata)->has_failed = true;
}

static const struct watchman_ops ops = {on_watched, on_failed};

/* Only when that of the earlier change has ended, ours can be at work. */
static void test_begun_here(const char *self)
{
	pid_t earlier = earlier_guard();
	struct seen seen = {0};
	struct watchman *w = watchman_start(EV_DEFAULT, self, "state", "b", false, &ops, &seen);
	pid_t guard;

	CHECK(!netns_run_until(EV_DEFAULT, &seen.is_watched, 0.5));
	end_guard(earlier);
	CHECK(netns_run_until(EV_DEFAULT, &seen.is_watched, 100.));
	guard = lockfile_holder(LOCK);
	CHECK(guard > 0 && guard != earlier);
	CHECK(!seen.has_failed);
	watchman_free(w);
	(void) kill(guard, SIGKILL);
	while (lockfile_holder(LOCK) != 0)
		pause_ms(10);
}

/* A change that was found has its guard already, and gets another when that ends. */
static void test_found(const char *self)
{
	pid_t earlier = earlier_guard(), guard = 0;
	struct seen seen = {0};
	struct watchman *w = watchman_start(EV_DEFAULT, self, "state", "b", true, &ops, &seen);
	const bool never = false;

	CHECK(netns_run_until(EV_DEFAULT, &seen.is_watched, 100.));
	CHECK_EQ_INT(lockfile_holder(LOCK), earlier);
	end_guard(earlier);
	for (int i = 0; i < 1000 && guard <= 0; i++) {
		(void) netns_run_until(EV_DEFAULT, &never, 0.1);
		guard = lockfile_holder(LOCK);
	}
	CHECK(guard > 0 && guard != earlier);
	CHECK(!seen.has_failed);
	watchman_free(w);
	(void) kill(guard, SIGKILL);
}

int main(int argc, char **argv)
{
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);

	/* PROGRAM --guard ID --state-dir DIRECTORY */
	if (argc == 5 && strcmp(argv[1], "--guard") == 0)
		be_guard(argv[4]);
	scratch_enter();
	CHECK_EQ_INT(statedir_make("state"), 0);
	test_begun_here(self);
	test_found(self);
	scratch_leave();
	return check_result();
}
