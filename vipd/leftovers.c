/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for what bears vipd's mark, leaves what the configuration still has, and removes the rest.
 * Called once, as the daemon starts or reloads.
 */
#include "vipd/leftovers.h"

#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "vipd/fence.h"

struct sweep {
	struct rtnl *rtnl;
	const struct config *config;
	const struct keep *keep;
	struct rtnl_addr addrs[CONFIG_VIPS_MAX];
	size_t n_addrs;
	struct rtnl_link links[CONFIG_VIPS_MAX];
	bool in_use[CONFIG_VIPS_MAX]; /* of links: by somebody else */
	size_t n_links;
};

/* --- addresses --- */

/* Will a VIP of the configuration go on with it? Not one that belongs on another link by now. */
static bool will_be_adopted(const struct sweep *s, const struct rtnl_addr *a)
{
	const struct keep_vip *kept = keep_find(s->keep, &a->prefix.addr);

	for (size_t i = 0; i < s->config->n_vips && kept != NULL; i++) {
		const struct config_vip *c = &s->config->vips[i];
		const struct rtnl_link *link = rtnl_link_by_name(s->rtnl, c->link);

		if (addr_equal(&c->addr, &a->prefix.addr))
			return kept->ifindex == a->ifindex && link != NULL && link->ifindex == a->ifindex;
	}
	return false;
}

static bool is_ours(const struct sweep *s, const struct rtnl_addr *a)
{
	const struct keep_vip *kept = keep_find(s->keep, &a->prefix.addr);

	if (a->proto != 0)
		return a->proto == FENCE_ADDR_PROTO;
	/* Kernels before 5.18 carry no mark: there a VIP with a lifetime is ours. */
	if (a->valid_s == RTNL_LIFETIME_FOREVER)
		return false;
	for (size_t i = 0; i < s->config->n_vips; i++) {
		if (addr_equal(&a->prefix.addr, &s->config->vips[i].addr))
			return true;
	}
	return kept != NULL && kept->ifindex == a->ifindex;
}

static void addr_cb(const struct rtnl_addr *a, void *userdata)
{
	struct sweep *s = userdata;

	if (s->n_addrs < ARRAY_SIZE(s->addrs) && is_ours(s, a) && !will_be_adopted(s, a))
		s->addrs[s->n_addrs++] = *a;
}

static void remove_addrs(const struct sweep *s)
{
	for (size_t i = 0; i < s->n_addrs; i++) {
		const struct rtnl_addr *a = &s->addrs[i];
		char text[PREFIX_TEXT_MAX];
		int r;

		r = rtnl_addr_del(s->rtnl, a->ifindex, &a->prefix);
		log_info("leftover_swept", "addr=%s ifindex=%d ok=%d", prefix_format(&a->prefix, text),
		         a->ifindex, r == 0);
	}
}

/* --- links --- */

static void link_cb(const struct rtnl_link *link, void *userdata)
{
	struct sweep *s = userdata;

	if (!link->is_dummy || link->group != LEFTOVERS_LINK_GROUP)
		return;
	for (size_t i = 0; i < s->config->n_vips; i++) {
		const struct rtnl_link *wanted = rtnl_link_by_name(s->rtnl, s->config->vips[i].link);

		if (wanted != NULL && wanted->ifindex == link->ifindex)
			return;
	}
	if (s->n_links < ARRAY_SIZE(s->links))
		s->links[s->n_links++] = *link;
}

/* A link that is up has its link-local address from the kernel. Before 5.18 what is no VIP of ours
 * counts as somebody else's. */
static void use_cb(const struct rtnl_addr *a, void *userdata)
{
	struct sweep *s = userdata;
	bool by_kernel = a->prefix.addr.family == AF_INET6 && addr_is_linklocal(&a->prefix.addr);

	for (size_t i = 0; i < s->n_links; i++) {
		if (s->links[i].ifindex == a->ifindex && !by_kernel && !is_ours(s, a))
			s->in_use[i] = true;
	}
}

/* A link goes with all that others have put on it. */
static void remove_links(struct sweep *s)
{
	int r = s->n_links > 0 ? rtnl_addr_list(s->rtnl, use_cb, s) : 0;

	if (r < 0) {
		log_warning_errno(r, "vip_links_not_removed", "reason=\"their addresses are not known\"");
		return;
	}
	for (size_t i = 0; i < s->n_links; i++) {
		if (s->in_use[i]) {
			log_info("vip_link_kept",
			         "ifname=%s reason=\"vipd made it, no VIP needs it any more, but it carries an "
			         "address that is not vipd's\"",
			         s->links[i].name);
			continue;
		}
		r = rtnl_link_del(s->rtnl, s->links[i].ifindex);
		log_info("vip_link_removed", "ifname=%s ok=%d", s->links[i].name, r == 0);
	}
}

void leftovers_sweep(struct rtnl *rtnl, const struct config *config, const struct keep *keep)
{
	struct sweep s = {.rtnl = rtnl, .config = config, .keep = keep};

	(void) rtnl_addr_list(rtnl, addr_cb, &s);
	remove_addrs(&s);
	rtnl_link_list(rtnl, link_cb, &s);
	remove_links(&s);
}
