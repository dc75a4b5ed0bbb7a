/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What recorder.c (the states, the chains, the disk), recorder_watch.c (whether the history is
 * still the same) and recorder_watch.c (what a watch brings) share. No other file includes this.
 */

#include "base/log.h"
#include "base/macro.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/record/recordbase.h"
#include "etcdwatch/record/recorder.h"
#include "etcdwatch/record/recordhash.h"
#include "etcdwatch/record/recordhistory.h"
#include "etcdwatch/record/recordleases.h"

enum recorder_state {
	RECORDER_OPENING,
	RECORDER_ASKING,
	RECORDER_WATCHING,
	RECORDER_FULL,
	RECORDER_FAILED,
};

struct recorder {
	struct recorder_options options;
	const struct recorder_callbacks *callbacks;
	void *userdata;
	enum recorder_state state;
	ev_timer timer;
	struct recordwriter *writer;
	struct recordleases *leases;
	struct recordhash *hash;

	struct view_request *looking;
	struct etcd_call *reading;
	struct view view; /* as of the last look */
	struct etcd_watch *watch;

	bool has_chain; /* of which what follows is known */
	bool is_begun;  /* with the writer */
	uint64_t cluster_id;
	uint64_t member_id;
	int64_t last;                  /* revision */
	struct recordhistory *history; /* up to that one, or empty */
	/* As of the last look. */
	uint64_t seen_cluster;
	int64_t seen_revision;
	size_t n_compared; /* of the history's keys */
	/* The watch compares from the first to r->last; before compare_from etcd has compacted. */
	int64_t compare_from, compare_first, compare_next;
	/* What keeps the chain from going on: up to there is lost (0: not known), and why; "": nothing
	 * does. */
	int64_t lost_to;
	char broken[RECORDER_REASON_MAX];
	int64_t compacted; /* what was found to be; 0: nothing */
	int64_t missing;   /* this revision was missing once; 0: none */
	unsigned n_ahead, n_behind;
	uint64_t behind_member; /* one that was; 0: none */
	int64_t behind_us;      /* mono; when it was found to be */
	unsigned n_vain;        /* watches, one after the other, that have brought nothing */
	struct recordbase base;

	int64_t told_us; /* mono; when etcd told something last that is in the record */
	char error[RECORDER_REASON_MAX];
	struct log_ratelimit complaints;
	uint64_t n_gaps, n_hashes;
	uint64_t n_unsent; /* that the log has told of */
	struct recorder_gap gap;
	int64_t hash_revision;
};

/* Ends what the old state had under way. */
void recorder_change_state(struct recorder *r, enum recorder_state state, const char *reason);
/* The chain is not to go on, which is carried out when etcd has been asked how far it is. */
void recorder_break_chain(struct recorder *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
void recorder_put(struct recorder *r, const struct record_frame *frame);
void recorder_ask_for_base(struct recorder *r);
/* Everything about etcd is known: the chain goes on, or ends and another one begins. */
void recorder_settle(struct recorder *r);
/* etcd gave no answer: asks all again in a second. */
void recorder_ask_again(struct recorder *r, const char *reason);
/* Why nothing is recorded at the moment. */
void recorder_complain(struct recorder *r, const char *event, const char *reason);
/* "": it is not known. */
const char *recorder_member_name(const struct recorder *r, uint64_t id);

/* --- recorder_watch.c --- */

/* Asks etcd for what is recorded, then settles. */
void recorder_compare(struct recorder *r);
/* The revision with which a watch must begin. */
int64_t recorder_compare_start(struct recorder *r);
/* The watch has not sent all recorded revisions again yet. */
bool recorder_is_comparing(const struct recorder *r);
/* False: etcd has another history, and the watch has ended. */
bool recorder_compare_revision(struct recorder *r, int64_t revision,
                               const struct record_event *events, size_t n);

/* --- recorder_watch.c --- */

/* From the last revision that is recorded on. */
void recorder_start_watch(struct recorder *r);
