/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The daemon as a whole: makes what all VIPs share (etcd client, netlink, gate, lease, probers),
 * makes a struct vip for each configured one, and carries news from the former to the latter.
 *
 * Four ways to end, of which the service sees the exit code or the wish to start over:
 *   stop     hands every VIP over, removes the gate
 *   leave    exits at once and leaves addresses and fences to the next process of this boot
 *   reload   hands over what is no longer configured as it was, then starts over in place
 *   refuse   the node name belongs to another machine
 */

#include <ev.h>
#include <sys/queue.h>

#include "base/service.h"
#include "vipd/config.h"
#include "vipd/keep.h"
#include "vipd/vip.h"

/* Takes config. service is borrowed. On failure it has logged why. */
int daemon_new(struct service *service, struct config *config, struct daemon **ret_daemon);
void daemon_free(struct daemon *daemon);
DEFINE_AUTO(struct daemon, daemon_free);

/*
 * For an operator whose vipd is dead: says on standard output which addresses its gate silences and
 * what the gate's removal gives up, and with `yes` removes what that vipd left of the addresses,
 * then the gate. Refused while a vipd has the runtime directory. The exit code.
 */
int daemon_ungate(const char *runtime_dir, bool yes);

void daemon_stop(struct daemon *daemon);
void daemon_leave(struct daemon *daemon);
/* Waits, no longer than a few windows after the start, while a VIP waits for what the next process
 * would have to wait for again. */
void daemon_reload(struct daemon *daemon);

/* After loop_run(): is the program to be started over in place? */
bool daemon_wants_exec(const struct daemon *daemon);

/* Writes what is true now; userdata is the daemon. */
void daemon_metrics(struct metrics *m, void *userdata);

/*
 * The inside of the daemon, for the files that make it up:
 *   daemon.c      what it is made of, its state file, and the news that it carries to the VIPs
 *   daemon_gate.c the gate that its VIPs share
 *   daemon_end.c  how it ends
 *   commands.c    the commands of its control socket, and its metrics
 */

#define DAEMON_GATE_TABLE "fairlead-vip"

enum daemon_phase {
	DAEMON_STARTING,
	DAEMON_RUNNING,
	DAEMON_STOPPING,  /* VIPs hand over, then exit */
	DAEMON_RELOADING, /* some VIPs hand over, then start over */
	DAEMON_ENDING,    /* all are off; the lease is being revoked */
};

/* Of the VIPs with this check. */
struct daemon_prober {
	struct daemon *daemon;
	const struct config_health *config;
	struct health *health;
};

struct daemon {
	struct service *service;
	struct loop *loop; /* the service's */
	struct config *config;
	const char *runtime_dir; /* the service's */
	int lock_fd;
	struct keep keep; /* as of the start; then what was last written */
	enum daemon_phase phase;
	bool wants_exec;
	int exit_code;
	bool leave_lease; /* end it, instead of keeping it over a reload */

	struct rtnl *rtnl;
	struct nftgate *gate;
	struct etcd *etcd;
	struct clusterid *cluster;
	struct nodelease *lease;
	struct localmember *member;
	struct daemon_prober probers[CONFIG_VIPS_MAX];
	size_t n_probers;
	struct memberquery *members;
	LIST_HEAD(, move) moves; /* that commands wait for */
	ev_timer move_poll;      /* while there are any */
	struct hcloud_queue *hcloud_queue;
	struct vip_env env;
	struct vip *vips[CONFIG_VIPS_MAX];
	size_t n_vips;
	ev_timer stop_limit;
	ev_timer reload_again; /* while the last start is not complete */
	ev_timer gate_again;   /* where the gate was refused */
	int64_t gate_again_us;
};

/* daemon.c: writes the state file. 0, or -errno, which has been logged. */
int daemon_save(struct daemon *d);

/* daemon.c: says nothing of the kernel: the next process may well have it. */
bool daemon_is_shortage(int r);
/* daemon.c: logs and returns r; of a shortage it ends the process. */
int daemon_netlink_failed(int r, const char *reason);

/* daemon_gate.c: opened even where no VIP wants it, because an earlier process may have left one.
 * 0 also where there is none; -errno of what the daemon cannot start with. */
int daemon_open_gate(struct daemon *d);

/* daemon_end.c, called by the VIPs: a VIP has been handed over; the node name is another's. */
void daemon_stopped_cb(void *ctx);
void daemon_name_taken_cb(const char *other_instance, void *ctx);
/* daemon_end.c: its timers; none runs yet. */
void daemon_end_init(struct daemon *d);
void daemon_end_fini(struct daemon *d);

/* commands.c: opens the control socket. 0 or -errno. */
int daemon_open_commands(struct daemon *d);
void daemon_close_commands(struct daemon *d);
/* daemon.c: 0; or -errno: it could not be kept for the next start, and is as before. */
int daemon_set_hold(struct daemon *d, bool on_hold);
