/* SPDX-License-Identifier: Apache-2.0 */
/* Links as values: copying, normal form, comparing. */
#include "netconf/model/link.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

bool link_is_virtual(const struct link *link)
{
	return link->kind != LINK_PHYSICAL && link->kind != LINK_LOOPBACK && link->kind != LINK_OTHER;
}

bool link_has(const struct link *link, enum link_attr attr)
{
	return (link->has & attr) != 0;
}

bool link_is_named(const struct link *link, const char *name)
{
	if (strcmp(link->name, name) == 0)
		return true;
	for (size_t i = 0; i < link->n_altnames; i++) {
		if (strcmp(link->altnames[i], name) == 0)
			return true;
	}
	return false;
}

bool link_carries(const struct link *link)
{
	static const uint8_t ours =
	    LINK_LACP_SYNCHRONIZED | LINK_LACP_COLLECTING | LINK_LACP_DISTRIBUTING;
	static const uint8_t theirs = LINK_LACP_SYNCHRONIZED | LINK_LACP_COLLECTING;

	if (!link->carrier || !link->lacp.is_known)
		return link->carrier;
	return (link->lacp.actor & ours) == ours && (link->lacp.actor & LINK_LACP_EXPIRED) == 0 &&
	       (link->lacp.partner & theirs) == theirs;
}

void link_copy(const struct link *link, struct link *ret_copy)
{
	*ret_copy = *link;
	if (link->bond != NULL)
		ret_copy->bond = xmemdup(link->bond, sizeof(*link->bond));
	if (link->wireguard != NULL)
		ret_copy->wireguard = wireguard_copy(link->wireguard);
	ret_copy->altnames = xcalloc(link->n_altnames, sizeof(*link->altnames));
	for (size_t i = 0; i < link->n_altnames; i++)
		ret_copy->altnames[i] = xstrdup(link->altnames[i]);
}

void link_fini(struct link *link)
{
	free(link->bond);
	wireguard_free(link->wireguard);
	for (size_t i = 0; i < link->n_altnames; i++)
		free(link->altnames[i]);
	free(link->altnames);
	*link = (struct link){0};
}

int link_compare(const struct link *a, const struct link *b)
{
	return strcmp(a->name, b->name);
}

void link_normalise(struct link *link)
{
	if (link->bond != NULL)
		bond_normalise(link->bond);
	if (link->wireguard != NULL)
		wireguard_normalise(link->wireguard);
	if (link->kind == LINK_VLAN && !link_has(link, LINK_HAS_VLAN_PROTOCOL)) {
		link->vlan_protocol = LINK_VLAN_8021Q;
		link->has |= LINK_HAS_VLAN_PROTOCOL;
	}
}

/* Those that are plain values of struct link. */
static unsigned values_differ(const struct link *want, const struct link *have)
{
	unsigned differs = 0;

	if (want->up != have->up)
		differs |= LINK_HAS_UP;
	if (want->mtu != have->mtu)
		differs |= LINK_HAS_MTU;
	if (!mac_equal(&want->mac, &have->mac))
		differs |= LINK_HAS_MAC;
	if (want->multicast != have->multicast)
		differs |= LINK_HAS_MULTICAST;
	if (strcmp(want->master, have->master) != 0)
		differs |= LINK_HAS_MASTER;
	if (strcmp(want->parent, have->parent) != 0)
		differs |= LINK_HAS_PARENT;
	if (want->vlan_id != have->vlan_id)
		differs |= LINK_HAS_VLAN_ID;
	if (want->vlan_protocol != have->vlan_protocol)
		differs |= LINK_HAS_VLAN_PROTOCOL;
	if (want->vlan_flags != have->vlan_flags)
		differs |= LINK_HAS_VLAN_FLAGS;
	if (want->stp != have->stp)
		differs |= LINK_HAS_STP;
	if (want->vlan_filtering != have->vlan_filtering)
		differs |= LINK_HAS_VLAN_FILTERING;
	if (strcmp(want->peer, have->peer) != 0)
		differs |= LINK_HAS_PEER;
	if (want->table != have->table)
		differs |= LINK_HAS_TABLE;
	if (want->promote != have->promote)
		differs |= LINK_HAS_PROMOTE;
	return differs;
}

unsigned link_differs(const struct link *want, const struct link *have)
{
	unsigned differs = (values_differ(want, have) | ~have->has) & want->has;

	/* What is found and not made may be of any kind. Nothing else can be said of two things of
	 * different kinds. */
	if (link_is_virtual(want) && want->kind != have->kind)
		return differs | LINK_HAS_KIND;
	if (want->bond != NULL && (have->bond == NULL || bond_differs(want->bond, have->bond) != 0))
		differs |= LINK_HAS_BOND;
	if (want->wireguard != NULL &&
	    (have->wireguard == NULL || wireguard_differs(want->wireguard, have->wireguard) != 0))
		differs |= LINK_HAS_WIREGUARD;
	return differs;
}

const char *link_kind_name(enum link_kind kind)
{
	switch (kind) {
	case LINK_PHYSICAL:
		return "physical";
	case LINK_LOOPBACK:
		return "loopback";
	case LINK_BOND:
		return "bond";
	case LINK_VLAN:
		return "vlan";
	case LINK_BRIDGE:
		return "bridge";
	case LINK_DUMMY:
		return "dummy";
	case LINK_VETH:
		return "veth";
	case LINK_VRF:
		return "vrf";
	case LINK_WIREGUARD:
		return "wireguard";
	case LINK_OTHER:
		return "other";
	}
	return "";
}

const char *link_attr_name(unsigned attr)
{
	static const struct {
		enum link_attr attr;
		const char *name;
	} names[] = {
	    {LINK_HAS_KIND, "kind"},
	    {LINK_HAS_UP, "up"},
	    {LINK_HAS_MTU, "mtu"},
	    {LINK_HAS_MAC, "mac"},
	    {LINK_HAS_MULTICAST, "multicast"},
	    {LINK_HAS_MASTER, "master"},
	    {LINK_HAS_PARENT, "parent"},
	    {LINK_HAS_VLAN_ID, "vlan_id"},
	    {LINK_HAS_VLAN_PROTOCOL, "vlan_protocol"},
	    {LINK_HAS_VLAN_FLAGS, "vlan_flags"},
	    {LINK_HAS_STP, "stp"},
	    {LINK_HAS_VLAN_FILTERING, "vlan_filtering"},
	    {LINK_HAS_PEER, "peer"},
	    {LINK_HAS_TABLE, "table"},
	    {LINK_HAS_PROMOTE, "promote_secondaries"},
	    {LINK_HAS_BOND, "bond"},
	    {LINK_HAS_WIREGUARD, "wireguard"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if ((attr & names[i].attr) != 0)
			return names[i].name;
	}
	return "";
}
