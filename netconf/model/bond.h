/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The options of a bond: one table that the configuration, the planner and the netlink coder share,
 * and a bond's values for them. Pure; plain values without pointers, copied by assignment.
 *
 * Names of ports stand for their ifindexes, so that a bond can be described before its ports are
 * there. Sources: linux/if_link.h (IFLA_BOND_*), the kernel's bonding.rst; what a change costs has
 * been tried on kernels 6.1 and 6.18.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/macro.h"

enum bond_option {
	BOND_MODE,
	BOND_MIIMON,
	BOND_UPDELAY,
	BOND_DOWNDELAY,
	BOND_PEER_NOTIF_DELAY,
	BOND_USE_CARRIER,
	BOND_ARP_INTERVAL,
	BOND_ARP_IP_TARGET,
	BOND_NS_IP6_TARGET,
	BOND_ARP_VALIDATE,
	BOND_ARP_ALL_TARGETS,
	BOND_MISSED_MAX,
	BOND_PRIMARY,
	BOND_PRIMARY_RESELECT,
	BOND_ACTIVE_SLAVE,
	BOND_FAIL_OVER_MAC,
	BOND_XMIT_HASH_POLICY,
	BOND_RESEND_IGMP,
	BOND_NUM_PEER_NOTIF,
	BOND_ALL_SLAVES_ACTIVE,
	BOND_MIN_LINKS,
	BOND_LP_INTERVAL,
	BOND_PACKETS_PER_SLAVE,
	BOND_LACP_RATE,
	BOND_LACP_ACTIVE,
	BOND_AD_SELECT,
	BOND_AD_ACTOR_SYS_PRIO,
	BOND_AD_USER_PORT_KEY,
	BOND_AD_ACTOR_SYSTEM,
	BOND_TLB_DYNAMIC_LB,
	BOND_OPTIONS, /* how many */
};

#define BOND_BIT(option) (UINT64_C(1) << (option))

/* The kernel's numbers; what <linux/if_bonding.h> calls BOND_MODE_*. */
enum bond_mode {
	BOND_RR,
	BOND_ACTIVE_BACKUP,
	BOND_XOR,
	BOND_BROADCAST,
	BOND_8023AD,
	BOND_TLB,
	BOND_ALB,
	BOND_MODES, /* how many */
};

/* What must hold before the kernel lets the option change, cheapest first. */
enum bond_constraint {
	BOND_LIVE,             /* any time, and no traffic is lost */
	BOND_NEEDS_DOWN,       /* the bond down; its ports may stay */
	BOND_NEEDS_EMPTY,      /* no ports; the bond may be up */
	BOND_NEEDS_DOWN_EMPTY, /* both */
};

/* How IFLA_BOND_* carries it, and where struct bond keeps it. */
enum bond_type {
	BOND_U8,   /* values[] */
	BOND_U16,  /* values[] */
	BOND_U32,  /* values[] */
	BOND_PORT, /* u32 ifindex on the wire; primary or active_port */
	BOND_IPV4, /* nest of u32 by 0..15; arp_targets */
	BOND_IPV6, /* nest of in6_addr by 0..15; ns_targets */
	BOND_MAC,  /* 6 bytes; ad_actor_system */
};

struct bond_option_info {
	const char *name;       /* the kernel's, as in sysfs: "lacp_rate" */
	const char *key;        /* of a BondConfig; NULL: none */
	const char *legacy_key; /* of machine.network.interfaces[].bond; NULL: none */
	uint16_t attribute;     /* IFLA_BOND_* */
	enum bond_type type;
	enum bond_constraint constraint;
	unsigned modes;             /* bits 1 << mode in which the kernel takes it */
	bool is_bool;               /* written as true and false */
	bool needs_miimon;          /* refused (EPERM) unless miimon is set, and a multiple of it */
	uint32_t min, max;          /* scalars; of targets: how many */
	uint32_t initial;           /* what a new bond has; MAC, ports and targets begin empty */
	const char *const *choices; /* words by the kernel's number, NULL at the end; NULL: a number */
};

extern const struct bond_option_info bond_options[BOND_OPTIONS];

#define BOND_TARGETS_MAX 16 /* of a list; the kernel's BOND_MAX_ARP_TARGETS */

struct bond {
	uint64_t has; /* BOND_BIT()s. desired: what is asked for; observed: what the kernel told */
	uint32_t values[BOND_OPTIONS]; /* BOND_U8 to BOND_U32 */
	char primary[IFNAMSIZ];        /* "": none */
	char active_port[IFNAMSIZ];
	struct mac ad_actor_system;                /* zero: none, which is how a new bond begins */
	struct addr arp_targets[BOND_TARGETS_MAX]; /* in the order of the wire */
	struct addr ns_targets[BOND_TARGETS_MAX];
	size_t n_arp_targets, n_ns_targets;
};

static inline bool bond_has(const struct bond *bond, enum bond_option option)
{
	return (bond->has & BOND_BIT(option)) != 0;
}

/* Sets a scalar. */
void bond_set(struct bond *bond, enum bond_option option, uint32_t value);
/* The scalar that the bond has, or will have: the kernel's initial value where none is asked for.
 */
uint32_t bond_get(const struct bond *bond, enum bond_option option);

/*
 * Into the form in which the kernel reads back: updelay, downdelay and peer_notif_delay become
 * multiples of miimon (0 without it), an arp_interval switches miimon off. Options that the mode
 * does not allow are dropped from `has`: the kernel reports them, but they mean nothing.
 */
void bond_normalise(struct bond *bond);

/* The options that `want` has and that `have` has not, or otherwise: BOND_BIT()s. Both normalised.
 */
uint64_t bond_differs(const struct bond *want, const struct bond *have);
bool bond_option_equal(const struct bond *a, const struct bond *b, enum bond_option option);

bool bond_mode_allows(enum bond_mode mode, enum bond_option option);

/* The option's value as people write it ("fast", "100", "10.0.0.1,10.0.0.2"); "" for none. */
#define BOND_VALUE_TEXT_MAX (BOND_TARGETS_MAX * ADDR_TEXT_MAX)
const char *bond_format_value(const struct bond *bond, enum bond_option option,
                              char buf[static BOND_VALUE_TEXT_MAX]);
