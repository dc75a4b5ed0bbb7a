/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine: its name in the kernel, and its services by systemctl(1), which speaks to the
 * service manager. A machine that another one booted (a container) has no services.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"
#include "netconf/host/hoststate.h"

/* --- commands of the machine --- */

/*
 * Spawns, reads until the output ends, reaps. A program that hangs, or that leaves its output to
 * one that does, is killed with its whole process group.
 */

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
	r = spawn_program(&(struct spawn){.argv = argv,
	                                  .in_path = true,
	                                  .own_group = true,
	                                  .out = ends[1],
	                                  .err = ends[1],
	                                  .given = SPAWN_OUT | SPAWN_ERR},
	                  &pid);
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

#define COMMAND_LIMIT_US (30 * US_PER_S)

static const struct {
	const char *unit;
	const char *reload; /* chronyd reads its configuration only when it starts */
} services[HOST_SERVICES] = {
    [HOST_SERVICE_RESOLVED] = {"systemd-resolved.service", "try-reload-or-restart"},
    [HOST_SERVICE_TIMESYNCD] = {"systemd-timesyncd.service", "try-reload-or-restart"},
    [HOST_SERVICE_CHRONY] = {"chrony.service", "try-restart"},
    [HOST_SERVICE_CHRONYD] = {"chronyd.service", "try-restart"},
    [HOST_SERVICE_NTPSEC] = {"ntpsec.service", "try-restart"},
    [HOST_SERVICE_NTP] = {"ntp.service", "try-restart"},
    [HOST_SERVICE_OPENNTPD] = {"openntpd.service", "try-restart"},
};

const char *host_service_unit(enum host_service service)
{
	return services[service].unit;
}

/* --- the name --- */

static int get_name(char ret_name[static HOST_KERNEL_NAME_MAX], void *userdata UNUSED)
{
	struct utsname uts;

	if (uname(&uts) < 0)
		return -errno;
	(void) snprintf(ret_name, HOST_KERNEL_NAME_MAX, "%s", uts.nodename);
	return 0;
}

/* sethostname(2) would ask for CAP_SYS_ADMIN; the file is root's, and writing it is enough. */
static int set_name(const char *name, void *userdata UNUSED)
{
	AUTO(close) int fd = open("/proc/sys/kernel/hostname", O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, name, strlen(name)) < 0 ? -errno : 0;
}

/* --- services --- */

/* Without the end of its last line. */
static char *sentence(char *output)
{
	size_t len = strlen(output);

	while (len > 0 && output[len - 1] == '\n')
		output[--len] = '\0';
	return len > 0 ? xstrdup(output) : NULL;
}

static int run_systemctl(const char *const *argv, char **ret_output, char **ret_error)
{
	AUTO(free) char *output = NULL;
	int r = command_run(argv, COMMAND_LIMIT_US, &output);

	if (r < 0) {
		*ret_error = r == -ETIMEDOUT  ? xstrdup("systemctl took longer than 30 s")
		             : output != NULL ? sentence(output)
		                              : xasprintf("cannot run systemctl: %s", strerror(-r));
		return r;
	}
	*ret_output = TAKE_PTR(output);
	return 0;
}

static bool begins(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

/* "UnitFileState=enabled": static ones cannot be enabled, and need not be. */
static void take_line(const char *line, struct host_unit *unit)
{
	if (begins(line, "LoadState="))
		unit->known = strcmp(line, "LoadState=loaded") == 0;
	else if (begins(line, "ActiveState="))
		unit->active = strcmp(line, "ActiveState=active") == 0 ||
		               strcmp(line, "ActiveState=reloading") == 0 ||
		               strcmp(line, "ActiveState=activating") == 0;
	else if (begins(line, "UnitFileState="))
		unit->enabled =
		    begins(line, "UnitFileState=enabled") || strcmp(line, "UnitFileState=static") == 0;
}

/* A paragraph for each unit that was asked for, in that order. */
static int get_units(struct host_unit ret_units[static HOST_SERVICES], char **ret_error,
                     void *userdata UNUSED)
{
	const char *argv[HOST_SERVICES + 4] = {"systemctl", "show",
	                                       "--property=LoadState,ActiveState,UnitFileState"};
	struct host_unit units[HOST_SERVICES] = {0};
	AUTO(free) char *output = NULL;
	size_t i = 0;
	int r;

	memset(ret_units, 0, sizeof(units));
	if (access("/run/systemd/system", F_OK) < 0)
		return 0;
	for (size_t s = 0; s < HOST_SERVICES; s++)
		argv[s + 3] = services[s].unit;
	r = run_systemctl(argv, &output, ret_error);
	if (r < 0)
		return r;
	for (char *rest = output, *line = strsep(&rest, "\n"); line != NULL && i < HOST_SERVICES;
	     line = strsep(&rest, "\n")) {
		if (line[0] == '\0')
			i++;
		else
			take_line(line, &units[i]);
	}
	memcpy(ret_units, units, sizeof(units));
	return 0;
}

static int run_verb(enum host_service service, enum host_verb verb, bool waits, char **ret_error)
{
	static const char *const verbs[] = {
	    [HOST_VERB_ENABLE] = "enable", [HOST_VERB_DISABLE] = "disable", [HOST_VERB_START] = "start",
	    [HOST_VERB_STOP] = "stop",     [HOST_VERB_RELOAD] = NULL,
	};
	const char *argv[7] = {"systemctl", "--quiet", "--no-ask-password"};
	AUTO(free) char *output = NULL;
	size_t n = 3;

	if (!waits)
		argv[n++] = "--no-block";
	argv[n++] = verb == HOST_VERB_RELOAD ? services[service].reload : verbs[verb];
	argv[n] = services[service].unit;
	return run_systemctl(argv, &output, ret_error);
}

static int command(enum host_service service, enum host_verb verb, char **ret_error,
                   void *userdata UNUSED)
{
	return run_verb(service, verb, true, ret_error);
}

static int command_at_boot(enum host_service service, enum host_verb verb, char **ret_error,
                           void *userdata UNUSED)
{
	return run_verb(service, verb, verb != HOST_VERB_START && verb != HOST_VERB_RELOAD, ret_error);
}

static const struct host_ops this_ops = {
    .get_name = get_name,
    .set_name = set_name,
    .get_units = get_units,
    .command = command,
};

static const struct host_ops booting_ops = {
    .get_name = get_name,
    .set_name = set_name,
    .get_units = get_units,
    .command = command_at_boot,
};

const struct host_machine host_this_machine = {.root = "", .ops = &this_ops};
const struct host_machine host_booting_machine = {
    .root = "", .ops = &booting_ops, .starts_later = true};
