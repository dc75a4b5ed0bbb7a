/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a hold: first what keeps it stopped is on the disk, then it is stopped. kubelet
 * stops a static pod when its manifest is gone; whether etcd has stopped is for the caller to see.
 */
#include "cli/restore/restoreservice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/spawn.h"
#include "cli/cli.h"
#include "cli/restore/restorestate.h"

#define UNITS "/etc/systemd/system"
#define DROP_IN "90-fairlead-restore.conf"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static int explain(const char *what, const char *path, int r)
{
	(void) fprintf(stderr, "fairlead: cannot %s '%s': %s\n", what, path, strerror(-r));
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

static int sync_dir_of(const char *path)
{
	AUTO(free) char *dir = xstrndup(path, (size_t) (strrchr(path, '/') - path));
	AUTO(close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* --- systemctl -------------------------------------------------------------------------------- */

/* Its exit code; -1: it could not be run. */
static int systemctl(const char *command, const char *option, const char *unit, bool quiet)
{
	const char *argv[] = {"systemctl", command, option != NULL ? option : unit,
	                      option != NULL ? unit : NULL, NULL};
	AUTO(close) int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct spawn spawn = {
	    .argv = argv, .in_path = true, .err = null, .given = quiet ? SPAWN_ERR : 0};
	int status = 0;
	pid_t pid;
	int r = spawn_program(&spawn, &pid);

	if (r < 0)
		return -1;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
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

/* --- which there are -------------------------------------------------------------------------- */

static const char *const others[] = {"kube-apiserver", "kube-controller-manager", "kube-scheduler"};

char *restoreservice_stopped_dir(const char *directory)
{
	const char *slash = strrchr(directory, '/');

	return slash == NULL ? xstrdup("stopped")
	                     : xasprintf("%.*s/stopped", (int) (slash - directory), directory);
}

static void add_manifest(json_t *services, const char *directory, const char *file, bool is_etcd)
{
	AUTO(free) char *stopped = restoreservice_stopped_dir(directory);
	AUTO(free) char *manifest = xasprintf("%s/%s", directory, file);
	AUTO(free) char *held = xasprintf("%s/%s", stopped, file);

	if (access(manifest, F_OK) != 0 && access(held, F_OK) != 0)
		return;
	(void) json_array_append_new(services,
	                             json_pack("{s:s, s:s, s:s, s:b}", "name", file, "manifest",
	                                       manifest, "held", held, "etcd", (int) is_etcd));
}

static void add_unit(json_t *services, const char *name, bool is_etcd)
{
	(void) json_array_append_new(
	    services, json_pack("{s:s, s:b, s:b}", "name", name, "unit", 1, "etcd", (int) is_etcd));
}

static json_t *find_manifests(const char *directory, const json_t *manifests)
{
	json_t *services = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		AUTO(free) char *file = xasprintf("%s.yaml", others[i]);

		add_manifest(services, directory, file, false);
	}
	for (size_t i = 0; i < json_array_size(manifests); i++) {
		const char *path = json_string_value(json_array_get(manifests, i));

		add_manifest(services, directory, strrchr(path, '/') + 1, true);
	}
	return services;
}

static json_t *find_units(const char *unit)
{
	json_t *services = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		AUTO(free) char *name = xasprintf("%s.service", others[i]);

		if (systemctl("is-active", "--quiet", name, true) == 0)
			add_unit(services, name, false);
	}
	add_unit(services, unit, true);
	return services;
}

json_t *restoreservice_find(const char *directory, const json_t *manifests, const json_t *stopped,
                            const char *unit)
{
	if (json_array_size(manifests) > 0)
		return find_manifests(directory, manifests);
	if (json_array_size(stopped) > 0)
		return find_manifests(directory, stopped);
	if (systemctl("cat", NULL, unit, true) == 0)
		return find_units(unit);
	(void) fprintf(stderr,
	               "fairlead: no manifest in %s names the data directory, and systemd has no unit "
	               "'%s': name the one that runs etcd (--unit)\n",
	               directory, unit);
	return NULL;
}

/* --- static pods ------------------------------------------------------------------------------ */

static int move_manifest(const char *from, const char *to)
{
	AUTO(free) char *dir = xstrndup(to, (size_t) (strrchr(to, '/') - to));
	int r = 0;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return explain("make", dir, -errno);
	/* It was moved before an interruption. */
	if (access(from, F_OK) != 0 && access(to, F_OK) == 0)
		return CLI_OK;
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0) {
		(void) fprintf(stderr, "fairlead: cannot rename '%s' to '%s': %s\n", from, to,
		               strerror(errno));
		return CLI_FAILED;
	}
	r = sync_dir_of(to);
	if (r == 0)
		r = sync_dir_of(from);
	return r < 0 ? explain("sync the directory of", to, r) : CLI_OK;
}

/* --- units ------------------------------------------------------------------------------------ */

static char *drop_in_dir(const char *unit)
{
	return xasprintf(UNITS "/%s.d", unit);
}

static int hold_unit(const char *unit)
{
	static const char text[] = "# Written by fairlead etcd restore, which removes it.\n"
	                           "[Unit]\nConditionPathExists=!" RESTORESTATE_HOLD "\n";
	AUTO(free) char *dir = drop_in_dir(unit);
	AUTO(free) char *path = xasprintf("%s/" DROP_IN, dir);
	int r = file_write_atomic(RESTORESTATE_HOLD, "", 0, 0600, FILE_DURABLE);

	if (r < 0)
		return explain("write", RESTORESTATE_HOLD, r);
	if (mkdir(dir, 0755) < 0 && errno != EEXIST)
		return explain("make", dir, -errno);
	r = file_write_atomic(path, text, strlen(text), 0644, FILE_DURABLE);
	if (r == 0)
		r = sync_dir_of(dir);
	if (r < 0)
		return explain("write", path, r);
	r = systemctl_or_say("daemon-reload", NULL, NULL);
	return r == CLI_OK ? systemctl_or_say("stop", NULL, unit) : r;
}

/* etcd tells systemd that it is ready once it has a quorum, which no node has alone. */
static int release_unit(const char *unit)
{
	AUTO(free) char *dir = drop_in_dir(unit);
	AUTO(free) char *path = xasprintf("%s/" DROP_IN, dir);
	int code;

	if (unlink(RESTORESTATE_HOLD) < 0 && errno != ENOENT)
		return explain("remove", RESTORESTATE_HOLD, -errno);
	if (unlink(path) < 0 && errno != ENOENT)
		return explain("remove", path, -errno);
	(void) rmdir(dir); /* where there is no other drop-in */
	code = systemctl_or_say("daemon-reload", NULL, NULL);
	return code == CLI_OK ? systemctl_or_say("start", "--no-block", unit) : code;
}

/* --- all -------------------------------------------------------------------------------------- */

int restoreservice_hold_all(const json_t *services)
{
	int code = CLI_OK;

	for (size_t i = 0; code == CLI_OK && i < json_array_size(services); i++) {
		const json_t *service = json_array_get(services, i);

		code = json_is_true(json_object_get(service, "unit"))
		           ? hold_unit(text_of(service, "name"))
		           : move_manifest(text_of(service, "manifest"), text_of(service, "held"));
	}
	return code;
}

int restoreservice_release_all(const json_t *services, bool is_etcd)
{
	int code = CLI_OK;

	for (size_t i = 0; code == CLI_OK && i < json_array_size(services); i++) {
		const json_t *service = json_array_get(services, i);

		if (json_is_true(json_object_get(service, "etcd")) != is_etcd)
			continue;
		code = json_is_true(json_object_get(service, "unit"))
		           ? release_unit(text_of(service, "name"))
		           : move_manifest(text_of(service, "held"), text_of(service, "manifest"));
	}
	return code;
}
