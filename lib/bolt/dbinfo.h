/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an etcd database says of the cluster and the member that it came from, as far as its version
 * of etcd wrote it. The ids of the cluster and of the member itself are not in it (they are in the
 * WAL). Buckets: meta, cluster, members, members_removed, alarm, auth, authUsers, authRoles, lease.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bolt.h"

#define DBINFO_VERSION_MAX 32
#define DBINFO_ALARMS_MAX 64
#define DBINFO_MEMBERS_MAX 256
#define DBINFO_URLS_MAX 256 /* of a member, of each kind */

/* etcdserverpb.AlarmType */
enum dbinfo_alarm_kind {
	DBINFO_ALARM_NONE = 0,
	DBINFO_ALARM_NOSPACE = 1,
	DBINFO_ALARM_CORRUPT = 2,
};

struct dbinfo_alarm {
	uint64_t member_id;
	enum dbinfo_alarm_kind kind;
};

struct dbinfo_member {
	uint64_t id;
	char *name; /* "": it has never been started */
	char **peer_urls;
	size_t n_peer_urls;
	char **client_urls;
	size_t n_client_urls;
	bool is_learner;
};

struct dbinfo {
	uint64_t consistent_index; /* of raft, that the database has come to; 0: not said */
	uint64_t term;             /* 3.5 and later */
	char cluster_version[DBINFO_VERSION_MAX]; /* "3.5.0"; "" when not said */
	char storage_version[DBINFO_VERSION_MAX]; /* 3.6 and later */
	struct dbinfo_member *members;
	size_t n_members;
	uint64_t n_removed_members;
	struct dbinfo_alarm alarms[DBINFO_ALARMS_MAX];
	size_t n_alarms;
	uint64_t n_leases;
	bool auth_is_enabled;
	uint64_t n_users;
	uint64_t n_roles;
};

/* -EBADMSG if what is there makes no sense, or is more than the limits above. */
int dbinfo_read(struct bolt *db, struct dbinfo **ret_info);
void dbinfo_free(struct dbinfo *info);
DEFINE_AUTO(struct dbinfo, dbinfo_free);
