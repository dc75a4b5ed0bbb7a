/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns everything that lives as long as the process, in the order in which it is made;
 * daemon_free() undoes it backwards. The state file is written here, whenever a VIP says that what
 * it keeps changed. How it ends is daemon_end.c's, and the gate daemon_gate.c's.
 */
#include "vipd/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/unixsock.h"
#include "base/words.h"
#include "etcd/connect.h"
#include "etcd/etcd.h"
#include "net/nftgate.h"
#include "net/rtnl.h"
#include "vipd/clusterid.h"
#include "vipd/keep.h"
#include "vipd/localmember.h"
#include "vipd/nodekey.h"
#include "vipd/health.h"
#include "vipd/timing.h"

/* What is asked for is small; one member that answers with more than that, unpacked four times as
 * much, must not take the unit's memory. */
#define ANSWER_MAX_BYTES ((size_t) 4 << 20)

/* --- the state file --- */

static void keep_cluster(struct daemon *d)
{
	const char *const *endpoints;
	size_t n = etcd_endpoints(d->etcd, &endpoints);

	d->keep.cluster_id = clusterid_get(d->cluster);
	d->keep.n_endpoints = n;
	for (size_t i = 0; i < n; i++)
		(void) snprintf(d->keep.endpoints[i], sizeof(d->keep.endpoints[i]), "%s", endpoints[i]);
}

int daemon_save(struct daemon *d)
{
	int r;

	keep_cluster(d);
	d->keep.lease = d->lease != NULL ? nodelease_id(d->lease) : 0;
	d->keep.n_vips = 0;
	for (size_t i = 0; i < d->n_vips; i++) {
		if (vip_keep(d->vips[i], &d->keep.vips[d->keep.n_vips]))
			d->keep.n_vips++;
	}
	r = keep_save(d->runtime_dir, &d->keep);
	if (r < 0)
		return log_warning_errno(r, "state_not_saved", "dir=%s", d->runtime_dir);
	return 0;
}

static void kept_changed_cb(void *ctx)
{
	struct daemon *d = ctx;

	/* Until all VIPs have been made, the file of the process before us is the better one. */
	if (d->phase != DAEMON_STARTING)
		(void) daemon_save(d);
}

static unsigned owned_cb(void *ctx)
{
	const struct daemon *d = ctx;
	unsigned n = 0;

	for (size_t i = 0; i < d->n_vips; i++)
		n += vip_is_ours(d->vips[i]);
	return n;
}

/* A new instance for every boot, the old one after a restart. */
static void load_keep(struct daemon *d)
{
	int r;

	r = keep_load(d->runtime_dir, &d->keep);
	if (r == 0)
		return;
	if (r != -ENOENT && r != -ESTALE)
		log_warning_errno(r, "state_not_read", "dir=%s", d->runtime_dir);
	memset(&d->keep, 0, sizeof(d->keep));
	record_new_instance(d->keep.instance);
}

/* --- news for the VIPs --- */

static void link_cb(const struct rtnl_link *link UNUSED, bool gone UNUSED, void *userdata)
{
	struct daemon *d = userdata;

	for (size_t i = 0; i < d->n_vips; i++)
		vip_on_link_changed(d->vips[i]);
}

static void addr_cb(const struct rtnl_addr *addr, bool added, void *userdata)
{
	struct daemon *d = userdata;

	for (size_t i = 0; i < d->n_vips; i++) {
		const struct config_vip *c = vip_config(d->vips[i]);
		const struct rtnl_link *link = rtnl_link_by_name(d->rtnl, c->link);
		const bool is_vip = addr_equal(&addr->prefix.addr, &c->addr);

		if (is_vip && !added)
			vip_check_address(d->vips[i]);
		if (is_vip || (link != NULL && link->ifindex == addr->ifindex))
			vip_on_address_changed(d->vips[i]);
	}
}

static void resync_cb(void *userdata)
{
	struct daemon *d = userdata;

	for (size_t i = 0; i < d->n_vips; i++) {
		vip_on_link_changed(d->vips[i]);
		vip_check_address(d->vips[i]);
	}
}

