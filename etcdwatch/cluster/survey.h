/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One look at all members at once, for whoever shows the cluster or changes it: what each endpoint
 * says of the member behind it (its status, the member list as that one knows it, whether it
 * answers a linearizable read), and the alarms. Each is asked with a deadline of its own, so that a
 * member that hangs costs that deadline and nothing else. Only reads.
 *
 * Sizes are bytes, times microseconds. Texts that do not fit are cut.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"

#define SURVEY_MEMBERS_MAX 16
#define SURVEY_NAME_MAX 64
#define SURVEY_URL_MAX 256
#define SURVEY_URLS_MAX 512
#define SURVEY_VERSION_MAX 32
#define SURVEY_TEXT_MAX 256
#define SURVEY_ALARMS_MAX 32
/* Joined: an alarm has up to 48 bytes, and each member may have two. */
#define SURVEY_ERRORS_MAX 2048
/* No key has this name; what matters is that reading it is answered. */
#define SURVEY_KEY "fairlead/survey"

/* A line of a member list. */
struct survey_listed {
	uint64_t id;
	char name[SURVEY_NAME_MAX];      /* "": it has not been started yet */
	char peer_urls[SURVEY_URLS_MAX]; /* "https://10.0.0.1:2380,..." */
	char client_urls[SURVEY_URLS_MAX];
	bool learner;
	bool local; /* clients reach it at an address of this machine */
};

struct survey_list {
	bool known;
	char error[SURVEY_TEXT_MAX]; /* why not */
	struct survey_listed members[SURVEY_MEMBERS_MAX];
	size_t n;
};

/* What one endpoint said. */
struct survey_answer {
	char endpoint[SURVEY_URL_MAX];
	bool local; /* an address of this machine */
	/* The status. */
	bool answers;
	bool denied;                 /* it does, and refuses our user (doubt.h) */
	char error[SURVEY_TEXT_MAX]; /* why not */
	uint64_t member_id, cluster_id;
	int64_t revision;
	char version[SURVEY_VERSION_MAX];
	char storage_version[SURVEY_VERSION_MAX];    /* "" before 3.6 */
	int64_t db_bytes, in_use_bytes, quota_bytes; /* the last is 0 before 3.6 */
	uint64_t leader_id;                          /* 0: it knows none */
	uint64_t raft_index, raft_applied_index, raft_term;
	bool learner;
	char errors[SURVEY_ERRORS_MAX]; /* as the server writes them, joined */
	/* A linearizable read: that it has a leader with a quorum. */
	bool serves;
	bool serve_denied; /* it may not be read by us, which says nothing */
	char serve_error[SURVEY_TEXT_MAX];
	int64_t latency_us; /* of that */
	int64_t status_latency_us;
	struct survey_list list;
};

/* A member, and which answer is its own. */
struct survey_member {
	uint64_t id;                /* 0: an endpoint of which nobody knows whose it is */
	char name[SURVEY_NAME_MAX]; /* "": not started, or not known */
	bool listed;                /* the cluster counts it among its members */
	bool started;
	bool learner;
	bool local;
	/* Its answer names another cluster, another leader, or other members than the survey does. */
	bool strays;
	const struct survey_answer *answer; /* NULL: no endpoint leads to it */
};

struct survey {
	struct survey_answer answers[ETCD_ENDPOINTS_MAX];
	size_t n_answers;
	/* As the cluster has agreed on, as far as anybody who answers knows it; without a list, those
	 * that answer. */
	struct survey_member members[SURVEY_MEMBERS_MAX];
	size_t n_members;
	bool listed;
	uint64_t cluster_id; /* of the answer whose list that is; 0: nobody answers */
	bool alarms_known;   /* the list came; else they are what statuses tell */
	struct etcd_alarm alarms[SURVEY_ALARMS_MAX];
	size_t n_alarms;
};

/* Pure: from answers (and alarms) to members. The rest is written anew. */
void survey_merge(struct survey *survey);

/* What to call it: its name, else its endpoint, else "-". */
const char *survey_member_name(const struct survey_member *member);
/* How many have this name, or this id as etcdctl writes it. */
size_t survey_count(const struct survey *survey, const char *word);
/* The only one; NULL: none, or several. */
const struct survey_member *survey_find(const struct survey *survey, const char *word);
const struct survey_member *survey_find_id(const struct survey *survey, uint64_t id);
/* Whom a member that answers reads with a quorum follows; NULL: nobody does. */
const struct survey_member *survey_leader(const struct survey *survey);
/* Whether all who answer are of one cluster. */
bool survey_is_one_cluster(const struct survey *survey);
bool survey_has_alarm(const struct survey *survey, uint64_t member_id, enum etcd_alarm_type type);
/* Whoever it is of: CORRUPT may be of member 0, where etcd cannot tell who differs, and any of one
 * that is gone. */
bool survey_any_alarm(const struct survey *survey, enum etcd_alarm_type type);
/* What to call whom it is of. */
const char *survey_alarm_owner(const struct survey *survey, const struct etcd_alarm *alarm);

struct survey_request;
/* What is given is borrowed until it returns. */
typedef void (*survey_fn)(const struct survey *survey, void *userdata);

/* The callback comes once, at the latest when the client's deadline is over; never before this
 * returned. */
struct survey_request *survey_start(struct etcd *etcd, survey_fn fn, void *userdata);
/* The same for one who asks again and again: the list of alarms is not asked for, since each such
 * question is an entry in etcd's log. Then they are what statuses tell. */
struct survey_request *survey_start_light(struct etcd *etcd, survey_fn fn, void *userdata);
void survey_cancel(struct survey_request *request); /* NULL is fine */

/* --- surveyjson --- */

/*
 * The JSON lines of `etcd members`, `etcd status` and `etcd alarms`. Pure. New objects: the caller
 * owns them. docs/control.md describes the fields. Ids are hexadecimal, as etcdctl writes them.
 */

json_t *surveyjson_id(uint64_t id);

/* What a member knows of the members; or why that is not known. */
json_t *surveyjson_list(const struct survey_member *member);
json_t *surveyjson_status(const struct survey_member *member);
json_t *surveyjson_alarm(const struct survey *survey, const struct etcd_alarm *alarm);

/* "NOSPACE", "CORRUPT", or "unknown". */
const char *surveyjson_alarm_name(enum etcd_alarm_type type);
