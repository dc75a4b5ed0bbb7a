/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot accept [JOB]`: the data may be as small as it has become. Written into etcd, where
 * it holds for the directories of all nodes and for all targets.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/commands_priv.h"
#include "etcdwatch/config/s3words.h"
#include "etcdwatch/store/accepted.h"
#include "etcdwatch/target/storing.h"

#define ID_TEXT_MAX 17

struct accept {
	struct command command;
	struct job *job;
	struct retain_accepted word;
	struct accepted *writing;
};

static void written_cb(int r, const char *reason, void *userdata)
{
	struct accept *a = userdata;
	struct control_request *request = a->command.request;
	const char *name = job_config(a->job)->name;
	char id[ID_TEXT_MAX];

	if (r < 0) {
		control_fail(request, CONTROL_FAILED, "etcd does not take it: %s", reason);
	} else {
		(void) snprintf(id, sizeof(id), "%016llx", (unsigned long long) a->word.cluster_id);
		log_notice("shrinking_accepted", "job=%s cluster=%s timeline=%lld rev=%lld", name, id,
		           (long long) a->word.timeline, (long long) a->word.revision);
		job_look_again(a->job);
		control_reply(request, json_pack("{s:s, s:s, s:I, s:I}", "job", name, "cluster_id", id,
		                                 "timeline", (json_int_t) a->word.timeline, "revision",
		                                 (json_int_t) a->word.revision));
		control_ok(request);
	}
	command_end(&a->command);
	free(a);
}

static void give_up(struct command *command)
{
	struct accept *a = CONTAINER_OF(command, struct accept, command);

	accepted_free(a->writing);
	command_end(command);
	free(a);
}

/* false, and the request is over. */
static bool find(struct accept *a, const char *name)
{
	struct control_request *request = a->command.request;

	a->job = commands_one_job(request, commands_daemon(a->command.commands), name);
	if (a->job == NULL)
		return false;
	if (job_get_word(a->job, &a->word))
		return true;
	control_fail(
	    request, CONTROL_NOTFOUND,
	    "job '%s' has nothing to accept on this node: 'fairlead etcd snapshot jobs' says what is "
	    "frozen, and why",
	    job_config(a->job)->name);
	return false;
}

void acceptcommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct accepted_of of;
	struct accept *a;

	if (argc > 1) {
		control_fail(request, CONTROL_USAGE, "etcd snapshot accept [JOB]");
		return;
	}
	a = NEW0(struct accept);
	if (!command_begin(userdata, &a->command, request, give_up)) {
		free(a);
		return;
	}
	if (!find(a, argc == 1 ? argv[0] : NULL)) {
		command_end(&a->command);
		free(a);
		return;
	}
	of = job_accepted_of(a->job);
	a->writing = accepted_write(&of, &a->word, job_env(a->job)->node_name, written_cb, a);
}

/* --- takeovercommand --- */

/*
 * `etcd snapshot take-over TARGET [JOB]`: the prefix of a target is this cluster's from now on,
 * whose ever it was (worker/storeowner.h). Its snapshots are then listed, and kept as long as
 * retention says.
 */

#define LIMIT_US (60 * US_PER_S)

struct takeover {
	struct command command;
	struct job *job;
	const struct config_target *target;
	struct child *child;
};

static void taken_over_cb(const struct child_result *result, void *userdata)
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

static void give_up_takeover(struct command *command)
{
	struct takeover *t = CONTAINER_OF(command, struct takeover, command);

	child_free(t->child);
	command_end(command);
	free(t);
}

/* false, and the request is over. */
static bool begin_takeover(struct takeover *t, const char *target, const char *job)
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
	r = child_start(job_env(t->job)->ev, words.argv, LIMIT_US, taken_over_cb, t, &t->child);
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
	if (!command_begin(userdata, &t->command, request, give_up_takeover)) {
		free(t);
		return;
	}
	if (!begin_takeover(t, argv[0], argc == 2 ? argv[1] : NULL)) {
		command_end(&t->command);
		free(t);
	}
}