static const struct rtnl_events rtnl_events = {
    .link = link_cb,
    .addr = addr_cb,
    .resync = resync_cb,
};

static void lease_changed_cb(int64_t id, void *userdata)
{
	struct daemon *d = userdata;

	for (size_t i = 0; i < d->n_vips; i++)
		vip_set_lease(d->vips[i], id, nodelease_granted_s(d->lease));
	kept_changed_cb(d);
}

static void lease_granted_cb(int r, void *userdata)
{
	struct daemon *d = userdata;

	if (r == d->env.lease_error)
		return;
	d->env.lease_error = r;
	for (size_t i = 0; i < d->n_vips; i++)
		vip_on_lease_error(d->vips[i]);
}

static void min_ttl_cb(int64_t min_ttl_s, void *userdata)
{
	struct daemon *d = userdata;

	for (size_t i = 0; i < d->n_vips; i++)
		vip_set_election_timeout(d->vips[i], timing_election_timeout_us(min_ttl_s));
}

static const struct nodelease_callbacks lease_callbacks = {
    .changed = lease_changed_cb,
    .min_ttl = min_ttl_cb,
    .granted = lease_granted_cb,
};

static void cluster_changed_cb(void *userdata)
{
	kept_changed_cb(userdata);
}

static int64_t cluster_fence_us(void *userdata)
{
	const struct daemon *d = userdata;
	/* Enough for a round of questions. */
	int64_t longest_us =
	    timing_take_at((struct mono_moment){0}, TIMING_WINDOW_DEFAULT_US, TIMING_LATE_US).us;

	for (size_t i = 0; i < d->n_vips; i++)
		longest_us = MAX(longest_us, vip_fence_us(d->vips[i]));
	return longest_us;
}

static const struct clusterid_callbacks cluster_callbacks = {
    .changed = cluster_changed_cb,
    .fence_us = cluster_fence_us,
};

/* Tells prism, if it runs on this node, that the API server here may fail: prism asks it seldom
 * while all is well. Its socket is in our folder in a test, and in the parent of it where systemd
 * made that. */
static void suspect(const char *reason, void *userdata)
{
	static const char *const places[] = {"..", "."};
	const char *const words[] = {"prism", "suspect", "local", reason};
	const struct daemon *d = userdata;
	AUTO(free) char *line = NULL;

	if (words_join(words, ARRAY_SIZE(words), &line) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		AUTO(free) char *path = xasprintf("%s/%s/prism.sock", d->runtime_dir, places[i]);
		AUTO(free) char *text = xasprintf("%s\n", line);
		int r = unixsock_tell(path, text);

		log_debug("prism_told", "path=\"%s\" ok=%d", path, r == 0);
		if (r == 0)
			return;
	}
}

static void member_changed_cb(bool leads, bool is_silent, bool in_doubt, void *userdata)
{
	struct daemon *d = userdata;

	for (size_t i = 0; i < d->n_vips; i++)
		vip_set_member(d->vips[i], leads, is_silent);
	if (in_doubt)
		suspect("the etcd member of this node does not answer", d);
}

