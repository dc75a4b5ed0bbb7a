/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for generic netlink's answers about a link: what its driver can do, and
 * what a WireGuard device is. The first byte says which, the rest is a row of messages. Whatever
 * they are, they are read within bounds, and the way from nothing to a device that was read ends.
 * max_len: 8192
 */
#include <linux/netlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netconf/ethtool/ethplan.h"
#include "netconf/kernel/wireguard_netlink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef void (*take_fn)(const struct nlmsghdr *nlh, void *userdata);

/* Each message in memory of its own, as long as it says: what reads behind it is seen. */
static void each(const uint8_t *data, size_t size, take_fn take, void *userdata)
{
	while (size >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr header, *nlh;

		memcpy(&header, data, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > size)
			return;
		nlh = malloc(header.nlmsg_len);
		memcpy(nlh, data, header.nlmsg_len);
		take(nlh, userdata);
		free(nlh);
		if (NLMSG_ALIGN(header.nlmsg_len) >= size)
			return;
		data += NLMSG_ALIGN(header.nlmsg_len);
		size -= NLMSG_ALIGN(header.nlmsg_len);
	}
}

/* --- drivers --- */

static void take_ethtool(const struct nlmsghdr *nlh, void *userdata)
{
	for (int section = ETHSTEP_FEATURES; section <= ETHSTEP_WAKE; section++)
		ethcode_take(nlh, (enum ethstep_section) section, userdata);
}

static void try_ethtool(const uint8_t *data, size_t size)
{
	struct ethstate state = {0};

	each(data, size, take_ethtool, &state);
	for (size_t i = 0; i < state.n_features; i++) {
		if (ethstate_find_feature(&state, state.features[i].name) == NULL)
			abort();
	}
	ethstate_fini(&state);
}

/* --- WireGuard --- */

/* A key that comes again behind another peer. No kernel says so; written, the two become one. */
static bool has_twins(const struct wireguard *device)
{
	for (size_t i = 1; i < device->n_peers; i++) {
		if (memcmp(&device->peers[i - 1].public_key, &device->peers[i].public_key,
		           sizeof(struct wireguard_key)) == 0)
			return true;
	}
	return false;
}

static void try_wireguard(const uint8_t *data, size_t size)
{
	AUTO(wireguard_free) struct wireguard *device = wireguard_new();
	AUTO(wireguard_free) struct wireguard *nothing = wireguard_new();
	AUTO(wireguard_free) struct wireguard *again = wireguard_new();
	struct wireguard_writer writer = {.link = "wg0", .want = device, .have = nothing, .family = 30};
	AUTO(message_free) struct message *message = message_new();
	size_t n = 0;

	each(data, size, wireguard_decode, device);
	wireguard_normalise(device);
	while (wireguard_writer_next(&writer, message)) {
		if (message_check(message) < 0 || ++n > size + 2)
			abort();
		wireguard_decode(message_header(message), again);
	}
	wireguard_normalise(again);
	if ((device->has & WIREGUARD_PEERS) != 0 && !has_twins(device) &&
	    (wireguard_differs(device, again) & WIREGUARD_PEERS) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 2 == 0)
		try_ethtool(data + 1, size - 1);
	else
		try_wireguard(data + 1, size - 1);
	return 0;
}
