/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of bond options, and comparing bonds by it. Whoever needs to know something of an
 * option (a key, a number on the wire, when it may change) looks it up here and has no list of its
 * own.
 */
#include "netconf/model/bond.h"

#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>

#define MODE(mode) (1u << BOND_##mode)
#define MODES_ALL ((1u << BOND_MODES) - 1)
#define MODES_WITH_ACTIVE (MODE(ACTIVE_BACKUP) | MODE(TLB) | MODE(ALB))
#define MODES_WITH_ARP (MODE(RR) | MODE(ACTIVE_BACKUP) | MODE(XOR) | MODE(BROADCAST))

#define INT32_LARGEST 0x7fffffffu
#define PEER_NOTIF_DELAY_MAX_MS 300000
#define USER_PORT_KEY_MAX 1023

/* What the kernel sets (BOND_DEFAULT_MIIMON) in the modes that cannot do without. */
#define MIIMON_DEFAULT_MS 100
#define MODES_WITH_MIIMON (MODE(8023AD) | MODE(TLB) | MODE(ALB))

static const char *const modes[] = {
    [BOND_RR] = "balance-rr",   [BOND_ACTIVE_BACKUP] = "active-backup",
    [BOND_XOR] = "balance-xor", [BOND_BROADCAST] = "broadcast",
    [BOND_8023AD] = "802.3ad",  [BOND_TLB] = "balance-tlb",
    [BOND_ALB] = "balance-alb", NULL,
};
static const char *const arp_validate[] = {
    "none", "active", "backup", "all", "filter", "filter-active", "filter-backup", NULL,
};
static const char *const arp_all_targets[] = {"any", "all", NULL};
static const char *const primary_reselect[] = {"always", "better", "failure", NULL};
static const char *const fail_over_mac[] = {"none", "active", "follow", NULL};
static const char *const xmit_hash_policy[] = {
    "layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac", NULL,
};
static const char *const lacp_rate[] = {"slow", "fast", NULL};
static const char *const lacp_active[] = {"off", "on", NULL};
static const char *const ad_select[] = {"stable", "bandwidth", "count", NULL};

