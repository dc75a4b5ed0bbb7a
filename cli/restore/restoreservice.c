/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubelet stops a static pod when its manifest is gone; whether etcd has stopped is for the caller
 * to see.
 */
#include "cli/restore/restoreservice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"
#include "cli/common/cli.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/restore/restorestate.h"

/* --- restoreunit --- */

/*
 * The order of a hold: the hold file and the drop-in are on the disk, systemd says that it reads
 * the drop-in, then the unit is stopped. So a loss of power at any moment leaves it running as
 * before, or held.
 */

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
	return cli_fail("'systemctl %s%s%s' failed (exit code %d)", command, unit != NULL ? " " : "",
	                unit != NULL ? unit : "", status);
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

/* As systemd names its files: with ".service" where that is missing. To be freed. */
static char *restoreunit_name(const char *unit)
{
	size_t len = strlen(unit), suffix = strlen(SUFFIX);
	bool has_suffix = len > suffix && strcmp(unit + len - suffix, SUFFIX) == 0;

	return xasprintf("%s%s", unit, has_suffix ? "" : SUFFIX);
}

static bool restoreunit_exists(const char *unit)
{
	return systemctl("cat", NULL, unit, true) == 0;
}

bool restoreunit_is_stopped(const char *unit)
{
	AUTO(free) char *state = property(unit, "ActiveState");

	return strcmp(state, "inactive") == 0 || strcmp(state, "failed") == 0;
}

/* Whether it runs, waits for a restart, has failed, or is started at boot. */
static bool restoreunit_may_run(const char *unit)
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
	return cli_fail("systemd does not read '%s' for the unit '%s', so it cannot be kept "
	                "stopped: name the unit as 'systemctl show -p Id %s' does (--unit)",
	                path, unit, unit);
}

static int restoreunit_hold(const char *unit)
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
static int restoreunit_release(const char *unit)
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

/* --- restoreservice --- */

#define KUBELET_CONFIG "/var/lib/kubelet/config.yaml"
#define KUBELET_CONFIG_BYTES_MAX ((size_t) 1 << 20)
#define KUBELET_CHECK_US (20 * US_PER_S) /* the default of fileCheckFrequency */
#define KUBELET_START_US (3 * US_PER_S)  /* for a container that it was starting */

/* --- which there are --- */

#define API_SERVER "kube-apiserver"
static const char *const others[] = {API_SERVER, "kube-controller-manager", "kube-scheduler"};

char *restoreservice_stopped_dir(const char *directory)
{
	const char *slash = strrchr(directory, '/');

	return slash == NULL ? xstrdup("stopped")
	                     : xasprintf("%.*s/stopped", (int) (slash - directory), directory);
}

static int add_manifest(json_t *services, const char *directory, const char *file, bool is_etcd)
{
	AUTO(free) char *stopped = restoreservice_stopped_dir(directory);
	AUTO(free) char *manifest = xasprintf("%s/%s", directory, file);
	AUTO(free) char *held = xasprintf("%s/%s", stopped, file);

	if (access(manifest, F_OK) != 0 && access(held, F_OK) != 0)
		return CLI_OK;
	if (access(manifest, F_OK) == 0 && access(held, F_OK) == 0)
		return cli_fail("both '%s' and '%s' exist: remove the one that is out of date", manifest,
		                held);
	(void) json_array_append_new(services,
	                             json_pack("{s:s, s:s, s:s, s:b}", "name", file, "manifest",
	                                       manifest, "held", held, "etcd", (int) is_etcd));
	return CLI_OK;
}

static void add_unit(json_t *services, const char *name, bool is_etcd)
{
	(void) json_array_append_new(
	    services, json_pack("{s:s, s:b, s:b}", "name", name, "unit", 1, "etcd", (int) is_etcd));
}

