/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of a plan as a value: what it owns, and how it reads. The planner makes steps, the
 * kernel module carries them out; neither is known here. Keys of WireGuard are never written.
 */
#include "netconf/plan/op.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

static void copy_raw(struct raw_message *raw)
{
	if (raw->data != NULL)
		raw->data = xmemdup(raw->data, raw->len);
}

void op_copy(const struct op *op, struct op *ret_copy)
{
	*ret_copy = *op;
	link_copy(&op->link, &ret_copy->link);
	copy_raw(&ret_copy->address.raw);
	copy_raw(&ret_copy->route.raw);
	copy_raw(&ret_copy->rule.raw);
}

void op_fini(struct op *op)
{
	link_fini(&op->link);
	free(op->address.raw.data);
	free(op->route.raw.data);
	free(op->rule.raw.data);
	*op = (struct op){0};
}

const char *op_class_name(enum op_class class)
{
	switch (class) {
	case OP_HITLESS:
		return "hitless";
	case OP_BLIP:
		return "blip";
	case OP_ADDRESS_BREAK:
		return "address-break";
	case OP_MANAGEMENT_PATH:
		return "management-path";
	}
	return "";
}

/* --- links --- */

static const char *on_off(bool on)
{
	return on ? "on" : "off";
}

static const char *or_none(const char *name)
{
	return name[0] != '\0' ? name : "none";
}

static void print_vlan_flags(FILE *out, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
	    {LINK_VLAN_REORDER_HDR, "reorder_hdr"},
	    {LINK_VLAN_GVRP, "gvrp"},
	    {LINK_VLAN_MVRP, "mvrp"},
	    {LINK_VLAN_LOOSE_BINDING, "loose_binding"},
	    {LINK_VLAN_BRIDGE_BINDING, "bridge_binding"},
	};
	const char *before = "";

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if ((flags & names[i].flag) != 0) {
			(void) fprintf(out, "%s%s", before, names[i].name);
			before = ",";
		}
	}
	if (before[0] == '\0')
		(void) fputs("none", out);
}

static void print_link_attr(FILE *out, const struct link *link, enum link_attr attr)
{
	char mac[MAC_TEXT_MAX];

	if (attr == LINK_HAS_UP) {
		(void) fputs(link->up ? " up" : " down", out);
		return;
	}
	(void) fprintf(out, " %s ", link_attr_name(attr));
	switch (attr) {
	case LINK_HAS_MTU:
		(void) fprintf(out, "%u", link->mtu);
		break;
	case LINK_HAS_MAC:
		(void) fputs(mac_format(&link->mac, mac), out);
		break;
	case LINK_HAS_MULTICAST:
		(void) fputs(on_off(link->multicast), out);
		break;
	case LINK_HAS_MASTER:
		(void) fputs(or_none(link->master), out);
		break;
	case LINK_HAS_PARENT:
		(void) fputs(link->parent, out);
		break;
	case LINK_HAS_VLAN_ID:
		(void) fprintf(out, "%u", link->vlan_id);
		break;
	case LINK_HAS_VLAN_PROTOCOL:
		(void) fputs(link->vlan_protocol == LINK_VLAN_8021AD ? "802.1ad" : "802.1q", out);
		break;
	case LINK_HAS_VLAN_FLAGS:
		print_vlan_flags(out, link->vlan_flags);
		break;
	case LINK_HAS_STP:
		(void) fputs(on_off(link->stp), out);
		break;
	case LINK_HAS_VLAN_FILTERING:
		(void) fputs(on_off(link->vlan_filtering), out);
		break;
	case LINK_HAS_PEER:
		(void) fputs(link->peer, out);
		break;
	case LINK_HAS_TABLE:
		(void) fprintf(out, "%u", link->table);
		break;
	case LINK_HAS_PROMOTE:
		(void) fputs(on_off(link->promote), out);
		break;
	case LINK_HAS_UP:
	case LINK_HAS_KIND:
	case LINK_HAS_BOND:
	case LINK_HAS_WIREGUARD:
		break;
	}
}

#define SETTABLE_LAST LINK_HAS_PROMOTE /* behind it are those of answers only */

