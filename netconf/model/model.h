/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A network as a value: what the configuration wants and what the kernel has are both a struct
 * model, in the same canonical form, so that a planner only walks two sorted lists side by side.
 * Pure: no file, no netlink, no clock.
 *
 *	model_new -> model_add_... -> model_normalise -> model_find_..., ..._differs -> model_free
 *
 * After model_normalise() every list is sorted by its ..._compare(), which orders by identity
 * first, and every value is as the kernel reads it back. Pointers into lists are good until the next
 * add. Sources: rtnetlink(7), linux/rtnetlink.h, and what kernels 6.1 and 6.18 answered.
 */

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "netconf/model/host.h"
#include "netconf/model/link.h"

/* A message's payload as the kernel dumped it, for what must come back byte by byte though this
 * model has no word for it (several next hops, encapsulation). Observed and foreign only; may be
 * empty. */
struct raw_message {
	void *data;
	size_t len;
};

/* Memory of its own for a copy. */
void raw_copy(struct raw_message *raw);

/* --- addresses: on a link, by family, address and prefix length --- */

/* Those that say what is wanted; the others (tentative, permanent, ...) say how it stands. */
#define ADDRESS_FLAGS_KEPT \
	(IFA_F_NOPREFIXROUTE | IFA_F_NODAD | IFA_F_MANAGETEMPADDR | IFA_F_MCAUTOJOIN)
#define ADDRESS_FOREVER UINT32_MAX

struct address {
	char link[IFNAMSIZ];
	struct prefix prefix; /* host bits kept */
	uint32_t priority;    /* IFA_RT_PRIORITY: metric of the connected route; 0: the kernel's */
	uint32_t flags;       /* IFA_F_*: ADDRESS_FLAGS_KEPT */
	struct addr peer;     /* AF_UNSPEC: none */
	uint32_t valid_s;     /* from now on, of a lease; ADDRESS_FOREVER: no lifetime */
	uint32_t preferred_s;
	struct origin origin; /* desired */

	/* observed */
	enum owner owner;
	uint8_t protocol; /* IFA_PROTO; 0 also from kernels before 5.18 */
	uint8_t scope;
	uint32_t state; /* the other IFA_F_*: IFA_F_TENTATIVE, IFA_F_DADFAILED, IFA_F_SECONDARY */
	struct raw_message raw;
};

/* By the rows of address_fields behind the key. */
enum address_attr {
	ADDRESS_PEER = 1 << 0,
	ADDRESS_PRIORITY = 1 << 1,
	ADDRESS_FLAGS = 1 << 2,
	/* One ends and the other does not, or elsewhen, by more than it takes to look and to write. */
	ADDRESS_LIFETIME = 1 << 3,
};

/* --- routes: by family, table, destination, metric and tos; then by the rest --- */

struct route {
	struct prefix dst; /* masked; length 0: default. Its family is the route's. */
	uint32_t table;    /* RT_TABLE_MAIN */
	uint32_t metric;   /* IPv6: never 0, the kernel makes it 1024 */
	uint8_t tos;
	uint8_t type;         /* RTN_UNICAST, RTN_BLACKHOLE, ... */
	struct addr gateway;  /* AF_UNSPEC: none. IPv6 behind an IPv4 route: RTA_VIA */
	char link[IFNAMSIZ];  /* "": none (a blackhole) */
	struct addr src;      /* RTA_PREFSRC; AF_UNSPEC: the kernel chooses */
	uint32_t mtu;         /* 0: the link's */
	bool onlink;          /* RTNH_F_ONLINK */
	uint8_t scope;        /* RT_SCOPE_*; IPv6: always RT_SCOPE_UNIVERSE */
	struct origin origin; /* desired */

	/* observed */
	enum owner owner;
	uint8_t protocol; /* rtm_protocol */
	bool is_opaque;   /* has attributes that this struct has no word for: only raw restores it */
	struct raw_message raw;
};

/* By the rows of route_fields behind the key. */
enum route_attr {
	ROUTE_TYPE = 1 << 0,
	ROUTE_LINK = 1 << 1,
	ROUTE_GATEWAY = 1 << 2,
	ROUTE_SRC = 1 << 3,
	ROUTE_MTU = 1 << 4,
	ROUTE_ONLINK = 1 << 5,
	ROUTE_SCOPE = 1 << 6,
	ROUTE_OPAQUE = 1 << 7,
};

/* --- rules: by family and priority; then by all the rest, since the kernel takes twins --- */

