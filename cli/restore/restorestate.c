/* SPDX-License-Identifier: Apache-2.0 */
/* The file is replaced by rename and synced with its directory, so after a loss of power it is the
 * old one or the new one. */
#include "cli/restore/restorestate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/cli.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"

#define FILE_NAME "state.json"
#define LOCK_NAME "lock"
#define BYTES_MAX ((size_t) 1 << 20)
#define TIMES "times"

void restorestate_free(struct restorestate *state)
{
	if (state == NULL)
		return;
	if (state->lock >= 0)
		(void) close(state->lock);
	json_decref(state->fields);
	free(state->path);
	free(state);
}

const char *restorestate_text(const struct restorestate *state, const char *field)
{
	const char *text = json_string_value(json_object_get(state->fields, field));

	return text != NULL ? text : "";
}

/* --- reading --- */

/* Fields without which no step can be done. */
static const char *lacks(const json_t *object)
{
	static const char *const texts[] = {"token",     "plan",     "member",
	                                    "peer_urls", "data_dir", "aside"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!json_is_string(json_object_get(object, texts[i])))
			return texts[i];
	}
	if (!json_is_integer(json_object_get(object, "inode")))
		return "inode";
	return json_is_integer(json_object_get(object, "old_inode")) ? NULL : "old_inode";
}

static int refuse_damaged(const struct restorestate *state, const char *what)
{
	return cli_fail("%s is damaged (%s), so the phase of the restore on this node is not "
	                "known: see whether etcd runs and which data directory it has, then remove "
	                "the file",
	                state->path, what);
}

