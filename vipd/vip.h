/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One VIP: its election, and everything that the election sees and touches, wired together: the
 * ledger (etcd), the fence (kernel), the announcer (LAN), this node's key in the race, the policy.
 *
 *   etcd -> ledger -> facts --\
 *   link, health, hold -> me --+-> policy, decide -> election -> fence, announcer, ledger
 *
 * daemon.c makes one a configured VIP and tells it what changes around it.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "net/nftgate.h"
#include "net/rtnl.h"
#include "vipd/clusterid.h"
#include "vipd/config.h"
#include "vipd/health.h"
#include "vipd/hcloud.h"
#include "vipd/report.h"
#include "vipd/keep.h"
#include "vipd/onlink.h"

struct vip;

/* What all VIPs of a node share. Borrowed, all of it, until vip_free(). */
struct vip_env {
	struct ev_loop *ev;
	struct etcd *etcd;
	const struct clusterid *cluster;
	struct rtnl *rtnl;
	struct nftgate *gate;              /* NULL: this kernel has no nftables, or nobody wants them */
	int gate_error;                    /* why the gate could not be made (anew) in nftables; 0 */
	struct hcloud_queue *hcloud_queue; /* for VIPs of Hetzner Cloud */
	const char *node_name;
	const char *instance;
	const char *key_prefix;
	int64_t lease_ttl_us;
	int lease_error; /* why etcd did not grant the node's lease, or 0 */

	/* VIPs of this node. */
	unsigned (*owned)(void *ctx);
	/* What vip_keep() says has changed: write the state file before anything else happens. */
	void (*kept_changed)(void *ctx);
	/* Another machine renews the lease of this node's key. */
	void (*name_taken)(const char *other_instance, void *ctx);
	/* The VIP is down after vip_stop(). */
	void (*stopped)(void *ctx);
	void *ctx;
};

/* turn: the number of this VIP in the order of all addresses. kept: what the process before us left
 * of it, or NULL. */
struct vip *vip_new(const struct vip_env *env, const struct config_vip *config, size_t turn,
                    const struct keep_vip *kept);
void vip_free(struct vip *vip);

const struct config_vip *vip_config(const struct vip *vip);

/* What is going on around it. Each takes effect at once. */
void vip_set_election_timeout(struct vip *vip, int64_t election_timeout_us);
/* env->lease_error is another one. */
void vip_on_lease_error(struct vip *vip);
void vip_set_lease(struct vip *vip, int64_t lease, int64_t granted_s);
/* Of this node's etcd member: it leads; it does not answer. */
void vip_set_member(struct vip *vip, bool leads, bool is_silent);
void vip_set_health(struct vip *vip, const struct health_view *view);
/* Does another node say that its API server is ready? */
bool vip_others_are_ready(const struct vip *vip);
void vip_set_hold(struct vip *vip, bool on_hold);
void vip_on_link_changed(struct vip *vip);
/* An address like it, or any of its link, came or went. */
void vip_on_address_changed(struct vip *vip);
/* An address like this one was removed from a link: is ours still there? */
void vip_check_address(struct vip *vip);
/* The gate was removed by somebody else and has been made anew, with nothing live. */
void vip_on_gate_restored(struct vip *vip);
/* The gate was removed by somebody else and cannot be made anew: vip_env.gate_error says why. What
 * is held behind it is let go at once, and handed over. */
void vip_on_gate_refused(struct vip *vip);
/* What vip_env.gate_error told of is over, and vip_env.gate is there. For a VIP that is down. */
void vip_on_gate_made(struct vip *vip);

/* Hands over if it owns, then stays down; vip_env.stopped tells when, also from inside this call.
 */
void vip_stop(struct vip *vip, const char *reason);
bool vip_is_stopping(const struct vip *vip);
/* In the first windows after vip_new(): has an owner not confirmed yet, or a standby not seen that
 * the owner lives? */
bool vip_is_settling(const struct vip *vip);
bool vip_is_down(const struct vip *vip);
/* Is the record this node's? */
bool vip_is_ours(const struct vip *vip);
/* Is the address certainly on no link of ours? A VIP that is down may have been refused that by the
 * kernel: until its lifetime ends it, only the gate keeps it silent, so that must stay. */
bool vip_is_off(const struct vip *vip);
/* What could not be removed as it stopped is tried once more: the kernel may have had no memory
 * for it. True if it is off. */
bool vip_take_off(struct vip *vip);

enum vip_move_result {
	VIP_MOVE_STARTED,
	VIP_MOVE_NOT_OWNER,
	VIP_MOVE_NO_CANDIDATE, /* nobody else, or not that one */
	VIP_MOVE_SELF,
};

/* Hands over to a node, or ("") to the best one. */
enum vip_move_result vip_move(struct vip *vip, const char *successor);

/* The owner as etcd last said; "" for none (also while released). */
const char *vip_owner(const struct vip *vip);
int64_t vip_epoch(const struct vip *vip);

/* How long an owner that was confirmed just now may answer, as far as this node knows of it. */
int64_t vip_fence_us(const struct vip *vip);

/* false: nothing is to be kept, the address is not on the link. */
bool vip_keep(const struct vip *vip, struct keep_vip *ret_kept);

/* Room for what a report points into. */
struct vip_report_room {
	char vip[ADDR_TEXT_MAX];
	char foreign_mac[MAC_TEXT_MAX];
	char link_problem[ONLINK_TEXT_MAX];
	struct vip_report_count counts[HISTORY_REASONS_MAX];
	struct vip_report_candidate candidates[FACTS_NODES_MAX];
	char warning_text[11][512];
	const char *warnings[11];
};

/* Everything that there is to say about it now; valid as long as room and the VIP are. */
void vip_fill_report(const struct vip *vip, struct vip_report_room *room,
                     struct vip_report *ret_report);
