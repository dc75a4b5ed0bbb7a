/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Is a file that has been taken a snapshot to rely on? Two witnesses: the worker, which reads all
 * of it (etcdwatch/worker/source/prove.h), and another member, whose HashKV at the snapshot's
 * revision must be that of the file. In a cluster of one it is the same member.
 *
 * A member that says otherwise does not decide alone, as it may be the one that is wrong: the
 * others are asked too. If one of them agrees with the file the snapshot is good, and who disagreed
 * is told.
 */

#include <ev.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/cluster/view.h"
#include "etcdwatch/work/child.h"

#define PROOF_TEXT_MAX 512

struct proof;

enum proof_verdict {
	PROOF_GOOD,
	PROOF_BAD,     /* the file is not what the cluster agreed on, or is damaged */
	PROOF_NOT_MADE /* the worker could not do its work: says nothing of the file */
};

struct proof_facts {
	uint32_t hash;
	uint32_t hashkv;
	int64_t hashkv_revision;
	int64_t revision;
	int64_t compact_revision; /* -1: never */
	uint64_t total_key;
	uint64_t live_keys;
	uint64_t db_bytes;
};

struct proof_result {
	enum proof_verdict verdict;
	const char *reason;       /* "" if good */
	struct proof_facts facts; /* if good, or if only HashKV differs */
	const json_t *usage;      /* the same, as the catalogue has it; NULL: the worker did not say */
	const json_t *members;    /* as the database lists them (catalog.h); NULL: it did not say */
	const char *agreed;       /* the member that has the same HashKV; "": nobody was found */
	const char *not_compared; /* then: why; "" else */
	const char *disagreed;    /* a member that has another one; "" if none has */
};

/* The handle is gone when this returns; the result is borrowed. */
typedef void (*proof_done_fn)(const struct proof_result *result, void *userdata);

struct proof_options {
	const char *worker; /* the program */
	const char *path;
	uint64_t source; /* the member that it was taken from */
	const struct view
	    *view;        /* copied; if nobody in it can be asked, the cluster is looked at again */
	bool compare;     /* false: no member is asked */
	int64_t limit_us; /* of each reading of the file, and of each member's answer */
};

/* 0 or -errno: the worker cannot be started. */
int proof_start(struct ev_loop *ev, struct etcd *etcd, const struct proof_options *options,
                proof_done_fn done, void *userdata, struct proof **ret_proof);
/* What the worker says that it is at; valid until the loop goes on. */
const struct doing *proof_doing(const struct proof *proof);
void proof_free(struct proof *proof); /* done is not called */
DEFINE_AUTO(struct proof, proof_free);

/* --- listdiff --- */

/*
 * Whether the member list in etcd's database is the one that etcd's MemberList gave. etcd 3.5 goes
 * by another store than its database; 3.6 goes by the database, so a difference breaks the upgrade
 * to 3.6 (etcd-io/etcd#19557, #20793). Names are not compared: 3.5 does not write those of members
 * that joined later, and a member publishes its name when it starts. Pure.
 */

/* `database` is "members" of `etcdwatch-worker prove`. NULL: they agree, or one of the two is not
 * known; else what differs, cut to CATALOG_TEXT_MAX bytes. The caller frees it. */
char *listdiff_text(const json_t *database, const struct catalog_entry *entry);
