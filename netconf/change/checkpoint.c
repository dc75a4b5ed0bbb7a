/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a change. */
#include "netconf/change/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "netconf/change/modeljson.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define NETNS_PATH "/proc/self/ns/net"
#define FILE_BYTES_MAX (256u << 20) /* a network of tens of thousands of routes */
#define MODE 0600
#define CHECKPOINT_FILES 5 /* of a change before it begins, but for its state */

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* asm-generic/socket.h, Linux 5.14 */
#endif

DEFINE_AUTO(json_t, json_decref);

/* --- which kernel --- */

/* Its number is given to no other namespace of this boot; that of the file, on older kernels, may
 * be. */
static int namespace_id(uint64_t *ret_id)
{
	AUTO(close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie;
	socklen_t len = sizeof(cookie);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) == 0) {
		*ret_id = cookie;
		return 0;
	}
	if (errno != ENOPROTOOPT || stat(NETNS_PATH, &st) < 0)
		return -errno;
	*ret_id = st.st_ino;
	return 0;
}

int checkpoint_kernel(char ret_kernel[static CHECKPOINT_KERNEL_MAX])
{
	AUTO(free) char *boot = NULL;
	uint64_t id = 0;
	size_t len;
	int r = file_read(BOOT_ID_PATH, CHECKPOINT_KERNEL_MAX, &boot, &len);

	if (r == 0)
		r = namespace_id(&id);
	if (r < 0)
		return r;
	boot[strcspn(boot, "\n")] = '\0';
	(void) snprintf(ret_kernel, CHECKPOINT_KERNEL_MAX, "%.40s/%llu", boot, (unsigned long long) id);
	return 0;
}

int checkpoint_same_kernel(const struct checkpoint_state *state, bool *ret_is_same)
{
	char kernel[CHECKPOINT_KERNEL_MAX];
	int r = checkpoint_kernel(kernel);

	if (r == 0)
		*ret_is_same = strcmp(kernel, state->kernel) == 0;
	return r;
}

/* --- files --- */

static int write_text(const char *dir, const char *name, const char *text,
                      enum file_durability durability)
{
	AUTO(free) char *path = xasprintf("%s/%s", dir, name);

	return file_write_atomic(path, text, strlen(text), MODE, durability);
}

static int write_json(const char *dir, const char *name, json_t *json,
                      enum file_durability durability)
{
	AUTO(free) char *text = json_dumps(json, JSON_INDENT(1));

	json_decref(json);
	return text != NULL ? write_text(dir, name, text, durability) : -EBADMSG;
}

static int write_model(const char *dir, const struct model *model)
{
	AUTO(free) char *text = model_to_text(model);

	return write_text(dir, "before.json", text, FILE_VOLATILE);
}

static int read_text(const char *dir, const char *name, char **ret_text, size_t *ret_len)
{
	AUTO(free) char *path = xasprintf("%s/%s", dir, name);

	return file_read(path, FILE_BYTES_MAX, ret_text, ret_len);
}

static int read_json(const char *dir, const char *name, json_t **ret_json)
{
	AUTO(free) char *text = NULL;
	size_t len;
	int r = read_text(dir, name, &text, &len);

	if (r < 0)
		return r;
	*ret_json = json_loadb(text, len, 0, NULL);
	return *ret_json != NULL ? 0 : -EBADMSG;
}

static int sync_dir(const char *dir)
{
	AUTO(close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd >= 0 && fsync(fd) == 0 ? 0 : -errno;
}

static int sync_parent(const char *dir)
{
	AUTO(free) char *parent = xasprintf("%s/..", dir);

	return sync_dir(parent);
}

/* A disk takes nearly as long for one file as for several whose writing has begun. */
static int sync_files(const char *dir, const char *const names[], size_t n)
{
	int fds[CHECKPOINT_FILES], r = 0;

	for (size_t i = 0; i < n; i++) {
		AUTO(free) char *path = xasprintf("%s/%s", dir, names[i]);

		fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (fds[i] >= 0)
			(void) sync_file_range(fds[i], 0, 0, SYNC_FILE_RANGE_WRITE);
		else if (errno != ENOENT && r == 0)
			r = -errno;
	}
	for (size_t i = 0; i < n; i++) {
		if (fds[i] < 0)
			continue;
		if (fsync(fds[i]) < 0 && r == 0)
			r = -errno;
		(void) close(fds[i]);
	}
	return r;
}

static int remove_file(const char *dir, const char *name)
{
	AUTO(free) char *path = xasprintf("%s/%s", dir, name);

	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

/* --- the state --- */

/* After a loss of power one of these is like the other: the change is void. */
static bool is_void_without_power(enum phase phase)
{
	return phase == PHASE_APPLYING || phase == PHASE_PROBING || phase == PHASE_AWAITING ||
	       phase == PHASE_ROLLING_BACK;
}

int checkpoint_write_state(const char *dir, const struct checkpoint_state *state)
{
	return write_json(dir, "state.json",
	                  json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o}", "id", state->id,
	                            "kernel", state->kernel, "phase", phase_name(state->phase),
	                            "deadline_us", (json_int_t) state->deadline_us, "confirm_us",
	                            (json_int_t) state->confirm_us, "began_wall_us",
	                            (json_int_t) state->began_wall_us, "began_us",
	                            (json_int_t) state->began_us, "reason", jsonval_text(state->reason),
	                            "left", jsonval_text(state->left)),
	                  is_void_without_power(state->phase) ? FILE_WHOLE : FILE_DURABLE);
}

