/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A real etcd, alone on a data directory that was restored, listening on 127.0.0.1 of whatever
 * network this process is in (enclave.h). It dies with this process. It is ended by killing it, as
 * nobody wants what it wrote.
 *
 * Its working directory is ours, and names of files are relative to that: a directory above may be
 * one that it cannot pass through.
 */

#include <stdbool.h>

#include "base/cleanup.h"
#include "etcdwatch/worker/common/problem.h"

#define ETCDRUN_CLIENT_URL "http://127.0.0.1:2379"
#define ETCDRUN_PEER_URL "http://127.0.0.1:2380"
/* What the data directory has to be restored with. */
#define ETCDRUN_NAME "drill"
#define ETCDRUN_CLUSTER ETCDRUN_NAME "=" ETCDRUN_PEER_URL

struct etcdrun;

struct etcdrun_options {
	const char *etcd; /* the program, with its path */
	const char *data_dir;
	const char *token_key; /* file with the key that root's token is signed with; NULL: no auth */
	const char *log;       /* a new file */
};

/* Code: START. */
int etcdrun_start(const struct etcdrun_options *options, struct problem *problem,
                  struct etcdrun **ret_run);
void etcdrun_free(struct etcdrun *run);
DEFINE_AUTO(struct etcdrun, etcdrun_free);

/* 0, or the problem START with how it ended and what it said last. */
int etcdrun_check(struct etcdrun *run, struct problem *problem);

/* Sets the problem START: "<what>; <its last words>". Returns r. */
int etcdrun_blame(const struct etcdrun *run, int r, const char *what, struct problem *problem);
