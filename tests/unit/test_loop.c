/* SPDX-License-Identifier: Apache-2.0 */
/* Real signals, and a real socket in the place of the service manager's. */
#include "base/loop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"

static struct loop *loop;

/* --- timers --- */

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w UNUSED, int revents UNUSED)
{
	loop_stop(loop, 3);
}

static void late_cb(struct ev_loop *ev UNUSED, ev_timer *w UNUSED, int revents UNUSED)
{
	loop_stop(loop, 7);
}

/* The time that was set last counts, and the timer is due once. */
static void test_timer_in(void)
{
	ev_timer first, other;

	ev_timer_init(&first, timer_cb, 0., 0.);
	ev_timer_init(&other, late_cb, 0., 0.);
	loop_timer_in(loop_ev(loop), &first, 1);
	loop_timer_in(loop_ev(loop), &first, 3600 * US_PER_S);
	loop_timer_in(loop_ev(loop), &other, 20 * US_PER_MS);
	CHECK_EQ_INT(loop_run(loop), 7);
	CHECK(!ev_is_active(&other));
	loop_timer_in(loop_ev(loop), &first, 1);
	CHECK_EQ_INT(loop_run(loop), 3);
}

/* --- signals --- */

static int last_signal;

static void signal_cb(int signo, void *userdata)
{
	last_signal = signo;
	loop_stop(loop, *(const int *) userdata);
}

static void test_signals(void)
{
	static int hup = 11, term = 12;

	loop_on_signal(loop, SIGHUP, signal_cb, &hup);
	loop_on_signal(loop, SIGTERM, signal_cb, &term);
	CHECK_EQ_INT(kill(getpid(), SIGHUP), 0);
	CHECK_EQ_INT(loop_run(loop), 11);
	CHECK_EQ_INT(last_signal, SIGHUP);
	CHECK_EQ_INT(kill(getpid(), SIGTERM), 0);
	CHECK_EQ_INT(loop_run(loop), 12);
	CHECK_EQ_INT(last_signal, SIGTERM);
	/* A peer that went away is no reason to die. */
	CHECK_EQ_INT(kill(getpid(), SIGPIPE), 0);
}

/* --- the service manager --- */

static int manager_fd = -1;

/* name[0] '@': in the abstract space. */
static void open_manager(const char *name)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	const size_t len = strlen(name);

	manager_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	memcpy(sun.sun_path, name, len);
	if (name[0] == '@')
		sun.sun_path[0] = '\0';
	CHECK_EQ_INT(bind(manager_fd, (struct sockaddr *) &sun,
	                  (socklen_t) (offsetof(struct sockaddr_un, sun_path) + len)),
	             0);
}

/* The next thing that the manager hears within a while, or NULL. */
static const char *manager_hears(int wait_ms)
{
	static char text[1024];
	struct pollfd pfd = {.fd = manager_fd, .events = POLLIN};
	ssize_t n;

	if (poll(&pfd, 1, wait_ms) != 1)
		return NULL;
	n = recv(manager_fd, text, sizeof(text) - 1, MSG_DONTWAIT);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void run_for(double seconds)
{
	ev_timer timer;

	ev_timer_init(&timer, timer_cb, seconds, 0.);
	ev_timer_start(loop_ev(loop), &timer);
	(void) loop_run(loop);
}

static void renew_loop(void)
{
	loop_free(TAKE_PTR(loop));
	CHECK_EQ_INT(loop_new(&loop), 0);
}

static int64_t monotonic_us(void)
{
	struct timespec now;

	CHECK_EQ_INT(clock_gettime(CLOCK_MONOTONIC, &now), 0);
	return (int64_t) now.tv_sec * US_PER_S + now.tv_nsec / 1000;
}

/* CLOCK_MONOTONIC, and not the one that also counts while the machine sleeps. */
static void check_reloading(void)
{
	int64_t before_us = monotonic_us(), after_us;
	long long said_us = 0;

	loop_notify_reloading(loop);
	after_us = monotonic_us();
	CHECK_EQ_INT(sscanf(manager_hears(500), "RELOADING=1\nMONOTONIC_USEC=%lld", &said_us), 1);
	CHECK(said_us >= before_us && said_us <= after_us);
}

static void test_notify(void)
{
	AUTO(free) char *path = xasprintf("/tmp/fairlead-notify-%d", (int) getpid());
	AUTO(free) char *abstract = xasprintf("@fairlead-notify-%d", (int) getpid());
	AUTO(free) char *too_long = xcalloc(1, 200);
	const char *const names[] = {path, abstract};
	struct loop *none = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		open_manager(names[i]);
		(void) setenv("NOTIFY_SOCKET", names[i], 1);
		renew_loop();
		loop_notify(loop, "READY=1\nSTATUS=owns %d of %d", 1, 2);
		CHECK_EQ_STR(manager_hears(500), "READY=1\nSTATUS=owns 1 of 2");
		check_reloading();
		/* A manager that went away, and one that does not read: neither blocks nor kills. */
		for (int k = 0; k < 2000; k++)
			loop_notify(loop, "STATUS=%d", k);
		(void) close(manager_fd);
		loop_notify(loop, "STATUS=anybody?");
		(void) unlink(path);
	}
	memset(too_long, 'x', 199);
	(void) setenv("NOTIFY_SOCKET", too_long, 1);
	loop_free(TAKE_PTR(loop));
	CHECK_EQ_INT(loop_new(&none), -ENAMETOOLONG);
	CHECK(none == NULL);
	(void) unsetenv("NOTIFY_SOCKET");
	renew_loop();
	loop_notify(loop, "READY=1");
}

