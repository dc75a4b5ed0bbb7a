/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `etcd members`, `etcd status` and `etcd alarms`: one look at all members, and of it what was
 * asked for. A member that does not answer is a row too.
 */
#include "etcdwatch/commands_priv.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/cluster/survey.h"
#include "etcdwatch/health/health.h"

/* Ends the request. */
typedef void (*reply_fn)(struct control_request *request, const struct survey *survey,
                         const struct daemon *daemon);

struct show {
	struct command command;
	reply_fn reply;
	struct survey_request *survey;
};

static void reply_members(struct control_request *request, const struct survey *survey,
                          const struct daemon *daemon UNUSED)
{
	for (size_t i = 0; i < survey->n_members; i++)
		control_reply(request, surveyjson_list(&survey->members[i]));
	control_ok(request);
}

static void reply_status(struct control_request *request, const struct survey *survey,
                         const struct daemon *daemon)
{
	AUTO(free) struct healthreport *report = NEW0(struct healthreport);

	health_fill_report(daemon_health(daemon), report);
	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];
		json_t *json = surveyjson_status(m);

		if (m->answer != NULL && m->answer->answers)
			healthreport_add_runway(report, m->id, json);
		control_reply(request, json);
	}
	control_ok(request);
}

/* Nothing is known of any member. */
static void fail_silent(struct control_request *request, const struct survey *survey)
{
	for (size_t i = 0; i < survey->n_answers; i++) {
		if (survey->answers[i].denied) {
			AUTO(free) char *text = xasprintf("etcd %s", survey->answers[i].error);

			control_fail(request, CONTROL_FAILED, "%s", text);
			return;
		}
	}
	control_fail(request, CONTROL_FAILED, "no member of etcd answers");
}

static void reply_alarms(struct control_request *request, const struct survey *survey,
                         const struct daemon *daemon UNUSED)
{
	for (size_t i = 0; i < survey->n_alarms; i++)
		control_reply(request, surveyjson_alarm(survey, &survey->alarms[i]));
	if (survey->cluster_id == 0)
		fail_silent(request, survey);
	else
		control_ok(request);
}

static void surveyed_cb(const struct survey *survey, void *userdata)
{
	struct show *s = userdata;
	struct control_request *request = s->command.request;
	reply_fn reply = s->reply;
	const struct daemon *daemon = commands_daemon(s->command.commands);

	command_end(&s->command);
	free(s);
	reply(request, survey, daemon);
}

static void give_up(struct command *command)
{
	struct show *s = CONTAINER_OF(command, struct show, command);

	survey_cancel(s->survey);
	command_end(command);
	free(s);
}

static void begin(struct control_request *request, int argc, const char *usage, reply_fn reply,
                  struct commands *c)
{
	struct show *s;

	if (argc != 0) {
		control_fail(request, CONTROL_USAGE, "%s", usage);
		return;
	}
	s = NEW0(struct show);
	if (!command_begin(c, &s->command, request, give_up)) {
		free(s);
		return;
	}
	s->reply = reply;
	s->survey = survey_start(daemon_etcd(commands_daemon(c)), surveyed_cb, s);
}

void memberscommand_fn(struct control_request *request, int argc, char **argv UNUSED,
                       void *userdata)
{
	begin(request, argc, "etcd members", reply_members, userdata);
}

void statuscommand_fn(struct control_request *request, int argc, char **argv UNUSED, void *userdata)
{
	begin(request, argc, "etcd status", reply_status, userdata);
}

void alarmscommand_fn(struct control_request *request, int argc, char **argv UNUSED, void *userdata)
{
	begin(request, argc, "etcd alarms", reply_alarms, userdata);
}
