/* SPDX-License-Identifier: Apache-2.0 */
/* Names and small files. */
#include "netconf/change/statedir.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/fileio.h"
#include "base/jsonval.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"

#define CONFIRMED "confirmed"
#define IN_PART "in-part.yaml"
#define LAST "last.json"
#define LAST_BYTES_MAX 65536

DEFINE_AUTO(json_t, json_decref);

char *statedir_path(const char *state_dir, const char *name)
{
	return xasprintf("%s/%s", state_dir, name);
}

static int make_dir(const char *path)
{
	return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -errno;
}

int statedir_make(const char *state_dir)
{
	AUTO(free) char *above = xstrdup(state_dir);
	AUTO(free) char *confirmed = statedir_path(state_dir, CONFIRMED);
	char *slash = strrchr(above, '/');
	int r;

	if (slash != NULL && slash != above) {
		*slash = '\0';
		if (mkdir(above, 0755) < 0 && errno != EEXIST)
			return -errno;
	}
	r = make_dir(state_dir);
	return r < 0 ? r : make_dir(confirmed);
}

int statedir_confirm(const char *state_dir, const char *config)
{
	AUTO(free) char *path = statedir_path(state_dir, CONFIRMED "/config.yaml");

	return file_write_atomic(path, config, strlen(config), 0600, FILE_DURABLE);
}

int statedir_confirmed(const char *state_dir, char **ret_config)
{
	AUTO(free) char *path = statedir_path(state_dir, CONFIRMED "/config.yaml");
	size_t len;

	return file_read(path, CONF_FILE_BYTES_MAX, ret_config, &len);
}

int statedir_write_in_part(const char *state_dir, const char *config)
{
	AUTO(free) char *path = statedir_path(state_dir, IN_PART);

	return file_write_atomic(path, config, strlen(config), 0600, FILE_DURABLE);
}

int statedir_confirm_first(const char *state_dir)
{
	AUTO(free) char *path = statedir_path(state_dir, IN_PART);
	AUTO(free) char *confirmed = NULL;
	AUTO(free) char *in_part = NULL;
	size_t len;
	int r = statedir_confirmed(state_dir, &confirmed);

	if (r != -ENOENT)
		return 0;
	r = file_read(path, CONF_FILE_BYTES_MAX, &in_part, &len);
	if (r < 0 && r != -ENOENT)
		return r;
	return statedir_confirm(state_dir, r < 0 ? "" : in_part);
}

/* --- how it ended --- */

static int statedir_write_outcome(const char *state_dir, const struct statedir_outcome *outcome)
{
	AUTO(free) char *path = statedir_path(state_dir, LAST);
	AUTO(json_decref)
	json_t *json =
	    json_pack("{s:s, s:s, s:o, s:o, s:I}", "id", outcome->id, "how", outcome->how, "reason",
	              jsonval_text(outcome->reason), "left", jsonval_text(outcome->left),
	              "ended_wall_us", (json_int_t) outcome->ended_wall_us);
	AUTO(free) char *text = json_dumps(json, JSON_INDENT(1));

	return file_write_atomic(path, text, strlen(text), 0600, FILE_DURABLE);
}

void statedir_read_outcome(const char *state_dir, struct statedir_outcome *ret_outcome)
{
	AUTO(free) char *path = statedir_path(state_dir, LAST);
	AUTO(json_decref) json_t *json = NULL;
	AUTO(free) char *text = NULL;
	const char *id, *how, *reason, *left;
	json_int_t ended_wall_us;
	size_t len;

	*ret_outcome = (struct statedir_outcome){0};
	if (file_read(path, LAST_BYTES_MAX, &text, &len) < 0)
		return;
	json = json_loadb(text, len, 0, NULL);
	if (json == NULL ||
	    json_unpack(json, "{s:s, s:s, s:s, s:s, s:I}", "id", &id, "how", &how, "reason", &reason,
	                "left", &left, "ended_wall_us", &ended_wall_us) < 0)
		return;
	(void) snprintf(ret_outcome->id, sizeof(ret_outcome->id), "%s", id);
	(void) snprintf(ret_outcome->how, sizeof(ret_outcome->how), "%s", how);
	(void) snprintf(ret_outcome->reason, sizeof(ret_outcome->reason), "%s", reason);
	(void) snprintf(ret_outcome->left, sizeof(ret_outcome->left), "%s", left);
	ret_outcome->ended_wall_us = ended_wall_us;
}

