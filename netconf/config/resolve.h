/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From a configuration and the devices that there are to the network that is wanted: aliases and
 * alternative names become names, a selector becomes the devices that it chooses, ports get their
 * master. Pure: the same configuration with other devices is another network, so this runs again
 * whenever a device has come or gone.
 *
 * A link that is not there is wanted nevertheless, under its name, and what depends on it waits for
 * it in the plan. Only what cannot even be named (a selector that matches nothing, an alias without
 * a device) is left out, and listed.
 */

#include <net/if.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "netconf/config/config.h"

struct resolved_dhcp {
	char link[IFNAMSIZ];
	const struct config_dhcp *dhcp; /* borrowed from the configuration */
};

struct resolved_ethernet {
	char link[IFNAMSIZ];
	const struct config_ethernet *config; /* borrowed from the configuration */
};

/* An alias that found its device: what other programs may call it by, too. */
struct resolved_alias {
	char *name; /* up to CONFIG_REF_MAX characters */
	char link[IFNAMSIZ];
};

struct resolution {
	struct model *model; /* normalised */
	struct resolved_dhcp *dhcps;
	size_t n_dhcps;
	struct resolved_ethernet *ethernets;
	size_t n_ethernets;
	struct resolved_alias *aliases;
	size_t n_aliases;
	struct conf_strings ignored; /* links that are never touched: `ignore: true` */
	/* "file:line: ..." each. Waiting is no fault; with a problem nothing may be applied, since two
	 * parts of the configuration turned out to mean one device. */
	struct conf_strings waiting, problems;
	struct conf_strings disputed; /* the links that the problems are about */
	struct conf_strings notes;    /* what is odd but goes on; from those who add to the model */
	unsigned leased;              /* enum host_attr: what of the host is left to leases */
};

/* config is borrowed as long as the resolution lives; devices and their texts until this returns.
 */
struct resolution *resolve(const struct config *config, const struct device *devices,
                           size_t n_devices);
void resolution_free(struct resolution *resolution);
DEFINE_AUTO(struct resolution, resolution_free);

/* Whether a problem is about this link. */
bool resolution_disputes(const struct resolution *resolution, const char *link);

/* True for a link of `ignore: true` and for one of ownership.ignoreLinks. */
bool resolution_ignores(const struct resolution *resolution, const struct config *config,
                        const char *link);

/* Whether a selector may choose this device at all: not one that borrows its address from another
 * (a bond, a VLAN, a bridge), unless it asks for one that is not physical. */
bool resolve_is_candidate(const struct selector *selector, const struct device *device);
