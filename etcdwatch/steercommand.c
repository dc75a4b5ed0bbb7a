/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands that change the cluster. All go the same way: a look, the planner's steps, and
 * unless it is a dry run, those carried out one by one, each told when it is done.
 */
#include "etcdwatch/commands_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/steer/plans.h"
#include "etcdwatch/steer/quotas.h"
#include "etcdwatch/steer/steprun.h"
#include "etcdwatch/steer/upkeep.h"
#include "etcdwatch/telling.h"

struct steer;

struct verb {
	const char *usage;
	bool wants_member;
	bool wants_quotas;
	bool compacts; /* before it writes anything anew */
	void (*plan)(const struct steer *s, const struct survey *survey, struct steps *ret_steps);
};

struct steer {
	struct command command;
	const struct verb *verb;
	char *member; /* NULL: not given */
	bool dry_run;
	bool wants_progress;
	bool all; /* instead of a member */
	struct plan_disarm_options disarm;
	struct survey_request *survey;
	struct quotas *quotas;
	struct steprun *run;
	struct telling telling;
};

static void steer_free(struct steer *s)
{
	telling_stop(&s->telling);
	survey_cancel(s->survey);
	quotas_free(s->quotas);
	steprun_free(s->run);
	command_end(&s->command);
	free(s->member);
	free(s);
}

static void give_up(struct command *command)
{
	steer_free(CONTAINER_OF(command, struct steer, command));
}

/* --- carrying out --- */

static json_t *ms_or_null(int64_t us)
{
	return us >= 0 ? jsonval_tenths(us, US_PER_MS) : json_null();
}

static void add_measured(json_t *json, const struct step *step, const struct steprun_report *report)
{
	json_t *measured = json_pack(
	    "{s:I, s:I, s:o, s:o}", "bytes_before", (json_int_t) step->db_bytes, "bytes_after",
	    (json_int_t) report->db_bytes, "stall_ms", ms_or_null(report->stall_us), "leader_stall_ms",
	    ms_or_null(report->leader_stall_us));

	(void) json_object_update_new(json, measured);
}

static void step_done_cb(const struct step *step, const struct steprun_report *report,
                         void *userdata)
{
	struct steer *s = userdata;
	json_t *json = step_json(step);

	(void) json_object_set_new(json, "state", json_string("done"));
	(void) json_object_set_new(json, "took_ms", json_integer(report->took_us / US_PER_MS));
	if (step->kind == STEP_DEFRAGMENT)
		add_measured(json, step, report);
	control_reply(s->command.request, json);
}

static void done_cb(const char *why, void *userdata)
{
	struct steer *s = userdata;
	struct control_request *request = s->command.request;

	s->run = NULL;
	steer_free(s);
	if (why != NULL)
		control_fail(request, CONTROL_FAILED, "%s", why);
	else
		control_ok(request);
}

/* etcd does not say how far a step has come. How much a member has to write is known, unless a
 * compaction before it has made it less. */
static json_t *tell(void *userdata)
{
	const struct steer *s = userdata;
	const struct step *step;
	json_t *json;

	if (s->run == NULL)
		return NULL;
	step = steprun_step(s->run);
	json = step_json(step);
	(void) json_object_set(json, "progress", json_object_get(json, "step"));
	if (step->kind == STEP_DEFRAGMENT && !s->verb->compacts)
		(void) json_object_set_new(json, "in_use_bytes",
		                           json_integer(step->db_bytes - step->free_bytes));
	return json;
}

static const struct steprun_callbacks run_callbacks = {.step_done = step_done_cb, .done = done_cb};

/* --- planning --- */

static void reply_plan(struct control_request *request, const struct steps *steps)
{
	for (size_t i = 0; i < steps->n; i++) {
		json_t *json = step_json(&steps->items[i]);

		(void) json_object_set_new(json, "state", json_string("planned"));
		control_reply(request, json);
	}
	for (size_t i = 0; i < steps->n_notes; i++)
		control_reply(request, json_pack("{s:o}", "note", jsonval_text(steps->notes[i])));
}

static void planned(struct steer *s, const struct survey *survey)
{
	AUTO(free) struct steps *steps = NEW0(struct steps);
	struct control_request *request = s->command.request;

	if (steps_of_one_cluster(survey, steps))
		s->verb->plan(s, survey, steps);
	reply_plan(request, steps);
	if (steps->refusal[0] == '\0' && steps->n > 0 && !s->dry_run) {
		s->run = steprun_start(daemon_cluster(commands_daemon(s->command.commands)), steps,
		                       &run_callbacks, s);
		if (s->wants_progress)
			telling_start(&s->telling, daemon_cluster(commands_daemon(s->command.commands))->ev,
			              request, tell, s);
		return;
	}
	steer_free(s);
	if (steps->refusal[0] != '\0')
		control_fail(request, CONTROL_FAILED, "%s", steps->refusal);
	else
		control_ok(request);
}