/* --- the probers: one for each different healthCheck among the VIPs --- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_check(const struct config_health *a, const struct config_health *b)
{
	return a->awaits_ca == b->awaits_ca && same_text(a->url, b->url) &&
	       same_text(a->server_name, b->server_name) && same_text(a->ca_file, b->ca_file) &&
	       same_text(a->client_cert_file, b->client_cert_file) &&
	       same_text(a->client_key_file, b->client_key_file) && a->interval_us == b->interval_us &&
	       a->timeout_us == b->timeout_us && a->rise == b->rise && a->fall == b->fall;
}

static bool checks(const struct daemon_prober *p, size_t vip)
{
	const struct config_health *config = &p->daemon->config->vips[vip].policy.health;

	return config->enabled && same_check(config, p->config);
}

static void health_changed_cb(const struct health_view *view, void *userdata)
{
	const struct daemon_prober *p = userdata;

	for (size_t i = 0; i < p->daemon->n_vips; i++) {
		if (checks(p, i))
			vip_set_health(p->daemon->vips[i], view);
	}
}

static bool others_are_ready_cb(void *userdata)
{
	const struct daemon_prober *p = userdata;
	bool ready = false;

	for (size_t i = 0; i < p->daemon->n_vips; i++)
		ready = ready || (checks(p, i) && vip_others_are_ready(p->daemon->vips[i]));
	return ready;
}

static void health_failed_cb(const char *reason, void *userdata)
{
	suspect(reason, ((const struct daemon_prober *) userdata)->daemon);
}

static const struct health_callbacks health_callbacks = {
    .changed = health_changed_cb,
    .others_are_ready = others_are_ready_cb,
    .failed = health_failed_cb,
};

static int make_probers(struct daemon *d)
{
	for (size_t i = 0; i < d->config->n_vips; i++) {
		const struct config_health *config = &d->config->vips[i].policy.health;
		struct daemon_prober *p = &d->probers[d->n_probers];
		bool is_there = !config->enabled;
		int r;

		for (size_t k = 0; k < d->n_probers; k++)
			is_there = is_there || checks(&d->probers[k], i);
		if (is_there)
			continue;
		*p = (struct daemon_prober){.daemon = d, .config = config};
		r = health_new(loop_ev(d->loop), config, &health_callbacks, p, &p->health);
		if (r < 0)
			return log_error_errno(r, "health_failed", "reason=\"cannot make the prober\"");
		d->n_probers++;
	}
	return 0;
}

/* --- starting --- */

/* Says nothing of the kernel: the next process may well have it. */
bool daemon_is_shortage(int r)
{
	static const int errors[] = {ENOMEM, ENOBUFS, EMFILE, ENFILE, EADDRINUSE, EAGAIN};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		if (r == -errors[i])
			return true;
	}
	return false;
}

/*
 * For want of memory or descriptors it aborts, and whoever restarts us closes them all. Of one that
 * exits and says that it failed systemd thinks that it cannot start (fairlead-vipd.service), and
 * the pause before the next start would use up what is left of an adopted address's fence.
 */
int daemon_netlink_failed(int r, const char *reason)
{
	(void) log_error_errno(r, "netlink_failed", "reason=\"%s\"", reason);
	if (daemon_is_shortage(r))
		abort();
	return r;
}

static void remember_cluster(struct daemon *d)
{
	const char *endpoints[ETCD_ENDPOINTS_MAX];
	const char *const *configured;
	size_t n_configured = etcd_endpoints(d->etcd, &configured);
	bool is_meant = false;

	for (size_t i = 0; i < d->keep.n_endpoints; i++) {
		endpoints[i] = d->keep.endpoints[i];
		for (size_t k = 0; k < n_configured; k++)
			is_meant = is_meant || strcmp(configured[k], endpoints[i]) == 0;
	}
	/* None of them is configured any more: another cluster is meant. */
	if (!is_meant) {
		d->keep.cluster_id = 0;
		d->keep.n_endpoints = 0;
	}
	etcd_add_endpoints(d->etcd, endpoints, d->keep.n_endpoints);
	d->cluster = clusterid_new(loop_ev(d->loop), d->etcd, d->config->etcd.prefix,
	                           d->keep.cluster_id, &cluster_callbacks, d);
}

/* Its number in the order of addresses, which all nodes have alike. */
static size_t turn_of(const struct config *config, const struct config_vip *vip)
{
	size_t turn = 0;

	for (size_t i = 0; i < config->n_vips; i++)
		turn += addr_compare(&config->vips[i].addr, &vip->addr) < 0;
	return turn;
}

static void make_vips(struct daemon *d)
{
	d->hcloud_queue = hcloud_queue_new(loop_ev(d->loop));
	d->env = (struct vip_env){
	    .ev = loop_ev(d->loop),
	    .etcd = d->etcd,
	    .cluster = d->cluster,
	    .rtnl = d->rtnl,
	    .gate = d->gate,
	    .gate_error = d->env.gate_error,
	    .hcloud_queue = d->hcloud_queue,
	    .node_name = d->config->node_name,
	    .instance = d->keep.instance,
	    .key_prefix = d->config->etcd.prefix,
	    .lease_ttl_us = d->config->lease_ttl_us,
	    .owned = owned_cb,
	    .kept_changed = kept_changed_cb,
	    .name_taken = daemon_name_taken_cb,
	    .stopped = daemon_stopped_cb,
	    .ctx = d,
	};
	for (size_t i = 0; i < d->config->n_vips; i++) {
		const struct config_vip *c = &d->config->vips[i];

		d->vips[i] = vip_new(&d->env, c, turn_of(d->config, c), keep_find(&d->keep, &c->addr));
		d->n_vips++;
		vip_set_hold(d->vips[i], d->keep.on_hold);
	}
}

