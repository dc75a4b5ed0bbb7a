/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One DHCP client on one link, for one family: dhcpcd(8) as a child process, started again when it
 * ends, and the lease that it has. On the default loop. The last lease stands in the runtime
 * directory: a client made anew (the daemon was restarted) has it at once, until it ends by its
 * time or dhcpcd says otherwise; so addresses do not come and go with the daemon.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "netconf/config/config.h"
#include "netconf/dhcp/lease.h"

struct dhcpclient;

struct dhcpclient_settings {
	const char *program;     /* "dhcpcd": looked up in PATH */
	const char *hook;        /* absolute: netconf-dhcp-hook */
	const char *runtime_dir; /* absolute, there, root's alone: /run/fairlead/netconf */
};

/* The lease is another, or is gone, or the first has come; not when it was merely renewed. */
typedef void (*dhcpclient_changed_fn)(void *userdata);

/*
 * All is copied but dhcp, which is borrowed for the call. The first start is from the loop.
 * 0 or -errno.
 */
int dhcpclient_new(struct loop *loop, const struct dhcpclient_settings *settings, const char *link,
                   const struct mac *mac, const struct config_dhcp *dhcp,
                   dhcpclient_changed_fn changed, void *userdata, struct dhcpclient **ret_client);

/* Borrowed until the next call from the loop; NULL: there is none. */
const struct lease *dhcpclient_lease(const struct dhcpclient *client);

/* Whether one made anew with these would be told nothing else. */
bool dhcpclient_is_for(const struct dhcpclient *client, const struct dhcpclient_settings *settings,
                       const struct mac *mac, const struct config_dhcp *dhcp);
bool dhcpclient_is_running(const struct dhcpclient *client);

/* Ends dhcpcd, and does not wait for it. The lease stays at the server, and in the runtime
 * directory. NULL is fine. */
void dhcpclient_free(struct dhcpclient *client);
DEFINE_AUTO(struct dhcpclient, dhcpclient_free);

/* As above, for good: the configuration wants no DHCP here any more, and the files go. */
void dhcpclient_forget(struct dhcpclient *client);
/* Removes leases of its link that were of other identities: the change of it is over. */
void dhcpclient_forget_others(const struct dhcpclient *client);
