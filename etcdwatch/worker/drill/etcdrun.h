/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A real etcd, alone on a data directory that was restored, listening on 127.0.0.1 of whatever
 * network this process is in (etcdrun.h). It dies with this process. It is ended by killing it, as
 * nobody wants what it wrote.
 *
 * Its working directory is ours, and names of files are relative to that: a directory above may be
 * one that it cannot pass through.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "etcdwatch/worker/common/result.h"

/*
 * A network of its own for this process and what it starts: one loopback interface, which leads
 * nowhere, and no other. Whatever listens in there cannot be reached from outside, whatever ports
 * the machine uses are free in there, and nothing in there reaches the machine or the network.
 *
 * The first process that is started from then on is the first of a space of processes too: whatever
 * it starts itself ends with it.
 *
 * It comes with a user namespace in which this user is himself and nobody else is there, so that it
 * takes no privilege, and root in there is not the machine's (user_namespaces(7)). Where those are
 * forbidden, root has the network alone.
 */

/* For good; only while the process has one thread. What is open stays open. Code: NAMESPACE. */
int enclave_enter(struct problem *problem);

/*
 * Why an etcd ended, from the end of its log: the last line that says so, else the last line. Of
 * the lines that etcd writes in JSON, only what they say is told. Pure.
 */

#define ETCDLOG_WORDS_MAX 320

/* Returns `words`; "it said nothing" when there is nothing. */
const char *etcdlog_last_words(const char *log, size_t len, char words[static ETCDLOG_WORDS_MAX]);

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
