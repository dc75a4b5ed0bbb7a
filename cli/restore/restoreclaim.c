/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/restore/restoreclaim.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/civil.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/cli.h"
#include "cli/common/table.h"
#include "cli/restore/restorestate.h"

#define FILE_NAME "claim.json"
#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define BYTES_MAX ((size_t) 4096)
#define HOST_MAX 256

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static char *path_in(const char *dir)
{
	return xasprintf("%s/" FILE_NAME, dir);
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

	if (file_read(BOOT_ID_PATH, BYTES_MAX, &text, &len) < 0)
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

	if (file_read(path, BYTES_MAX, &text, &len) < 0)
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
	if (strcmp(text_of(claim, "host"), host) != 0)
		return false;
	return strcmp(text_of(claim, "boot"), boot) != 0 ||
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
	int r = file_read(path, BYTES_MAX, &text, &len);

	if (r < 0 && r != -ENOENT)
		return restorestate_explain("read", path, r);
	claim = r == 0 ? json_loadb(text, len, 0, NULL) : NULL;
	if (r == 0 && text_of(claim, "id")[0] == '\0') {
		json_decref(claim);
		(void) fprintf(stderr,
		               "fairlead: %s is damaged: see that no other command works on this restore, "
		               "then remove the file\n",
		               path);
		return CLI_FAILED;
	}
	*ret_claim = claim;
	return CLI_OK;
}

static bool is_same(const json_t *claim, const json_t *other)
{
	return strcmp(text_of(claim, "id"), text_of(other, "id")) == 0;
}

static bool is_replaced(const json_t *claim, const struct texts *replaces)
{
	for (size_t i = 0; i < replaces->n; i++) {
		if (strcmp(text_of(claim, "id"), replaces->items[i]) == 0)
			return true;
	}
	return false;
}

static int refuse(const json_t *claim)
{
	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, text_of(claim, "by"));
	(void) fputs(" works on the restore of this node since ", stderr);
	table_print_safe(stderr, text_of(claim, "since"));
	(void) fputs(": wait until that command ends, or, if it does not run any more, repeat this one "
	             "with --take-over\n",
	             stderr);
	return CLI_FAILED;
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
