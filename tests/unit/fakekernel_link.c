/* SPDX-License-Identifier: Apache-2.0 */
/* Links and bonds of the kernel that is none: their order, their ports, and their carrier. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fakekernel_priv.h"

#define WIREGUARD_ALL \
	(WIREGUARD_PRIVATE_KEY | WIREGUARD_LISTEN_PORT | WIREGUARD_FWMARK | WIREGUARD_PEERS)

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* --- up and down --- */

/* Somebody would miss its frames: it has an address that counts, a route, a link above, or a
 * master. */
static bool is_missed(const struct fakekernel *k, const struct link *link)
{
	bool missed = link->master[0] != '\0';

	for (size_t i = 0; i < k->m->n_links; i++)
		missed |= is(k->m->links[i].master, link->name) || is(k->m->links[i].parent, link->name);
	for (size_t i = 0; i < k->m->n_addresses; i++)
		missed |= is(k->m->addresses[i].link, link->name) &&
		          !(k->m->addresses[i].prefix.addr.family == AF_INET6 &&
		            k->m->addresses[i].owner == OWNER_KERNEL &&
		            addr_is_linklocal(&k->m->addresses[i].prefix.addr));
	for (size_t i = 0; i < k->m->n_routes; i++)
		missed |= is(k->m->routes[i].link, link->name) && k->m->routes[i].owner != OWNER_KERNEL;
	return missed;
}

static void close_link(struct fakekernel *k, struct link *link)
{
	if (!link->up)
		return;
	link->up = false;
	if (link->kind != LINK_PHYSICAL || is_missed(k, link))
		fakekernel_costs(k, OP_BLIP);
	fakekernel_drop_routes(k, link->name, 0);
	for (size_t i = k->m->n_addresses; i-- > 0;) {
		const struct prefix *prefix = &k->m->addresses[i].prefix;

		if (is(k->m->addresses[i].link, link->name) && prefix->addr.family == AF_INET6) {
			if (!addr_is_linklocal(&prefix->addr))
				fakekernel_costs(k, OP_ADDRESS_BREAK);
			model_remove_address(k->m, i);
		}
	}
	for (size_t i = 0; i < k->m->n_links; i++) {
		struct link *vlan = &k->m->links[i];

		if (vlan->kind == LINK_VLAN && is(vlan->parent, link->name) &&
		    !(vlan->vlan_flags & LINK_VLAN_LOOSE_BINDING))
			close_link(k, vlan);
	}
}

static int open_link(struct fakekernel *k, struct link *link)
{
	const struct link *parent = model_find_link(k->m, link->parent);

	if (link->kind == LINK_VLAN && parent != NULL && !parent->up &&
	    !(link->vlan_flags & LINK_VLAN_LOOSE_BINDING))
		return -ENETDOWN;
	if (link->up)
		return 0;
	link->up = true;
	for (size_t i = 0; i < k->m->n_links; i++) {
		struct link *vlan = &k->m->links[i];

		if (vlan->kind == LINK_VLAN && is(vlan->parent, link->name) &&
		    !(vlan->vlan_flags & LINK_VLAN_LOOSE_BINDING))
			(void) open_link(k, vlan);
	}
	return 0;
}

/* --- links --- */

static int resize(struct fakekernel *k, struct link *link, uint32_t mtu)
{
	const struct link *parent = model_find_link(k->m, link->parent);

	if (link->kind == LINK_VLAN && parent != NULL && mtu > parent->mtu)
		return -ERANGE;
	if (link->mtu != mtu && link->up && link->kind == LINK_PHYSICAL && is_missed(k, link))
		fakekernel_costs(k, OP_BLIP);
	link->mtu = mtu;
	for (size_t i = 0; i < k->m->n_links; i++) {
		struct link *other = &k->m->links[i];

		if (link->kind == LINK_BOND && is(other->master, link->name))
			(void) resize(k, other, mtu);
		if (other->kind == LINK_VLAN && is(other->parent, link->name) && other->mtu > mtu)
			(void) resize(k, other, mtu);
	}
	return 0;
}

static int set_master(struct fakekernel *k, struct link *link, const char *name)
{
	struct link *old = model_find_link(k->m, link->master);
	struct link *master = model_find_link(k->m, name);

	if (name[0] != '\0' && master == NULL)
		return -ENODEV;
	if (old != NULL && link->up)
		fakekernel_costs(k, OP_BLIP);
	if (old != NULL && old->kind == LINK_BOND)
		close_link(k, link);
	link->master[0] = '\0';
	if (old != NULL && old->kind == LINK_VRF && link->up) {
		close_link(k, link);
		(void) open_link(k, link);
	}
	if (master == NULL)
		return 0;
	if (master->kind == LINK_BOND && link->up)
		return -EPERM;
	if (master->kind == LINK_VRF && link->up) {
		close_link(k, link);
		(void) open_link(k, link);
	}
	(void) snprintf(link->master, sizeof(link->master), "%s", name);
	if (master->kind == LINK_BOND) {
		(void) resize(k, link, master->mtu);
		(void) open_link(k, link);
	}
	return 0;
}