struct rule {
	sa_family_t family;
	uint32_t priority;
	struct prefix src, dst; /* AF_UNSPEC: any; masked */
	char iif[IFNAMSIZ], oif[IFNAMSIZ];
	uint32_t fwmark, fwmask; /* both 0: any; a mark without a mask has the mask 0xffffffff */
	uint8_t action;          /* FR_ACT_TO_TBL, FR_ACT_BLACKHOLE, ... */
	uint32_t table;          /* with FR_ACT_TO_TBL; else 0 */
	struct origin origin;    /* desired */

	/* observed */
	enum owner owner;
	uint8_t protocol; /* FRA_PROTOCOL */
	bool is_opaque;
	struct raw_message raw;
};

/* All members, with their keys in checkpoints: first the key, then what else orders. */
extern const struct record_field address_fields[], route_fields[], rule_fields[];

/* --- the whole --- */

struct model {
	struct link *links;
	struct address *addresses;
	struct route *routes;
	struct rule *rules;
	size_t n_links, n_addresses, n_routes, n_rules;
	size_t cap_links, cap_addresses, cap_routes, cap_rules;
	struct host host;    /* desired; observed only as far as somebody has looked */
	uint64_t bond_lacks; /* observed: BOND_BIT()s of options that this kernel does not have */
	char **files;        /* names for struct origin */
	size_t n_files;
};

struct model *model_new(void);
struct model *model_copy(const struct model *model);
void model_free(struct model *model);
DEFINE_AUTO(struct model, model_free);

/* A new, empty object at the end of its list; the caller fills it in. */
struct link *model_add_link(struct model *model, const char *name, enum link_kind kind);
struct address *model_add_address(struct model *model, const char *link,
                                  const struct prefix *prefix);
struct route *model_add_route(struct model *model, const struct prefix *dst);
struct rule *model_add_rule(struct model *model, sa_family_t family, uint32_t priority);
/* Removes the i-th; the order stays. */
void model_remove_link(struct model *model, size_t i);
void model_remove_address(struct model *model, size_t i);
void model_remove_addresses(struct model *model, size_t first, size_t n);
void model_remove_route(struct model *model, size_t i);
void model_remove_rule(struct model *model, size_t i);

/* The origin of "file:line"; the file's name is kept once. "" where an origin is nowhere. */
struct origin model_origin(struct model *model, const char *file, unsigned line);
#define MODEL_ORIGIN_TEXT_MAX 512
const char *model_format_origin(const struct model *model, const struct origin *origin,
                                char buf[static MODEL_ORIGIN_TEXT_MAX]);

/* Every object into the kernel's form, then sorts. */
void model_normalise(struct model *model);

/* In a normalised model; NULL: there is none. */
struct link *model_find_link(const struct model *model, const char *name);
struct address *model_find_address(const struct model *model, const char *link,
                                   const struct prefix *prefix);
/* Where the link's addresses begin, which stand together; n_addresses or another link's: it has
 * none. */
size_t model_first_address(const struct model *model, const char *link);
/* Whether `i` is one of them. */
bool model_is_address_of(const struct model *model, size_t i, const char *link);

/* Identity: what makes two objects the same one, wanted and had. 0: the same. The full orders go on
 * with every other attribute, so that sorting is total. */
int address_compare_key(const struct address *a, const struct address *b);
int route_compare_key(const struct route *a, const struct route *b);
int address_compare(const struct address *a, const struct address *b);
int route_compare(const struct route *a, const struct route *b);
int rule_compare(const struct rule *a, const struct rule *b);

void address_normalise(struct address *address);
void route_normalise(struct route *route);
void rule_normalise(struct rule *rule);

/* enum address_attr, enum route_attr: what `have` has otherwise than `want`, whose keys are equal.
 * Rules are equal by rule_compare() or are two. */
unsigned address_differs(const struct address *want, const struct address *have);
/* Whether `have` may be taken for it: what another client has left of a lease ends elsewhen. */
bool address_is_like(const struct address *want, const struct address *have);
unsigned route_differs(const struct route *want, const struct route *have);

/* "10.0.0.0/8 via 10.0.0.1 dev bond0 metric 1024 table 100": for messages and plans. */
#define MODEL_TEXT_MAX 256
const char *address_format(const struct address *address, char buf[static MODEL_TEXT_MAX]);
const char *route_format(const struct route *route, char buf[static MODEL_TEXT_MAX]);
const char *rule_format(const struct rule *rule, char buf[static MODEL_TEXT_MAX]);
const char *rule_action_name(uint8_t action); /* "blackhole"; "other" */
