/* SPDX-License-Identifier: Apache-2.0 */
/* Links as values, by the table of their attributes. A new attribute is a member of struct link, a
 * bit, and a row here. */
#include "netconf/model/link.h"

#include <linux/if_link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "web/digest.h"

#define KIND(kind) (1u << LINK_##kind)
#define KINDS_ALL ((1u << (LINK_OTHER + 1)) - 1)

#define VLAN_ID_MAX 4094

static const struct link_word protocols[] = {
    {LINK_VLAN_8021Q, "802.1q"},
    {LINK_VLAN_8021AD, "802.1ad"},
    {0},
};
static const struct link_word vlan_flags[] = {
    {LINK_VLAN_REORDER_HDR, "reorder_hdr"},
    {LINK_VLAN_GVRP, "gvrp"},
    {LINK_VLAN_MVRP, "mvrp"},
    {LINK_VLAN_LOOSE_BINDING, "loose_binding"},
    {LINK_VLAN_BRIDGE_BINDING, "bridge_binding"},
    {0},
};

#define FIELD(key, type, member) RECORD_FIELD(key, RECORD_##type, struct link, member)

const struct link_attr_info link_attrs[LINK_ATTRS] = {
    {LINK_HAS_UP, "up", FIELD("up", BOOL, up), KINDS_ALL, LINK_AT_FLAGS, IFF_UP,
     .flags = LINK_ORDERED | LINK_DESCRIBED | LINK_INITIAL, .key = "up"},
    {LINK_HAS_MTU, "mtu", FIELD("mtu", U32, mtu), KINDS_ALL, LINK_AT_TOP, IFLA_MTU, LINK_WIRE_U32,
     LINK_GIVEN | LINK_ORDERED | LINK_INITIAL, .key = "mtu", .legacy_key = "mtu",
     .min = LINK_MTU_MIN, .max = LINK_MTU_MAX},
    {LINK_HAS_MAC, "mac", FIELD("mac", MAC, mac), KINDS_ALL & ~KIND(WIREGUARD), LINK_AT_TOP,
     IFLA_ADDRESS, LINK_WIRE_MAC, LINK_GIVEN | LINK_SET | LINK_BLIPS | LINK_BORROWED,
     .key = "hardwareAddr"},
    {LINK_HAS_MULTICAST, "multicast", FIELD("multicast", BOOL, multicast), KINDS_ALL, LINK_AT_FLAGS,
     IFF_MULTICAST, .flags = LINK_SET | LINK_BORROWED | LINK_INITIAL, .initial = true,
     .key = "multicast"},
    {LINK_HAS_MASTER, "master", FIELD("master", TEXT, master), KINDS_ALL, LINK_AT_TOP, IFLA_MASTER,
     LINK_WIRE_IFINDEX, .flags = LINK_ORDERED | LINK_INITIAL},
    {LINK_HAS_PARENT, "parent", FIELD("parent", TEXT, parent), KIND(VLAN), LINK_AT_TOP, IFLA_LINK,
     LINK_WIRE_IFINDEX, .flags = LINK_GIVEN | LINK_NEEDED},
    {LINK_HAS_VLAN_ID, "vlan_id", FIELD("vlan_id", U16, vlan_id), KIND(VLAN), LINK_AT_DATA,
     IFLA_VLAN_ID, LINK_WIRE_U16, LINK_GIVEN | LINK_NEEDED | LINK_DESCRIBED, .key = "vlanID",
     .legacy_key = "vlanId", .min = 1, .max = VLAN_ID_MAX},
    {LINK_HAS_VLAN_PROTOCOL, "vlan_protocol", FIELD("vlan_protocol", U16, vlan_protocol),
     KIND(VLAN), LINK_AT_DATA, IFLA_VLAN_PROTOCOL, LINK_WIRE_BE16,
     LINK_GIVEN | LINK_DESCRIBED | LINK_INITIAL, .initial = LINK_VLAN_8021Q, .key = "vlanMode",
     .words = protocols},
    {LINK_HAS_VLAN_FLAGS, "vlan_flags", FIELD("vlan_flags", U32, vlan_flags), KIND(VLAN),
     LINK_AT_DATA, IFLA_VLAN_FLAGS, LINK_WIRE_VLAN_FLAGS, LINK_GIVEN | LINK_SET | LINK_INITIAL,
     .initial = LINK_VLAN_REORDER_HDR, .words = vlan_flags, .is_set = true},
    {LINK_HAS_STP, "stp", FIELD("stp", BOOL, stp), KIND(BRIDGE), LINK_AT_DATA, IFLA_BR_STP_STATE,
     LINK_WIRE_U32, LINK_GIVEN | LINK_SET | LINK_BLIPS | LINK_DESCRIBED | LINK_INITIAL,
     .key = "stp.enabled", .legacy_key = "stp.enabled"},
    /* Filtering begins with every VLAN but the first shut out. */
    {LINK_HAS_VLAN_FILTERING, "vlan_filtering", FIELD("vlan_filtering", BOOL, vlan_filtering),
     KIND(BRIDGE), LINK_AT_DATA, IFLA_BR_VLAN_FILTERING, LINK_WIRE_U8,
     LINK_GIVEN | LINK_SET | LINK_BLIPS | LINK_DESCRIBED | LINK_INITIAL, .key = "vlan.filtering",
     .legacy_key = "vlan.vlanFiltering"},
    {LINK_HAS_PEER, "peer", FIELD("peer", TEXT, peer), KIND(VETH), .flags = LINK_GIVEN},
    {LINK_HAS_TABLE, "table", FIELD("table", U32, table), KIND(VRF), LINK_AT_DATA, IFLA_VRF_TABLE,
     LINK_WIRE_U32, .flags = LINK_GIVEN | LINK_NEEDED | LINK_DESCRIBED},
    {LINK_HAS_PROMOTE, "promote_secondaries", FIELD("promote", BOOL, promote), KINDS_ALL,
     .flags = LINK_SET | LINK_BORROWED},
};