const struct bond_option_info bond_options[BOND_OPTIONS] = {
    [BOND_MODE] = {"mode", "bondMode", "mode", IFLA_BOND_MODE, BOND_U8, BOND_NEEDS_DOWN_EMPTY,
                   MODES_ALL, .max = BOND_MODES - 1, .choices = modes},
    [BOND_MIIMON] = {"miimon", "miimon", "miimon", IFLA_BOND_MIIMON, BOND_U32, BOND_LIVE, MODES_ALL,
                     .max = INT32_LARGEST},
    [BOND_UPDELAY] = {"updelay", "updelay", "updelay", IFLA_BOND_UPDELAY, BOND_U32, BOND_LIVE,
                      MODES_ALL, .needs_miimon = true, .max = INT32_LARGEST},
    [BOND_DOWNDELAY] = {"downdelay", "downdelay", "downdelay", IFLA_BOND_DOWNDELAY, BOND_U32,
                        BOND_LIVE, MODES_ALL, .needs_miimon = true, .max = INT32_LARGEST},
    [BOND_PEER_NOTIF_DELAY] = {"peer_notif_delay", "peerNotifDelay", "peerNotifyDelay",
                               IFLA_BOND_PEER_NOTIF_DELAY, BOND_U32, BOND_LIVE, MODES_ALL,
                               .needs_miimon = true, .max = PEER_NOTIF_DELAY_MAX_MS},
    [BOND_USE_CARRIER] = {"use_carrier", "useCarrier", "useCarrier", IFLA_BOND_USE_CARRIER, BOND_U8,
                          BOND_LIVE, MODES_ALL, .is_bool = true, .max = 1, .initial = 1},
    [BOND_ARP_INTERVAL] = {"arp_interval", "arpInterval", "arpInterval", IFLA_BOND_ARP_INTERVAL,
                           BOND_U32, BOND_LIVE, MODES_WITH_ARP, .max = INT32_LARGEST},
    [BOND_ARP_IP_TARGET] = {"arp_ip_target", "arpIpTargets", "arpIPTarget", IFLA_BOND_ARP_IP_TARGET,
                            BOND_IPV4, BOND_LIVE, MODES_WITH_ARP, .max = BOND_TARGETS_MAX},
    [BOND_NS_IP6_TARGET] = {"ns_ip6_target", "nsIp6Targets", NULL, IFLA_BOND_NS_IP6_TARGET,
                            BOND_IPV6, BOND_LIVE, MODES_WITH_ARP, .max = BOND_TARGETS_MAX},
    [BOND_ARP_VALIDATE] = {"arp_validate", "arpValidate", "arpValidate", IFLA_BOND_ARP_VALIDATE,
                           BOND_U32, BOND_LIVE, MODES_WITH_ARP, .max = ARRAY_SIZE(arp_validate) - 2,
                           .choices = arp_validate},
    [BOND_ARP_ALL_TARGETS] = {"arp_all_targets", "arpAllTargets", "arpAllTargets",
                              IFLA_BOND_ARP_ALL_TARGETS, BOND_U32, BOND_LIVE, MODES_WITH_ARP,
                              .max = 1, .choices = arp_all_targets},
    [BOND_MISSED_MAX] = {"missed_max", "missedMax", NULL, IFLA_BOND_MISSED_MAX, BOND_U8, BOND_LIVE,
                         MODES_WITH_ARP, .min = 1, .max = UINT8_MAX, .initial = 2},
    [BOND_PRIMARY] = {"primary", "primary", "primary", IFLA_BOND_PRIMARY, BOND_PORT, BOND_LIVE,
                      MODES_WITH_ACTIVE, .max = 0},
    [BOND_PRIMARY_RESELECT] = {"primary_reselect", "primaryReselect", "primaryReselect",
                               IFLA_BOND_PRIMARY_RESELECT, BOND_U8, BOND_LIVE, MODES_ALL, .max = 2,
                               .choices = primary_reselect},
    [BOND_ACTIVE_SLAVE] = {"active_slave", NULL, NULL, IFLA_BOND_ACTIVE_SLAVE, BOND_PORT, BOND_LIVE,
                           MODES_WITH_ACTIVE, .max = 0},
    [BOND_FAIL_OVER_MAC] = {"fail_over_mac", "failOverMac", "failOverMac", IFLA_BOND_FAIL_OVER_MAC,
                            BOND_U8, BOND_NEEDS_EMPTY, MODES_ALL, .max = 2,
                            .choices = fail_over_mac},
    [BOND_XMIT_HASH_POLICY] = {"xmit_hash_policy", "xmitHashPolicy", "xmitHashPolicy",
                               IFLA_BOND_XMIT_HASH_POLICY, BOND_U8, BOND_LIVE, MODES_ALL,
                               .max = ARRAY_SIZE(xmit_hash_policy) - 2,
                               .choices = xmit_hash_policy},
    [BOND_RESEND_IGMP] = {"resend_igmp", "resendIGMP", "resendIgmp", IFLA_BOND_RESEND_IGMP,
                          BOND_U32, BOND_LIVE, MODES_ALL, .max = UINT8_MAX, .initial = 1},
    [BOND_NUM_PEER_NOTIF] = {"num_peer_notif", "numPeerNotif", "numPeerNotif",
                             IFLA_BOND_NUM_PEER_NOTIF, BOND_U8, BOND_LIVE, MODES_ALL,
                             .max = UINT8_MAX, .initial = 1},
    [BOND_ALL_SLAVES_ACTIVE] = {"all_slaves_active", "allSlavesActive", "allSlavesActive",
                                IFLA_BOND_ALL_SLAVES_ACTIVE, BOND_U8, BOND_LIVE, MODES_ALL,
                                .max = 1},
    [BOND_MIN_LINKS] = {"min_links", "minLinks", "minLinks", IFLA_BOND_MIN_LINKS, BOND_U32,
                        BOND_LIVE, MODES_ALL, .max = INT32_LARGEST},
    [BOND_LP_INTERVAL] = {"lp_interval", "lpInterval", "lpInterval", IFLA_BOND_LP_INTERVAL,
                          BOND_U32, BOND_LIVE, MODES_ALL, .min = 1, .max = INT32_LARGEST,
                          .initial = 1},
    [BOND_PACKETS_PER_SLAVE] = {"packets_per_slave", "packetsPerSlave", "packetsPerSlave",
                                IFLA_BOND_PACKETS_PER_SLAVE, BOND_U32, BOND_LIVE, MODE(RR),
                                .max = UINT16_MAX, .initial = 1},
    [BOND_LACP_RATE] = {"lacp_rate", "lacpRate", "lacpRate", IFLA_BOND_AD_LACP_RATE, BOND_U8,
                        BOND_NEEDS_DOWN, MODE(8023AD), .max = 1, .choices = lacp_rate},
    [BOND_LACP_ACTIVE] = {"lacp_active", "adLACPActive", NULL, IFLA_BOND_AD_LACP_ACTIVE, BOND_U8,
                          BOND_NEEDS_DOWN, MODE(8023AD), .max = 1, .initial = 1,
                          .choices = lacp_active},
    [BOND_AD_SELECT] = {"ad_select", "adSelect", "adSelect", IFLA_BOND_AD_SELECT, BOND_U8,
                        BOND_NEEDS_DOWN, MODES_ALL, .max = 2, .choices = ad_select},
    [BOND_AD_ACTOR_SYS_PRIO] = {"ad_actor_sys_prio", "adActorSysPrio", "adActorSysPrio",
                                IFLA_BOND_AD_ACTOR_SYS_PRIO, BOND_U16, BOND_LIVE, MODE(8023AD),
                                .min = 1, .max = UINT16_MAX, .initial = UINT16_MAX},
    [BOND_AD_USER_PORT_KEY] = {"ad_user_port_key", "adUserPortKey", "adUserPortKey",
                               IFLA_BOND_AD_USER_PORT_KEY, BOND_U16, BOND_NEEDS_DOWN, MODE(8023AD),
                               .max = USER_PORT_KEY_MAX},
    [BOND_AD_ACTOR_SYSTEM] = {"ad_actor_system", "adActorSystem", "adActorSystem",
                              IFLA_BOND_AD_ACTOR_SYSTEM, BOND_MAC, BOND_LIVE, MODE(8023AD),
                              .max = 0},
    [BOND_TLB_DYNAMIC_LB] = {"tlb_dynamic_lb", "tlbLogicalLb", "tlbDynamicLb",
                             IFLA_BOND_TLB_DYNAMIC_LB, BOND_U8, BOND_NEEDS_DOWN,
                             MODE(TLB) | MODE(ALB), .max = 1, .initial = 1},
};

