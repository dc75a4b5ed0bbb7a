/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd snapshot save [JOB] [--plain] [--progress]`: answered when the snapshot is proven and kept,
 * or is not.
 * With --plain a descriptor of the snapshot as its member sends it comes as soon as there is a
 * file, so that the client copies it while it is taken and proven. The answer ends when it is
 * proven: packing and keeping it go on without the client, which has its own copy.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/catalog/listing.h"
#include "etcdwatch/commands_priv.h"
#include "etcdwatch/report.h"
#include "etcdwatch/store/store.h"
#include "etcdwatch/telling.h"

struct save {
	struct command command;
	struct job *job;
	struct telling telling;
};

static void save_free(struct save *s)
{
	telling_stop(&s->telling);
	command_end(&s->command);
	free(s);
}

/* Bytes while it is being taken; then what the worker does with it. */
static json_t *tell(void *userdata)
{
	const struct save *s = userdata;
	struct job_report report;
	json_t *json;

	job_fill_report(s->job, &report);
	json = json_pack("{s:s, s:I, s:I}", "progress", report.state, "bytes",
	                 (json_int_t) report.bytes, "of_bytes", (json_int_t) report.of_bytes);
	doing_put(&report.doing, json);
	return json;
}

/* What a packed file will be is not known yet. */
static json_t *proven_json(const struct catalog_entry *entry)
{
	static const char *const unknown[] = {"file", "file_bytes", "file_sha256"};
	json_t *json = report_snapshot_json(entry);

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++)
		(void) json_object_set_new(json, unknown[i], json_null());
	(void) json_object_set_new(json, "where", json_array());
	return json;
}

static void step_cb(enum run_step step, int plain_fd, const struct catalog_entry *entry,
                    void *userdata)
{
	struct save *s = userdata;
	struct control_request *request = s->command.request;

	switch (step) {
	case RUN_OPENED:
		control_pass_fd(request, plain_fd);
		control_reply(request, json_pack("{s:s}", "progress", "opened"));
		break;
	case RUN_TAKEN:
		control_reply(request, json_pack("{s:s, s:I}", "progress", "taken", "bytes",
		                                 (json_int_t) entry->file_bytes));
		break;
	case RUN_PROVEN:
		job_forget_save(s->job);
		save_free(s);
		control_reply(request, proven_json(entry));
		control_ok(request);
		break;
	}
}

static void saved_cb(const struct job_saved *saved, void *userdata)
{
	struct save *s = userdata;
	struct control_request *request = s->command.request;
	const struct catalog_entry *entry =
	    saved->id != NULL ? store_find(job_store(s->job), saved->id) : NULL;

	save_free(s);
	if (saved->id == NULL) {
		control_fail(request, CONTROL_FAILED, "%s", saved->reason);
		return;
	}
	if (entry != NULL) {
		json_t *json = report_snapshot_json(entry);

		(void) json_object_set_new(json, "where", json_pack("[s]", LISTING_LOCAL));
		control_reply(request, json);
	}
	control_ok(request);
}

static void give_up(struct command *command)
{
	struct save *s = CONTAINER_OF(command, struct save, command);

	job_forget_save(s->job);
	save_free(s);
}

void savecommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	struct commands *c = userdata;
	const char *name = NULL;
	bool plain = false, wants_progress = false;
	struct save *s;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--plain") == 0) {
			plain = true;
		} else if (strcmp(argv[i], TELLING_WORD) == 0) {
			wants_progress = true;
		} else if (name == NULL && argv[i][0] != '-') {
			name = argv[i];
		} else {
			control_fail(request, CONTROL_USAGE, "etcd snapshot save [JOB] [--plain] [--progress]");
			return;
		}
	}
	s = NEW0(struct save);
	if (!command_begin(c, &s->command, request, give_up)) {
		free(s);
		return;
	}
	s->job = commands_one_job(request, commands_daemon(c), name);
	if (s->job != NULL && job_save(s->job, plain ? step_cb : NULL, saved_cb, s) == 0) {
		if (wants_progress)
			telling_start(&s->telling, daemon_cluster(commands_daemon(c))->ev, request, tell, s);
		return;
	}
	if (s->job != NULL)
		control_fail(request, CONTROL_BUSY, "job '%s' is at one already", job_config(s->job)->name);
	save_free(s);
}
