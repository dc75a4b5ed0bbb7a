/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcd and what is recorded of it. What is wrong is the watchdog's to say: its findings are the
 * matters, and who does not answer just now; the rest is for the line.
 */
#include "cli/status/board.h"

#include <string.h>

#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/size.h"

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

static bool has_finding(const json_t *health, const char *node)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(health, i, finding)
	{
		const char *subject = field_text(finding, "subject");

		if (i > 0 && subject != NULL && strcmp(subject, node) == 0)
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

		if (error != NULL && !has_finding(health, node))
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