/* Fed at half the limit, for this process alone, and only while the loop runs. */
static void test_watchdog(void)
{
	AUTO(free) char *name = xasprintf("@fairlead-watchdog-%d", (int) getpid());
	AUTO(free) char *pid = xasprintf("%d", (int) getpid());
	unsigned fed = 0;

	open_manager(name);
	(void) setenv("NOTIFY_SOCKET", name, 1);
	(void) setenv("WATCHDOG_USEC", "100000", 1);
	(void) setenv("WATCHDOG_PID", "1", 1);
	renew_loop();
	run_for(0.15);
	CHECK_EQ_STR(manager_hears(0), NULL);

	(void) setenv("WATCHDOG_PID", pid, 1);
	renew_loop();
	CHECK_EQ_STR(manager_hears(150), NULL);
	/* Twelve periods of 50 ms; at the limit itself it would be six. A machine that is busy makes
	 * one of the rounds slow. */
	for (int round = 0; round < 20 && fed < 8; round++) {
		int64_t began_us = monotonic_us();

		fed = 0;
		run_for(0.6);
		for (const char *text; (text = manager_hears(0)) != NULL; fed++)
			CHECK_EQ_STR(text, "WATCHDOG=1");
		CHECK(fed <= MAX(monotonic_us() - began_us, 600 * US_PER_MS) / (50 * US_PER_MS) + 1);
	}
	CHECK(fed >= 8);

	(void) setenv("WATCHDOG_USEC", "0", 1);
	renew_loop();
	run_for(0.1);
	CHECK_EQ_STR(manager_hears(0), NULL);
	(void) close(manager_fd);
	(void) unsetenv("NOTIFY_SOCKET");
	(void) unsetenv("WATCHDOG_USEC");
	(void) unsetenv("WATCHDOG_PID");
}

/* --- what cannot be watched --- */

static void expecting_cb(struct ev_loop *ev, ev_io *w, int revents)
{
	ev_io_stop(ev, w);
	loop_expect_watched(revents);
}

/* How a process ends whose descriptor gets these events. */
static int end_of_watch(int events)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		const struct rlimit no_core = {0, 0};
		ev_io io;

		(void) setrlimit(RLIMIT_CORE, &no_core);
		(void) signal(SIGABRT, SIG_DFL);
		ev_io_init(&io, expecting_cb, STDIN_FILENO, EV_READ);
		ev_io_start(loop_ev(loop), &io);
		ev_feed_event(loop_ev(loop), &io, events);
		ev_invoke_pending(loop_ev(loop));
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void test_unwatchable(void)
{
	CHECK_EQ_INT(end_of_watch(EV_READ), 0);
	CHECK_EQ_INT(end_of_watch(EV_READ | EV_WRITE | EV_ERROR), SIGABRT);
}

int main(void)
{
	(void) unsetenv("NOTIFY_SOCKET");
	(void) unsetenv("WATCHDOG_USEC");
	if (!CHECK_EQ_INT(loop_new(&loop), 0))
		return check_result();
	test_timer_in();
	renew_loop();
	test_signals();
	test_notify();
	test_watchdog();
	test_unwatchable();
	loop_free(loop);
	loop_free(NULL);
	return check_result();
}
