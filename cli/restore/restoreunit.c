/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a hold: the hold file and the drop-in are on the disk, systemd says that it reads
 * the drop-in, then the unit is stopped. So a loss of power at any moment leaves it running as
 * before, or held.
 */
#include "cli/restore/restoreunit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/spawn.h"
#include "cli/cli.h"
#include "cli/restore/restorestate.h"

#define UNITS "/etc/systemd/system"
#define DROP_IN "90-fairlead-restore.conf"
#define SUFFIX ".service"

/* --- systemctl --- */

static int reap(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Its exit code; -1: it could not be run. */
static int systemctl(const char *command, const char *option, const char *unit, bool quiet)
{
	const char *argv[] = {"systemctl", command, option != NULL ? option : unit,
	                      option != NULL ? unit : NULL, NULL};
	AUTO(close) int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct spawn spawn = {
	    .argv = argv, .in_path = true, .err = null, .given = quiet ? SPAWN_ERR : 0};
	pid_t pid;
	int r = spawn_program(&spawn, &pid);

	return r < 0 ? -1 : reap(pid);
}

static int systemctl_or_say(const char *command, const char *option, const char *unit)
{
	int status = systemctl(command, option, unit, false);

	if (status == 0)
		return CLI_OK;
	(void) fprintf(stderr, "fairlead: 'systemctl %s%s%s' failed (exit code %d)\n", command,
	               unit != NULL ? " " : "", unit != NULL ? unit : "", status);
	return CLI_FAILED;
}

/* A property of a unit, "" where systemd does not tell it; to be freed. */
static char *property(const char *unit, const char *name)
{
	const char *argv[] = {"systemctl", "show", "--value", "-p", name, unit, NULL};
	AUTO(close) int out = -1;
	char *text = NULL;
	size_t size = 0;
	FILE *in;
	int pair[2];
	pid_t pid;
	int r;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return xstrdup("");
	out = pair[1];
	in = fdopen(pair[0], "r");
	r = spawn_program(
	    &(struct spawn){.argv = argv, .in_path = true, .out = out, .given = SPAWN_OUT}, &pid);
	(void) close(TAKE_FD(out));
	if (r < 0 || in == NULL || getline(&text, &size, in) < 0) {
		free(text);
		text = xstrdup("");
	}
	if (in != NULL)
		(void) fclose(in);
	if (r == 0)
		(void) reap(pid);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* --- what systemd knows --- */

char *restoreunit_name(const char *unit)
{
	size_t len = strlen(unit), suffix = strlen(SUFFIX);
	bool has_suffix = len > suffix && strcmp(unit + len - suffix, SUFFIX) == 0;

	return xasprintf("%s%s", unit, has_suffix ? "" : SUFFIX);
}

bool restoreunit_exists(const char *unit)
{
	return systemctl("cat", NULL, unit, true) == 0;
}

bool restoreunit_is_stopped(const char *unit)
{
	AUTO(free) char *state = property(unit, "ActiveState");

	return strcmp(state, "inactive") == 0 || strcmp(state, "failed") == 0;
}

bool restoreunit_may_run(const char *unit)
{
	AUTO(free) char *load = property(unit, "LoadState");
	AUTO(free) char *active = property(unit, "ActiveState");
	AUTO(free) char *file = property(unit, "UnitFileState");

	if (strcmp(load, "loaded") != 0)
		return false;
	return strcmp(active, "inactive") != 0 || strncmp(file, "enabled", strlen("enabled")) == 0;
}

/* --- holding --- */

static char *drop_in_dir(const char *unit)
{
	return xasprintf(UNITS "/%s.d", unit);
}

static char *hold_file(const char *unit)
{
	return xasprintf(RESTORESTATE_DIR "/hold-%s", unit);
}

/* Else the unit would start at the next boot: it has another name, or is a link to another one. */
static int check_drop_in(const char *unit, const char *path)
{
	AUTO(free) char *paths = property(unit, "DropInPaths");

	if (strstr(paths, path) != NULL)
		return CLI_OK;
	(void) fprintf(stderr,
	               "fairlead: systemd does not read '%s' for the unit '%s', so it cannot be kept "
	               "stopped: name the unit as 'systemctl show -p Id %s' does (--unit)\n",
	               path, unit, unit);
	return CLI_FAILED;
}

int restoreunit_hold(const char *unit)
{
	AUTO(free) char *dir = drop_in_dir(unit);
	AUTO(free) char *path = xasprintf("%s/" DROP_IN, dir);
	AUTO(free) char *hold = hold_file(unit);
	AUTO(free)
	char *text = xasprintf("# Written by fairlead etcd restore, which removes it.\n"
	                       "[Unit]\nConditionPathExists=!%s\n",
	                       hold);
	int r = file_write_atomic(hold, "", 0, 0600, FILE_DURABLE);

	if (r < 0)
		return restorestate_explain("write", hold, r);
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return restorestate_explain("make", dir, -errno);
	r = file_write_atomic(path, text, strlen(text), 0644, FILE_DURABLE);
	if (r == 0)
		r = file_sync_directory_of(dir); /* mkdir(2) */
	if (r < 0)
		return restorestate_explain("write", path, r);
	r = systemctl_or_say("daemon-reload", NULL, NULL);
	if (r == CLI_OK)
		r = check_drop_in(unit, path);
	return r == CLI_OK ? systemctl_or_say("stop", NULL, unit) : r;
}

/* etcd tells systemd that it is ready once it has a quorum, which no node has alone. */
int restoreunit_release(const char *unit)
{
	AUTO(free) char *dir = drop_in_dir(unit);
	AUTO(free) char *path = xasprintf("%s/" DROP_IN, dir);
	AUTO(free) char *hold = hold_file(unit);
	int code;

	if (unlink(hold) < 0 && errno != ENOENT)
		return restorestate_explain("remove", hold, -errno);
	if (unlink(path) < 0 && errno != ENOENT)
		return restorestate_explain("remove", path, -errno);
	(void) rmdir(dir); /* where there is no other drop-in */
	code = systemctl_or_say("daemon-reload", NULL, NULL);
	return code == CLI_OK ? systemctl_or_say("start", "--no-block", unit) : code;
}
