/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what a model and a plan are made of, and the lists of them. */
#include "netconf/change/modeljson.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "netconf/model/record.h"

#define LINK(key, type, member) RECORD_FIELD(key, type, struct link, member)
#define BOND(key, type, member) RECORD_FIELD(key, type, struct bond, member)
#define OP(key, type, member) RECORD_FIELD(key, type, struct op, member)

/* Besides link_attrs. */
static const struct record_field link_fields[] = {
    LINK("name", RECORD_TEXT, name),
    LINK("kind", RECORD_ENUM, kind),
    LINK("has", RECORD_ENUM, has),
    LINK("position", RECORD_ENUM, position),
    LINK("owner", RECORD_ENUM, owner),
    LINK("ifindex", RECORD_ENUM, ifindex),
    LINK("carrier", RECORD_BOOL, carrier),
    LINK("has_permanent_mac", RECORD_BOOL, has_permanent_mac),
    LINK("permanent_mac", RECORD_MAC, permanent_mac),
    LINK("kind_name", RECORD_TEXT, kind_name),
    LINK("group", RECORD_U32, group),
    {0},
};

static const struct record_field bond_fields[] = {
    BOND("has", RECORD_U64, has),
    BOND("values", RECORD_BYTES, values),
    BOND("primary", RECORD_TEXT, primary),
    BOND("active_port", RECORD_TEXT, active_port),
    BOND("ad_actor_system", RECORD_MAC, ad_actor_system),
    BOND("arp_targets", RECORD_BYTES, arp_targets),
    BOND("ns_targets", RECORD_BYTES, ns_targets),
    BOND("n_arp_targets", RECORD_U64, n_arp_targets),
    BOND("n_ns_targets", RECORD_U64, n_ns_targets),
    {0},
};

static const struct record_field op_fields[] = {
    OP("kind", RECORD_ENUM, kind),
    OP("class", RECORD_ENUM, class),
    OP("attributes", RECORD_ENUM, attributes),
    OP("options", RECORD_U64, options),
    OP("wait_ms", RECORD_U32, wait_ms),
    OP("restoring", RECORD_BOOL, is_restoring),
    OP("settled", RECORD_BOOL, is_settled),
    {0},
};

/* --- WireGuard --- */

static const struct record_field wireguard_fields[] = {
    RECORD_FIELD("has", RECORD_ENUM, struct wireguard, has),
    RECORD_FIELD("private_key", RECORD_BYTES, struct wireguard, private_key),
    RECORD_FIELD("listen_port", RECORD_U16, struct wireguard, listen_port),
    RECORD_FIELD("fwmark", RECORD_U32, struct wireguard, fwmark),
    {0},
};

static const struct record_field peer_fields[] = {
    RECORD_FIELD("public_key", RECORD_BYTES, struct wireguard_peer, public_key),
    RECORD_FIELD("has_preshared_key", RECORD_BOOL, struct wireguard_peer, has_preshared_key),
    RECORD_FIELD("preshared_key", RECORD_BYTES, struct wireguard_peer, preshared_key),
    RECORD_FIELD("endpoint", RECORD_ADDR, struct wireguard_peer, endpoint.addr),
    RECORD_FIELD("endpoint_port", RECORD_U16, struct wireguard_peer, endpoint.port),
    RECORD_FIELD("keepalive_s", RECORD_U16, struct wireguard_peer, keepalive_s),
    {0},
};

static json_t *wireguard_json(const struct wireguard *wireguard)
{
	json_t *object = json_object(), *peers = json_array();

	record_write(object, wireguard_fields, wireguard);
	for (size_t i = 0; i < wireguard->n_peers; i++) {
		const struct wireguard_peer *peer = &wireguard->peers[i];
		json_t *json = json_object(), *allowed = json_array();
		char text[PREFIX_TEXT_MAX];

		record_write(json, peer_fields, peer);
		for (size_t k = 0; k < peer->n_allowed; k++)
			(void) json_array_append_new(allowed,
			                             json_string(prefix_format(&peer->allowed[k], text)));
		(void) json_object_set_new(json, "allowed", allowed);
		(void) json_array_append_new(peers, json);
	}
	(void) json_object_set_new(object, "peers", peers);
	return object;
}

