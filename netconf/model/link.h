/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One network link, wanted or seen. Pure values; a link owns what it points to.
 *
 * `has` says which attributes are there: of a desired link those that somebody asked for, of an
 * observed one those that the kernel told. What is not asked for is left as it is. Other links are
 * named, not numbered: a name can be wanted before there is an ifindex.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "netconf/model/bond.h"
#include "netconf/model/record.h"
#include "netconf/model/wireguard.h"

/* Where an object of the configuration was written: an index of model.files and a line. */
struct origin {
	uint32_t file;
	uint32_t line; /* 0: nowhere */
};

/* Of observed objects; a desired one is ours by being desired. */
enum owner {
	OWNER_UNKNOWN, /* nobody has judged */
	OWNER_OURS,    /* it carries our mark, or our state file lists it */
	OWNER_FOREIGN, /* another program's or an administrator's: never deleted nor overwritten */
	OWNER_KERNEL,  /* made by the kernel itself: connected routes, link-local addresses, lo */
};

/* rtm_protocol, IFA_PROTO and FRA_PROTOCOL of what is ours. vipd's addresses have 0xf1. */
#define NETCONF_PROTOCOL 0xf2

enum link_kind {
	LINK_PHYSICAL, /* found, never made: also the virtual device of a virtual machine */
	LINK_LOOPBACK,
	LINK_BOND,
	LINK_VLAN,
	LINK_BRIDGE,
	LINK_DUMMY,
	LINK_VETH,
	LINK_VRF,
	LINK_WIREGUARD,
	LINK_OTHER, /* of a kind that netconf does not make; observed only */
};

/* What is asked of a link, or seen. The numbers stand in checkpoints. */
enum link_attr {
	LINK_HAS_UP = 1 << 0,
	LINK_HAS_MTU = 1 << 1,
	LINK_HAS_MAC = 1 << 2,
	LINK_HAS_MULTICAST = 1 << 3,
	LINK_HAS_MASTER = 1 << 4,
	LINK_HAS_PARENT = 1 << 5, /* VLAN: where it is on */
	LINK_HAS_VLAN_ID = 1 << 6,
	LINK_HAS_VLAN_PROTOCOL = 1 << 7,
	LINK_HAS_VLAN_FLAGS = 1 << 8,
	LINK_HAS_STP = 1 << 9,
	LINK_HAS_VLAN_FILTERING = 1 << 10,
	LINK_HAS_PEER = 1 << 11,  /* veth */
	LINK_HAS_TABLE = 1 << 12, /* VRF */
	LINK_HAS_PROMOTE = 1 << 13,
	/* In answers of link_differs() only; bond_differs() and wireguard_differs() say more. */
	LINK_HAS_KIND = 1 << 14,
	LINK_HAS_BOND = 1 << 15,
	LINK_HAS_WIREGUARD = 1 << 16,
};

#define LINK_ATTRS 14 /* rows of link_attrs */

/* Where an attribute stands in a message about the link. */
enum link_where {
	LINK_AT_NONE,  /* coded by hand */
	LINK_AT_FLAGS, /* a bit of ifi_flags */
	LINK_AT_TOP,   /* IFLA_* */
	LINK_AT_DATA,  /* in IFLA_INFO_DATA of its kind */
};

enum link_wire {
	LINK_WIRE_U8,
	LINK_WIRE_U16,
	LINK_WIRE_BE16,
	LINK_WIRE_U32,
	LINK_WIRE_MAC,
	LINK_WIRE_VLAN_FLAGS, /* struct ifla_vlan_flags */
	LINK_WIRE_IFINDEX,    /* of the link that is named */
};

/* When an attribute may be given. One that is neither LINK_SET nor LINK_ORDERED changes only with
 * the link made anew. */
enum {
	LINK_GIVEN = 1 << 0,   /* in the message that makes the link */
	LINK_NEEDED = 1 << 1,  /* and the kernel makes none without it */
	LINK_SET = 1 << 2,     /* at any time */
	LINK_ORDERED = 1 << 3, /* at any time, but in an order that the planner has to find */
	LINK_BLIPS = 1 << 4,   /* a link that is up loses frames when it changes */
	/* A port borrows its master's, and a bond its first port's. */
	LINK_BORROWED = 1 << 5,
	LINK_DESCRIBED = 1 << 6, /* in the configuration that is made of what there is */
	LINK_INITIAL = 1 << 7,   /* a new link has `initial` */
};

struct link_word {
	uint32_t number;
	const char *word; /* NULL: the end */
};

struct link_attr_info {
	enum link_attr attr;
	const char *name;          /* in plans */
	struct record_field field; /* in struct link, and its key in checkpoints */
	unsigned kinds;            /* bits 1 << enum link_kind that have it */
	enum link_where place;
	uint16_t attribute; /* IFLA_*, IFF_* */
	enum link_wire wire;
	unsigned flags;
	uint32_t initial;
	const char *key, *legacy_key; /* in the configuration; "stp.enabled": in a map; NULL: none */
	uint32_t min, max;
	const struct link_word *words; /* of numbers; NULL: they are written as numbers */
	bool is_set;                   /* `words` are those of its bits */
};