void bond_set(struct bond *bond, enum bond_option option, uint32_t value)
{
	bond->values[option] = value;
	bond->has |= BOND_BIT(option);
}

uint32_t bond_get(const struct bond *bond, enum bond_option option)
{
	if (bond_has(bond, option))
		return bond->values[option];
	if (option == BOND_MIIMON && ((1u << bond_get(bond, BOND_MODE)) & MODES_WITH_MIIMON) != 0)
		return MIIMON_DEFAULT_MS;
	return bond_options[option].initial;
}

bool bond_mode_allows(enum bond_mode mode, enum bond_option option)
{
	return (bond_options[option].modes & (1u << mode)) != 0;
}

/* --- normal form --- */

static uint32_t round_down(uint32_t value, uint32_t step)
{
	return step == 0 ? 0 : value - value % step;
}

static void drop_senseless(struct bond *bond)
{
	if (!bond_has(bond, BOND_MODE))
		return;
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		if (!bond_mode_allows(bond->values[BOND_MODE], option))
			bond->has &= ~BOND_BIT(option);
	}
}

void bond_normalise(struct bond *bond)
{
	drop_senseless(bond);
	/* The kernel keeps one monitor: switching ARP's on switches the other off. */
	if (bond_has(bond, BOND_ARP_INTERVAL) && bond->values[BOND_ARP_INTERVAL] > 0)
		bond_set(bond, BOND_MIIMON, 0);
	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		if (bond_options[option].needs_miimon && bond_has(bond, option))
			bond->values[option] = round_down(bond->values[option], bond_get(bond, BOND_MIIMON));
	}
}