static json_t *find_manifests(const char *directory, const json_t *manifests)
{
	json_t *services = json_array();
	int code = CLI_OK;

	for (size_t i = 0; code == CLI_OK && i < ARRAY_SIZE(others); i++) {
		AUTO(free) char *file = xasprintf("%s.yaml", others[i]);

		code = add_manifest(services, directory, file, false);
	}
	for (size_t i = 0; code == CLI_OK && i < json_array_size(manifests); i++) {
		const char *path = json_string_value(json_array_get(manifests, i));

		code = add_manifest(services, directory, strrchr(path, '/') + 1, true);
	}
	if (code == CLI_OK)
		return services;
	json_decref(services);
	return NULL;
}

static json_t *find_units(const char *unit)
{
	AUTO(free) char *full = restoreunit_name(unit);
	json_t *services = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		AUTO(free) char *name = xasprintf("%s.service", others[i]);

		if (restoreunit_may_run(name))
			add_unit(services, name, false);
	}
	add_unit(services, full, true);
	return services;
}

json_t *restoreservice_find(const char *directory, const json_t *manifests, const json_t *stopped,
                            const char *unit)
{
	if (json_array_size(manifests) > 0)
		return find_manifests(directory, manifests);
	if (json_array_size(stopped) > 0)
		return find_manifests(directory, stopped);
	if (restoreunit_exists(unit))
		return find_units(unit);
	(void) fprintf(stderr,
	               "fairlead: no manifest in %s names the data directory, and systemd has no unit "
	               "'%s': name the one that runs etcd (--unit)\n",
	               directory, unit);
	return NULL;
}

/* --- static pods --- */

static int move_manifest(const char *from, const char *to)
{
	AUTO(free) char *dir = xstrndup(to, (size_t) (strrchr(to, '/') - to));
	int r = 0;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return restorestate_explain("make", dir, -errno);
	r = file_sync_directory_of(dir);
	if (r < 0)
		return restorestate_explain("sync the directory of", dir, r);
	/* It was moved before an interruption. */
	if (access(from, F_OK) != 0 && access(to, F_OK) == 0)
		return CLI_OK;
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0)
		return cli_fail("cannot rename '%s' to '%s': %s", from, to, strerror(errno));
	r = file_sync_directory_of(to);
	if (r == 0)
		r = file_sync_directory_of(from);
	return r < 0 ? restorestate_explain("sync the directory of", to, r) : CLI_OK;
}

/* --- all --- */

int restoreservice_hold_all(const json_t *services)
{
	int code = CLI_OK;

	for (size_t i = 0; code == CLI_OK && i < json_array_size(services); i++) {
		const json_t *service = json_array_get(services, i);

		code =
		    json_is_true(json_object_get(service, "unit"))
		        ? restoreunit_hold(field_string(service, "name"))
		        : move_manifest(field_string(service, "manifest"), field_string(service, "held"));
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
		code =
		    json_is_true(json_object_get(service, "unit"))
		        ? restoreunit_release(field_string(service, "name"))
		        : move_manifest(field_string(service, "held"), field_string(service, "manifest"));
	}
	return code;
}

bool restoreservice_has_api_pod(const json_t *services)
{
	for (size_t i = 0; i < json_array_size(services); i++) {
		if (strcmp(field_string(json_array_get(services, i), "name"), API_SERVER ".yaml") == 0)
			return true;
	}
	return false;
}

/* --- kubelet --- */

static int64_t kubelet_check_us(void)
{
	AUTO(free) char *text = NULL;
	char value[32];
	const char *line;
	int64_t us;
	size_t len;

	if (file_read(KUBELET_CONFIG, KUBELET_CONFIG_BYTES_MAX, &text, &len) < 0)
		return KUBELET_CHECK_US;
	line = strstr(text, "fileCheckFrequency:");
	/* kubeadm writes 0s, which means the default. */
	if (line == NULL || sscanf(line, "fileCheckFrequency: %31s", value) != 1 ||
	    conf_parse_duration(value, &us) < 0 || us <= 0)
		return KUBELET_CHECK_US;
	return us;
}

int64_t restoreservice_settle_us(const json_t *services)
{
	for (size_t i = 0; i < json_array_size(services); i++) {
		if (!json_is_true(json_object_get(json_array_get(services, i), "unit")))
			return kubelet_check_us() + KUBELET_START_US;
	}
	return 0;
}
