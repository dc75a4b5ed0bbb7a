/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot take-over TARGET [JOB]`: the prefix of a target is this cluster's from now on,
 * whose ever it was (worker/storeowner.h). Its snapshots are then listed, and kept as long as
 * retention says.
 */
#include <stdlib.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/commands_priv.h"
#include "etcdwatch/config/s3words.h"
#include "etcdwatch/target/storing.h"

#define LIMIT_US (60 * US_PER_S)

struct takeover {
	struct command command;
	struct job *job;
	const struct config_target *target;
	struct child *child;
};

static void done_cb(const struct child_result *result, void *userdata)
{
	struct takeover *t = userdata;
	struct control_request *request = t->command.request;
	const json_t *before = json_object_get(result->last, "before");

	if (result->r < 0) {
		control_fail(request, CONTROL_FAILED, "%s", result->reason);
	} else {
		log_notice("target_taken_over", "job=%s target=%s old=%s new=%s", job_config(t->job)->name,
		           t->target->name, json_is_string(before) ? json_string_value(before) : "none",
		           t->target->owner->id);
		storing_look_again(job_storing(t->job));
		control_reply(request,
		              json_pack("{s:s, s:s, s:s, s:O?}", "job", job_config(t->job)->name, "target",
		                        t->target->name, "owner", t->target->owner->id, "before", before));
		control_ok(request);
	}
	command_end(&t->command);
	free(t);
}

static void give_up(struct command *command)
{
	struct takeover *t = CONTAINER_OF(command, struct takeover, command);

	child_free(t->child);
	command_end(command);
	free(t);
}

/* false, and the request is over. */
static bool begin(struct takeover *t, const char *target, const char *job)
{
	struct control_request *request = t->command.request;
	struct s3words words;
	int r;

	t->job = commands_one_job(request, commands_daemon(t->command.commands), job);
	if (t->job == NULL)
		return false;
	t->target = config_find_target(job_config(t->job), target);
	if (t->target == NULL) {
		control_fail(request, CONTROL_NOTFOUND, "job '%s' has no target '%s'",
		             job_config(t->job)->name, target);
		return false;
	}
	s3words_begin(&words, job_env(t->job)->worker, "own", t->target);
	r = child_start(job_env(t->job)->ev, words.argv, LIMIT_US, done_cb, t, &t->child);
	if (r < 0)
		control_fail(request, CONTROL_FAILED, "cannot start the worker");
	return r == 0;
}

void takeovercommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct takeover *t;

	if (argc < 1 || argc > 2 || argv[0][0] == '-') {
		control_fail(request, CONTROL_USAGE, "etcd snapshot take-over TARGET [JOB]");
		return;
	}
	t = NEW0(struct takeover);
	if (!command_begin(userdata, &t->command, request, give_up)) {
		free(t);
		return;
	}
	if (!begin(t, argv[0], argc == 2 ? argv[1] : NULL)) {
		command_end(&t->command);
		free(t);
	}
}
