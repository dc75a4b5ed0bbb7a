/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Whether etcd can do without this node for a while: the members, which of them are well, and what
 * follows from that for a change that may cut this node off. Pure.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/endpoint.h"
#include "netconf/model/model.h"

#define QUORUM_MEMBERS_MAX 64
#define QUORUM_REASON_MAX 1024

struct quorum_member {
	char *name; /* "": it has never started */
	/* The first of each that is no loopback address, else the first; NULL: it has none. */
	char *client_url, *peer_url;
	bool is_voter;
	bool is_self;
	bool is_well; /* whoever asks sets it */
};

struct quorum {
	struct quorum_member *members;
	size_t n;
};

/* etcd's answer to /v3/cluster/member/list; the members that are reached at an address of `have`
 * are this node. -EBADMSG: it is no such answer. */
int quorum_read(const char *text, size_t len, const struct model *have, struct quorum *ret_quorum);
void quorum_fini(struct quorum *quorum);

bool quorum_has_others(
    const struct quorum *quorum); /* this node is a voter, and not the only one */

/* True: another voter is unwell, there is a quorum, and without this node there would be none. The
 * sentence says who is unwell, and what to do. */
bool quorum_hangs_on_self(const struct quorum *quorum, char ret_reason[static QUORUM_REASON_MAX]);

/* Whom a member's URL names: an address with a port. -EINVAL: a name, or no URL. */
int quorum_endpoint(const char *url, struct endpoint *ret_endpoint);
