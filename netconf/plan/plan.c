/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's spine: the order of its parts, and the one place where a step gets its class and
 * is done to the network in mind. What is made comes first and what is deleted last, so that what
 * moves is never nowhere.
 */
#include "netconf/plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/plan/plan_priv.h"

/* --- steps as values --- */

/*
 * One step of a plan as a value: what it owns, and how it reads. The planner makes steps, the
 * kernel module carries them out; neither is known here. Keys of WireGuard are never written.
 */

static void op_copy(const struct op *op, struct op *ret_copy)
{
	*ret_copy = *op;
	link_copy(&op->link, &ret_copy->link);
	raw_copy(&ret_copy->address.raw);
	raw_copy(&ret_copy->route.raw);
	raw_copy(&ret_copy->rule.raw);
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

/* --- steps --- */

const char *op_link(const struct op *op)
{
	switch (op->kind) {
	case OP_ADDRESS_ADD:
	case OP_ADDRESS_CHANGE:
	case OP_ADDRESS_DELETE:
		return op->address.link;
	case OP_ROUTE_ADD:
	case OP_ROUTE_REPLACE:
	case OP_ROUTE_DELETE:
		return op->route.link;
	case OP_RULE_ADD:
	case OP_RULE_DELETE:
		return "";
	default:
		return op->link.name;
	}
}

static const char *master_of(const struct model *model, const char *name)
{
	const struct link *link = model_find_link(model, name);

	return link != NULL ? link->master : "";
}

/* The operator's link, what carries it, and the masters that it has or is about to have. VLANs on
 * it are beside the way. */
static bool is_management(const struct planner *p, const char *name)
{
	const char *at = p->options->management_link;

	while (at != NULL && at[0] != '\0' && name[0] != '\0') {
		const char *master = master_of(p->now, at);

		if (effect_is_below(p->now, name, at) || effect_is_below(p->want, name, at))
			return true;
		if (master[0] == '\0')
			master = master_of(p->want, at);
		if (strcmp(master, at) == 0)
			break;
		at = master;
	}
	return false;
}

/* What is deleted takes the VLANs on it along, whatever these carry. */
static bool takes_management(const struct planner *p, const char *name)
{
	for (size_t i = 0; i < p->now->n_links; i++) {
		const struct link *link = &p->now->links[i];

		if (link->kind == LINK_VLAN && strcmp(link->parent, name) == 0 &&
		    takes_management(p, link->name))
			return true;
	}
	return is_management(p, name);
}

static bool is_on_management(const struct planner *p, const struct op *op)
{
	const struct link *end = effect_other_end(p->now, op_link(op));

	if (op->kind != OP_LINK_DELETE)
		return is_management(p, op_link(op));
	return takes_management(p, op->link.name) || (end != NULL && takes_management(p, end->name));
}

bool planner_allows(const struct planner *p, enum op_class class)
{
	return class == OP_HITLESS || !p->options->only_hitless;
}

static bool is_asked_for(const struct planner *p, const struct op *op)
{
	const struct conf_strings *links = p->options->only_on;

	for (size_t i = 0; links != NULL && i < links->n; i++) {
		if (strcmp(links->items[i], op_link(op)) == 0)
			return true;
	}
	return links == NULL || op->is_restoring;
}

/* What we add is ours and says so. Taken back to what it was, an adopted object has the mark again
 * that it had before it was ours; another program's never had any other. */
static void mark(const struct planner *p, struct op *op)
{
	enum owner *owner;
	uint8_t *protocol;

	switch (op->kind) {
	case OP_ADDRESS_ADD:
	case OP_ADDRESS_CHANGE:
		owner = &op->address.owner;
		protocol = &op->address.protocol;
		break;
	case OP_ROUTE_ADD:
	case OP_ROUTE_REPLACE:
		owner = &op->route.owner;
		protocol = &op->route.protocol;
		break;
	case OP_RULE_ADD:
		owner = &op->rule.owner;
		protocol = &op->rule.protocol;
		break;
	default:
		return;
	}
	if (op->is_restoring && *owner != OWNER_OURS)
		return;
	*owner = OWNER_OURS;
	if (p->options->undone == NULL)
		*protocol = NETCONF_PROTOCOL;
}

bool planner_push(struct planner *p, struct op *op)
{
	struct plan *plan = p->plan;

	if (!planner_allows(p, op->class) || !is_asked_for(p, op)) {
		op_fini(op);
		return false;
	}
	/* What costs nothing costs nothing there, too. */
	if (op->class != OP_HITLESS && is_on_management(p, op))
		op->class = OP_MANAGEMENT_PATH;
	mark(p, op);
	effect_apply(p->now, op, p->lost);
	plan->class = MAX(plan->class, op->class);
	*plan_add(plan) = *op;
	*op = (struct op){0};
	return true;
}

bool planner_set(struct planner *p, const char *name, const struct link *values,
                 unsigned attributes, enum op_class class)
{
	const struct link *link = model_find_link(p->now, name);
	struct op op = {.kind = OP_LINK_SET, .class = class, .attributes = attributes};

	/* The message needs the kind, and the name alone of all the rest. */
	op.link = *values;
	op.link.bond = NULL;
	op.link.wireguard = NULL;
	op.link.altnames = NULL;
	op.link.n_altnames = 0;
	op.link.kind = link != NULL ? link->kind : values->kind;
	op.link.has = attributes;
	(void) snprintf(op.link.name, sizeof(op.link.name), "%s", name);
	return planner_push(p, &op);
}

bool planner_set_up(struct planner *p, const char *name, bool up, enum op_class class)
{
	char copy[IFNAMSIZ];

	(void) snprintf(copy, sizeof(copy), "%s", name);
	return planner_set(p, copy, &(struct link){.up = up}, LINK_HAS_UP, class);
}

bool planner_set_mtu(struct planner *p, const char *name, uint32_t mtu)
{
	const struct link *link = model_find_link(p->now, name);
	bool is_hardware = link != NULL && (!link_is_virtual(link) || link->kind == LINK_BOND);
	char copy[IFNAMSIZ];

	/* Hardware that is open restarts for it, and the ports of a bond are hardware. */
	(void) snprintf(copy, sizeof(copy), "%s", name);
	return planner_set(p, copy, &(struct link){.mtu = mtu}, LINK_HAS_MTU,
	                   is_hardware && link->up && effect_is_used(p->now, name) ? OP_BLIP
	                                                                           : OP_HITLESS);
}

void planner_obstacle(struct planner *p, enum plan_obstacle_kind kind, const struct origin *origin,
                      const char *fmt, ...)
{
	struct plan *plan = p->plan;
	struct plan_obstacle *obstacle;
	va_list ap;

	if (plan->n_obstacles == plan->cap_obstacles) {
		plan->cap_obstacles = MAX(plan->cap_obstacles * 2, (size_t) 4);
		plan->obstacles =
		    xreallocarray(plan->obstacles, plan->cap_obstacles, sizeof(*plan->obstacles));
	}
	obstacle = &plan->obstacles[plan->n_obstacles++];
	*obstacle = (struct plan_obstacle){.kind = kind, .origin = *origin};
	va_start(ap, fmt);
	(void) vsnprintf(obstacle->reason, sizeof(obstacle->reason), fmt, ap);
	va_end(ap);
}

void planner_note(struct planner *p, const char *fmt, ...)
{
	char text[PLAN_REASON_MAX];
	va_list ap;

	if (p->options->undone != NULL)
		return;
	va_start(ap, fmt);
	(void) vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	conf_strings_add(&p->plan->notes, text);
}

/* --- the whole --- */

static void plan_links(struct planner *p)
{
	plan_links_create(p);
	plan_bonds(p);
	plan_ports(p);
	plan_links_set(p);
	plan_put_back(p);
}

struct plan *plan_make(const struct model *want, const struct model *have,
                       const struct plan_options *options)
{
	static const struct plan_options none = {.management_link = ""};
	struct planner p = {.have = have, .options = options != NULL ? options : &none};

	p.plan = NEW0(struct plan);
	p.want = model_copy(want);
	p.now = model_copy(have);
	p.lost = model_new();
	if (p.options->undone != NULL)
		plan_undo(&p);
	plan_obstacles(&p);
	if (p.options->only_on == NULL)
		plan_links(&p);
	plan_addresses(&p);
	plan_routes(&p);
	if (p.options->only_on == NULL)
		plan_rules(&p);
	plan_routes_delete(&p);
	plan_addresses_delete(&p);
	if (p.options->only_on == NULL)
		plan_links_delete(&p);
	plan_put_back(&p);
	plan_tell_lost(&p);
	free(p.late);
	model_free(p.lost);
	model_free(p.now);
	model_free(p.want);
	return p.plan;
}

struct op *plan_add(struct plan *plan)
{
	if (plan->n_ops == plan->cap_ops) {
		plan->cap_ops = MAX(plan->cap_ops * 2, (size_t) 16);
		plan->ops = xreallocarray(plan->ops, plan->cap_ops, sizeof(*plan->ops));
	}
	plan->ops[plan->n_ops] = (struct op){0};
	return &plan->ops[plan->n_ops++];
}

void plan_append(struct plan *plan, const struct plan *more)
{
	for (size_t i = 0; i < more->n_ops; i++)
		op_copy(&more->ops[i], plan_add(plan));
	plan->class = MAX(plan->class, more->class);
}

struct model *plan_foresee(const struct plan *plan, const struct model *have)
{
	AUTO(model_free) struct model *lost = model_new();
	struct model *now = model_copy(have);

	for (size_t i = 0; i < plan->n_ops; i++)
		effect_apply(now, &plan->ops[i], lost);
	return now;
}

void plan_free(struct plan *plan)
{
	if (plan == NULL)
		return;
	for (size_t i = 0; i < plan->n_ops; i++)
		op_fini(&plan->ops[i]);
	free(plan->ops);
	free(plan->obstacles);
	conf_strings_fini(&plan->notes);
	free(plan);
}