int restorestate_explain(const char *what, const char *path, int r)
{
	(void) fprintf(stderr, "fairlead: cannot %s '%s': %s\n", what, path, strerror(-r));
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

static int read_file(struct restorestate *state)
{
	AUTO(free) char *text = NULL;
	const char *name;
	json_t *object;
	size_t len;
	int r = file_read(state->path, BYTES_MAX, &text, &len);

	if (r == -ENOENT)
		return CLI_OK;
	if (r < 0)
		return restorestate_explain("read", state->path, r);
	object = json_loadb(text, len, 0, NULL);
	if (!json_is_object(object)) {
		json_decref(object);
		return refuse_damaged(state, "not a JSON object");
	}
	json_decref(state->fields);
	state->fields = object;
	name = restorestate_text(state, "phase");
	if (!restorephase_parse(name, &state->phase))
		return refuse_damaged(state, "phase");
	name = lacks(object);
	return name != NULL ? refuse_damaged(state, name) : CLI_OK;
}

static int make_dir(const char *path, mode_t mode)
{
	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	return file_sync_directory_of(path);
}

/* Both parents too: on a new machine no daemon has made them. */
static int make_dirs(const char *dir)
{
	AUTO(free) char *path = xstrdup(dir);
	int r;

	for (char *p = path + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		r = make_dir(path, 0755);
		if (r < 0)
			return r;
		*p = '/';
	}
	return make_dir(path, 0700);
}

static int lock(struct restorestate *state, const char *dir)
{
	AUTO(free) char *path = xasprintf("%s/" LOCK_NAME, dir);
	int r = make_dirs(dir);

	if (r < 0)
		return restorestate_explain("make", dir, r);
	state->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (state->lock < 0)
		return restorestate_explain("open", path, -errno);
	if (flock(state->lock, LOCK_EX | LOCK_NB) == 0)
		return CLI_OK;
	return cli_fail("another command of this restore is at work on this node: wait until "
	                "it ends");
}

int restorestate_open(const char *dir, bool to_write, struct restorestate **ret_state)
{
	AUTO(restorestate_free) struct restorestate *state = NEW0(struct restorestate);
	int code = CLI_OK;

	state->lock = -1;
	state->fields = json_object();
	state->path = xasprintf("%s/" FILE_NAME, dir);
	if (to_write)
		code = lock(state, dir);
	if (code == CLI_OK)
		code = read_file(state);
	if (code == CLI_OK)
		*ret_state = TAKE_PTR(state);
	return code;
}

/* --- writing --- */

static void note_time(struct restorestate *state)
{
	json_t *times = json_object_get(state->fields, TIMES);
	char text[CIVIL_TEXT_MAX];

	if (times == NULL) {
		times = json_object();
		(void) json_object_set_new(state->fields, TIMES, times);
	}
	(void) civil_format(wall_now_us() / US_PER_S, text);
	(void) json_object_set_new(times, restorephase_name(state->phase), json_string(text));
}

/* Synced, as are the hold files that were removed before: etcd runs from here on. */
static int remove_file(struct restorestate *state)
{
	int r;

	if (unlink(state->path) < 0 && errno != ENOENT)
		return restorestate_explain("remove", state->path, -errno);
	r = file_sync_directory_of(state->path);
	if (r < 0)
		return restorestate_explain("sync the directory of", state->path, r);
	json_object_clear(state->fields);
	state->phase = RESTORE_NONE;
	return CLI_OK;
}

int restorestate_advance(struct restorestate *state, enum restore_phase phase)
{
	AUTO(free) char *text = NULL;
	int r;

	if (!restorephase_allows(state->phase, phase))
		return cli_fail("the restore on this node is in the phase '%s', which '%s' does "
		                "not follow: fairlead etcd restore status",
		                restorephase_name(state->phase), restorephase_name(phase));
	if (phase == RESTORE_NONE)
		return remove_file(state);
	state->phase = phase;
	(void) json_object_set_new(state->fields, "phase", json_string(restorephase_name(phase)));
	note_time(state);
	text = json_dumps(state->fields, JSON_INDENT(1));
	r = file_write_atomic(state->path, text, strlen(text), 0600, FILE_DURABLE);
	return r < 0 ? restorestate_explain("write", state->path, r) : CLI_OK;
}

bool restorestate_was(const struct restorestate *state, enum restore_phase phase)
{
	return json_object_get(json_object_get(state->fields, TIMES), restorephase_name(phase)) != NULL;
}

json_t *restorestate_json(const struct restorestate *state)
{
	json_t *object = json_pack("{s:s}", "phase", restorephase_name(state->phase));

	(void) json_object_update_missing(object, state->fields);
	return object;
}

/* --- restoreclaim --- */

#define RESTORECLAIM_FILE_NAME "claim.json"
#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define RESTORECLAIM_BYTES_MAX ((size_t) 4096)
#define HOST_MAX 256

static char *path_in(const char *dir)
{
	return xasprintf("%s/" RESTORECLAIM_FILE_NAME, dir);
}

/* --- whose it is --- */

static void host_name(char name[static HOST_MAX])
{
	name[HOST_MAX - 1] = '\0';
	if (gethostname(name, HOST_MAX - 1) < 0)
		name[0] = '\0';
}

/* To be freed. Another one after each boot. */
static char *boot_id(void)
{
	char *text;
	size_t len;

	if (file_read(BOOT_ID_PATH, RESTORECLAIM_BYTES_MAX, &text, &len) < 0)
		return xstrdup("");
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* Field 22 of /proc/PID/stat (proc_pid_stat(5)), in ticks since the boot; 0: there is no such
 * process. The second field may hold anything, and ends with the last ')'. */
static json_int_t start_of(json_int_t pid)
{
	AUTO(free) char *path = xasprintf("/proc/%" JSON_INTEGER_FORMAT "/stat", pid);
	AUTO(free) char *text = NULL;
	const char *p;
	size_t len;

	if (file_read(path, RESTORECLAIM_BYTES_MAX, &text, &len) < 0)
		return 0;
	p = strrchr(text, ')');
	for (int field = 2; p != NULL && field < 22; field++) {
		p = strchr(p, ' ');
		p = p != NULL ? p + 1 : NULL;
	}
	return p != NULL ? strtoll(p, NULL, 10) : 0;
}

static const char *user_name(void)
{
	const char *behind_sudo = getenv("SUDO_USER");
	const struct passwd *user = getpwuid(getuid());

	if (behind_sudo != NULL && behind_sudo[0] != '\0')
		return behind_sudo;
	return user != NULL ? user->pw_name : "unknown";
}

json_t *restoreclaim_new(void)
{
	AUTO(free) char *boot = boot_id();
	AUTO(free) char *id = NULL, *by = NULL;
	char host[HOST_MAX], since[CIVIL_TEXT_MAX];
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t) sizeof(random))
		abort();
	host_name(host);
	id = xasprintf("%016" PRIx64, random);
	by = xasprintf("%s@%s", user_name(), host);
	(void) civil_format(wall_now_us() / US_PER_S, since);
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I}", "id", id, "by", by, "since", since,
	                 "host", host, "boot", boot, "pid", (json_int_t) getpid(), "started",
	                 start_of(getpid()));
}

