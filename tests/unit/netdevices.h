/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Devices of a machine, and configurations that are about them. */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "netconf/config/config.h"
#include "netconf/kernel/devices.h"
#include "tests/unit/check.h"

static const char *const altnames_of_2[] = {"enp3s0-with-a-long-name"};

static const struct device devices[] = {
    {.name = "eth0",
     .is_physical = true,
     .mac = {{2, 0, 0, 0, 0, 0xa3}},
     .has_permanent_mac = true,
     .permanent_mac = {{2, 0, 0, 0, 0, 0xa3}},
     .bus_path = "0000:01:00.0",
     .pci_id = "8086:1533",
     .driver = "igb",
     .kind = ""},
    {.name = "eth1",
     .is_physical = true,
     .mac = {{2, 0, 0, 0, 0, 0xa1}},
     .bus_path = "0000:01:00.1",
     .pci_id = "8086:1533",
     .driver = "igb",
     .kind = ""},
    {.name = "eth2",
     .altnames = altnames_of_2,
     .n_altnames = 1,
     .is_physical = true,
     .mac = {{2, 0, 0, 0, 0, 0xa2}},
     .bus_path = "0000:02:00.0",
     .pci_id = "1af4:1000",
     .driver = "virtio_net",
     .kind = ""},
    /* It borrows the address of eth0. */
    {.name = "vlan9",
     .mac = {{2, 0, 0, 0, 0, 0xa3}},
     .bus_path = "",
     .pci_id = "",
     .driver = "",
     .kind = "vlan"},
    {.name = "lo", .bus_path = "", .pci_id = "", .driver = "", .kind = ""},
};

#define KIND(kind) "---\napiVersion: v1alpha1\nkind: " kind "\n"
#define LINK KIND("LinkConfig")
#define ALIAS KIND("LinkAliasConfig")
#define BOND KIND("BondConfig")
#define VLAN KIND("VLANConfig")
#define DHCP4 KIND("DHCPv4Config")
#define ETHERNET KIND("EthernetConfig")
#define RULE KIND("RoutingRuleConfig")
#define VRF KIND("VRFConfig")
#define LEGACY "---\nmachine:\n  network:\n    interfaces:\n"

static inline UNUSED void keep_message(const char *message, void *userdata)
{
	char **last = userdata;

	free(*last);
	*last = xstrdup(message);
}

static inline UNUSED struct config *load(const char *text)
{
	struct config *config = NULL;
	AUTO(free) char *last = NULL;

	if (config_load_text("t", text, strlen(text), NULL, keep_message, &last, &config) < 0) {
		(void) fprintf(stderr, "%s\n%s\n", text, last);
		exit(1);
	}
	return config;
}
