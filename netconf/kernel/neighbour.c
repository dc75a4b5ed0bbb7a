/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry that the kernel believes in is set to NUD_PROBE: it goes on being used while the
 * neighbour is asked again. One that it does not have is made by NTF_USE.
 */
#include "netconf/kernel/neighbour.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>

#include "base/mem.h"
#include "net/attr.h"
#include "net/netlink.h"

struct neighbours {
	struct netlink *nl;
};

struct entry {
	uint16_t state; /* NUD_*; 0: there is none */
	uint8_t lladdr[32];
	size_t n_lladdr;
};

int neighbours_new(struct neighbours **ret_neighbours)
{
	AUTO(neighbours_free) struct neighbours *neighbours = NEW0(struct neighbours);
	int r = netlink_new(NULL, NETLINK_ROUTE, &neighbours->nl);

	if (r < 0)
		return r;
	*ret_neighbours = TAKE_PTR(neighbours);
	return 0;
}

void neighbours_free(struct neighbours *neighbours)
{
	if (neighbours == NULL)
		return;
	netlink_free(neighbours->nl);
	free(neighbours);
}

static void on_entry(const struct nlmsghdr *nlh, void *userdata)
{
	const struct nlattr *table[NDA_MAX + 1];
	struct entry *entry = userdata;
	struct ndmsg ndm;

	if (nlh->nlmsg_type != RTM_NEWNEIGH || !attr_read(nlh, &ndm, sizeof(ndm), table, NDA_MAX + 1))
		return;
	entry->state = ndm.ndm_state;
	if (attr_len(table[NDA_LLADDR]) <= sizeof(entry->lladdr) &&
	    attr_bytes(table[NDA_LLADDR], entry->lladdr, attr_len(table[NDA_LLADDR])))
		entry->n_lladdr = attr_len(table[NDA_LLADDR]);
}

static void begin(struct message *m, uint16_t type, uint16_t flags, const struct ndmsg *ndm,
                  const struct addr *addr)
{
	message_begin(m, type, flags, ndm, sizeof(*ndm));
	message_bytes(m, NDA_DST, addr->bytes, addr_len_bytes(addr));
}

static void find(struct neighbours *neighbours, const struct ndmsg *ndm, const struct addr *addr,
                 struct entry *ret_entry)
{
	AUTO(message_free) struct message *m = message_new();

	*ret_entry = (struct entry){0};
	begin(m, RTM_GETNEIGH, 0, ndm, addr);
	if (netlink_ask(neighbours->nl, m, on_entry, ret_entry) < 0)
		*ret_entry = (struct entry){0};
}

static struct ndmsg header(const char *link, const struct addr *addr)
{
	return (struct ndmsg){
	    .ndm_family = (uint8_t) addr->family,
	    .ndm_ifindex = (int) if_nametoindex(link),
	};
}

int neighbours_ask(struct neighbours *neighbours, const char *link, const struct addr *addr)
{
	struct ndmsg ndm = header(link, addr);
	struct entry entry;
	AUTO(message_free) struct message *m = message_new();

	if (ndm.ndm_ifindex == 0)
		return -ENODEV;
	find(neighbours, &ndm, addr, &entry);
	if ((entry.state & (NUD_PERMANENT | NUD_NOARP)) != 0)
		return 0;
	if ((entry.state & (NUD_REACHABLE | NUD_STALE | NUD_DELAY)) != 0 && entry.n_lladdr > 0) {
		ndm.ndm_state = NUD_PROBE;
		begin(m, RTM_NEWNEIGH, NLM_F_REPLACE, &ndm, addr);
		message_bytes(m, NDA_LLADDR, entry.lladdr, entry.n_lladdr);
	} else {
		ndm.ndm_flags = NTF_USE;
		begin(m, RTM_NEWNEIGH, NLM_F_CREATE, &ndm, addr);
	}
	return netlink_ask(neighbours->nl, m, NULL, NULL);
}

enum neighbour_state neighbours_state(struct neighbours *neighbours, const char *link,
                                      const struct addr *addr)
{
	struct ndmsg ndm = header(link, addr);
	struct entry entry;

	if (ndm.ndm_ifindex == 0)
		return NEIGHBOUR_SILENT;
	find(neighbours, &ndm, addr, &entry);
	/* STALE: it has answered, and somebody's packet told of another way since. */
	if ((entry.state & (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY)) != 0)
		return NEIGHBOUR_ANSWERS;
	return (entry.state & (NUD_INCOMPLETE | NUD_PROBE)) != 0 ? NEIGHBOUR_ASKING : NEIGHBOUR_SILENT;
}