int fakekernel_set_link(struct fakekernel *k, const struct op *op)
{
	struct link *link = model_find_link(k->m, op->link.name);
	int r = 0;

	if (link == NULL)
		return -ENODEV;
	link_set(link, &op->link, op->attributes & link_attrs_with(LINK_SET));
	if (op->attributes & LINK_HAS_MTU)
		r = resize(k, link, op->link.mtu);
	if (r == 0 && (op->attributes & LINK_HAS_MASTER))
		r = set_master(k, link, op->link.master);
	if (r == 0 && (op->attributes & LINK_HAS_UP)) {
		if (op->link.up)
			r = open_link(k, link);
		else
			close_link(k, link);
	}
	return r;
}

static bool uses_arp(const struct bond *bond)
{
	return bond_mode_allows((enum bond_mode) bond->values[BOND_MODE], BOND_ARP_INTERVAL);
}

/* One monitor at a time; delays are kept as multiples of miimon, and so change with it. */
static void set_monitor(struct bond *bond, enum bond_option option, uint32_t old)
{
	uint32_t miimon = bond->values[BOND_MIIMON];

	if (option == BOND_MODE && !uses_arp(bond)) {
		bond->values[BOND_ARP_INTERVAL] = 0;
		bond->values[BOND_MIIMON] = miimon > 0 ? miimon : 100;
	}
	if (option != BOND_MIIMON)
		return;
	if (miimon > 0)
		bond->values[BOND_ARP_INTERVAL] = bond->values[BOND_ARP_VALIDATE] = 0;
	for (enum bond_option other = 0; other < BOND_OPTIONS; other++) {
		if (bond_options[other].needs_miimon)
			bond->values[other] = old > 0 ? bond->values[other] / old * miimon : 0;
	}
}

static struct bond *make_bond(const struct bond *given)
{
	struct bond *bond = NEW0(struct bond);

	for (unsigned i = 0; i < BOND_OPTIONS; i++) {
		bond->values[i] = bond_options[i].initial;
		if (given != NULL && bond_has(given, (enum bond_option) i))
			bond->values[i] = given->values[i];
	}
	if (given != NULL) {
		memcpy(bond->arp_targets, given->arp_targets, sizeof(bond->arp_targets));
		bond->n_arp_targets = given->n_arp_targets;
		bond->ad_actor_system = given->ad_actor_system;
	}
	if (!uses_arp(bond) && bond->values[BOND_MIIMON] == 0)
		bond->values[BOND_MIIMON] = 100;
	bond->has = BOND_BIT(BOND_OPTIONS) - 1;
	bond_normalise(bond);
	return bond;
}

static uint32_t initial_mtu(enum link_kind kind)
{
	return kind == LINK_VRF ? 65575 : kind == LINK_WIREGUARD ? 1420 : 1500;
}

static void create_peer(struct fakekernel *k, const char *end, const char *name)
{
	char of[IFNAMSIZ];
	struct link *peer;

	memcpy(of, end, IFNAMSIZ);
	peer = model_add_link(k->m, name, LINK_VETH);
	peer->has = LINK_HAS_UP | LINK_HAS_MTU | LINK_HAS_MASTER | LINK_HAS_MULTICAST | LINK_HAS_PEER;
	peer->multicast = true;
	peer->mtu = 1500;
	memcpy(peer->peer, of, IFNAMSIZ);
	peer->owner = OWNER_OURS;
	peer->group = NETCONF_PROTOCOL;
}

int fakekernel_create_link(struct fakekernel *k, const struct op *op)
{
	const struct link *parent = model_find_link(k->m, op->link.parent);
	struct link *link;

	if (model_find_link(k->m, op->link.name) != NULL)
		return -EEXIST;
	if (op->link.kind == LINK_VLAN && parent == NULL)
		return -ENODEV;
	for (size_t i = 0; i < k->m->n_links && op->link.kind == LINK_VLAN; i++) {
		link = &k->m->links[i];
		if (link->kind == LINK_VLAN && is(link->parent, op->link.parent) &&
		    link->vlan_id == op->link.vlan_id && link->vlan_protocol == op->link.vlan_protocol)
			return -EEXIST;
	}
	if (parent != NULL && link_has(&op->link, LINK_HAS_MTU) && op->link.mtu > parent->mtu)
		return -ERANGE;
	link = model_add_link(k->m, op->link.name, op->link.kind);
	parent = model_find_link(k->m, op->link.parent);
	if (!link_has(&op->link, LINK_HAS_MTU))
		link->mtu =
		    op->link.parent[0] != '\0' && parent != NULL ? parent->mtu : initial_mtu(op->link.kind);
	else
		link->mtu = op->link.mtu;
	link_begin(link, ~(unsigned) LINK_HAS_MTU);
	link_set(link, &op->link, op->link.has & ~(unsigned) LINK_HAS_MTU);
	link->has |= LINK_HAS_MTU | LINK_HAS_PROMOTE;
	if (link->kind == LINK_BOND)
		link->bond = make_bond(op->link.bond);
	if (link->kind == LINK_WIREGUARD) {
		link->wireguard = wireguard_new();
		link->wireguard->has = WIREGUARD_ALL;
	}
	link->owner = OWNER_OURS;
	link->group = NETCONF_PROTOCOL;
	if (link->kind == LINK_VETH)
		create_peer(k, link->name, link->peer);
	model_normalise(k->m);
	return 0;
}