/* --- the end of a change --- */

int statedir_finish_confirmed(const char *state_dir, const struct checkpoint_state *state)
{
	AUTO(free) char *dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	struct statedir_outcome outcome = {.ended_wall_us = wall_now_us()};
	AUTO(free) char *config = NULL;
	int r = checkpoint_read_config(dir, &config);

	if (r == 0)
		r = statedir_confirm(state_dir, config);
	if (r < 0)
		return r;
	memcpy(outcome.id, state->id, sizeof(outcome.id));
	(void) snprintf(outcome.how, sizeof(outcome.how), "%s", phase_name(PHASE_CONFIRMED));
	return statedir_finish_other(state_dir, &outcome);
}

int statedir_finish_other(const char *state_dir, const struct statedir_outcome *outcome)
{
	AUTO(free) char *dir = statedir_path(state_dir, STATEDIR_TRANSACTION);
	int r = statedir_write_outcome(state_dir, outcome);
	/* Needs no room on the disk; and what is over must not look as if it could be confirmed. */
	int removed = checkpoint_remove(dir);

	return r < 0 ? r : removed;
}

/* --- locks --- */

/* Record locks over the whole file. */

static const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

int lockfile_take(const char *path)
{
	AUTO(close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct flock lock = whole;

	if (fd < 0)
		return -errno;
	if (fcntl(fd, F_SETLK, &lock) < 0)
		return errno == EACCES ? -EAGAIN : -errno;
	return TAKE_FD(fd);
}

pid_t lockfile_holder(const char *path)
{
	/* To ask needs no more, and works where the disk has become read-only. */
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct flock lock = whole;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fcntl(fd, F_GETLK, &lock) < 0)
		return -errno;
	return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

/* --- the list of what is ours --- */

/* The list and its file, always together. */

#define FILE_NAME "owned.json"

struct ledger {
	char *path;
	struct owned *owned;
};

struct ledger *ledger_open(const char *state_dir)
{
	struct ledger *ledger = NEW0(struct ledger);
	int r;

	ledger->path = statedir_path(state_dir, FILE_NAME);
	r = owned_load(ledger->path, &ledger->owned);
	if (r < 0) {
		(void) log_warning_errno(r, "owned_unreadable",
		                         "path=%s reason=\"what it had is left alone from now on\"",
		                         ledger->path);
		ledger->owned = owned_new();
	}
	return ledger;
}

void ledger_free(struct ledger *ledger)
{
	if (ledger == NULL)
		return;
	owned_free(ledger->owned);
	free(ledger->path);
	free(ledger);
}

const struct owned *ledger_owned(const struct ledger *ledger)
{
	return ledger != NULL ? ledger->owned : NULL;
}

int ledger_expect(struct ledger *ledger, const struct model *have, const struct plan *plan)
{
	owned_expect(ledger->owned, plan, have);
	return owned_save(ledger->owned, ledger->path);
}

void ledger_expect_or_warn(struct ledger *ledger, const struct model *have, const struct plan *plan)
{
	int r = ledger_expect(ledger, have, plan);

	if (r < 0)
		(void) log_warning_errno(r, "owned_unwritten",
		                         "path=%s reason=\"the steps are carried out nevertheless\"",
		                         ledger->path);
}

void ledger_settle(struct ledger *ledger, const struct model *have, const struct model *want)
{
	int r;

	owned_settle(ledger->owned, want, have);
	r = owned_save(ledger->owned, ledger->path);
	if (r < 0)
		(void) log_warning_errno(r, "owned_unwritten", "path=%s", ledger->path);
}