static void print_link_attrs(FILE *out, const struct link *link, unsigned attributes)
{
	for (unsigned bit = LINK_HAS_UP; bit <= SETTABLE_LAST; bit <<= 1) {
		if ((attributes & bit) != 0)
			print_link_attr(out, link, (enum link_attr) bit);
	}
}

static void print_bond(FILE *out, const struct bond *bond, uint64_t options)
{
	char text[BOND_VALUE_TEXT_MAX];

	for (enum bond_option option = 0; option < BOND_OPTIONS; option++) {
		if ((options & BOND_BIT(option)) != 0)
			(void) fprintf(out, " %s %s", bond_options[option].name,
			               or_none(bond_format_value(bond, option, text)));
	}
}

static void print_wireguard(FILE *out, const struct wireguard *wireguard)
{
	if ((wireguard->has & WIREGUARD_PRIVATE_KEY) != 0)
		(void) fputs(" private-key (hidden)", out);
	if ((wireguard->has & WIREGUARD_LISTEN_PORT) != 0)
		(void) fprintf(out, " listen-port %u", wireguard->listen_port);
	if ((wireguard->has & WIREGUARD_FWMARK) != 0)
		(void) fprintf(out, " fwmark %#x", wireguard->fwmark);
	if ((wireguard->has & WIREGUARD_PEERS) != 0)
		(void) fprintf(out, " peers %zu", wireguard->n_peers);
}

static void print_link(FILE *out, const struct op *op)
{
	const struct link *link = &op->link;

	if (op->kind == OP_LINK_CREATE) {
		(void) fprintf(out, "create %s %s", link_kind_name(link->kind), link->name);
		print_link_attrs(out, link, link->has);
		if (link->bond != NULL)
			print_bond(out, link->bond, link->bond->has);
		return;
	}
	if (op->kind == OP_LINK_DELETE) {
		(void) fprintf(out, "delete %s %s", link_kind_name(link->kind), link->name);
		return;
	}
	(void) fprintf(out, "set %s", link->name);
	if (op->kind == OP_LINK_SET)
		print_link_attrs(out, link, op->attributes);
	else if (op->kind == OP_BOND_SET && link->bond != NULL)
		print_bond(out, link->bond, op->options);
	else if (op->kind == OP_WIREGUARD_SET && link->wireguard != NULL)
		print_wireguard(out, link->wireguard);
}

/* --- all of them --- */

static const char *verb(const struct op *op)
{
	switch (op->kind) {
	case OP_ADDRESS_ADD:
	case OP_ROUTE_ADD:
	case OP_RULE_ADD:
		return op->is_restoring ? "put back" : "add";
	case OP_ADDRESS_CHANGE:
		return "change";
	case OP_ROUTE_REPLACE:
		return "replace";
	default:
		return "delete";
	}
}

const char *op_format(const struct op *op, char buf[static OP_TEXT_MAX])
{
	FILE *out = fmemopen(buf, OP_TEXT_MAX, "w");
	char text[MODEL_TEXT_MAX];

	buf[0] = '\0';
	if (out == NULL)
		return buf;
	switch (op->kind) {
	case OP_LINK_CREATE:
	case OP_LINK_DELETE:
	case OP_LINK_SET:
	case OP_BOND_SET:
	case OP_WIREGUARD_SET:
		print_link(out, op);
		break;
	case OP_ADDRESS_ADD:
	case OP_ADDRESS_CHANGE:
	case OP_ADDRESS_DELETE:
		(void) fprintf(out, "%s address %s", verb(op), address_format(&op->address, text));
		break;
	case OP_ROUTE_ADD:
	case OP_ROUTE_REPLACE:
	case OP_ROUTE_DELETE:
		(void) fprintf(out, "%s route %s", verb(op), route_format(&op->route, text));
		break;
	case OP_RULE_ADD:
	case OP_RULE_DELETE:
		(void) fprintf(out, "%s rule %s", verb(op), rule_format(&op->rule, text));
		break;
	case OP_WAIT_CARRIER:
		(void) fprintf(out, "wait for the carrier of %s, at most %u ms", op->link.name,
		               op->wait_ms);
		break;
	case OP_KINDS:
		break;
	}
	(void) fclose(out);
	return buf;
}