static int read_peer(const json_t *json, struct wireguard_peer *peer)
{
	int r = record_read(json, peer_fields, peer);
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(json, "allowed"), i, item)
	{
		struct prefix prefix;

		if (!json_is_string(item) || prefix_parse(json_string_value(item), &prefix) < 0)
			return -EBADMSG;
		wireguard_peer_allow(peer, &prefix);
	}
	return r;
}

static int read_wireguard(const json_t *json, struct wireguard *wireguard)
{
	int r = record_read(json, wireguard_fields, wireguard);
	const json_t *item;
	size_t i;

	json_array_foreach(json_object_get(json, "peers"), i, item)
	{
		if (r == 0)
			r = read_peer(item, wireguard_add_peer(wireguard));
	}
	return r;
}

/* --- links --- */

static json_t *link_json(const struct link *link)
{
	json_t *object = json_object(), *part;

	record_write(object, link_fields, link);
	for (size_t i = 0; i < LINK_ATTRS; i++)
		record_write_field(object, &link_attrs[i].field, link);
	if (link->bond != NULL) {
		part = json_object();
		record_write(part, bond_fields, link->bond);
		(void) json_object_set_new(object, "bond", part);
	}
	if (link->wireguard != NULL)
		(void) json_object_set_new(object, "wireguard", wireguard_json(link->wireguard));
	if (link->n_altnames > 0) {
		part = json_array();
		for (size_t i = 0; i < link->n_altnames; i++)
			(void) json_array_append_new(part, json_string(link->altnames[i]));
		(void) json_object_set_new(object, "altnames", part);
	}
	return object;
}

static int read_altnames(const json_t *json, struct link *link)
{
	const json_t *item;
	size_t i;

	link->altnames = xcalloc(json_array_size(json) + 1, sizeof(*link->altnames));
	json_array_foreach(json, i, item)
	{
		if (!json_is_string(item))
			return -EBADMSG;
		link->altnames[link->n_altnames++] = xstrdup(json_string_value(item));
	}
	return 0;
}

static int read_link(const json_t *json, struct link *link)
{
	const json_t *bond = json_object_get(json, "bond");
	const json_t *wireguard = json_object_get(json, "wireguard");
	const json_t *altnames = json_object_get(json, "altnames");
	int r = record_read(json, link_fields, link);

	for (size_t i = 0; i < LINK_ATTRS && r == 0; i++)
		r = record_read_field(json, &link_attrs[i].field, link);
	if (r == 0 && altnames != NULL)
		r = read_altnames(altnames, link);
	if (r == 0 && bond != NULL) {
		link->bond = NEW0(struct bond);
		r = record_read(bond, bond_fields, link->bond);
		if (link->bond->n_arp_targets > BOND_TARGETS_MAX ||
		    link->bond->n_ns_targets > BOND_TARGETS_MAX)
			return -EBADMSG;
	}
	if (r == 0 && wireguard != NULL) {
		link->wireguard = wireguard_new();
		r = read_wireguard(wireguard, link->wireguard);
	}
	return r;
}

/* --- models --- */

static json_t *object_json(const struct record_field *fields, const void *from)
{
	json_t *object = json_object();

	record_write(object, fields, from);
	return object;
}

/* Object by object: the tree of a large network as a whole is ten times its text. */
static void write_object(FILE *out, const char *before, json_t *object)
{
	AUTO(free) char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	/* What a table writes can be said in JSON. */
	assert(text != NULL);
	(void) fputs(before, out);
	(void) fputs(text, out);
}

/* What comes before the item of this number. */
static const char *between(size_t i)
{
	return i > 0 ? ",\n" : "\n";
}

char *model_to_text(const struct model *model)
{
	char *text = NULL;
	size_t len;
	FILE *out = xmemstream_open(&text, &len);

	(void) fputs("{\"links\":[", out);
	for (size_t i = 0; i < model->n_links; i++)
		write_object(out, between(i), link_json(&model->links[i]));
	(void) fputs("],\n\"addresses\":[", out);
	for (size_t i = 0; i < model->n_addresses; i++)
		write_object(out, between(i), object_json(address_fields, &model->addresses[i]));
	(void) fputs("],\n\"routes\":[", out);
	for (size_t i = 0; i < model->n_routes; i++)
		write_object(out, between(i), object_json(route_fields, &model->routes[i]));
	(void) fputs("],\n\"rules\":[", out);
	for (size_t i = 0; i < model->n_rules; i++)
		write_object(out, between(i), object_json(rule_fields, &model->rules[i]));
	(void) fputs("]}\n", out);
	xmemstream_close(out);
	return text;
}

