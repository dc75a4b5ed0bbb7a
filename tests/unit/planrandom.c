/* SPDX-License-Identifier: Apache-2.0 */
/* Two bonds over four ports, VLANs on them, addresses, and routes behind these. */
#include "planrandom.h"

#include <stdio.h>
#include <stdlib.h>

#include "planwords.h"

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
