/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Links and addresses of this network namespace: a live table of links (kept by the monitor),
 * making and deleting a dummy, and adding, refreshing and deleting addresses.
 *
 * Changes use netlink_call() (see netlink.h): when they return, the kernel has done it.
 * Sources: rtnetlink(7), linux/if_link.h, linux/if_addr.h, net/ipv4/devinet.c,
 * net/ipv6/addrconf.c. IFA_PROTO (kernel 5.18 and later) marks an address with
 * who made it; older kernels ignore it, and rtnl_addr.proto reads 0 there.
 */

#include <ev.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "net/attr.h"

struct rtnl;

struct rtnl_link {
	int ifindex;
	char name[IFNAMSIZ];
	struct mac mac;
	bool has_mac; /* an Ethernet-like link with a 6-byte address */
	bool up;      /* IFF_UP: administratively */
	bool carrier; /* IFF_LOWER_UP */
	bool is_dummy;
	uint32_t group; /* IFLA_GROUP: 0 unless somebody has set it */
};

#define RTNL_LIFETIME_FOREVER UINT32_MAX

struct rtnl_addr {
	struct prefix prefix;
	int ifindex;
	uint8_t proto;        /* IFA_PROTO */
	uint32_t valid_s;     /* lifetime left in whole seconds; RTNL_LIFETIME_FOREVER for none */
	uint32_t preferred_s; /* 0 on an IPv6 address: never chosen as a source */
	bool no_prefix_route; /* IFA_F_NOPREFIXROUTE */
	bool no_dad;          /* IFA_F_NODAD; IPv6 only */
};

struct rtnl_events {
	/* A link appeared, changed or (gone) went away. */
	void (*link)(const struct rtnl_link *link, bool gone, void *userdata);
	/* An address appeared or changed (added) or went away. */
	void (*addr)(const struct rtnl_addr *addr, bool added, void *userdata);
	/* Notifications were lost; links have been read again, look at addresses yourself. */
	void (*resync)(void *userdata);
};

/* Reads the links before it returns. Events come from the loop. events and userdata are borrowed
 * until rtnl_free(). 0 or -errno. */
int rtnl_new(struct ev_loop *ev, const struct rtnl_events *events, void *userdata,
             struct rtnl **ret_rtnl);
void rtnl_free(struct rtnl *rtnl);
DEFINE_AUTO(struct rtnl, rtnl_free);

/* From the live table, by name or alternative name; NULL if there is none. Valid until the next
 * turn of the loop. */
const struct rtnl_link *rtnl_link_by_name(const struct rtnl *rtnl, const char *name);
const struct rtnl_link *rtnl_link_by_index(const struct rtnl *rtnl, int ifindex);

/* Calls fn for each of the live table, which it must not change. */
typedef void (*rtnl_link_fn)(const struct rtnl_link *link, void *userdata);
void rtnl_link_list(const struct rtnl *rtnl, rtnl_link_fn fn, void *userdata);

/* Makes a link of kind "dummy" that is up, and in that group; the kernel loads its driver if it
 * can. -EEXIST: there is a link of this name; -EOPNOTSUPP: this kernel has no dummies. */
int rtnl_link_add_dummy(struct rtnl *rtnl, const char *name, uint32_t group);

/* -ENODEV if it is not there. The news of it comes from the loop. */
int rtnl_link_del(struct rtnl *rtnl, int ifindex);

/* Creates the address; -EEXIST if it is there (NLM_F_CREATE | NLM_F_EXCL). */
int rtnl_addr_add(struct rtnl *rtnl, const struct rtnl_addr *addr);

/*
 * Renews the lifetimes of an address that exists. The kernel has no "change but do not create" for
 * addresses: NLM_F_REPLACE re-creates one that has just expired, so whoever uses lifetimes as a
 * fence must look at the clock again after this returns.
 */
int rtnl_addr_replace(struct rtnl *rtnl, const struct rtnl_addr *addr);

/* -EADDRNOTAVAIL if it is not there. */
int rtnl_addr_del(struct rtnl *rtnl, int ifindex, const struct prefix *prefix);

/* The route that the kernel made for an address of that prefix, in the main table: of an IPv6
 * address with a lifetime it outlives the address. -ESRCH if there is none. */
int rtnl_connected_route_del(struct rtnl *rtnl, int ifindex, const struct prefix *prefix);

/* Calls fn for every address of every link. 0 or -errno. */
typedef void (*rtnl_addr_fn)(const struct rtnl_addr *addr, void *userdata);
int rtnl_addr_list(struct rtnl *rtnl, rtnl_addr_fn fn, void *userdata);

/* The kernel's sentence about the last error, or "". */
const char *rtnl_error_text(const struct rtnl *rtnl);

/* --- messages, both ways; pure. For rtnl.c and its tests --- */

/* Alternative names that are remembered of one link. */
#define RTNL_ALTNAMES_MAX 32

struct rtnl_msg_link {
	struct rtnl_link link;
	char **altnames; /* owned, as are the strings */
	size_t n_altnames;
};

void rtnl_msg_link_fini(struct rtnl_msg_link *l);
bool rtnl_msg_link_equal(const struct rtnl_msg_link *a, const struct rtnl_msg_link *b);
bool rtnl_msg_link_has_name(const struct rtnl_msg_link *l, const char *name);

/* RTM_NEWLINK or RTM_DELLINK of a link itself; -EINVAL for anything else (the bridge's own
 * messages about its ports among them). ret is to be finished with rtnl_msg_link_fini(). */
int rtnl_msg_parse_link(const struct nlmsghdr *nlh, struct rtnl_msg_link *ret);

/* RTM_NEWADDR or RTM_DELADDR; -EINVAL for anything else. */
int rtnl_msg_parse_addr(const struct nlmsghdr *nlh, struct rtnl_addr *ret);

/* Requests: the caller frees them. A dummy is up; it fails if there is a link of that name. */
struct message *rtnl_msg_new_dummy(const char *name, uint32_t group);
struct message *rtnl_msg_new_addr(const struct rtnl_addr *addr, uint16_t flags);
