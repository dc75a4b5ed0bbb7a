/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One dump of the addresses a VIP. Called at the start, by --check and before a reload, and by the
 * VIP itself whenever its link or an address that concerns it has changed.
 */
#include "vipd/onlink.h"

#include <errno.h>
#include <stdio.h>

#include "base/mem.h"
#include "vipd/fence.h"

/* The longest fenceWindow, rounded up (timing_lifetime_s()). */
#define LIFETIME_MAX_S 62

struct look {
	const struct config_vip *vip;
	int ifindex; /* of its link; 0: there is none */
	struct onlink *ret;
	bool found;
	bool found_alone; /* no other address of the family is on the link of `found` */
};

static bool is_host_route(const struct prefix *p)
{
	return p->len == addr_len_bytes(&p->addr) * 8;
}

/* Before 5.18 the kernel keeps no mark: then one that ends as soon as a fence does. */
static bool is_vipds(const struct rtnl_addr *a)
{
	if (a->proto != 0)
		return a->proto == FENCE_ADDR_PROTO;
	return is_host_route(&a->prefix) && a->valid_s <= LIFETIME_MAX_S;
}

static void find_cb(const struct rtnl_addr *a, void *userdata)
{
	struct look *l = userdata;
	bool contains;

	if (addr_equal(&a->prefix.addr, &l->vip->addr) && !is_vipds(a) &&
	    (!l->found || is_host_route(&l->ret->found.prefix))) {
		l->found = true;
		l->ret->found = *a;
	}
	if (a->ifindex != l->ifindex || a->prefix.addr.family != l->vip->addr.family ||
	    is_host_route(&a->prefix) || addr_is_linklocal(&a->prefix.addr))
		return;
	contains = prefix_contains(&a->prefix, &l->vip->addr);
	if (contains && a->prefix.len > l->ret->subnet_len)
		l->ret->subnet_len = a->prefix.len;
	else if (l->ret->has_subnet)
		return;
	l->ret->has_subnet = true;
	l->ret->subnet = a->prefix;
}

static void alone_cb(const struct rtnl_addr *a, void *userdata)
{
	struct look *l = userdata;

	if (a->ifindex == l->ret->found.ifindex && a->prefix.addr.family == l->vip->addr.family &&
	    !addr_equal(&a->prefix.addr, &l->vip->addr) && !addr_is_linklocal(&a->prefix.addr))
		l->found_alone = false;
}

int onlink_look(struct rtnl *rtnl, const struct config_vip *vip, struct onlink *ret)
{
	const struct rtnl_link *link = rtnl_link_by_name(rtnl, vip->link);
	struct onlink o = {0};
	struct look l = {
	    .vip = vip, .ifindex = link != NULL ? link->ifindex : 0, .ret = &o, .found_alone = true};
	int r;

	r = rtnl_addr_list(rtnl, find_cb, &l);
	if (r == 0 && l.found)
		r = rtnl_addr_list(rtnl, alone_cb, &l);
	if (r < 0)
		return r;
	if (l.found) {
		const struct rtnl_link *at = rtnl_link_by_index(rtnl, o.found.ifindex);

		(void) snprintf(o.ifname, sizeof(o.ifname), "%s", at != NULL ? at->name : "?");
		/* A /32 among other addresses is what keepalived, kube-vip or a hand has left there: the
		 * node does without it. */
		o.is_own = !is_host_route(&o.found.prefix) || l.found_alone;
		o.is_put = !o.is_own;
	}
	*ret = o;
	return link != NULL ? 0 : -ENODEV;
}

const char *onlink_outside(const struct onlink *o, const struct config_vip *vip,
                           char text[static ONLINK_TEXT_MAX])
{
	char addr[ADDR_TEXT_MAX], subnet[PREFIX_TEXT_MAX];

	if (vip->hcloud != NULL || vip->policy.announce != CONFIG_ANNOUNCE_LAYER2 || !o->has_subnet ||
	    o->subnet_len > 0)
		return NULL;
	(void) snprintf(text, ONLINK_TEXT_MAX, "no subnet of %s contains %s (%s)", vip->link,
	                addr_format(&vip->addr, addr), prefix_format(&o->subnet, subnet));
	return text;
}

static int check_one(struct rtnl *rtnl, struct config *config, const struct config_vip *vip,
                     conf_message_fn error, void *userdata)
{
	char addr[ADDR_TEXT_MAX], prefix[PREFIX_TEXT_MAX], text[ONLINK_TEXT_MAX];
	AUTO(free) char *message = NULL;
	struct onlink o;
	int r;

	(void) addr_format(&vip->addr, addr);
	r = onlink_look(rtnl, vip, &o);
	if (r < 0 && r != -ENODEV)
		return 0;
	if (o.is_own) {
		message =
		    xasprintf("%s: VIP %s: is this node's own address, on %s (%s): vipd would silence "
		              "it; choose one that no host has",
		              vip->origin, addr, o.ifname, prefix_format(&o.found.prefix, prefix));
		error(message, userdata);
		return -EADDRINUSE;
	}
	if (r == -ENODEV && (vip->hcloud != NULL || vip->policy.announce != CONFIG_ANNOUNCE_BGP))
		message = xasprintf("%s: VIP %s: link %s does not exist", vip->origin, addr, vip->link);
	else if (r == 0 && onlink_outside(&o, vip, text) != NULL)
		message = xasprintf("%s: VIP %s: %s", vip->origin, addr, text);
	if (message != NULL)
		conf_strings_add(&config->notes, message);
	return 0;
}

int onlink_check(struct config *config, conf_message_fn error, void *userdata)
{
	static const struct rtnl_events unheard = {0};
	struct ev_loop *ev = ev_loop_new(0);
	struct rtnl *rtnl = NULL;
	int r;

	/* Where the kernel cannot be asked, the daemon says so as it starts. */
	r = ev != NULL ? rtnl_new(ev, &unheard, NULL, &rtnl) : -ENOMEM;
	if (r == 0) {
		for (size_t i = 0; i < config->n_vips; i++) {
			if (check_one(rtnl, config, &config->vips[i], error, userdata) < 0)
				r = -EADDRINUSE;
		}
	} else {
		r = 0;
	}
	rtnl_free(rtnl);
	if (ev != NULL)
		ev_loop_destroy(ev);
	return r;
}
