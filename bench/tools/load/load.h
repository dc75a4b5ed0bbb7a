/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the load generator can do. Each mode runs to its end and writes its figures to standard
 * output, one "NAME VALUE" a line. All return 0 or -errno.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/endpoint.h"
#include "bench/tools/common/reactor.h"
#include "bench/tools/load/link.h"

#define LOAD_PIDS_MAX 8

struct load_options {
	struct endpoint to;
	unsigned connections;
	int64_t warm_ns;    /* passes before anything is measured */
	int64_t measure_ns; /* how long to measure */
	struct message message;
	double rate;               /* questions a second, of the open loop */
	int64_t interval_ns;       /* between new connections that are watched */
	int64_t timeout_ns;        /* an answer that takes longer has failed */
	pid_t pids[LOAD_PIDS_MAX]; /* whose CPU time is measured */
	unsigned n_pids;
};

/*
 * As much as goes: each of the connections asks again as soon as it has its answer.
 * anew: on a new connection each time.
 *   requests, failed, seconds, rate, cpu_us, cpu_us_per_request, cpu_us_per_mib, cpu_share
 */
int load_repeat(const struct load_options *o, struct reactor *reactor, bool anew);

/*
 * An open loop: questions have their times, however long answers take, and an answer's time counts
 * from when its question was due. Random intervals (a Poisson process), the same in each run.
 *   requests, failed, p50_us, p90_us, p99_us, p999_us, max_us
 */
int load_paced(const struct load_options *o, struct reactor *reactor);

/*
 * Opens the connections, asks once on each, writes "held N", and keeps them until standard input
 * ends.
 *   held, lost
 */
int load_hold(const struct load_options *o, struct reactor *reactor);

/*
 * A client that comes again and again: each interval a new connection, one question. Ends at
 * SIGTERM, after the last one has its answer or has run out of time.
 *   requests, failed, p50_ms, longest_ms (failed ones count what they took), and for each origin
 *   that answered: last_from_NUMBER, the time of its last answer in ms of CLOCK_MONOTONIC
 */
int load_watch(const struct load_options *o, struct reactor *reactor);

/* CPU time that the processes have used so far, user and system, all threads. */
int load_cpu_ns(const struct load_options *o, int64_t *ret_ns);
