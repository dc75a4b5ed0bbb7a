/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One look at the cluster: the members as the list has them, what each endpoint in use says of the
 * member behind it, and the alarms. Whoever does not answer is in it all the same, as one that does
 * not.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"

#define VIEW_MEMBERS_MAX 16
#define VIEW_NAME_MAX 64
#define VIEW_URL_MAX 256
#define VIEW_VERSION_MAX 32
#define VIEW_ERROR_MAX 256
#define VIEW_LISTED_NAME_MAX 256
#define VIEW_LISTED_URLS_MAX 16
#define VIEW_LISTED_URLS_TEXT_MAX 512

struct view_member {
	uint64_t id;
	char name[VIEW_NAME_MAX]; /* "": not known, or not started */
	bool learner;
	bool local; /* it listens on an address of this machine */
	/* What follows only if it answered. */
	bool answers;
	char endpoint[VIEW_URL_MAX]; /* for the calls that ask one member */
	char version[VIEW_VERSION_MAX];
	bool leader;
	uint64_t leader_id; /* whom it follows; 0: nobody */
	bool corrupt;       /* the alarm stands for it */
	uint64_t raft_index, raft_applied_index;
	uint64_t db_bytes;
};

/* A line of the member list, nothing of it cut. */
struct view_listed {
	uint64_t id;
	char name[VIEW_LISTED_NAME_MAX];           /* "": not started yet */
	char peer_urls[VIEW_LISTED_URLS_TEXT_MAX]; /* "https://10.0.0.1:2380,..." */
	char client_urls[VIEW_LISTED_URLS_TEXT_MAX];
	bool learner;
};

struct view {
	uint64_t cluster_id; /* 0: nobody answers */
	bool listed;         /* false: the list did not come, and the members are those that answer */
	struct view_member members[VIEW_MEMBERS_MAX];
	size_t n_members;
	/* MemberList's answer; n_list 0: it did not come, or a part of it is longer than the limits. */
	struct view_listed list[VIEW_MEMBERS_MAX];
	size_t n_list;
	bool alarms_known;
	bool corrupt; /* an alarm stands */
	bool no_space;
	char error[VIEW_ERROR_MAX];  /* why the list did not come */
	char denied[VIEW_ERROR_MAX]; /* a member answers, and lets us see nothing: doubt.h; or ""
	                              */
};

struct view_request;
typedef void (*view_done_fn)(const struct view *view, void *userdata);

/* The callback comes once, within about the time that a call may take. */
struct view_request *view_start(struct etcd *etcd, view_done_fn done, void *userdata);
void view_cancel(struct view_request *request); /* NULL is fine */

const struct view_member *view_find(const struct view *view, uint64_t id);
/* "https://10.0.0.1:2379": is that an address of this machine? Names are not looked up. */
bool view_is_local_url(const char *url);
