/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address as vipd has it, where there is no vipd: with its mark and with a lifetime, which ip(8)
 * of older releases cannot give. Stories add it, and ask how it stands.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "net/rtnl.h"

#define VIPD_PROTO 0xf1

static NORETURN void usage(void)
{
	(void) fprintf(stderr, "usage: vipaddress add IFNAME ADDRESS/LENGTH SECONDS\n"
	                       "       vipaddress list\n");
	exit(2);
}

static void link_cb(const struct rtnl_link *link UNUSED, bool gone UNUSED, void *userdata UNUSED)
{
}

static void addr_cb(const struct rtnl_addr *addr UNUSED, bool added UNUSED, void *userdata UNUSED)
{
}

static void resync_cb(void *userdata UNUSED)
{
}

/* Without what is left of its lifetime, which is another one each second. */
static void print_cb(const struct rtnl_addr *addr, void *userdata)
{
	struct rtnl *rtnl = userdata;
	const struct rtnl_link *link = rtnl_link_by_index(rtnl, addr->ifindex);
	char text[PREFIX_TEXT_MAX];

	(void) printf("%s %s proto %#x%s%s%s%s\n", link != NULL ? link->name : "?",
	              prefix_format(&addr->prefix, text), addr->proto,
	              addr->valid_s == RTNL_LIFETIME_FOREVER ? "" : " for a time",
	              addr->preferred_s == 0 ? " deprecated" : "",
	              addr->no_prefix_route ? " noprefixroute" : "", addr->no_dad ? " nodad" : "");
}

static int add(struct rtnl *rtnl, const char *ifname, const char *prefix, const char *seconds)
{
	const struct rtnl_link *link = rtnl_link_by_name(rtnl, ifname);
	struct rtnl_addr addr = {.proto = VIPD_PROTO, .no_prefix_route = true};
	bool is_ipv6;

	if (link == NULL)
		return -ENODEV;
	if (prefix_parse(prefix, &addr.prefix) < 0)
		usage();
	is_ipv6 = addr.prefix.addr.family == AF_INET6;
	addr.ifindex = link->ifindex;
	addr.valid_s = (uint32_t) strtoul(seconds, NULL, 10);
	addr.preferred_s = is_ipv6 ? 0 : addr.valid_s;
	addr.no_dad = is_ipv6;
	return rtnl_addr_add(rtnl, &addr);
}

int main(int argc, char **argv)
{
	static const struct rtnl_events events = {
	    .link = link_cb, .addr = addr_cb, .resync = resync_cb};
	AUTO(rtnl_free) struct rtnl *rtnl = NULL;
	int r;

	if (argc < 2)
		usage();
	r = rtnl_new(EV_DEFAULT, &events, NULL, &rtnl);
	if (r >= 0 && argc == 5 && strcmp(argv[1], "add") == 0)
		r = add(rtnl, argv[2], argv[3], argv[4]);
	else if (r >= 0 && argc == 2 && strcmp(argv[1], "list") == 0)
		r = rtnl_addr_list(rtnl, print_cb, rtnl);
	else if (r >= 0)
		usage();
	if (r < 0)
		(void) fprintf(stderr, "vipaddress: %s\n", strerror(-r));
	return r < 0 ? 1 : 0;
}
