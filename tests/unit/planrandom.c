/* SPDX-License-Identifier: Apache-2.0 */
/* Two bonds over four ports, VLANs on them, addresses, and routes behind these. */
#include "planrandom.h"

#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static struct prefix prefix(const char *text)
{
	struct prefix parsed = {0};

	CHECK_EQ_INT(prefix_parse(text, &parsed), 0);
	return parsed;
}

static void name(char to[static IFNAMSIZ], const char *text)
{
	(void) snprintf(to, IFNAMSIZ, "%s", text);
}

static struct link *nic(struct model *m, const char *text, const char *master)
{
	struct link *link = model_add_link(m, text, LINK_PHYSICAL);

	link->has = LINK_HAS_UP | LINK_HAS_MASTER | LINK_HAS_MTU;
	link->up = true;
	link->mtu = 1500;
	link->owner = OWNER_FOREIGN;
	name(link->master, master);
	return link;
}

static struct link *bond(struct model *m, const char *text, enum bond_mode mode)
{
	struct link *link = model_add_link(m, text, LINK_BOND);

	link->has = LINK_HAS_UP | LINK_HAS_MTU | LINK_HAS_MASTER;
	link->up = true;
	link->mtu = 1500;
	link->owner = OWNER_OURS;
	link->group = NETCONF_PROTOCOL;
	link->bond = calloc(1, sizeof(*link->bond));
	bond_set(link->bond, BOND_MODE, mode);
	bond_set(link->bond, BOND_MIIMON, 100);
	return link;
}

static struct link *vlan(struct model *m, const char *text, const char *parent, uint16_t id)
{
	struct link *link = model_add_link(m, text, LINK_VLAN);

	link->has = LINK_HAS_UP | LINK_HAS_MTU | LINK_HAS_PARENT | LINK_HAS_VLAN_ID;
	link->up = true;
	link->mtu = 1500;
	link->vlan_id = id;
	link->owner = OWNER_OURS;
	name(link->parent, parent);
	return link;
}

static void address(struct model *m, const char *link, const char *text)
{
	const struct prefix parsed = prefix(text);

	model_add_address(m, link, &parsed)->owner = OWNER_OURS;
}

static struct route *route(struct model *m, const char *dst, const char *gateway, const char *link)
{
	const struct prefix parsed = prefix(dst);
	struct route *added = model_add_route(m, &parsed);

	CHECK_EQ_INT(addr_parse(gateway, &added->gateway), 0);
	name(added->link, link);
	added->owner = OWNER_OURS;
	added->protocol = NETCONF_PROTOCOL;
	return added;
}

static unsigned any(unsigned *seed, unsigned n)
{
	return (unsigned) rand_r(seed) % n;
}

struct model *planrandom_model(unsigned *seed)
{
	struct model *m = model_new();
	char text[64], vlan_name[IFNAMSIZ];
	bool has[2] = {any(seed, 4) != 0, any(seed, 2) != 0};
	const uint32_t mtu = any(seed, 2) ? 1500 : 9000;

	for (unsigned i = 0; i < 4; i++) {
		unsigned b = any(seed, 3);

		(void) snprintf(text, sizeof(text), "eth%u", i);
		nic(m, text, b < 2 && has[b] ? (b == 0 ? "bond0" : "bond1") : "")->position = i;
	}
	for (unsigned i = 0; i < 2; i++) {
		if (!has[i])
			continue;
		(void) snprintf(text, sizeof(text), "bond%u", i);
		bond(m, text, any(seed, 2) ? BOND_ACTIVE_BACKUP : BOND_8023AD)->mtu = mtu;
		bond_set(m->links[m->n_links - 1].bond, BOND_MIN_LINKS, any(seed, 3));
		if (any(seed, 2))
			bond_set(m->links[m->n_links - 1].bond, BOND_FAIL_OVER_MAC, any(seed, 2));
		if (any(seed, 2))
			bond_set(m->links[m->n_links - 1].bond, BOND_LACP_RATE, any(seed, 2));
		(void) snprintf(text, sizeof(text), "10.%u.0.%u/24", i, 1 + any(seed, 3));
		name(vlan_name, i == 0 ? "bond0" : "bond1");
		address(m, vlan_name, text);
		(void) snprintf(text, sizeof(text), "10.%u.0.%u/24", i, 4 + any(seed, 3));
		address(m, vlan_name, text);
		(void) snprintf(text, sizeof(text), "10.%u.0.254", i);
		if (any(seed, 2))
			route(m, i == 0 ? "0.0.0.0/0" : "10.99.0.0/16", text, vlan_name);
		for (unsigned v = 0; v < any(seed, 4); v++) {
			char vname[IFNAMSIZ];

			(void) snprintf(vname, sizeof(vname), "bond%u.v%u", i, v);
			vlan(m, vname, vlan_name, (uint16_t) (10 + 10 * v + any(seed, 2)))->mtu =
			    any(seed, 2) ? mtu : 1500;
			(void) snprintf(text, sizeof(text), "fd00:%u:%u::2/64", i, v);
			address(m, vname, text);
			(void) snprintf(text, sizeof(text), "10.%u.%u.2/24", i, 10 + v);
			address(m, vname, text);
			(void) snprintf(text, sizeof(text), "fd00:%u:%u::1", i, v);
			if (any(seed, 2))
				route(m, v == 0 ? "fd01::/32" : "fd02::/32", text, vname)->metric =
				    100 + 10 * v + i;
		}
	}
	model_normalise(m);
	return m;
}
