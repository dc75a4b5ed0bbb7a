/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a command costs: cost [--daemon PID] COMMAND [ARGUMENT...]. Its output is as without; behind
 * it, on standard error, comes one line of words:
 *
 *   wall_ms=   from start to end
 *   cpu_ms=    of the command and of what it waited for, user and system
 *   rss_kib=   its peak
 *   anon_kib=  the peak of what of it is its alone (RssAnon), without mapped files: programs,
 *              libraries; looked at every 2 ms
 *
 * and, with a daemon that does work for the command:
 *
 *   daemon_idle_kib=  the daemon's resident memory before
 *   daemon_rss_kib=   its peak meanwhile
 *   daemon_anon_kib=  as anon_kib
 *   tree_rss_kib=     the peak of it and of its children together: looked at every 2 ms
 *   daemon_cpu_ms=    of the daemon alone
 *   child_cpu_ms=     of its children that have ended, in ticks of 10 ms
 *
 * Exits as the command does.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mono.h"

#define LOOK_MS 2
#define CHILDREN_MAX 64

static _Noreturn void die(const char *what)
{
	(void) fprintf(stderr, "cost: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* --- /proc --- */

/* The file, or "" of a process that is gone. */
static const char *read_proc(pid_t pid, const char *name)
{
	static char text[4096];
	char path[64];
	ssize_t n;
	int fd;

	(void) snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		(void) close(fd);
	text[MAX(n, 0)] = '\0';
	return text;
}

static long status_kib(pid_t pid, const char *field)
{
	const char *found = strstr(read_proc(pid, "status"), field);

	return found != NULL ? strtol(found + strlen(field), NULL, 10) : 0;
}

/* A child that has not begun its own program yet shows its parent's memory as its own. */
static bool has_begun(pid_t child, pid_t daemon)
{
	char path[64], own[PATH_MAX], other[PATH_MAX];
	ssize_t n, m;

	(void) snprintf(path, sizeof(path), "/proc/%d/exe", child);
	n = readlink(path, own, sizeof(own));
	(void) snprintf(path, sizeof(path), "/proc/%d/exe", daemon);
	m = readlink(path, other, sizeof(other));
	return n > 0 && (n != m || memcmp(own, other, (size_t) n) != 0);
}

static long tree_kib(pid_t daemon)
{
	long kib = status_kib(daemon, "\nVmRSS:");
	pid_t children[CHILDREN_MAX];
	size_t n = 0;
	char name[64], *end;
	const char *p;

	(void) snprintf(name, sizeof(name), "task/%d/children", daemon);
	for (p = read_proc(daemon, name); n < CHILDREN_MAX; p = end) {
		children[n] = (pid_t) strtol(p, &end, 10);
		if (end == p)
			break;
		n++;
	}
	for (size_t i = 0; i < n; i++)
		kib += has_begun(children[i], daemon) ? status_kib(children[i], "\nVmRSS:") : 0;
	return kib;
}

static double own_cpu_ms(pid_t daemon)
{
	struct timespec used;
	clockid_t clock;

	errno = clock_getcpuclockid(daemon, &clock);
	if (errno != 0 || clock_gettime(clock, &used) < 0)
		die("the daemon");
	return (double) used.tv_sec * 1e3 + (double) used.tv_nsec / 1e6;
}

/* Fields 16 and 17 of stat; the name before them may hold anything but ends with the last ')'. */
static double child_cpu_ms(pid_t daemon)
{
	const char *rest = strrchr(read_proc(daemon, "stat"), ')');
	long user, system;

	if (rest == NULL ||
	    sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %ld %ld", &user,
	           &system) != 2)
		die("the daemon");
	return (double) (user + system) * 1e3 / (double) sysconf(_SC_CLK_TCK);
}

static void forget_peak(pid_t daemon)
{
	char path[64];
	int fd;

	(void) snprintf(path, sizeof(path), "/proc/%d/clear_refs", daemon);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "5", 1) != 1)
		die(path);
	(void) close(fd);
}

/* --- the program --- */

struct daemon {
	pid_t pid; /* 0: none */
	long idle_kib, tree_kib, anon_kib;
	double own_ms, child_ms;
};

static void begin_daemon(struct daemon *d)
{
	if (d->pid == 0)
		return;
	forget_peak(d->pid);
	d->idle_kib = status_kib(d->pid, "\nVmRSS:");
	d->own_ms = own_cpu_ms(d->pid);
	d->child_ms = child_cpu_ms(d->pid);
}

static long larger(long a, long b)
{
	return MAX(a, b);
}

/* Returns the command's own peak. */
static long wait_for(pid_t pid, struct daemon *d)
{
	struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	long anon_kib = 0;

	if (end.fd < 0)
		die("pidfd_open");
	while (poll(&end, 1, LOOK_MS) == 0) {
		anon_kib = larger(anon_kib, status_kib(pid, "\nRssAnon:"));
		if (d->pid == 0)
			continue;
		d->tree_kib = larger(d->tree_kib, tree_kib(d->pid));
		d->anon_kib = larger(d->anon_kib, status_kib(d->pid, "\nRssAnon:"));
	}
	(void) close(end.fd);
	return anon_kib;
}

static double ms_of(struct timeval t)
{
	return (double) t.tv_sec * 1e3 + (double) t.tv_usec / 1e3;
}

int main(int argc, char **argv)
{
	struct daemon d = {0};
	struct rusage used;
	int64_t began_us, ended_us;
	int at = 1, status;
	long anon_kib;
	pid_t pid;

	if (argc > 3 && strcmp(argv[1], "--daemon") == 0) {
		d.pid = (pid_t) strtol(argv[2], NULL, 10);
		at = 3;
	}
	if (at >= argc) {
		(void) fputs("usage: cost [--daemon PID] COMMAND [ARGUMENT...]\n", stderr);
		return 125;
	}
	begin_daemon(&d);
	began_us = mono_now_us();
	pid = fork();
	if (pid == 0) {
		(void) execvp(argv[at], argv + at);
		_exit(127);
	}
	if (pid < 0)
		die("fork");
	anon_kib = wait_for(pid, &d);
	ended_us = mono_now_us();
	if (wait4(pid, &status, 0, &used) < 0)
		die("wait4");
	(void) fprintf(stderr, "wall_ms=%.1f cpu_ms=%.1f rss_kib=%ld anon_kib=%ld",
	               (double) (ended_us - began_us) / 1e3,
	               ms_of(used.ru_utime) + ms_of(used.ru_stime), used.ru_maxrss, anon_kib);
	if (d.pid != 0)
		(void) fprintf(
		    stderr,
		    " daemon_idle_kib=%ld daemon_rss_kib=%ld daemon_anon_kib=%ld tree_rss_kib=%ld "
		    "daemon_cpu_ms=%.1f child_cpu_ms=%.1f",
		    d.idle_kib, status_kib(d.pid, "\nVmHWM:"), d.anon_kib, d.tree_kib,
		    own_cpu_ms(d.pid) - d.own_ms, child_cpu_ms(d.pid) - d.child_ms);
	(void) fputc('\n', stderr);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
