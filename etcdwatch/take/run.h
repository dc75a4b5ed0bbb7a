/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One snapshot from beginning to end: taken from a member, proven, packed, and put into the
 * directory under its own name with its catalogue entry; or put aside with the reason.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/store/store.h"
#include "etcdwatch/work/disk.h"
#include "etcdwatch/work/child.h"

#define RUN_REASON_MAX 640

struct run;

enum run_end {
	RUN_KEPT,
	RUN_REJECTED, /* it was taken, and is not what it should be */
	RUN_FAILED,   /* there is none */
};

struct run_result {
	enum run_end end;
	int r;                    /* RUN_FAILED: -errno */
	const char *reason;       /* unless kept */
	const char *id;           /* unless failed */
	const char *agreed;       /* kept: the member that has the same HashKV, or "" */
	const char *not_compared; /* kept: why no member was found that has it, or "" */
	const char *disagreed;    /* a member that has another HashKV, or "" */
	int64_t took_us;
};

/*
 * How far the file has come, for a caller that copies it while the run goes on: RUN_OPENED, it is
 * there, and grows; RUN_TAKEN, it is as its member sent it, and synced, but not proven; then
 * RUN_PROVEN, with its entry, which has no figures of a packed file yet. Descriptor and entry are
 * borrowed until the call returns.
 */
enum run_step {
	RUN_OPENED,
	RUN_TAKEN,
	RUN_PROVEN,
};
typedef void (*run_step_fn)(enum run_step step, int plain_fd, const struct catalog_entry *entry,
                            void *userdata);

/* The handle is gone when this returns. */
typedef void (*run_done_fn)(const struct run_result *result, void *userdata);

struct run_options {
	struct ev_loop *ev;
	struct etcd *etcd;
	struct disk *disk;
	struct store *store;
	const struct config_job *job; /* all of these are borrowed until the end */
	const char *worker;
	const char *node;        /* this one */
	run_step_fn step;        /* called with done's userdata; NULL: not wanted */
	int64_t period_s;        /* that has been claimed; 0: none has */
	const struct view *view; /* copied */
	uint64_t source;         /* which member of it */
};

struct run *run_start(const struct run_options *options, run_done_fn done, void *userdata);

/* It ends soon, as one that failed with -ECANCELED. */
void run_cancel(struct run *run);

/* Only when the disk is gone already: done is not called. NULL is fine. */
void run_abandon(struct run *run);

const char *run_state_name(const struct run *run);
/* What is done with it, once it is taken: valid until the loop goes on. */
const struct doing *run_doing(const struct run *run);
/* How far the taking has come; 0 of 0 before. */
void run_progress(const struct run *run, uint64_t *ret_bytes, uint64_t *ret_total_bytes);
