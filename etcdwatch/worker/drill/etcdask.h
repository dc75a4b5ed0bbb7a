/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks an etcd that this process has started (etcdrun.h), over its own API in JSON.
 *
 * HashKV is asked where etcd's members ask each other for it, at /members/hashkv of the peers'
 * address: etcd 3.4's JSON gateway lacks it, and there it needs no authentication (3.4.23, 3.5.16
 * and 3.5.30). Everything else is the gateway's /v3/kv/range, at one revision.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bolt/bytes.h"
#include "etcdwatch/worker/common/result.h"

/*
 * The token of etcd's user root, for an etcd that was started with a key of ours
 * (--auth-token=jwt). So a restored etcd with authentication can be asked without anybody's
 * password and without a change of what was restored. It is a JSON web token (RFC 7519), signed by
 * HMAC with SHA-256.
 */

/* etcd takes the bytes of the file as they are. */
#define ROOTTOKEN_KEY_CHARS 64

/* A key, for a file. */
void roottoken_draw_key(char ret_key[static ROOTTOKEN_KEY_CHARS + 1]);

/* etcd accepts it while the revision of its own store of users is auth_revision. The caller frees
 * it. Pure. */
char *roottoken_make(const char *key, uint64_t auth_revision, int64_t expires_s);

#define ETCDASK_VERSION_MAX 32
#define ETCDASK_ALARM_MAX 32

struct etcdask {
	const char *client_url;
	const char *peer_url;
	const char *token;   /* NULL: no authentication */
	int64_t deadline_us; /* of each question */
};

/* It serves reads that need a quorum: it does so whatever alarm stands, CORRUPT too. */
bool etcdask_is_healthy(const struct etcdask *ask);

/* The code of each is ASK. */
int etcdask_version(const struct etcdask *ask, struct problem *problem,
                    char ret_version[static ETCDASK_VERSION_MAX]);

/* How many stand, and what the first is called: "NOSPACE"; "" if there is none. */
int etcdask_alarms(const struct etcdask *ask, struct problem *problem, size_t *ret_n,
                   char ret_first[static ETCDASK_ALARM_MAX]);

struct etcdask_hash {
	uint32_t hash;
	int64_t compact_revision; /* -1: none */
};

/* Also where etcd was compacted at that revision, if it is the newest. */
int etcdask_hashkv(const struct etcdask *ask, int64_t revision, struct problem *problem,
                   struct etcdask_hash *ret_hash);

/* How many keys are alive at a revision; ret_current is the store's. */
int etcdask_count(const struct etcdask *ask, int64_t revision, struct problem *problem,
                  int64_t *ret_count, int64_t *ret_current);

struct etcdask_kv {
	bool is_there;
	int64_t create_revision;
	int64_t mod_revision;
	int64_t version;
	int64_t lease;
	char *value; /* the caller frees it; NULL: it is not there */
	size_t value_len;
};

int etcdask_get(const struct etcdask *ask, struct bytes key, int64_t revision,
                struct problem *problem, struct etcdask_kv *ret_kv);