unsigned link_attrs_with(unsigned flags)
{
	unsigned attributes = 0;

	for (size_t i = 0; i < LINK_ATTRS; i++)
		attributes |= (link_attrs[i].flags & flags) != 0 ? link_attrs[i].attr : 0U;
	return attributes;
}

unsigned link_attrs_of(enum link_kind kind)
{
	unsigned attributes = 0;

	for (size_t i = 0; i < LINK_ATTRS; i++)
		attributes |= (link_attrs[i].kinds & 1u << kind) != 0 ? link_attrs[i].attr : 0U;
	return attributes;
}

void link_set(struct link *to, const struct link *from, unsigned attributes)
{
	for (size_t i = 0; i < LINK_ATTRS; i++) {
		if ((attributes & link_attrs[i].attr) != 0)
			record_copy(&link_attrs[i].field, from, to);
	}
	to->has |= attributes;
}

void link_begin(struct link *link, unsigned attributes)
{
	static const struct link nothing;

	for (size_t i = 0; i < LINK_ATTRS; i++) {
		const struct link_attr_info *info = &link_attrs[i];

		if ((info->flags & LINK_INITIAL) == 0 || (attributes & info->attr) == 0 ||
		    (info->kinds & 1u << link->kind) == 0)
			continue;
		record_copy(&info->field, &nothing, link);
		if (info->initial != 0)
			(void) record_set_number(&info->field, info->initial, link);
		link->has |= info->attr;
	}
}

bool link_is_virtual(const struct link *link)
{
	return link->kind != LINK_PHYSICAL && link->kind != LINK_LOOPBACK && link->kind != LINK_OTHER;
}

bool link_has(const struct link *link, enum link_attr attr)
{
	return (link->has & attr) != 0;
}

bool link_carries(const struct link *link)
{
	static const uint8_t ours =
	    LINK_LACP_SYNCHRONIZED | LINK_LACP_COLLECTING | LINK_LACP_DISTRIBUTING;
	static const uint8_t theirs = LINK_LACP_SYNCHRONIZED | LINK_LACP_COLLECTING;

	if (!link->carrier || !link->lacp.is_known)
		return link->carrier;
	return (link->lacp.actor & ours) == ours && (link->lacp.actor & LINK_LACP_EXPIRED) == 0 &&
	       (link->lacp.partner & theirs) == theirs;
}

void link_copy(const struct link *link, struct link *ret_copy)
{
	*ret_copy = *link;
	if (link->bond != NULL)
		ret_copy->bond = xmemdup(link->bond, sizeof(*link->bond));
	if (link->wireguard != NULL)
		ret_copy->wireguard = wireguard_copy(link->wireguard);
	ret_copy->altnames = xcalloc(link->n_altnames, sizeof(*link->altnames));
	for (size_t i = 0; i < link->n_altnames; i++)
		ret_copy->altnames[i] = xstrdup(link->altnames[i]);
}

void link_fini(struct link *link)
{
	free(link->bond);
	wireguard_free(link->wireguard);
	for (size_t i = 0; i < link->n_altnames; i++)
		free(link->altnames[i]);
	free(link->altnames);
	*link = (struct link){0};
}

int link_compare(const struct link *a, const struct link *b)
{
	return strcmp(a->name, b->name);
}

