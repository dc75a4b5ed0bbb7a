/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A client's files in the runtime directory, `dhcp4-LINK.SUFFIX`: what it is told (conf), what its
 * hook was told (lease, down), and who it is (pid). The file of the lease is the one place that
 * says whether there is a lease: whoever plans reads it, also a process that has no client.
 * Blocking.
 */

#include <net/if.h>
#include <stdint.h>

#include "netconf/config/config.h"
#include "netconf/dhcp/lease.h"

/* The caller frees it. */
char *dhcpfile_path(const char *runtime_dir, const char *link, sa_family_t family,
                    const char *suffix);

/* Of its lease. What a server gave to one identity is none of another's: whose is not of the link's
 * MAC has a name of its own, `lease-HASH`. The caller frees it. */
char *dhcpfile_lease_path(const char *runtime_dir, const char *link,
                          const struct config_dhcp *dhcp);

/* The name of a file in the runtime directory. False: it is no client's. */
bool dhcpfile_parse(const char *name, char ret_link[static IFNAMSIZ], sa_family_t *ret_family);

/* path: dhcpfile_lease_path(); now_us: CLOCK_BOOTTIME. 1: a lease, which the caller ends; 0: there
 * is none, or it is over; or -errno: it cannot be read, which is as good as none. */
int dhcpfile_read_lease(const char *path, sa_family_t family, int64_t now_us,
                        struct lease *ret_lease);

/* Ends a client that another process of ours left behind, with its helpers. True: there was one,
 * and it may take a moment. */
bool dhcpfile_end_left(const char *runtime_dir, const char *link, sa_family_t family);
/* Who it is: for that. 0 or -errno. */
int dhcpfile_write_pid(const char *runtime_dir, const char *link, sa_family_t family, pid_t pid);
/* All of them; and only leases, but for the one at `path`. */
void dhcpfile_remove(const char *runtime_dir, const char *link, sa_family_t family);
void dhcpfile_remove_other_leases(const char *runtime_dir, const char *link, sa_family_t family,
                                  const char *path);

/* The configuration of one dhcpcd, for one link and one family. Pure. Source: dhcpcd.conf(5). */

struct dhcpconf {
	const struct config_dhcp *dhcp;
	struct mac mac;    /* the link's */
	const char *hook;  /* the program that it calls at each event */
	const char *lease; /* the file that the hook writes */
	const char *down;  /* of IPv6: and this one when the carrier is gone */
};

/* The caller frees it. */
char *dhcpconf_text(const struct dhcpconf *conf);