int fakekernel_delete_link(struct fakekernel *k, const char *gone)
{
	struct link *link = model_find_link(k->m, gone);
	char name[IFNAMSIZ], peer[IFNAMSIZ] = "";

	if (link == NULL)
		return -ENODEV;
	memcpy(name, link->name, sizeof(name));
	if (link->kind == LINK_VETH)
		memcpy(peer, link->peer, sizeof(peer));
	for (size_t i = 0; i < k->m->n_links; i++) {
		if (is(k->m->links[i].master, name))
			(void) set_master(k, &k->m->links[i], "");
	}
	for (size_t i = 0; i < k->m->n_links;) {
		if (k->m->links[i].kind == LINK_VLAN && is(k->m->links[i].parent, name)) {
			(void) fakekernel_delete_link(k, k->m->links[i].name);
			i = 0;
		} else {
			i++;
		}
	}
	close_link(k, model_find_link(k->m, name));
	fakekernel_drop_routes(k, name, 0);
	for (size_t i = k->m->n_addresses; i-- > 0;) {
		if (is(k->m->addresses[i].link, name)) {
			fakekernel_costs(k, OP_ADDRESS_BREAK);
			model_remove_address(k->m, i);
		}
	}
	link = model_find_link(k->m, name);
	model_remove_link(k->m, (size_t) (link - k->m->links));
	if (model_find_link(k->m, peer) != NULL)
		(void) fakekernel_delete_link(k, peer);
	return 0;
}

/* --- bonds --- */

static int may_set(const struct fakekernel *k, const struct link *link, enum bond_option option,
                   const struct op *op)
{
	bool has_ports = false;
	const struct link *port;

	for (size_t i = 0; i < k->m->n_links; i++)
		has_ports |= is(k->m->links[i].master, link->name);
	if (!bond_mode_allows((enum bond_mode) link->bond->values[BOND_MODE], option))
		return -EACCES;
	if (bond_options[option].needs_miimon && link->bond->values[BOND_MIIMON] == 0)
		return -EPERM;
	switch (bond_options[option].constraint) {
	case BOND_NEEDS_DOWN_EMPTY:
		return has_ports ? -ENOTEMPTY : link->up ? -EBUSY : 0;
	case BOND_NEEDS_EMPTY:
		return has_ports ? -ENOTEMPTY : 0;
	case BOND_NEEDS_DOWN:
		return link->up ? -EBUSY : 0;
	case BOND_LIVE:
		break;
	}
	port = model_find_link(k->m, op->link.bond->primary);
	if (option == BOND_PRIMARY && op->link.bond->primary[0] != '\0' && port == NULL)
		return -ENODEV;
	return 0;
}

int fakekernel_set_bond(struct fakekernel *k, const struct op *op)
{
	struct link *link = model_find_link(k->m, op->link.name);

	if (link == NULL)
		return -ENODEV;
	if (link->bond == NULL)
		return -EOPNOTSUPP;
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		uint32_t old;
		int r;

		if ((op->options & BOND_BIT(option)) == 0)
			continue;
		r = may_set(k, link, option, op);
		if (r < 0)
			return r;
		old = link->bond->values[option];
		link->bond->values[option] = op->link.bond->values[option];
		if (option == BOND_PRIMARY)
			memcpy(link->bond->primary, op->link.bond->primary, IFNAMSIZ);
		else if (option == BOND_ARP_IP_TARGET)
			memcpy(link->bond->arp_targets, op->link.bond->arp_targets,
			       sizeof(link->bond->arp_targets));
		else if (option == BOND_NS_IP6_TARGET)
			memcpy(link->bond->ns_targets, op->link.bond->ns_targets,
			       sizeof(link->bond->ns_targets));
		else if (option == BOND_AD_ACTOR_SYSTEM)
			link->bond->ad_actor_system = op->link.bond->ad_actor_system;
		if (option == BOND_ARP_IP_TARGET)
			link->bond->n_arp_targets = op->link.bond->n_arp_targets;
		if (option == BOND_NS_IP6_TARGET)
			link->bond->n_ns_targets = op->link.bond->n_ns_targets;
		set_monitor(link->bond, option, old);
	}
	link->bond->has = BOND_BIT(BOND_OPTIONS) - 1;
	bond_normalise(link->bond);
	return 0;
}

