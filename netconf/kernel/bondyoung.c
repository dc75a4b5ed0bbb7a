/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel without the kind of link says EEXIST, too: so one option that every kernel with bonds
 * has is asked for first.
 */
#include "netconf/kernel/bondyoung.h"

#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include "base/macro.h"
#include "net/attr.h"
#include "netconf/model/bond.h"

/* Kernel 5.10 has none of them; what is older is in all kernels that netconf runs on. */
static const enum bond_option young[] = {BOND_LACP_ACTIVE, BOND_MISSED_MAX, BOND_NS_IP6_TARGET};

int bondyoung_ask(struct netlink *nl, const char *kind, uint16_t attribute, bool is_nest)
{
	const struct ifinfomsg ifi = {.ifi_family = AF_UNSPEC};
	struct nlattr *info, *data;
	AUTO(message_free) struct message *m = message_new();
	int r;

	/* Without NLM_F_CREATE, in case that there is no such link after all. */
	message_begin(m, RTM_NEWLINK, NLM_F_EXCL, &ifi, sizeof(ifi));
	message_text(m, IFLA_IFNAME, "lo");
	info = message_nest(m, IFLA_LINKINFO);
	message_text(m, IFLA_INFO_KIND, kind);
	data = message_nest(m, IFLA_INFO_DATA);
	/* A number of no bytes; a nest may be empty, but its attributes have a header. */
	message_bytes(m, attribute, "", is_nest ? 1 : 0);
	message_end(m, data);
	message_end(m, info);
	r = netlink_ask(nl, m, NULL, NULL);
	if (r == -ERANGE || r == -EINVAL)
		return 1;
	return r == -EEXIST || r == -ENODEV ? 0 : r == 0 ? -EPROTO : r;
}

uint64_t bondyoung_lacking(struct netlink *nl, uint64_t options, bool *ret_is_known)
{
	uint64_t lacking = 0;

	*ret_is_known = bondyoung_ask(nl, "bond", IFLA_BOND_MODE, false) == 1;
	for (size_t i = 0; *ret_is_known && i < ARRAY_SIZE(young); i++) {
		const struct bond_option_info *info = &bond_options[young[i]];

		if ((options & BOND_BIT(young[i])) != 0 &&
		    bondyoung_ask(nl, "bond", info->attribute, info->type == BOND_IPV6) == 0)
			lacking |= BOND_BIT(young[i]);
	}
	return lacking;
}
