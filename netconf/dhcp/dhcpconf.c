/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dhcpcd gets leases and does nothing else here: `noconfigure` keeps its hands off the system, and
 * what it knows goes to the hook. Without `persistent` it takes an address away, when it ends, that
 * was there already when it began.
 */
#include "netconf/dhcp/dhcpconf.h"

#include <stdio.h>

#include "base/mem.h"

/* RFC 2132, section 9.14: the hardware's type, and its address. RFC 8415, section 11.4: DUID-LL. */
static const char mac_id_prefix[] = "01";
static const char mac_duid_prefix[] = "00:03:00:01";

static void put_id(FILE *out, const struct dhcpconf *conf)
{
	bool v4 = conf->dhcp->family == AF_INET;
	char mac[MAC_TEXT_MAX];

	switch (conf->dhcp->client_id) {
	case CONFIG_CLIENT_ID_NONE:
		break; /* dhcpcd's own choice: for IPv4 no identifier */
	case CONFIG_CLIENT_ID_MAC:
		(void) fprintf(out, "%s %s:%s\n", v4 ? "clientid" : "duid",
		               v4 ? mac_id_prefix : mac_duid_prefix, mac_format(&conf->mac, mac));
		break;
	case CONFIG_CLIENT_ID_DUID:
		(void) fprintf(out, "%s %s\n", v4 ? "clientid" : "duid", conf->dhcp->duid);
		break;
	}
}

char *dhcpconf_text(const struct dhcpconf *conf)
{
	bool v4 = conf->dhcp->family == AF_INET;
	char *text = NULL;
	size_t size;
	FILE *out = xmemstream_open(&text, &size);
	(void) fprintf(out,
	               "# fairlead wrote this file (netconf); changes are lost.\n"
	               "noconfigure\n"
	               "persistent\n"
	               "script %s\n"
	               "env fairlead_lease=%s\n"
	               "timeout 0\n"
	               "hostname\n",
	               conf->hook, conf->lease);
	if (v4) {
		(void) fputs("noipv4ll\n"
		             "require dhcp_server_identifier\n"
		             "option classless_static_routes, routers\n"
		             "option domain_name_servers, domain_name, domain_search\n",
		             out);
		if (!conf->dhcp->ignore_hostname)
			(void) fputs("option host_name\n", out);
	} else {
		(void) fprintf(out, "env fairlead_down=%s\n", conf->down);
		/* Routers and their announcements are the kernel's. */
		(void) fputs("noipv6rs\n"
		             "ia_na\n"
		             "option dhcp6_name_servers, dhcp6_domain_search\n",
		             out);
	}
	put_id(out, conf);
	xmemstream_close(out);
	return text;
}