static int make_shared(struct daemon *d)
{
	int r;

	r = rtnl_new(loop_ev(d->loop), &rtnl_events, d, &d->rtnl);
	if (r < 0)
		return daemon_netlink_failed(r, "cannot read the links");
	/* Before anything is done to the gate, which keeps those silent whose time is over. */
	leftovers_sweep(d->rtnl, d->config, &d->keep);
	r = daemon_open_gate(d);
	if (r == 0)
		r = connect_etcd(loop_ev(d->loop), &d->config->etcd, ANSWER_MAX_BYTES, &d->etcd);
	if (r == 0)
		remember_cluster(d);
	return r;
}

int daemon_new(struct service *service, struct config *config, struct daemon **ret_daemon)
{
	AUTO(daemon_free) struct daemon *d = NEW0(struct daemon);
	struct loop *loop = service->loop;
	int r;

	d->service = service;
	d->loop = loop;
	d->config = config;
	d->runtime_dir = service->runtime_dir;
	daemon_end_init(d);
	log_info("starting", "version=%s node=%s vips=%zu", FAIRLEAD_VERSION, config->node_name,
	         config->n_vips);
	d->lock_fd = keep_lock(d->runtime_dir, true);
	if (d->lock_fd < 0)
		return log_error_errno(d->lock_fd, "already_running",
		                       "dir=%s reason=\"another vipd uses this runtime directory\"",
		                       d->runtime_dir);
	load_keep(d);
	r = make_shared(d);
	if (r < 0)
		return r;
	make_vips(d);
	d->lease = nodelease_new(loop_ev(loop), d->etcd, config->lease_ttl_us, d->keep.lease,
	                         &lease_callbacks, d);
	d->member = localmember_new(loop_ev(loop), d->etcd, d->rtnl, d->cluster, member_changed_cb, d);
	r = make_probers(d);
	if (r < 0)
		return r;
	r = daemon_open_commands(d);
	if (r < 0)
		return log_error_errno(r, "control_failed", "dir=%s", d->runtime_dir);
	d->phase = DAEMON_RUNNING;
	(void) daemon_save(d);
	loop_notify(loop, "READY=1\nSTATUS=%zu VIPs", d->n_vips);
	*ret_daemon = TAKE_PTR(d);
	return 0;
}

void daemon_free(struct daemon *d)
{
	if (d == NULL)
		return;
	daemon_end_fini(d);
	ev_timer_stop(loop_ev(d->loop), &d->gate_again);
	daemon_close_commands(d);
	for (size_t i = 0; i < d->n_probers; i++)
		health_free(d->probers[i].health);
	localmember_free(d->member);
	nodelease_free(d->lease);
	for (size_t i = 0; i < d->n_vips; i++)
		vip_free(d->vips[i]);
	hcloud_queue_free(d->hcloud_queue);
	clusterid_free(d->cluster);
	etcd_free(d->etcd);
	nftgate_free(d->gate);
	rtnl_free(d->rtnl);
	config_free(d->config);
	if (d->lock_fd >= 0)
		(void) close(d->lock_fd);
	free(d);
}

int daemon_set_hold(struct daemon *d, bool on_hold)
{
	bool before = d->keep.on_hold;
	int r;

	d->keep.on_hold = on_hold;
	r = daemon_save(d);
	if (r < 0) {
		d->keep.on_hold = before;
		return r;
	}
	for (size_t i = 0; i < d->n_vips; i++)
		vip_set_hold(d->vips[i], on_hold);
	log_notice("hold", "node=%s on_hold=%d", d->config->node_name, on_hold);
	return 0;
}
