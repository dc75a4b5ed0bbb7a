/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what ethtool sets; configuration and coder look it up. */
#include "netconf/model/ethernet.h"

#include <linux/ethtool_netlink.h>
#include <stdlib.h>

#include "base/mem.h"

/* Younger than the headers of Debian 12: kernel 6.3 and 6.4. */
#define RINGS_RX_PUSH (ETHTOOL_A_RINGS_TX_PUSH + 1)
#define RINGS_TX_PUSH_BUF_LEN (ETHTOOL_A_RINGS_TX_PUSH + 2)
#define RINGS_TX_PUSH_BUF_LEN_MAX (ETHTOOL_A_RINGS_TX_PUSH + 3)

const struct ethernet_setting_info ethernet_settings[ETHERNET_SETTINGS] = {
    [ETHERNET_RING_RX] = {"rings", "rx", ETHTOOL_A_RINGS_RX, false, ETHTOOL_A_RINGS_RX_MAX},
    [ETHERNET_RING_TX] = {"rings", "tx", ETHTOOL_A_RINGS_TX, false, ETHTOOL_A_RINGS_TX_MAX},
    [ETHERNET_RING_RX_MINI] = {"rings", "rx-mini", ETHTOOL_A_RINGS_RX_MINI, false,
                               ETHTOOL_A_RINGS_RX_MINI_MAX},
    [ETHERNET_RING_RX_JUMBO] = {"rings", "rx-jumbo", ETHTOOL_A_RINGS_RX_JUMBO, false,
                                ETHTOOL_A_RINGS_RX_JUMBO_MAX},
    [ETHERNET_RING_RX_BUF_LEN] = {"rings", "rx-buf-len", ETHTOOL_A_RINGS_RX_BUF_LEN, false, 0},
    [ETHERNET_RING_CQE_SIZE] = {"rings", "cqe-size", ETHTOOL_A_RINGS_CQE_SIZE, false, 0},
    [ETHERNET_RING_TX_PUSH] = {"rings", "tx-push", ETHTOOL_A_RINGS_TX_PUSH, true, 0},
    [ETHERNET_RING_RX_PUSH] = {"rings", "rx-push", RINGS_RX_PUSH, true, 0},
    [ETHERNET_RING_TX_PUSH_BUF_LEN] = {"rings", "tx-push-buf-len", RINGS_TX_PUSH_BUF_LEN, false,
                                       RINGS_TX_PUSH_BUF_LEN_MAX},
    [ETHERNET_RING_TCP_DATA_SPLIT] = {"rings", "tcp-data-split", ETHTOOL_A_RINGS_TCP_DATA_SPLIT,
                                      true, 0},
    [ETHERNET_CHANNELS_RX] = {"channels", "rx", ETHTOOL_A_CHANNELS_RX_COUNT, false,
                              ETHTOOL_A_CHANNELS_RX_MAX},
    [ETHERNET_CHANNELS_TX] = {"channels", "tx", ETHTOOL_A_CHANNELS_TX_COUNT, false,
                              ETHTOOL_A_CHANNELS_TX_MAX},
    [ETHERNET_CHANNELS_OTHER] = {"channels", "other", ETHTOOL_A_CHANNELS_OTHER_COUNT, false,
                                 ETHTOOL_A_CHANNELS_OTHER_MAX},
    [ETHERNET_CHANNELS_COMBINED] = {"channels", "combined", ETHTOOL_A_CHANNELS_COMBINED_COUNT,
                                    false, ETHTOOL_A_CHANNELS_COMBINED_MAX},
};

bool ethernet_is_ring(enum ethernet_setting setting)
{
	return setting < ETHERNET_CHANNELS_RX;
}

/* By the bits of WAKE_* (linux/ethtool.h). */
const char *const ethernet_wake_modes[] = {
    "phy", "unicast", "multicast", "broadcast", "arp", "magic", "magicsecure", "filter", NULL,
};

void ethernet_add_feature(struct ethernet *ethernet, const char *name, bool on)
{
	ethernet->features =
	    xreallocarray(ethernet->features, ethernet->n_features + 1, sizeof(*ethernet->features));
	ethernet->features[ethernet->n_features++] =
	    (struct ethernet_feature){.name = xstrdup(name), .on = on};
}

void ethernet_copy(const struct ethernet *ethernet, struct ethernet *ret_copy)
{
	*ret_copy = *ethernet;
	ret_copy->features = NULL;
	ret_copy->n_features = 0;
	for (size_t i = 0; i < ethernet->n_features; i++)
		ethernet_add_feature(ret_copy, ethernet->features[i].name, ethernet->features[i].on);
}

void ethernet_fini(struct ethernet *ethernet)
{
	for (size_t i = 0; i < ethernet->n_features; i++)
		free(ethernet->features[i].name);
	free(ethernet->features);
	*ethernet = (struct ethernet){0};
}