static int parse_state(json_t *json, struct checkpoint_state *ret_state)
{
	const char *id, *kernel, *phase, *reason, *left = "";
	json_int_t deadline_us, confirm_us, began_wall_us, began_us = 0;
	struct checkpoint_state state = {0};

	if (json_unpack(json, "{s:s, s:s, s:s, s:I, s:I, s:I, s?I, s:s, s?s}", "id", &id, "kernel",
	                &kernel, "phase", &phase, "deadline_us", &deadline_us, "confirm_us",
	                &confirm_us, "began_wall_us", &began_wall_us, "began_us", &began_us, "reason",
	                &reason, "left", &left) < 0 ||
	    phase_parse(phase, &state.phase) < 0)
		return -EBADMSG;
	(void) snprintf(state.id, sizeof(state.id), "%s", id);
	(void) snprintf(state.kernel, sizeof(state.kernel), "%s", kernel);
	(void) snprintf(state.reason, sizeof(state.reason), "%s", reason);
	(void) snprintf(state.left, sizeof(state.left), "%s", left);
	state.deadline_us = deadline_us;
	state.confirm_us = confirm_us;
	state.began_wall_us = began_wall_us;
	state.began_us = began_us;
	*ret_state = state;
	return 0;
}

int checkpoint_read_state(const char *dir, struct checkpoint_state *ret_state)
{
	AUTO(json_decref) json_t *json = NULL;
	int r = read_json(dir, "state.json", &json);

	return r < 0 ? r : parse_state(json, ret_state);
}

/* --- the rest --- */

/* Without this file nobody goes by what plan.json says to be settled: it can be removed where
 * nothing can be written. */
#define SETTLED "settled"

static bool has_settled(const char *dir)
{
	AUTO(free) char *path = xasprintf("%s/" SETTLED, dir);

	return access(path, F_OK) == 0;
}

static bool is_any_settled(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n_ops; i++) {
		if (plan->ops[i].is_settled)
			return true;
	}
	return false;
}

static int write_plan(const char *dir, const struct plan *plan, enum file_durability durability)
{
	AUTO(free) char *text = plan_to_text(plan);
	AUTO(free) char *there = NULL;
	size_t len;
	int r = 0;

	if (is_any_settled(plan) && !has_settled(dir))
		r = write_text(dir, SETTLED, "", durability);
	if (r < 0)
		return r;
	/* All that is there was synced. */
	if (read_text(dir, "plan.json", &there, &len) == 0 && strcmp(there, text) == 0)
		return 0;
	return write_text(dir, "plan.json", text, durability);
}

int checkpoint_write_plan(const char *dir, const struct plan *plan)
{
	return write_plan(dir, plan, FILE_DURABLE);
}

int checkpoint_forget_settled(const char *dir)
{
	return remove_file(dir, SETTLED);
}

static int write_beside(const char *dir, const json_t *beside, enum file_durability durability)
{
	return write_json(dir, "beside.json", json_deep_copy(beside), durability);
}

int checkpoint_write_beside(const char *dir, const json_t *beside)
{
	return write_beside(dir, beside, FILE_DURABLE);
}

int checkpoint_make(const char *dir, const struct checkpoint_state *state,
                    const struct model *before, const struct plan *plan, const json_t *beside,
                    const char *config)
{
	static const char *const names[CHECKPOINT_FILES] = {"before.json", SETTLED, "plan.json",
	                                                    "beside.json", "config.yaml"};
	int r = checkpoint_remove(dir);

	if (r == 0 && mkdir(dir, 0700) < 0 && errno != EEXIST)
		r = -errno;
	if (r == 0)
		r = sync_parent(dir);
	if (r == 0)
		r = write_model(dir, before);
	if (r == 0)
		r = write_plan(dir, plan, FILE_VOLATILE);
	if (r == 0 && beside != NULL)
		r = write_beside(dir, beside, FILE_VOLATILE);
	if (r == 0)
		r = write_text(dir, "config.yaml", config, FILE_VOLATILE);
	/* All that is in them, then all their names, and only then what says that they are there. */
	if (r == 0)
		r = sync_files(dir, names, ARRAY_SIZE(names));
	if (r == 0)
		r = sync_dir(dir);
	if (r == 0)
		r = checkpoint_write_state(dir, state);
	if (r < 0)
		(void) checkpoint_remove(dir);
	return r;
}

int checkpoint_read(const char *dir, struct model **ret_before, struct plan **ret_plan)
{
	AUTO(json_decref) json_t *before = NULL;
	AUTO(json_decref) json_t *plan = NULL;
	AUTO(model_free) struct model *model = NULL;
	int r = read_json(dir, "before.json", &before);

	if (r == 0)
		r = read_json(dir, "plan.json", &plan);
	if (r == 0)
		r = model_from_json(before, &model);
	if (r == 0)
		r = plan_from_json(plan, ret_plan);
	if (r < 0)
		return r;
	for (size_t i = 0; i < (*ret_plan)->n_ops && !has_settled(dir); i++)
		(*ret_plan)->ops[i].is_settled = false;
	*ret_before = TAKE_PTR(model);
	return 0;
}

int checkpoint_read_beside(const char *dir, json_t **ret_beside)
{
	return read_json(dir, "beside.json", ret_beside);
}

int checkpoint_read_config(const char *dir, char **ret_config)
{
	size_t len;

	return read_text(dir, "config.yaml", ret_config, &len);
}

int checkpoint_remove(const char *dir)
{
	static const char *const names[] = {"state.json",  "plan.json", "before.json",
	                                    "beside.json", SETTLED,     "config.yaml"};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		r = remove_file(dir, names[i]);
		/* Half of a change must never look like one. */
		if (r == 0 && i == 0 && access(dir, F_OK) == 0)
			r = sync_dir(dir);
	}
	/* A file that was being written when its writer was killed keeps the directory, and hurts
	 * nobody. */
	if (r == 0 && rmdir(dir) < 0 && errno != ENOENT && errno != ENOTEMPTY)
		r = -errno;
	return r;
}