/* The new object as it is added has defaults, which stand for what is not zero here. */
static int read_lists(const json_t *json, struct model *model)
{
	static const struct prefix none;
	const json_t *item;
	size_t i;
	int r = 0;

	json_array_foreach(json_object_get(json, "links"), i, item)
	{
		if (r == 0)
			r = read_link(item, model_add_link(model, "", LINK_PHYSICAL));
	}
	json_array_foreach(json_object_get(json, "addresses"), i, item)
	{
		struct address *address = model_add_address(model, "", &none);

		*address = (struct address){0};
		if (r == 0)
			r = record_read(item, address_fields, address);
	}
	json_array_foreach(json_object_get(json, "routes"), i, item)
	{
		struct route *route = model_add_route(model, &none);

		*route = (struct route){0};
		if (r == 0)
			r = record_read(item, route_fields, route);
	}
	json_array_foreach(json_object_get(json, "rules"), i, item)
	{
		struct rule *rule = model_add_rule(model, AF_INET, 0);

		*rule = (struct rule){0};
		if (r == 0)
			r = record_read(item, rule_fields, rule);
	}
	return r;
}

int model_from_json(const json_t *json, struct model **ret_model)
{
	AUTO(model_free) struct model *model = model_new();
	int r = json_is_object(json) ? read_lists(json, model) : -EBADMSG;

	if (r < 0)
		return r;
	model_normalise(model);
	*ret_model = TAKE_PTR(model);
	return 0;
}

/* --- plans --- */

static json_t *op_json(const struct op *op)
{
	json_t *object = object_json(op_fields, op), *subject;
	const char *key;

	switch (op->kind) {
	case OP_ADDRESS_ADD:
	case OP_ADDRESS_CHANGE:
	case OP_ADDRESS_DELETE:
		key = "address";
		subject = object_json(address_fields, &op->address);
		break;
	case OP_ROUTE_ADD:
	case OP_ROUTE_REPLACE:
	case OP_ROUTE_DELETE:
		key = "route";
		subject = object_json(route_fields, &op->route);
		break;
	case OP_RULE_ADD:
	case OP_RULE_DELETE:
		key = "rule";
		subject = object_json(rule_fields, &op->rule);
		break;
	default:
		key = "link";
		subject = link_json(&op->link);
		break;
	}
	(void) json_object_set_new(object, key, subject);
	return object;
}

static int read_op(const json_t *json, struct op *op)
{
	const json_t *part;
	int r = record_read(json, op_fields, op);

	if (op->kind >= OP_KINDS)
		return -EBADMSG;
	part = json_object_get(json, "address");
	if (r == 0 && part != NULL)
		r = record_read(part, address_fields, &op->address);
	part = json_object_get(json, "route");
	if (r == 0 && part != NULL)
		r = record_read(part, route_fields, &op->route);
	part = json_object_get(json, "rule");
	if (r == 0 && part != NULL)
		r = record_read(part, rule_fields, &op->rule);
	part = json_object_get(json, "link");
	if (r == 0 && part != NULL)
		r = read_link(part, &op->link);
	return r;
}

char *plan_to_text(const struct plan *plan)
{
	char *text = NULL;
	size_t len;
	FILE *out = xmemstream_open(&text, &len);

	(void) fprintf(out, "{\"class\":%d,\n\"steps\":[", (int) plan->class);
	for (size_t i = 0; i < plan->n_ops; i++)
		write_object(out, between(i), op_json(&plan->ops[i]));
	(void) fputs("]}\n", out);
	xmemstream_close(out);
	return text;
}

int plan_from_json(const json_t *json, struct plan **ret_plan)
{
	AUTO(plan_free) struct plan *plan = NEW0(struct plan);
	const json_t *item;
	size_t i;
	int r = json_is_object(json) ? 0 : -EBADMSG;

	json_array_foreach(json_object_get(json, "steps"), i, item)
	{
		if (r == 0)
			r = read_op(item, plan_add(plan));
	}
	if (r < 0)
		return r;
	plan->class = (enum op_class) json_integer_value(json_object_get(json, "class"));
	*ret_plan = TAKE_PTR(plan);
	return 0;
}
