/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcd and what is recorded of it. What is wrong is the watchdog's to say: its findings are the
 * matters, and who does not answer just now; the rest is for the line.
 */
#include "cli/status/board.h"

#include <string.h>

#include "base/mono.h"
#include "cli/common/fields.h"

/* The watchdog asks now and then, and these have been asked just now: the fewer it is. */
static int64_t count_answers(const json_t *summary, const json_t *members)
{
	int64_t n = field_integer(summary, "members");
	const json_t *member;
	size_t i;

	json_array_foreach(members, i, member) n -= field_text(member, "error") != NULL ? 1 : 0;
	return MIN(field_integer(summary, "answer"), n);
}

static void say_answers(struct board *board, const json_t *summary, const json_t *members)
{
	int64_t n = count_answers(summary, members);

	if (!json_is_integer(json_object_get(summary, "members"))) {
		board_say(board, "nobody has been asked yet");
		board_raise(board, BOARD_WARNED);
		return;
	}
	board_say(board, "%lld of %lld members answer", (long long) n,
	          (long long) field_integer(summary, "members"));
	if (n < field_integer(summary, "members"))
		board_raise(board, BOARD_WARNED);
}

/* The member that is the nearest to its quota. */
static const json_t *fullest_of(const json_t *members)
{
	const json_t *fullest = NULL, *member;
	double most = -1;
	size_t i;

	json_array_foreach(members, i, member)
	{
		double quota = (double) field_integer(member, "quota_bytes");
		double full = quota > 0 ? (double) field_integer(member, "db_bytes") / quota : -1;

		if (full > most) {
			most = full;
			fullest = member;
		}
	}
	return fullest;
}

static void say_members(struct board *board, const json_t *members)
{
	const json_t *member, *fullest = fullest_of(members);
	const char *leader = NULL;
	char quota[SIZE_TEXT_MAX];
	size_t i;

	if (members == NULL) {
		board_say(board, "they have not told their figures in time");
		board_raise(board, BOARD_WARNED);
		return;
	}
	json_array_foreach(members, i, member)
	{
		if (field_is_true(member, "leads"))
			leader = field_text_or_dash(member, "node");
	}
	if (leader != NULL)
		board_say(board, "%s leads", leader);
	else
		board_say(board, "nobody leads");
	if (leader == NULL)
		board_raise(board, BOARD_FAILED);
	if (fullest != NULL)
		board_say(board, "%s at %.0f%% of its %s", field_text_or_dash(fullest, "node"),
		          100 * (double) field_integer(fullest, "db_bytes") /
		              (double) field_integer(fullest, "quota_bytes"),
		          size_text(field_integer(fullest, "quota_bytes"), quota));
}

static void say_alarms(struct board *board, const json_t *alarms)
{
	const json_t *alarm;
	size_t i;

	json_array_foreach(alarms, i, alarm)
	{
		board_say(board, "alarm %s of %s", field_text_or_dash(alarm, "alarm"),
		          field_text_or_dash(alarm, "node"));
		board_raise(board, BOARD_FAILED);
	}
	if (json_is_array(alarms) && json_array_size(alarms) == 0)
		board_say(board, "no alarm");
}

/* What the watchdog calls it once it has lasted. */
static bool is_found(const json_t *health, const char *id)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(health, i, finding)
	{
		if (i > 0 && strcmp(field_text_or_dash(finding, "id"), id) == 0)
			return true;
	}
	return false;
}

static void judge_leader(struct board *board, const json_t *health, const json_t *members)
{
	const json_t *member;
	size_t i;

	json_array_foreach(members, i, member)
	{
		if (field_is_true(member, "leads"))
			return;
	}
	if (members != NULL && !is_found(health, "no-leader") && !is_found(health, "quorum-lost"))
		board_matter(board, BOARD_FAILED,
		             "Start the members that do not answer; if most of them are gone for good: "
		             "fairlead etcd rescue",
		             "etcd has no leader: it takes no writes");
}

static bool has_finding(const json_t *health, const char *key, const char *text)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(health, i, finding)
	{
		const char *found = field_text(finding, key);

		if (i > 0 && found != NULL && strcmp(found, text) == 0)
			return true;
	}
	return false;
}

/* Before the watchdog is sure of it, which takes its time. */
static void add_silent(struct board *board, const json_t *health, const json_t *members)
{
	const json_t *member;
	size_t i;

	json_array_foreach(members, i, member)
	{
		const char *node = field_text_or_dash(member, "node"), *error = field_text(member, "error");

		if (error != NULL && !has_finding(health, "subject", node))
			board_matter(board, BOARD_WARNED,
			             "If that lasts: see whether its node and its etcd run",
			             "%s does not answer: %s", node, error);
	}
}

static void add_finding(struct board *board, const json_t *finding, int64_t wall_us)
{
	const char *severity = field_text_or_dash(finding, "severity");
	const char *to_do = field_text(finding, "to_do");
	char age[FIELD_AGE_MAX];

	board_matter(board, strcmp(severity, "critical") == 0 ? BOARD_FAILED : BOARD_WARNED,
	             to_do != NULL ? to_do : "", "%s (%s, for %s)",
	             field_text_or_dash(finding, "sentence"), field_text_or_dash(finding, "id"),
	             field_age(wall_us - field_integer(finding, "since_s") * US_PER_S, age));
}

void board_etcd(struct board *board, const json_t *health, const json_t *members,
                const json_t *alarms, int64_t wall_us)
{
	const json_t *summary = json_array_get(health, 0), *finding;
	size_t n = MAX(json_array_size(health), 1) - 1, i;

	board_begin(board, "etcd");
	say_answers(board, summary, members);
	say_members(board, members);
	say_alarms(board, alarms);
	if (n > 0)
		board_say(board, "%zu finding%s", n, n > 1 ? "s" : "");
	json_array_foreach(health, i, finding)
	{
		if (i > 0)
			add_finding(board, finding, wall_us);
	}
	judge_leader(board, health, members);
	add_silent(board, health, members);
}

void board_record(struct board *board, const json_t *objects)
{
	const json_t *status = json_array_get(objects, 0);
	const json_t *behind_ms = json_object_get(status, "recoverable_age_ms");
	char size[SIZE_TEXT_MAX];

	if (status == NULL) /* nothing is to be recorded */
		return;
	board_begin(board, "record");
	board_say(board, "%s", field_text_or_dash(status, "state"));
	if (json_is_number(behind_ms))
		board_say(board, "whole until %.1f s ago", json_number_value(behind_ms) / 1000);
	board_say(board, "%s", size_text(field_integer(status, "bytes"), size));
	if (field_integer(status, "gaps") > 0)
		board_say(board, "%lld gaps", (long long) field_integer(status, "gaps"));
	if (field_text(status, "error") != NULL)
		board_matter(board, BOARD_WARNED, "fairlead etcd record status has the rest",
		             "nothing is recorded: %s", field_text(status, "error"));
	if (field_is_true(status, "more_than_max_size"))
		board_matter(board, BOARD_WARNED, "Take snapshots more often, or give it more room",
		             "the record is larger than maxSize, because the newest snapshot needs it");
}

/* --- snapshots --- */

/* The jobs that take snapshots, a line each, with their targets and drills. */

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
	if (!has_finding(health, "id", "drill-overdue"))
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
