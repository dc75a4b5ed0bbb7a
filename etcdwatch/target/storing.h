/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What becomes of a job's snapshots beyond this node: each of its targets for itself (target.h), so
 * that one that is down holds up neither the others nor the next snapshot.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "etcdwatch/store/accepted.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/store/store.h"
#include "etcdwatch/target/target.h"
#include "etcdwatch/work/disk.h"

struct storing;

struct storing_options {
	struct ev_loop *ev;
	struct accepted_of accepted;
	struct disk *disk;
	struct store *store;
	const struct config_job *job;
	const char *worker; /* the program */
	const char *node;
	const struct doubt *doubt;
	/* It is this node's turn to remove what need not be kept in a target: of several nodes, one. */
	bool (*may_shed)(void *userdata);
	void *userdata;
};

/* All is borrowed until storing_free(). */
struct storing *storing_new(const struct storing_options *options);
/* When the disk is gone. */
void storing_free(struct storing *storing);
DEFINE_AUTO(struct storing, storing_free);

/* There may be a snapshot that some target lacks. */
void storing_visit(struct storing *storing);

/* As target_get_word(), of the first target that has one. */
bool storing_get_word(const struct storing *storing, struct retain_accepted *ret_word);

void storing_look_again(struct storing *storing);

size_t storing_n(const struct storing *storing);
struct target *storing_target(const struct storing *storing, size_t i);

void storing_fill_reports(const struct storing *storing,
                          struct target_report ret_reports[static CONFIG_TARGETS_MAX],
                          size_t *ret_n);
