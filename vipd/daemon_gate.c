/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate that all VIPs of a node share: made at the start, made anew when another program removed
 * it, and tried again where this kernel has nftables that refused it, at the start or then.
 *
 * While it is refused, VIPs that want it take no part: tables of an earlier process may be in force
 * that would keep silent whatever is held, and to hold with less than was asked for gives a fence
 * away. What refuses may pass: another program owns a table of this name until it ends, a security
 * module is loaded with another policy. So it is asked for again, less and less often, until it can
 * be made; the VIPs hold nothing meanwhile, and take part again from then on.
 */
#include "vipd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/macro.h"
#include "base/mono.h"
#include "net/nftgate.h"
#include "vipd/fence.h"
#include "vipd/vip.h"

#define AGAIN_MIN_US US_PER_S
#define AGAIN_MAX_US (10 * US_PER_S)

static bool is_wanted_for(const struct daemon *d, const struct addr *addr)
{
	for (size_t i = 0; i < d->config->n_vips; i++) {
		if (d->config->vips[i].policy.fence != CONFIG_FENCE_LIFETIME &&
		    (addr == NULL || addr_equal(&d->config->vips[i].addr, addr)))
			return true;
	}
	return false;
}

/* What the process before us guarded and nobody will open again would stay silent for ever. */
static void drop_old_guards(struct daemon *d)
{
	struct addr guarded[NFTGATE_ADDRS_MAX];
	size_t n = nftgate_guarded(d->gate, guarded);

	for (size_t i = 0; i < n; i++) {
		char text[ADDR_TEXT_MAX];
		int r;

		if (is_wanted_for(d, &guarded[i]))
			continue;
		r = nftgate_unguard(d->gate, &guarded[i]);
		log_info("guard_dropped", "vip=%s ok=%d", addr_format(&guarded[i], text), r == 0);
	}
}

/* --- one that was refused --- */

/* A VIP that the process before us left here is handed over first, with the fence that it has. */
static bool all_are_down(const struct daemon *d)
{
	for (size_t i = 0; i < d->n_vips; i++) {
		if (vip_config(d->vips[i])->policy.fence != CONFIG_FENCE_LIFETIME &&
		    !vip_is_down(d->vips[i]))
			return false;
	}
	return true;
}

static void try_again_later(struct daemon *d)
{
	loop_timer_in(loop_ev(d->loop), &d->gate_again, d->gate_again_us);
	d->gate_again_us = MIN(2 * d->gate_again_us, AGAIN_MAX_US);
}

static void say_refused(struct daemon *d, int r)
{
	if (r == d->env.gate_error)
		return;
	d->env.gate_error = r;
	(void) log_warning_errno(r, "gate_unavailable",
	                         "table=%s reason=\"VIPs that want it take no part; tried again\"",
	                         DAEMON_GATE_TABLE);
}

/* The timer runs already where what was refused is lost once more. */
static void on_refused(struct daemon *d, int r)
{
	say_refused(d, r);
	if (!ev_is_active(&d->gate_again)) {
		d->gate_again_us = AGAIN_MIN_US;
		try_again_later(d);
	}
	for (size_t i = 0; i < d->n_vips; i++)
		vip_on_gate_refused(d->vips[i]);
}

static void lost_cb(void *userdata)
{
	struct daemon *d = userdata;
	int r;

	r = nftgate_restore(d->gate);
	log_warning("gate_lost", "table=%s restored=%d reason=\"another program removed it\"",
	            DAEMON_GATE_TABLE, r == 0);
	/* A shortage may be over at the next attempt, and that is the VIPs': who holds one makes the
	 * gate anew or lets go, and nobody begins to hold without it. */
	if (r < 0 && !daemon_is_shortage(r)) {
		on_refused(d, r);
		return;
	}
	for (size_t i = 0; i < d->n_vips; i++)
		vip_on_gate_restored(d->vips[i]);
}

/* What was refused at the start is not there yet, and what was lost later is. */
static int make_gate(struct daemon *d)
{
	if (!all_are_down(d))
		return d->env.gate_error;
	if (d->gate != NULL)
		return nftgate_restore(d->gate);
	return nftgate_new(loop_ev(d->loop), DAEMON_GATE_TABLE, &d->gate);
}

static void again_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct daemon *d = CONTAINER_OF(w, struct daemon, gate_again);
	int r;

	/* Whoever ends or starts over has no use for it. */
	if (d->phase != DAEMON_RUNNING)
		return;
	r = make_gate(d);
	if (r < 0) {
		say_refused(d, r);
		try_again_later(d);
		return;
	}
	drop_old_guards(d);
	nftgate_on_lost(d->gate, lost_cb, d);
	d->env.gate = d->gate;
	d->env.gate_error = 0;
	log_notice("gate_made", "table=%s", DAEMON_GATE_TABLE);
	for (size_t i = 0; i < d->n_vips; i++)
		vip_on_gate_made(d->vips[i]);
}

/* --- at the start --- */

