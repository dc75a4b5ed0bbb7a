/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket for WireGuard's part of the kernel. A device is read before it is written, since a
 * peer that stays must not be made anew, and one that goes must be named.
 */
#include "netconf/kernel/wireguard_netlink.h"

#include <errno.h>
#include <linux/wireguard.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/netlink.h"
#include "netconf/kernel/wireguard_message.h"

struct wireguard_netlink {
	struct netlink *nl;
	uint16_t family;
};

struct wireguard_netlink *wireguard_netlink_new(void)
{
	return NEW0(struct wireguard_netlink);
}

void wireguard_netlink_free(struct wireguard_netlink *wg)
{
	if (wg == NULL)
		return;
	netlink_free(wg->nl);
	free(wg);
}

const char *wireguard_netlink_error_text(const struct wireguard_netlink *wg)
{
	return wg->nl != NULL ? netlink_error_text(wg->nl) : "";
}

static int open_once(struct wireguard_netlink *wg)
{
	int r = 0;

	if (wg->nl == NULL)
		r = netlink_new(NULL, NETLINK_GENERIC, &wg->nl);
	if (r == 0 && wg->family == 0)
		r = netlink_find_family(wg->nl, WG_GENL_NAME, &wg->family);
	return r;
}

static void on_message(const struct nlmsghdr *nlh, void *userdata)
{
	wireguard_decode(nlh, userdata);
}

int wireguard_netlink_read(struct wireguard_netlink *wg, const char *link,
                           struct wireguard **ret_wireguard)
{
	AUTO(wireguard_free) struct wireguard *wireguard = wireguard_new();
	AUTO(message_free) struct message *m = message_new();
	int r = open_once(wg);

	if (r < 0)
		return r;
	wireguard_encode_get(link, wg->family, m);
	r = netlink_ask(wg->nl, m, on_message, wireguard);
	if (r < 0)
		return r;
	wireguard_normalise(wireguard);
	*ret_wireguard = TAKE_PTR(wireguard);
	return 0;
}

int wireguard_netlink_write(struct wireguard_netlink *wg, const char *link,
                            const struct wireguard *want)
{
	AUTO(wireguard_free) struct wireguard *have = NULL;
	struct wireguard_writer writer = {.link = link, .want = want};
	AUTO(message_free) struct message *m = message_new();
	int r = wireguard_netlink_read(wg, link, &have);

	if (r < 0)
		return r;
	writer.have = have;
	writer.family = wg->family;
	while (r == 0 && wireguard_writer_next(&writer, m))
		r = netlink_ask(wg->nl, m, NULL, NULL);
	return r;
}