/* --- comparing --- */

static bool targets_equal(const struct addr *a, size_t n_a, const struct addr *b, size_t n_b)
{
	if (n_a != n_b)
		return false;
	for (size_t i = 0; i < n_a; i++) {
		if (!addr_equal(&a[i], &b[i]))
			return false;
	}
	return true;
}

bool bond_option_equal(const struct bond *a, const struct bond *b, enum bond_option option)
{
	switch (bond_options[option].type) {
	case BOND_U8:
	case BOND_U16:
	case BOND_U32:
		return a->values[option] == b->values[option];
	case BOND_PORT:
		return option == BOND_PRIMARY ? strcmp(a->primary, b->primary) == 0
		                              : strcmp(a->active_port, b->active_port) == 0;
	case BOND_IPV4:
		return targets_equal(a->arp_targets, a->n_arp_targets, b->arp_targets, b->n_arp_targets);
	case BOND_IPV6:
		return targets_equal(a->ns_targets, a->n_ns_targets, b->ns_targets, b->n_ns_targets);
	case BOND_MAC:
		return mac_equal(&a->ad_actor_system, &b->ad_actor_system);
	}
	return false;
}

uint64_t bond_differs(const struct bond *want, const struct bond *have)
{
	uint64_t differs = 0;

	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		if (bond_has(want, option) &&
		    (!bond_has(have, option) || !bond_option_equal(want, have, option)))
			differs |= BOND_BIT(option);
	}
	return differs;
}

/* --- text --- */

static void format_targets(const struct addr *targets, size_t n, FILE *out)
{
	char text[ADDR_TEXT_MAX];

	for (size_t i = 0; i < n; i++)
		(void) fprintf(out, "%s%s", i > 0 ? "," : "", addr_format(&targets[i], text));
}

const char *bond_format_value(const struct bond *bond, enum bond_option option,
                              char buf[static BOND_VALUE_TEXT_MAX])
{
	const struct bond_option_info *info = &bond_options[option];
	FILE *out = fmemopen(buf, BOND_VALUE_TEXT_MAX, "w");
	char text[MAC_TEXT_MAX];

	buf[0] = '\0';
	if (out == NULL)
		return buf;
	switch (info->type) {
	case BOND_U8:
	case BOND_U16:
	case BOND_U32:
		if (info->choices != NULL && bond->values[option] <= info->max)
			(void) fputs(info->choices[bond->values[option]], out);
		else
			(void) fprintf(out, "%u", bond->values[option]);
		break;
	case BOND_PORT:
		(void) fputs(option == BOND_PRIMARY ? bond->primary : bond->active_port, out);
		break;
	case BOND_IPV4:
		format_targets(bond->arp_targets, bond->n_arp_targets, out);
		break;
	case BOND_IPV6:
		format_targets(bond->ns_targets, bond->n_ns_targets, out);
		break;
	case BOND_MAC:
		(void) fputs(mac_format(&bond->ad_actor_system, text), out);
		break;
	}
	(void) fclose(out);
	return buf;
}