static void quotas_cb(const struct survey *survey, void *userdata)
{
	struct steer *s = userdata;

	s->quotas = NULL;
	planned(s, survey);
}

static void surveyed_cb(const struct survey *survey, void *userdata)
{
	struct steer *s = userdata;

	s->survey = NULL;
	if (s->verb->wants_quotas)
		s->quotas = quotas_start(daemon_cluster(commands_daemon(s->command.commands)), survey,
		                         quotas_cb, s);
	else
		planned(s, survey);
}

static void plan_forfeit_verb(const struct steer *s UNUSED, const struct survey *survey,
                              struct steps *ret_steps)
{
	plan_forfeit(survey, ret_steps);
}

static void plan_leave_verb(const struct steer *s UNUSED, const struct survey *survey,
                            struct steps *ret_steps)
{
	plan_leave(survey, ret_steps);
}

static void plan_remove_verb(const struct steer *s, const struct survey *survey,
                             struct steps *ret_steps)
{
	plan_remove(survey, s->member, ret_steps);
}

static void plan_disarm_verb(const struct steer *s, const struct survey *survey,
                             struct steps *ret_steps)
{
	plan_disarm(survey, &s->disarm, ret_steps);
}

static void plan_defrag_verb(const struct steer *s, const struct survey *survey,
                             struct steps *ret_steps)
{
	struct plan_defrag_options options = plan_defrag_by_hand;

	options.disk_free_bytes =
	    upkeep_disk_free(daemon_cluster(commands_daemon(s->command.commands)));
	plan_defrag(survey, s->member, &options, ret_steps);
}

static void plan_recover_verb(const struct steer *s, const struct survey *survey,
                              struct steps *ret_steps)
{
	plan_recover(survey, upkeep_disk_free(daemon_cluster(commands_daemon(s->command.commands))),
	             ret_steps);
}

/* --- the commands --- */

static bool take_word(struct steer *s, const char *word)
{
	bool disarms = s->verb->plan == plan_disarm_verb;

	if (strcmp(word, "--dry-run") == 0)
		s->dry_run = true;
	else if (strcmp(word, TELLING_WORD) == 0)
		s->wants_progress = true;
	else if (disarms && strcmp(word, "--corrupt-too") == 0)
		s->disarm.corrupt_too = true;
	else if (disarms && strcmp(word, "--unchecked") == 0)
		s->disarm.unchecked = true;
	else if (s->verb->plan == plan_defrag_verb && strcmp(word, "--all") == 0)
		s->all = true;
	else if (s->verb->wants_member && s->member == NULL && word[0] != '-')
		s->member = xstrdup(word);
	else
		return false;
	return true;
}

static void begin(struct control_request *request, int argc, char **argv, struct commands *c,
                  const struct verb *verb)
{
	struct steer *s = NEW0(struct steer);
	bool good = true;

	s->verb = verb;
	if (!command_begin(c, &s->command, request, give_up)) {
		free(s);
		return;
	}
	for (int i = 0; i < argc; i++)
		good = good && take_word(s, argv[i]);
	if (!good || (verb->wants_member && s->all == (s->member != NULL))) {
		steer_free(s);
		control_fail(request, CONTROL_USAGE, "%s", verb->usage);
		return;
	}
	s->survey = survey_start(daemon_etcd(commands_daemon(c)), surveyed_cb, s);
}

void forfeitcommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	static const struct verb verb = {.usage = "etcd forfeit-leadership [--dry-run] [--progress]",
	                                 .plan = plan_forfeit_verb};

	begin(request, argc, argv, userdata, &verb);
}

void leavecommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	static const struct verb verb = {.usage = "etcd leave [--dry-run] [--progress]",
	                                 .plan = plan_leave_verb};

	begin(request, argc, argv, userdata, &verb);
}

void removecommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	static const struct verb verb = {.usage = "etcd remove-member MEMBER [--dry-run] [--progress]",
	                                 .wants_member = true,
	                                 .plan = plan_remove_verb};

	begin(request, argc, argv, userdata, &verb);
}

void disarmcommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	static const struct verb verb = {
	    .usage = "etcd alarm disarm [--corrupt-too] [--unchecked] [--dry-run] [--progress]",
	    .wants_quotas = true,
	    .plan = plan_disarm_verb};

	begin(request, argc, argv, userdata, &verb);
}

void defragcommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	static const struct verb verb = {.usage = "etcd defrag --all | MEMBER [--dry-run] [--progress]",
	                                 .wants_member = true,
	                                 .plan = plan_defrag_verb};

	begin(request, argc, argv, userdata, &verb);
}

void recovercommand_fn(struct control_request *request, int argc, char **argv, void *userdata)
{
	static const struct verb verb = {.usage = "etcd recover-space [--dry-run] [--progress]",
	                                 .wants_quotas = true,
	                                 .compacts = true,
	                                 .plan = plan_recover_verb};

	begin(request, argc, argv, userdata, &verb);
}