/* By the number of the bit. Reading and printing configurations, comparing, planning, talking to
 * the kernel and checkpoints go by this table. */
extern const struct link_attr_info link_attrs[LINK_ATTRS];

#define LINK_MTU_MIN 68    /* RFC 791 */
#define LINK_MTU_MAX 65536 /* of lo */

#define LINK_VLAN_8021Q 0x8100 /* IFLA_VLAN_PROTOCOL, in host order */
#define LINK_VLAN_8021AD 0x88a8

/* IFLA_VLAN_FLAGS, as linux/if_vlan.h numbers them. */
#define LINK_VLAN_REORDER_HDR 0x1
#define LINK_VLAN_GVRP 0x2
#define LINK_VLAN_LOOSE_BINDING 0x4
#define LINK_VLAN_MVRP 0x8
#define LINK_VLAN_BRIDGE_BINDING 0x10

/* What LACP has come to on a port of an 802.3ad bond: the states of both ends, in the bits of IEEE
 * 802.1AX, 6.4.2.3. The carrier of such a port alone moves no frame. */
#define LINK_LACP_SYNCHRONIZED 0x08
#define LINK_LACP_COLLECTING 0x10
#define LINK_LACP_DISTRIBUTING 0x20
#define LINK_LACP_EXPIRED 0x80

struct link_lacp {
	bool is_known; /* it is such a port; the states are 0 until it has an aggregator */
	uint8_t actor, partner;
};

#define LINK_ALTNAME_MAX 128 /* ALTIFNAMSIZ */

struct link {
	char name[IFNAMSIZ];
	enum link_kind kind;
	unsigned has; /* enum link_attr */
	bool up;      /* administratively */
	bool multicast;
	uint32_t mtu;
	struct mac mac;
	char master[IFNAMSIZ]; /* bond, bridge or VRF; "": none */
	unsigned position;     /* desired: among the ports of its master, the first is 0 */

	char parent[IFNAMSIZ]; /* VLAN; observed also of other kinds (macvlan): what it is on */
	uint16_t vlan_id;
	uint16_t vlan_protocol;
	uint32_t vlan_flags;
	bool stp, vlan_filtering; /* bridge */
	char peer[IFNAMSIZ];      /* veth: its other end, which is a link of its own */
	uint32_t table;           /* VRF */
	/* Its own net.ipv4.conf.*.promote_secondaries: the next address of a subnet takes the place of
	 * the first one when that is deleted, instead of going with it. Never asked for; set for a
	 * moment by plans. */
	bool promote;
	struct bond *bond; /* a bond's; else NULL */
	struct wireguard *wireguard;

	struct origin origin; /* desired */

	/* observed */
	enum owner owner;
	int ifindex; /* 0: not there */
	bool carrier;
	struct link_lacp lacp;
	bool has_permanent_mac;
	struct mac permanent_mac;
	char kind_name[16]; /* IFLA_INFO_KIND; "" for hardware */
	uint32_t group;
	char **altnames;
	size_t n_altnames;
};

/* Kinds that are made by netconf, and so can be deleted. */
bool link_is_virtual(const struct link *link);
bool link_has(const struct link *link, enum link_attr attr);

/* It has its carrier, and where LACP has a say, both ends take frames on it. */
bool link_carries(const struct link *link);

/* Copies and ends what a struct link points to. */
void link_copy(const struct link *link, struct link *ret_copy);
void link_fini(struct link *link);

/* By name: a total order in a model. */
int link_compare(const struct link *a, const struct link *b);

/* As the kernel would tell it: the parts, too. */
void link_normalise(struct link *link);

/* enum link_attr: what `want` asks for and `have` has otherwise. Both normalised. */
unsigned link_differs(const struct link *want, const struct link *have);

/* Gives `to` the values of the attributes, and says that it has them. */
void link_set(struct link *to, const struct link *from, unsigned attributes);

/* Gives the link what a new one of its kind has, of these attributes. */
void link_begin(struct link *link, unsigned attributes);

/* The attributes that have one of the flags, for every kind; those that a link of this kind has. */
unsigned link_attrs_with(unsigned flags);
unsigned link_attrs_of(enum link_kind kind);

/* "bond", "vlan"; "mtu", "master": the first attribute of the bits. */
const char *link_kind_name(enum link_kind kind);
const char *link_attr_name(unsigned attr);
/* The value as plans have it: "1500", "on", "none". */
#define LINK_VALUE_TEXT_MAX 128
const char *link_format_value(const struct link *link, const struct link_attr_info *info,
                              char buf[static LINK_VALUE_TEXT_MAX]);

/*
 * The name of a VLAN that nobody has named, as Talos forms it. Pure.
 */

/*
 * The base's name and the id: "bond0.100". Where the base is so long that ".4094" would not fit
 * behind it, its first four characters and six hexadecimal digits of its SHA-256: "enp0f6195f.100".
 */
void vlanname_form(const char *base, unsigned id, char ret_name[static IFNAMSIZ]);