bool restoreclaim_is_dead(const json_t *claim)
{
	AUTO(free) char *boot = boot_id();
	char host[HOST_MAX];

	host_name(host);
	if (strcmp(field_string(claim, "host"), host) != 0)
		return false;
	return strcmp(field_string(claim, "boot"), boot) != 0 ||
	       start_of(json_integer_value(json_object_get(claim, "pid"))) !=
	           json_integer_value(json_object_get(claim, "started"));
}

/* --- the file --- */

int restoreclaim_read(const char *dir, json_t **ret_claim)
{
	AUTO(free) char *path = path_in(dir);
	AUTO(free) char *text = NULL;
	json_t *claim;
	size_t len;
	int r = file_read(path, RESTORECLAIM_BYTES_MAX, &text, &len);

	if (r < 0 && r != -ENOENT)
		return restorestate_explain("read", path, r);
	claim = r == 0 ? json_loadb(text, len, 0, NULL) : NULL;
	if (r == 0 && field_string(claim, "id")[0] == '\0') {
		json_decref(claim);
		return cli_fail("%s is damaged: see that no other command works on this restore, "
		                "then remove the file",
		                path);
	}
	*ret_claim = claim;
	return CLI_OK;
}

static bool is_same(const json_t *claim, const json_t *other)
{
	return strcmp(field_string(claim, "id"), field_string(other, "id")) == 0;
}

static bool is_replaced(const json_t *claim, const struct texts *replaces)
{
	for (size_t i = 0; i < replaces->n; i++) {
		if (strcmp(field_string(claim, "id"), replaces->items[i]) == 0)
			return true;
	}
	return false;
}

static int refuse(const json_t *claim)
{
	return cli_fail("%s works on the restore of this node since %s: wait until that command "
	                "ends, or, if it does not run any more, repeat this one with --take-over",
	                field_string(claim, "by"), field_string(claim, "since"));
}

int restoreclaim_take(const char *dir, const json_t *claim, const struct texts *replaces)
{
	AUTO(free) char *path = path_in(dir);
	AUTO(free) char *text = json_dumps(claim, JSON_COMPACT);
	json_t *present = NULL;
	int code = restoreclaim_read(dir, &present);
	int r;

	if (code == CLI_OK && present != NULL && !is_same(present, claim) &&
	    !is_replaced(present, replaces))
		code = refuse(present);
	json_decref(present);
	if (code != CLI_OK)
		return code;
	r = file_write_atomic(path, text, strlen(text), 0600, FILE_DURABLE);
	return r < 0 ? restorestate_explain("write", path, r) : CLI_OK;
}

int restoreclaim_check(const char *dir, const json_t *claim)
{
	json_t *present = NULL;
	int code = restoreclaim_read(dir, &present);

	if (code == CLI_OK && present == NULL) {
		(void) fputs("fairlead: this command has no claim on this node; another one may have taken "
		             "over: fairlead etcd restore status\n",
		             stderr);
		code = CLI_FAILED;
	}
	if (code == CLI_OK && !is_same(present, claim))
		code = refuse(present);
	json_decref(present);
	return code;
}

int restoreclaim_drop(const char *dir, const json_t *claim)
{
	AUTO(free) char *path = path_in(dir);
	json_t *present = NULL;
	int code = restoreclaim_read(dir, &present);

	if (code == CLI_OK && present != NULL && is_same(present, claim) && unlink(path) < 0)
		code = restorestate_explain("remove", path, -errno);
	json_decref(present);
	return code;
}