int daemon_open_gate(struct daemon *d)
{
	bool wanted = is_wanted_for(d, NULL);
	int r;

	d->gate_again_us = AGAIN_MIN_US;
	ev_init(&d->gate_again, again_cb);
	r = nftgate_new(loop_ev(d->loop), DAEMON_GATE_TABLE, &d->gate);
	if (r == -EOPNOTSUPP && wanted) {
		log_warning_errno(r, "gate_unavailable",
		                  "table=%s reason=\"the address lifetime is the only fence\"",
		                  DAEMON_GATE_TABLE);
	} else if (r < 0 && wanted) {
		if (daemon_is_shortage(r))
			return daemon_netlink_failed(r, "cannot ask for the gate");
		say_refused(d, r);
		try_again_later(d);
	}
	if (r < 0)
		return 0;
	drop_old_guards(d);
	if (!wanted) {
		(void) nftgate_destroy(d->gate);
		nftgate_free(TAKE_PTR(d->gate));
		return 0;
	}
	nftgate_on_lost(d->gate, lost_cb, d);
	return 0;
}

/* --- by hand, after vipd is dead --- */

struct ungate {
	struct addr guarded[NFTGATE_ADDRS_MAX];
	size_t n_guarded;
	struct rtnl_addr left[NFTGATE_ADDRS_MAX];
	size_t n_left;
};

/* Before 5.18 an address carries no mark: there one with a lifetime is vipd's. */
static void left_cb(const struct rtnl_addr *a, void *userdata)
{
	struct ungate *u = userdata;
	bool ours = a->proto != 0 ? a->proto == FENCE_ADDR_PROTO : a->valid_s != RTNL_LIFETIME_FOREVER;

	for (size_t i = 0; i < u->n_guarded && ours && u->n_left < ARRAY_SIZE(u->left); i++) {
		if (addr_equal(&u->guarded[i], &a->prefix.addr))
			u->left[u->n_left++] = *a;
	}
}

/* Behind the shut gate, so that what vipd had set answers no longer once the gate is gone. */
static int remove_left(struct rtnl *rtnl, struct ungate *u)
{
	int r;

	r = rtnl_addr_list(rtnl, left_cb, u);
	for (size_t i = 0; i < u->n_left && r >= 0; i++) {
		r = rtnl_addr_del(rtnl, u->left[i].ifindex, &u->left[i].prefix);
		if (r == -EADDRNOTAVAIL)
			r = 0;
	}
	return r;
}

static int ungate_failed(int r, const char *what)
{
	(void) fprintf(stderr,
	               "vipd: cannot %s: %s. This is for root; 'nft list tables' names a program that "
	               "owns a table " DAEMON_GATE_TABLE "\n",
	               what, strerror(-r));
	return EXIT_FAILURE;
}

static int ungate(struct nftgate *gate, struct rtnl *rtnl, bool yes)
{
	struct ungate u = {0};
	char text[ADDR_TEXT_MAX];
	int r;

	u.n_guarded = nftgate_guarded(gate, u.guarded);
	if (u.n_guarded > 0) {
		(void) puts("The gate silences on this node, until vipd opens it:");
		for (size_t i = 0; i < u.n_guarded; i++)
			(void) printf("  %s\n", addr_format(&u.guarded[i], text));
		(void) puts(
		    "Without it this node answers for each of them that is on one of its links,\n"
		    "whether or not another node owns it: two nodes may answer for an address, and\n"
		    "for any time. Make sure that no other node has it, and that vipd runs on none\n"
		    "(systemctl stop fairlead-vipd).");
	}
	if (u.n_guarded > 0 && !yes) {
		(void) puts("The gate stands: 'fairlead vip ungate --yes' removes it.");
		return EXIT_FAILURE;
	}
	r = remove_left(rtnl, &u);
	if (r < 0)
		return ungate_failed(r, "remove the address that vipd left");
	r = nftgate_destroy(gate);
	if (r < 0)
		return ungate_failed(r, "remove the gate");
	(void) puts(u.n_guarded > 0 ? "The gate is removed. vipd makes it again when it starts."
	                            : "There is no gate here.");
	return EXIT_SUCCESS;
}

int daemon_ungate(const char *runtime_dir, bool yes)
{
	AUTO(loop_free) struct loop *loop = NULL;
	AUTO(rtnl_free) struct rtnl *rtnl = NULL;
	AUTO(nftgate_free) struct nftgate *gate = NULL;
	static const struct rtnl_events no_events;
	AUTO(close) int lock_fd = keep_lock(runtime_dir, false);
	int r;

	if (lock_fd == -EWOULDBLOCK) {
		(void) fputs("vipd: a vipd runs here, and would make its gate again: stop it first\n"
		             "(systemctl stop fairlead-vipd, which kills one that hangs after 15 s)\n",
		             stderr);
		return EXIT_FAILURE;
	}
	if (lock_fd < 0 && lock_fd != -ENOENT)
		return ungate_failed(lock_fd, "look whether vipd runs");
	r = loop_new(&loop);
	if (r >= 0)
		r = rtnl_new(loop_ev(loop), &no_events, NULL, &rtnl);
	if (r >= 0)
		r = nftgate_new(loop_ev(loop), DAEMON_GATE_TABLE, &gate);
	return r < 0 ? ungate_failed(r, "read the gate") : ungate(gate, rtnl, yes);
}
