/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is to be done to the cluster, step by step: made by the planners (plans.h), checked again
 * before each (steps.h), carried out by steprun.h. Values; pure. No steps and no refusal:
 * nothing has to be done.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"
#include "etcdwatch/cluster/survey.h"

/* More than a plan for SURVEY_MEMBERS_MAX members and SURVEY_ALARMS_MAX alarms has. */
#define STEPS_MAX 80
#define STEPS_NOTES_MAX 20
#define STEPS_TEXT_MAX 320

enum step_kind {
	STEP_MOVE_LEADER,
	STEP_REMOVE,
	STEP_DISARM,
	STEP_COMPACT,
	STEP_DEFRAGMENT,
};

struct step {
	enum step_kind kind;
	uint64_t member; /* whom it is done to; of MOVE_LEADER: who leads now */
	char name[SURVEY_NAME_MAX];
	uint64_t target; /* MOVE_LEADER: who shall lead */
	char target_name[SURVEY_NAME_MAX];
	enum etcd_alarm_type alarm; /* DISARM */
	int64_t quota_bytes;        /* DISARM of NOSPACE: what it is to be checked by; 0: it is not */
	int64_t revision;           /* COMPACT: up to it; nobody's in particular */
	int64_t db_bytes;           /* DEFRAGMENT: as the plan was made */
	int64_t free_bytes;
};

struct steps {
	struct step items[STEPS_MAX];
	size_t n;
	char
	    refusal[STEPS_TEXT_MAX]; /* not "": it must not be done, and why; then there are no steps */
	char notes[STEPS_NOTES_MAX][STEPS_TEXT_MAX]; /* what whoever decides should know */
	size_t n_notes;
};

struct step *steps_add(struct steps *steps, enum step_kind kind,
                       const struct survey_member *member);
/* Whoever it is of. */
struct step *steps_add_disarm(struct steps *steps, const struct survey *survey,
                              const struct etcd_alarm *alarm);
/* Drops the steps. Only the first one counts. */
void steps_refuse(struct steps *steps, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Before a planner: false, and refuses, when those who answer are not of one cluster. */
bool steps_of_one_cluster(const struct survey *survey, struct steps *steps);
void steps_note(struct steps *steps, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Whether it takes the lock of the cluster, also where there is no room for that: somebody goes. */
bool steps_need_lock(const struct steps *steps);

const char *step_kind_name(enum step_kind kind); /* "move-leader", ... */
/* "hand the leadership from n1 to n2" */
void step_text(const struct step *step, char text[static STEPS_TEXT_MAX]);
/* {step, node, member, text, ...}; the caller owns it. */
json_t *step_json(const struct step *step);

/* --- quorumsafe --- */

/*
 * Whether a member may go, and who may lead; pure. A voter is healthy when it answers a read that
 * takes a quorum, at an endpoint that we reach, and agrees with the others on the cluster, its
 * leader and its members: one that we do not reach counts as one that is not there, since nobody
 * can say that it is.
 */

#define QUORUMSAFE_TEXT_MAX 256

bool quorumsafe_is_healthy(const struct survey_member *member);

struct quorumsafe {
	size_t n_voters;
	size_t n_healthy;
};
struct quorumsafe quorumsafe_count(const struct survey *survey);
/* Of so many voters. */
size_t quorumsafe_majority(size_t n_voters);

/* False, and why not: that the cluster has no majority now, or would have none then. With true,
 * `why` says how many more losses it survives then, or "" if that does not change. */
bool quorumsafe_may_go(const struct survey *survey, const struct survey_member *member,
                       char why[static QUORUMSAFE_TEXT_MAX]);

/* A healthy voter other than `except`, the one that has applied most; without the alarm CORRUPT.
 * NULL: none. */
const struct survey_member *quorumsafe_successor(const struct survey *survey,
                                                 const struct survey_member *except);

/* --- stepcheck --- */

/* Between a plan and what happens meanwhile: whether a step may begin now, whether it has come
 * about; pure. */

/* False: not now, and why. */
bool stepcheck_may_begin(const struct step *step, const struct survey *survey,
                         char why[static STEPS_TEXT_MAX]);

/* By its answer the step may have come about, or did so before; false: it has failed. */
bool stepcheck_may_have_done(const struct step *step, const struct etcd_outcome *outcome);

/* The cluster is what the step was to make of it, and is well. */
bool stepcheck_is_done(const struct step *step, const struct survey *survey);

/* Whom to tell: NULL if nobody can be. */
const struct survey_member *stepcheck_whom(const struct step *step, const struct survey *survey);

/* For the planners, too. */

/* A database of that size may grow: it takes less than 95 % of its quota. */
bool stepcheck_has_room(int64_t db_bytes, int64_t quota_bytes);

/* All voters are healthy, all members have applied what the leader has, or nearly, and the
 * alarm CORRUPT stands for nobody: one may be busy with itself for a while. */
bool stepcheck_all_well(const struct survey *survey, char why[static STEPS_TEXT_MAX]);
