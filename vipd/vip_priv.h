/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The inside of one VIP, only for the files that make it up. What a file alone writes
 * stands in a struct of its name:
 *   vip.c          its life, and what goes on around it
 *   vip_world.c    what the election does to etcd, the kernel and the LAN, and their answers; how the
 *                  network around it learns where the address is
 *   vip_conflict.c whether another host has the address
 *   vip_outside.c  whether the others reach it at its owner
 *   vip_report.c   what there is to say about it
 */

#include <ev.h>

#include "base/boottimer.h"
#include "base/log.h"
#include "vipd/announce.h"
#include "vipd/election.h"
#include "vipd/fence.h"
#include "vipd/hcloud.h"
#include "vipd/ledger.h"
#include "vipd/nodekey.h"
#include "vipd/onlink.h"
#include "vipd/outside.h"
#include "vipd/policy.h"
#include "vipd/vip.h"

/* One way in which the network learns where the address is. */
struct vip_outlet {
	const char *name;
	bool needs_carrier; /* else the link need only be up */
	bool asks;          /* another host on the link could have the address */
	/* It appeared or changed; NULL: there is none. */
	void (*on_link)(struct vip *vip, const struct rtnl_link *link);
	/* The address is here: said when it has come, and whenever others may not know it. */
	void (*tell)(struct vip *vip);
	void (*hush)(struct vip *vip); /* before it goes */
};

/*
 * Does this node take part at all?
 *
 *   starting --- its node key stands in etcd, or the VIP was left to it ---> joined
 *      |                                                                       |
 *      +----------------------------> stopping <--------- vip_stop() ----------+
 */
enum vip_phase {
	VIP_STARTING,
	VIP_JOINED,
	VIP_STOPPING,
	VIP_PHASES,
};

enum vip_link {
	VIP_LINK_ABSENT,
	VIP_LINK_DOWN, /* or without the carrier that the outlet needs */
	VIP_LINK_UP,
};

/* The address that others take off the link is put back, but not more often than so in a second. */
struct vip_readds {
	uint64_t count;
	int64_t second_us; /* when the present second began */
	unsigned in_second;
	unsigned left_out; /* since the last that was put back */
};

struct vip_conflict {
	struct announcer *announcer;
	struct asker *asker;
	uint64_t count;
	struct mac foreign_mac; /* the last other host that was found to have the address */
	int64_t foreign_us;     /* when; 0: none */
	bool was_in_use;        /* as last logged */
	int64_t defended_us;
	bool defend; /* announce behind the next confirmation */
	struct log_ratelimit limit;
};

struct vip_outside {
	struct outside_probe *probe;
	int64_t looking_epoch; /* of the owner that the probe looks at; 0: it is stopped */
	struct outside_view view;
	struct outside_moves moves;
	int64_t marked_us; /* when me.failed_epoch was first seen set */
	bool
	    cut_off; /* the others do not reach it here, and its API server is healthy; as last logged */
};

struct vip {
	const struct vip_env *env;
	const struct config_vip *config;
	char text[ADDR_TEXT_MAX];

	struct facts facts;
	struct record_node me;
	struct election *election;
	struct ledger *ledger;
	struct fence *fence;
	const struct vip_outlet *outlet;
	struct hcloud *hcloud; /* NULL: the VIP is none of Hetzner Cloud's */
	struct vip_conflict conflict;
	struct vip_outside outside;
	struct nodekey *nodekey;
	struct history history;

	struct boottimer *wake; /* the election's: its deadlines are promises to other machines */
	ev_timer review;        /* the policy's */

	int64_t made_us;
	int64_t first_life_us; /* facts.life as of the first read: no sign of life */

	/* fitness */
	enum vip_phase phase;
	char stop_reason[RECORD_REASON_MAX + 1];
	bool on_hold;
	enum vip_link link;
	struct onlink onlink; /* without a link all zero */
	int make_link_error;  /* why there is no dummy, or 0 */
	int64_t make_link_at_us;
	struct mac mac;

	enum health_state health; /* as this node shows it; me.health is what others are told */
	int64_t health_since_us;
	char health_reason[256];
	struct health_view probed; /* as the probes have it; the reason is the next */
	char probed_reason[256];
	bool member_silent;
	int64_t election_timeout_us;
	int64_t granted_lease_s;
	enum policy_tenure tenure;
	bool owner_seen; /* alive, by this process; or it has been the owner */
	unsigned returns;
	int64_t asked_us; /* when the candidates were last asked for a sign of life */
	int64_t asked_rev;

	/* counters and last values, for reports */
	int64_t rtt_us;
	uint64_t confirmations;
	uint64_t confirmation_failures;
	bool etcd_ok;
	struct vip_readds readds;
	struct log_ratelimit renewal_limit;
	bool sockets_unsupported;
};

/* vip.c */

/* Why it cannot take part, or NULL. buf may be used for the sentence. */
const char *vip_unfit_because(const struct vip *vip, char *buf, size_t size);

/* Does etcd refuse puts and leases: its alarm NOSPACE stands? Then no other node can take the VIP.
 */
bool vip_etcd_is_full(const struct vip *vip);

/* Something changed: weigh it all again. */
void vip_review(struct vip *vip);

/* vip_conflict.c */
void vip_conflict_init(struct vip *vip);
void vip_conflict_fini(struct vip *vip);
/* Asks the LAN as often as the state wants it. */
void vip_ask(struct vip *vip);
/* Logs what has changed since the last time. */
void vip_review_conflict(struct vip *vip);
/* Another host answers for it, and that is no node of ours. */
bool vip_is_in_use(const struct vip *vip);
/* And so it is not taken. */
bool vip_is_refused(const struct vip *vip);
/* An owner of ours is seen alive, or is this node: what has answered before may have been it. */
void vip_see_owner(struct vip *vip);
/* A confirmation of ours has come: a claim of another host is answered now. */
void vip_defend(struct vip *vip);

/* vip_outside.c */
void vip_outside_init(struct vip *vip);
/* Looks, tells, counts; logs what has changed since the last time. */
void vip_review_outside(struct vip *vip);
/* The others cannot reach it here, and a move for that is due. */
bool vip_is_to_go_outside(const struct vip *vip);
/* Why it stays, of one that is cut off; NULL: it is about to move. */
const char *vip_outside_stays(const struct vip *vip);

/* vip_world.c */
/* Chooses the outlet and makes what it needs; 0 or -errno, of the cloud's client. */
int vip_outlet_init(struct vip *vip);
extern const struct election_ops vip_election_ops;
extern const struct ledger_callbacks vip_ledger_callbacks;

/* Takes the address off, and says so if the kernel does not let it; 0 or -errno. */
int vip_drop(struct vip *vip);
