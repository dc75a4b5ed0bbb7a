/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The configuration of one dhcpcd, for one link and one family. Pure. Source: dhcpcd.conf(5). */

#include "netconf/config/config.h"

struct dhcpconf {
	const struct config_dhcp *dhcp;
	struct mac mac;    /* the link's */
	const char *hook;  /* the program that it calls at each event */
	const char *lease; /* the file that the hook writes */
	const char *down;  /* of IPv6: and this one when the carrier is gone */
};

/* The caller frees it. */
char *dhcpconf_text(const struct dhcpconf *conf);
