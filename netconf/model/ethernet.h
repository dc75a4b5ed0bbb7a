/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What ethtool sets on a link: features, rings, channels, Wake-on-LAN. Pure values; `has` and the
 * list of features say what is asked for, the rest stays as the driver has it.
 * Source: linux/ethtool_netlink.h, of which the numbers here are attributes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macro.h"

enum ethernet_setting {
	ETHERNET_RING_RX,
	ETHERNET_RING_TX,
	ETHERNET_RING_RX_MINI,
	ETHERNET_RING_RX_JUMBO,
	ETHERNET_RING_RX_BUF_LEN,
	ETHERNET_RING_CQE_SIZE,
	ETHERNET_RING_TX_PUSH,
	ETHERNET_RING_RX_PUSH,
	ETHERNET_RING_TX_PUSH_BUF_LEN,
	ETHERNET_RING_TCP_DATA_SPLIT,
	ETHERNET_CHANNELS_RX,
	ETHERNET_CHANNELS_TX,
	ETHERNET_CHANNELS_OTHER,
	ETHERNET_CHANNELS_COMBINED,
	ETHERNET_SETTINGS, /* how many */
};

struct ethernet_setting_info {
	const char *section; /* "rings", "channels" */
	const char *key;     /* "rx-mini" */
	uint16_t attribute;  /* ETHTOOL_A_RINGS_* or ETHTOOL_A_CHANNELS_* */
	bool is_bool;
	uint16_t max_attribute; /* of the most that it can be; 0: there is none */
};
extern const struct ethernet_setting_info ethernet_settings[ETHERNET_SETTINGS];
bool ethernet_is_ring(enum ethernet_setting setting); /* else it is of the channels */

/* Bits of ETHTOOL_A_WOL_MODES are numbered as these stand. */
extern const char *const ethernet_wake_modes[]; /* NULL at the end */

struct ethernet_feature {
	char *name; /* "tx-tcp-segmentation" */
	bool on;
};

struct ethernet {
	unsigned has;                       /* bits 1 << enum ethernet_setting */
	uint32_t values[ETHERNET_SETTINGS]; /* is_bool: 0 or 1 */
	bool has_wake;
	unsigned wake; /* bits 1 << index of ethernet_wake_modes; 0: off */
	struct ethernet_feature *features;
	size_t n_features;
};

void ethernet_copy(const struct ethernet *ethernet, struct ethernet *ret_copy);
void ethernet_fini(struct ethernet *ethernet);
void ethernet_add_feature(struct ethernet *ethernet, const char *name, bool on);
