/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What one round of the watchdog has seen: values only, made by the probe and judged by judge.h.
 * What was not asked, or could not be told, is OBSERVED_NOTHING, which is neither good nor bad.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "etcdwatch/cluster/view.h"
#include "etcdwatch/rules/pagefigures.h"

#define OBSERVATION_TEXT_MAX 256
#define OBSERVATION_PATH_MAX 256
#define OBSERVATION_FILES_MAX 16
#define OBSERVATION_PARTS_MAX 2
#define OBSERVATION_JOBS_MAX 16 /* as many as a configuration has (config.h), and of these: */
#define OBSERVATION_RECORD_TARGETS_MAX 8

enum observed {
	OBSERVED_NOTHING,
	OBSERVED_GOOD,
	OBSERVED_BAD,
};

struct observation_member {
	uint64_t id;
	char name[VIEW_NAME_MAX]; /* "": not started */
	bool listed;              /* in the list of the cluster, or the last one that was known */
	bool learner;

	/* Its status. */
	enum observed answer;
	bool denied;                      /* with OBSERVED_BAD: it answers, and refuses our user */
	char error[OBSERVATION_TEXT_MAX]; /* with OBSERVED_BAD */
	/* What follows only with OBSERVED_GOOD. */
	char endpoint[VIEW_URL_MAX]; /* by which it was asked */
	int64_t latency_us;
	uint64_t cluster_id;
	int64_t revision;
	char version[VIEW_VERSION_MAX];
	uint64_t leader_id; /* 0: it knows none */
	uint64_t raft_term, committed, applied;
	int64_t db_bytes, in_use_bytes;
	int64_t quota_bytes; /* 0: not known */

	/* Reads of a key that need not exist. */
	enum observed linearizable, serializable;
	char read_error[OBSERVATION_TEXT_MAX]; /* of the linearizable one */
	int64_t linearizable_us, serializable_us;

	/* Alarms that stand for it. */
	bool no_space, corrupt;

	/* Whether it holds the same data as the others, by the last comparisons (hashes.h). */
	enum observed data;

	/* The members as it has them itself: how many, and a digest of all that they say. */
	bool list_known;
	size_t n_list;
	uint64_t list_digest;

	bool page_known;
	struct pagefigures page;

	/* The certificate that it presents; 0: none was seen. */
	int64_t not_after_s;

	/* By how much its clock is ahead of ours, at least and at most: all that a clock which tells
	 * whole seconds, and the time on the way, leave open. */
	bool clock_known;
	int64_t ahead_least_us, ahead_most_us;
};

/* A certificate on this node's disk. */
struct observation_file {
	char path[OBSERVATION_PATH_MAX];
	int64_t not_after_s;
};

struct observation_job {
	const char *name;   /* borrowed */
	int64_t good_s;     /* the newest proven snapshot of any node that this one knows of; 0: none */
	int64_t overdue_s;  /* from when on the next one is missed */
	bool drill_overdue; /* or the last one failed */
};

/* The record of this node. */
struct observation_record {
	bool enabled;
	int64_t reached_s;      /* up to then all is recorded and synced; 0: nothing is */
	int64_t behind_s;       /* how long ago that is, or with 0 the start of etcdwatch */
	const char *error;      /* why nothing is recorded, or ""; borrowed */
	int64_t first_revision; /* of the unbroken chain that goes on; 0: there is none */
	/* Of the newest proven snapshot of this node, in the same history; 0: there is none. */
	int64_t base_revision;
	/* Why the chain began anew, if that was seen, or ""; and the revisions that were lost before
	 * it; last 0: those are not known. */
	char lost_why[OBSERVATION_TEXT_MAX];
	int64_t first_lost, last_lost;
	struct observation_record_target {
		char name[OBSERVATION_TEXT_MAX]; /* "JOB/TARGET" */
		const char *error;               /* of the last upload, or ""; borrowed */
		int64_t until_s;                 /* it has all up to then; 0: not known */
		int64_t lacks_s; /* of what is recorded, since then or the start of etcdwatch */
		int64_t limit_s;
	} targets[OBSERVATION_RECORD_TARGETS_MAX];
	size_t n_targets;
};

/* Keys that begin alike, and how much of all keys and values they are. */
struct observation_part {
	char prefix[OBSERVATION_TEXT_MAX];
	int percent;
};

struct observation {
	int64_t now_us; /* mono_now_us() */
	int64_t wall_s;

	bool list_known; /* this round; else the members are those that were known last */
	struct observation_member members[VIEW_MEMBERS_MAX];
	size_t n_members;
	bool alarms_known;
	/* Alarms that stand for none of the members: for one that is gone, or for the cluster. */
	bool other_no_space, other_corrupt;

	/* OBSERVED_BAD: members hold different data, and nobody can tell whose are right. */
	enum observed data;

	/* The names that the members should have; n 0: that is not written. Borrowed. */
	const char *const *expected;
	size_t n_expected;

	struct observation_file files[OBSERVATION_FILES_MAX];
	size_t n_files;

	/* Of the file system of the data directory of this node's own member. */
	bool disk_known;
	char data_directory[OBSERVATION_PATH_MAX];
	int64_t free_bytes, total_bytes;

	struct observation_job jobs[OBSERVATION_JOBS_MAX];
	size_t n_jobs;

	/* What fills etcd, by the newest snapshot on this node; the largest first. */
	struct observation_part parts[OBSERVATION_PARTS_MAX];
	size_t n_parts;

	/* In which the database's member list differs from etcd's, by the newest snapshot on this node;
	 * NULL: in nothing. Borrowed, as the snapshot's id. */
	const char *members_differ, *members_differ_in;

	struct observation_record record;
};