int fakekernel_set_wireguard(struct fakekernel *k, const struct op *op)
{
	struct link *link = model_find_link(k->m, op->link.name);

	if (link == NULL || link->kind != LINK_WIREGUARD)
		return -ENODEV;
	wireguard_free(link->wireguard);
	link->wireguard = wireguard_copy(op->link.wireguard);
	link->wireguard->has = WIREGUARD_ALL;
	return 0;
}

/* --- carrier --- */

void fakekernel_unplug(struct fakekernel *k, const char *port)
{
	(void) snprintf(k->unplugged, sizeof(k->unplugged), "%s", port);
	fakekernel_settle_carriers(k);
}

void fakekernel_replug(struct fakekernel *k, const char *name)
{
	char port[IFNAMSIZ];
	struct link *link;

	(void) snprintf(port, sizeof(port), "%s", name);
	(void) set_master(k, model_find_link(k->m, port), "");
	(void) fakekernel_delete_link(k, port);
	link = model_add_link(k->m, port, LINK_PHYSICAL);
	link->has = LINK_HAS_UP | LINK_HAS_MTU | LINK_HAS_MASTER | LINK_HAS_MULTICAST;
	link->multicast = true;
	link->mtu = 1500;
	link->owner = OWNER_FOREIGN;
	model_normalise(k->m);
	fakekernel_settle_carriers(k);
}

static bool speaks_lacp(const struct fakekernel *k, const struct link *port)
{
	const struct link *master = model_find_link(k->m, port->master);

	return master != NULL && master->bond != NULL && master->bond->values[BOND_MODE] == BOND_8023AD;
}

/* Nothing of what was agreed on before holds when the port or its bond has been down. */
static void settle_lacp(struct fakekernel *k)
{
	for (size_t i = 0; i < k->m->n_links; i++) {
		struct link *port = &k->m->links[i];
		const struct link *master = model_find_link(k->m, port->master);
		uint8_t kept = port->carrier && master != NULL && master->up ? port->lacp.actor : 0;

		port->lacp = (struct link_lacp){0};
		if (speaks_lacp(k, port))
			port->lacp = (struct link_lacp){true, kept, kept};
	}
}

void fakekernel_agree(struct fakekernel *k, const char *name)
{
	for (size_t i = 0; i < k->m->n_links; i++) {
		struct link *port = &k->m->links[i];

		if ((is(port->name, name) || is(port->master, name) || is("", name)) &&
		    speaks_lacp(k, port) && port->carrier && model_find_link(k->m, port->master)->up)
			port->lacp.actor = port->lacp.partner =
			    LINK_LACP_SYNCHRONIZED | LINK_LACP_COLLECTING | LINK_LACP_DISTRIBUTING;
	}
	fakekernel_settle_carriers(k);
}

void fakekernel_rest(struct fakekernel *k)
{
	fakekernel_agree(k, "");
}

/* min_links counts in mode 802.3ad only; the other modes live on one port. */
static bool bond_has_carrier(const struct fakekernel *k, const struct link *bond)
{
	bool counts = bond->bond->values[BOND_MODE] == BOND_8023AD;
	size_t live = 0, least = counts ? MAX(bond->bond->values[BOND_MIN_LINKS], 1U) : 1;

	for (size_t i = 0; i < k->m->n_links; i++)
		live += is(k->m->links[i].master, bond->name) && link_carries(&k->m->links[i]);
	return live >= least;
}

static bool has_carrier(const struct fakekernel *k, const struct link *link)
{
	const struct link *parent = model_find_link(k->m, link->parent);

	if (!link->up)
		return false;
	if (link->kind == LINK_PHYSICAL)
		return !is(link->name, k->unplugged);
	if (link->kind == LINK_BOND)
		return bond_has_carrier(k, link);
	return link->kind != LINK_VLAN || (parent != NULL && parent->carrier);
}

/* From the bottom up, by going round until nothing changes. */
void fakekernel_settle_carriers(struct fakekernel *k)
{
	bool again = true;

	while (again) {
		again = false;
		settle_lacp(k);
		for (size_t i = 0; i < k->m->n_links; i++) {
			struct link *link = &k->m->links[i];
			bool carrier = has_carrier(k, link);

			if (link->carrier == carrier)
				continue;
			if (link->carrier && link->up)
				fakekernel_costs(k, OP_BLIP);
			link->carrier = carrier;
			again = true;
		}
	}
}
