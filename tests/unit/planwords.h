/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Networks for tests of the planner, object by object, with what the tests take for usual. */
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "check.h"
#include "netconf/model/model.h"

static inline UNUSED struct prefix prefix(const char *text)
{
	struct prefix parsed = {0};

	CHECK_EQ_INT(prefix_parse(text, &parsed), 0);
	return parsed;
}

static inline UNUSED void name(char to[static IFNAMSIZ], const char *text)
{
	(void) snprintf(to, IFNAMSIZ, "%s", text);
}

static inline UNUSED struct link *nic(struct model *m, const char *text, const char *master)
{
	struct link *link = model_add_link(m, text, LINK_PHYSICAL);

	link->has = LINK_HAS_UP | LINK_HAS_MASTER | LINK_HAS_MTU;
	link->up = true;
	link->mtu = 1500;
	link->owner = OWNER_FOREIGN;
	name(link->master, master);
	return link;
}

static inline UNUSED struct link *bond(struct model *m, const char *text, enum bond_mode mode)
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

static inline UNUSED struct link *vlan(struct model *m, const char *text, const char *parent,
                                       uint16_t id)
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

static inline UNUSED void address(struct model *m, const char *link, const char *text)
{
	const struct prefix parsed = prefix(text);

	model_add_address(m, link, &parsed)->owner = OWNER_OURS;
}

static inline UNUSED struct route *route(struct model *m, const char *dst, const char *gateway,
                                         const char *link)
{
	const struct prefix parsed = prefix(dst);
	struct route *added = model_add_route(m, &parsed);

	CHECK_EQ_INT(addr_parse(gateway, &added->gateway), 0);
	name(added->link, link);
	added->owner = OWNER_OURS;
	added->protocol = NETCONF_PROTOCOL;
	return added;
}
