/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Records what happens in etcd, change by change, onto this node's own disk: a watch over all keys,
 * from the member of this node while that one answers, without a gap from one start of the daemon
 * to the next. Where a gap cannot be helped, because etcd has compacted what was not seen, or is
 * not what it was, it is stated in the record and in the log, and another chain begins, which needs
 * a new snapshot to stand on.
 */

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcdwatch/record/recordwriter.h"

#define RECORDER_REASON_MAX 512
#define RECORDER_NAME_MAX 64

struct recorder;

struct recorder_options {
	struct ev_loop *ev;
	struct etcd *etcd;
	const char *directory;
	int64_t keep_us;
	uint64_t max_bytes;
	uint64_t reserve_bytes;
	int64_t hash_every_us; /* 0: HashKV is not asked for */
};

struct recorder_callbacks {
	/* The newest proven snapshot of this cluster that this node knows; 0: there is none. */
	int64_t (*base_revision)(uint64_t cluster_id, void *userdata);
	/* A snapshot of this revision or a later one is needed: else a chain is of no use, or what is
	 * too old or too much must stay. True: one is
	 * being taken, recorder_snapshot_failed() tells if it comes to nothing, and then it is asked
	 * for again; false: nobody can just now, which is asked again a little later. */
	bool (*needs_snapshot)(int64_t revision, void *userdata);
	/* From which sequence on a target lacks segments; 0: none does. NULL: there are no targets. */
	uint64_t (*unsent_sequence)(void *userdata);
};

/* Strings and callbacks are borrowed until recorder_free(). 0, or -errno: its thread cannot be
 * started. */
int recorder_new(const struct recorder_options *options, const struct recorder_callbacks *callbacks,
                 void *userdata, struct recorder **ret_recorder);
void recorder_free(struct recorder *recorder); /* waits for the disk */
DEFINE_AUTO(struct recorder, recorder_free);

void recorder_snapshot_failed(struct recorder *recorder);

struct recorder_gap {
	int64_t first, last; /* lost; last 0: not known */
	int64_t wall_us;     /* 0: there was none since the daemon was started */
	char reason[RECORDER_REASON_MAX];
};

/* Strings are borrowed until the next turn of the loop. */
struct recorder_report {
	const char *state;
	const char *directory;
	const char *error; /* why nothing is recorded at the moment, or "" */
	uint64_t cluster_id;
	const char *member; /* that it is recorded from; "": none */
	struct recordwriter_figures figures;
	uint64_t n_gaps; /* since the daemon was started */
	struct recorder_gap gap;
	size_t n_leases;
	uint64_t n_hashes;
	int64_t hash_revision; /* of the last one; 0: none */
};

void recorder_fill_report(const struct recorder *recorder, struct recorder_report *ret_report);
