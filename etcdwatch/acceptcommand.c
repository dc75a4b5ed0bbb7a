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
#include "etcdwatch/store/accepted.h"
#include "etcdwatch/commands_priv.h"

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
