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

static const char *or_none(const char *name)
{
	return name[0] != '\0' ? name : "none";
}

static void print_link_attrs(FILE *out, const struct link *link, unsigned attributes)
{
	char text[LINK_VALUE_TEXT_MAX];

	for (size_t i = 0; i < LINK_ATTRS; i++) {
		const struct link_attr_info *info = &link_attrs[i];

		if ((attributes & info->attr) == 0)
			continue;
		if (info->attr == LINK_HAS_UP)
			(void) fputs(link->up ? " up" : " down", out);
		else
			(void) fprintf(out, " %s %s", info->name, link_format_value(link, info, text));
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