void link_normalise(struct link *link)
{
	if (link->bond != NULL)
		bond_normalise(link->bond);
	if (link->wireguard != NULL)
		wireguard_normalise(link->wireguard);
	if (!link_has(link, LINK_HAS_VLAN_PROTOCOL))
		link_begin(link, LINK_HAS_VLAN_PROTOCOL);
}

static unsigned values_differ(const struct link *want, const struct link *have)
{
	unsigned differs = want->has & ~have->has;

	for (size_t i = 0; i < LINK_ATTRS; i++) {
		if ((want->has & ~differs & link_attrs[i].attr) != 0 &&
		    record_compare(&link_attrs[i].field, want, have) != 0)
			differs |= link_attrs[i].attr;
	}
	return differs;
}

unsigned link_differs(const struct link *want, const struct link *have)
{
	unsigned differs = values_differ(want, have);

	/* What is found and not made may be of any kind. Nothing else can be said of two things of
	 * different kinds. */
	if (link_is_virtual(want) && want->kind != have->kind)
		return differs | LINK_HAS_KIND;
	if (want->bond != NULL && (have->bond == NULL || bond_differs(want->bond, have->bond) != 0))
		differs |= LINK_HAS_BOND;
	if (want->wireguard != NULL &&
	    (have->wireguard == NULL || wireguard_differs(want->wireguard, have->wireguard) != 0))
		differs |= LINK_HAS_WIREGUARD;
	return differs;
}

const char *link_kind_name(enum link_kind kind)
{
	static const char *const names[] = {
	    [LINK_PHYSICAL] = "physical", [LINK_LOOPBACK] = "loopback", [LINK_BOND] = "bond",
	    [LINK_VLAN] = "vlan",         [LINK_BRIDGE] = "bridge",     [LINK_DUMMY] = "dummy",
	    [LINK_VETH] = "veth",         [LINK_VRF] = "vrf",           [LINK_WIREGUARD] = "wireguard",
	    [LINK_OTHER] = "other",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : "";
}

const char *link_attr_name(unsigned attr)
{
	if ((attr & LINK_HAS_KIND) != 0)
		return "kind";
	for (size_t i = 0; i < LINK_ATTRS; i++) {
		if ((attr & link_attrs[i].attr) != 0)
			return link_attrs[i].name;
	}
	return (attr & LINK_HAS_BOND) != 0        ? "bond"
	       : (attr & LINK_HAS_WIREGUARD) != 0 ? "wireguard"
	                                          : "";
}

static void format_words(const struct link_attr_info *info, uint32_t number,
                         char buf[static LINK_VALUE_TEXT_MAX])
{
	size_t len = 0;

	for (const struct link_word *w = info->words; w->word != NULL; w++) {
		if (info->is_set ? (number & w->number) != 0 : number == w->number)
			len += (size_t) snprintf(buf + len, LINK_VALUE_TEXT_MAX - len, "%s%s",
			                         len > 0 ? "," : "", w->word);
	}
}

const char *link_format_value(const struct link *link, const struct link_attr_info *info,
                              char buf[static LINK_VALUE_TEXT_MAX])
{
	const struct record_field *field = &info->field;
	uint32_t number;

	buf[0] = '\0';
	switch (field->type) {
	case RECORD_TEXT:
		(void) snprintf(buf, LINK_VALUE_TEXT_MAX, "%s", (const char *) link + field->offset);
		break;
	case RECORD_MAC:
		(void) mac_format(&link->mac, buf);
		break;
	default:
		number = (uint32_t) record_number(field, link);
		if (field->type == RECORD_BOOL)
			return number != 0 ? "on" : "off";
		if (info->words != NULL)
			format_words(info, number, buf);
		else
			(void) snprintf(buf, LINK_VALUE_TEXT_MAX, "%u", number);
		break;
	}
	return buf[0] != '\0' ? buf : "none";
}

/* --- names of VLANs --- */

/* The rule for names of VLANs. The length of the base alone decides, so that all VLANs of a link
 * have names of one form. */

void vlanname_form(const char *base, unsigned id, char ret_name[static IFNAMSIZ])
{
	uint8_t digest[DIGEST_SHA256_BYTES];

	if (strlen(base) + strlen(".4094") < IFNAMSIZ) {
		(void) snprintf(ret_name, IFNAMSIZ, "%.10s.%u", base, id % 10000);
		return;
	}
	digest_sha256(base, strlen(base), digest);
	(void) snprintf(ret_name, IFNAMSIZ, "%.4s%02x%02x%02x.%u", base, digest[0], digest[1],
	                digest[2], id % 10000);
}
