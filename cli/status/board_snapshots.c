/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs that take snapshots, a line each, with their targets and drills. */
#include "cli/status/board.h"

#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/sent.h"

/* Of what is frozen. To accept data that have become small helps against that alone, and would be
 * wrong where they are damaged. */
static const char *way_out(const json_t *frozen)
{
	if (strstr(field_text_or_dash(frozen, "frozen"), "CORRUPT") != NULL)
		return "See what etcd says of its data: fairlead etcd alarms, fairlead etcd health";
	return "If the data may be so small: fairlead etcd snapshot accept";
}

static const char *age_of(const json_t *object, const char *key, char age[static FIELD_AGE_MAX])
{
	return field_age((int64_t) field_integer(object, key) * US_PER_S, age);
}

static void say_schedule(struct board *board, const json_t *job)
{
	json_int_t of = field_integer(job, "taken_of_bytes");
	char age[FIELD_AGE_MAX];

	if (json_is_integer(json_object_get(job, "last_good_age_s")))
		board_say(board, "%s: last verified %s ago", field_text_or_dash(job, "job"),
		          age_of(job, "last_good_age_s", age));
	else
		board_say(board, "%s: none on this node", field_text_or_dash(job, "job"));
	if (of > 0)
		board_say(board, "%s, %.0f%%", field_text_or_dash(job, "state"),
		          100 * (double) field_integer(job, "taken_bytes") / (double) of);
	else if (json_is_integer(json_object_get(job, "next_due_s")))
		board_say(board, "next in %s", age_of(job, "next_due_s", age));
}

static void say_targets(struct board *board, const json_t *job)
{
	const json_t *target;
	size_t i;

	json_array_foreach(json_object_get(job, "targets"), i, target)
	{
		const char *name = field_text_or_dash(target, "target");
		long long pending = (long long) field_integer(target, "pending");
		AUTO(free) char *sent = sent_text(target);

		if (field_text(target, "error") != NULL)
			board_matter(board, BOARD_WARNED, "See that the target is there and lets this node in",
			             "job %s, target %s: %s", field_text_or_dash(job, "job"), name,
			             field_text(target, "error"));
		if (field_text(target, "frozen") != NULL)
			board_matter(board, BOARD_WARNED, way_out(target), "job %s, target %s: %s",
			             field_text_or_dash(job, "job"), name, field_text(target, "frozen"));
		if (sent != NULL)
			board_say(board, "%s: sent %s", name, sent);
		else if (pending > 0)
			board_say(board, "%s lacks %lld", name, pending);
		else
			board_say(board, "%s %s", name,
			          field_text(target, "error") != NULL ? "failing" : "has all");
	}
}

/* Beyond retention, as a target lacks them; and those that could not stay for that. */
static void say_waiting(struct board *board, const json_t *job)
{
	if (field_integer(job, "waiting") > 0)
		board_say(board, "%lld wait for a target", (long long) field_integer(job, "waiting"));
	if (field_integer(job, "unsent") > 0)
		board_say(board, "%lld removed unsent", (long long) field_integer(job, "unsent"));
}

static bool has_finding(const json_t *health, const char *id)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(health, i, finding)
	{
		const char *text = field_text(finding, "id");

		if (text != NULL && strcmp(text, id) == 0)
			return true;
	}
	return false;
}

static void say_drill(struct board *board, const json_t *job, const json_t *health)
{
	const json_t *drill = json_object_get(job, "drill");
	const char *phase = field_text(drill, "phase");
	char age[FIELD_AGE_MAX];

	if (!json_is_object(drill))
		return;
	if (phase != NULL)
		board_say(board, "drill: %s", phase);
	else if (field_is_true(drill, "failed"))
		board_say(board, "drill failed %s ago", age_of(drill, "last_age_s", age));
	else if (json_is_integer(json_object_get(drill, "last_good_age_s")))
		board_say(board, "drill passed %s ago", age_of(drill, "last_good_age_s", age));
	else
		board_say(board, "no drill yet");
	if (!field_is_true(drill, "failed") && !field_is_true(drill, "overdue"))
		return;
	board_raise(board, BOARD_WARNED);
	/* The watchdog says it too, as soon as it has looked. */
	if (!has_finding(health, "drill-overdue"))
		board_matter(board, BOARD_WARNED, "Run 'fairlead etcd drill' and read what it says",
		             "job %s: %s", field_text_or_dash(job, "job"),
		             field_text(drill, "reason") != NULL ? field_text(drill, "reason")
		                                                 : "its drill is overdue");
}

static void judge_job(struct board *board, const json_t *job)
{
	const char *name = field_text_or_dash(job, "job");

	if (field_text(job, "error") != NULL)
		board_matter(board, BOARD_WARNED, "fairlead etcd snapshot jobs has the rest", "job %s: %s",
		             name, field_text(job, "error"));
	if (field_text(job, "frozen") != NULL)
		board_matter(board, BOARD_WARNED, way_out(job), "job %s: %s", name,
		             field_text(job, "frozen"));
	if (field_integer(job, "set_aside") > 0)
		board_matter(board, BOARD_WARNED, "Look at them, and at the members they came from",
		             "job %s: snapshots that did not pass their proof are in 'rejected'", name);
}

void board_snapshots(struct board *board, const json_t *jobs, const json_t *health)
{
	const json_t *job;
	size_t i;

	json_array_foreach(jobs, i, job)
	{
		board_begin(board, "snapshot");
		say_schedule(board, job);
		say_targets(board, job);
		say_waiting(board, job);
		say_drill(board, job, health);
		judge_job(board, job);
	}
}
