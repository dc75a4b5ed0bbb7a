/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel makes the address as soon as it may and the link has its carrier. */
#include "netconf/dhcp/linklocal.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"

#define MODE_TEXT_MAX 16

/* proc_sys: a write is whole or fails. */
static int write_mode(const char *path, int mode)
{
	FILE *file = fopen(path, "we");
	int r;

	if (file == NULL)
		return -errno;
	r = fprintf(file, "%d\n", mode) < 0 || fflush(file) != 0 ? -errno : 0;
	(void) fclose(file);
	return r;
}

static void allow(const char *link, int *mode)
{
	AUTO(free) char *path = xasprintf("/proc/sys/net/ipv6/conf/%s/addr_gen_mode", link);
	AUTO(free) char *text = NULL;
	size_t len;
	int r;

	if (file_read(path, MODE_TEXT_MAX, &text, &len) < 0)
		return;
	if (atoi(text) != IN6_ADDR_GEN_MODE_NONE) {
		*mode = atoi(text);
		return;
	}
	r = write_mode(path, *mode);
	if (r < 0)
		(void) log_error_errno(r, "linklocal_not_allowed", "ifname=%s path=%s", link, path);
}

static bool is_linklocal(const struct ifaddrs *at)
{
	struct sockaddr_in6 in6;

	if (at->ifa_addr == NULL || at->ifa_addr->sa_family != AF_INET6)
		return false;
	memcpy(&in6, at->ifa_addr, sizeof(in6));
	return IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr);
}

bool linklocal_make(const char *link, int *mode)
{
	struct ifaddrs *all = NULL;
	bool is_there = false;

	allow(link, mode);
	if (getifaddrs(&all) < 0)
		return false;
	for (const struct ifaddrs *at = all; at != NULL && !is_there; at = at->ifa_next)
		is_there = strcmp(at->ifa_name, link) == 0 && (at->ifa_flags & IFF_RUNNING) != 0 &&
		           is_linklocal(at);
	freeifaddrs(all);
	return is_there;
}
