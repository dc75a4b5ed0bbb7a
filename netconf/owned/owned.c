/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of what is ours without a mark: who is in it, who comes in and who leaves. Pure but for
 * its file.
 */
#include "netconf/owned/owned.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/mem.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_MAX 256
#define FILE_MAX_BYTES (16 * 1024 * 1024)

DEFINE_AUTO(json_t, json_decref);

struct owned {
	/* Of objects only what tells them apart, with their links' numbers. A link with the owner
	 * OWNER_OURS is ours; one with OWNER_UNKNOWN only numbers what is on it. Addresses are in the
	 * order of their keys and protocols. */
	struct model *list;
	char *saved; /* what the file has; NULL: not known */
};

struct owned *owned_new(void)
{
	struct owned *owned = NEW0(struct owned);

	owned->list = model_new();
	return owned;
}

void owned_free(struct owned *owned)
{
	if (owned == NULL)
		return;
	model_free(owned->list);
	free(owned->saved);
	free(owned);
}

size_t owned_count(const struct owned *owned)
{
	const struct model *list = owned->list;
	size_t n = list->n_addresses + list->n_routes + list->n_rules;

	for (size_t i = 0; i < list->n_links; i++)
		n += list->links[i].owner == OWNER_OURS;
	return n;
}

/* Not sorted: the list is short, and grows while it is read. */
static struct link *find_link(const struct owned *owned, const char *name)
{
	for (size_t i = 0; i < owned->list->n_links; i++) {
		if (strcmp(owned->list->links[i].name, name) == 0)
			return &owned->list->links[i];
	}
	return NULL;
}

static struct link *owned_number(struct owned *owned, const char *name, int ifindex)
{
	struct link *link = find_link(owned, name);

	if (link == NULL)
		link = model_add_link(owned->list, name, LINK_OTHER);
	if (ifindex != 0)
		link->ifindex = ifindex;
	return link;
}

static int number_of(const struct model *have, const char *name)
{
	const struct link *link = model_find_link(have, name);

	return link != NULL ? link->ifindex : 0;
}

/* --- who is in it --- */

/* The link of the list is the one that is there. "": none is needed. */
static bool same_link(const struct owned *owned, const struct model *have, const char *name)
{
	const struct link *link = find_link(owned, name);

	return name[0] == '\0' ||
	       (link != NULL && (link->ifindex == 0 || link->ifindex == number_of(have, name)));
}

static bool lists_link(const struct owned *owned, const struct model *have, const struct link *link)
{
	const struct link *listed = find_link(owned, link->name);

	return listed != NULL && listed->owner == OWNER_OURS && same_link(owned, have, link->name);
}

static int compare_listed(const void *a, const void *b)
{
	const struct address *left = a, *right = b;
	int order = address_compare_key(left, right);

	return order != 0 ? order : (int) left->protocol - (int) right->protocol;
}

static void owned_sort(struct owned *owned)
{
	if (owned->list->n_addresses > 1)
		qsort(owned->list->addresses, owned->list->n_addresses, sizeof(*owned->list->addresses),
		      compare_listed);
}

static bool lists_address(const struct owned *owned, const struct model *have,
                          const struct address *address)
{
	const struct model *list = owned->list;

	return list->n_addresses > 0 &&
	       bsearch(address, list->addresses, list->n_addresses, sizeof(*list->addresses),
	               compare_listed) != NULL &&
	       same_link(owned, have, address->link);
}

static bool lists_route(const struct owned *owned, const struct model *have,
                        const struct route *route)
{
	for (size_t i = 0; i < owned->list->n_routes; i++) {
		const struct route *listed = &owned->list->routes[i];

		if (route_compare_key(listed, route) == 0 && listed->protocol == route->protocol &&
		    listed->type == route->type && addr_equal(&listed->gateway, &route->gateway) &&
		    strcmp(listed->link, route->link) == 0 && !route->is_opaque)
			return same_link(owned, have, route->link);
	}
	return false;
}

static bool lists_rule(const struct owned *owned, const struct rule *rule)
{
	for (size_t i = 0; i < owned->list->n_rules; i++) {
		const struct rule *listed = &owned->list->rules[i];

		if (rule_compare(listed, rule) == 0 && listed->protocol == rule->protocol)
			return true;
	}
	return false;
}

void owned_judge(const struct owned *owned, struct model *have)
{
	for (size_t i = 0; i < have->n_links; i++) {
		if (link_is_virtual(&have->links[i]) && lists_link(owned, have, &have->links[i]))
			have->links[i].owner = OWNER_OURS;
	}
	for (size_t i = 0; i < have->n_addresses; i++) {
		if (lists_address(owned, have, &have->addresses[i]))
			have->addresses[i].owner = OWNER_OURS;
	}
	for (size_t i = 0; i < have->n_routes; i++) {
		if (lists_route(owned, have, &have->routes[i]))
			have->routes[i].owner = OWNER_OURS;
	}
	for (size_t i = 0; i < have->n_rules; i++) {
		if (lists_rule(owned, &have->rules[i]))
			have->rules[i].owner = OWNER_OURS;
	}
}

/* --- who comes in --- */

static void list_address(struct owned *owned, const struct model *have,
                         const struct address *address, uint8_t protocol)
{
	model_add_address(owned->list, address->link, &address->prefix)->protocol = protocol;
	(void) owned_number(owned, address->link, number_of(have, address->link));
}

static void list_route(struct owned *owned, const struct model *have, const struct route *route)
{
	struct route *listed = model_add_route(owned->list, &route->dst);

	*listed = *route;
	listed->raw = (struct raw_message){0};
	if (route->link[0] != '\0')
		(void) owned_number(owned, route->link, number_of(have, route->link));
}

static void list_rule(struct owned *owned, const struct rule *rule)
{
	struct rule *listed = model_add_rule(owned->list, rule->family, rule->priority);

	*listed = *rule;
	listed->raw = (struct raw_message){0};
}

/* One that does has marked its own of IPv6, and ours that are there. Where none has a mark, nobody
 * knows. */
static bool keeps_marks(const struct model *have)
{
	for (size_t i = 0; i < have->n_addresses; i++) {
		if (have->addresses[i].protocol != IFAPROT_UNSPEC)
			return true;
	}
	return false;
}

/* A link that is made anew gets another number. Until it is looked at again it is told by its name,
 * and what it carries is ours like what the old one had. */
static void forget_number(struct owned *owned, const char *name)
{
	struct link *link = find_link(owned, name);

	if (link != NULL)
		link->ifindex = 0;
}

void owned_expect(struct owned *owned, const struct plan *plan, const struct model *have)
{
	if (keeps_marks(have))
		return;
	for (size_t i = 0; i < plan->n_ops; i++) {
		const struct op *op = &plan->ops[i];

		if (op->kind == OP_ADDRESS_ADD && op->address.owner == OWNER_OURS)
			list_address(owned, have, &op->address, IFAPROT_UNSPEC);
	}
	for (size_t i = 0; i < plan->n_ops; i++) {
		if (plan->ops[i].kind != OP_LINK_CREATE)
			continue;
		forget_number(owned, plan->ops[i].link.name);
		forget_number(owned, plan->ops[i].link.peer);
	}
	owned_sort(owned);
}

/* --- who stays --- */

/* Of those that run no daemon and will not miss it. */
static bool is_by_hand(uint8_t protocol)
{
	return protocol == RTPROT_UNSPEC || protocol == RTPROT_BOOT || protocol == RTPROT_STATIC;
}

static bool adopts_link(const struct model *want, const struct link *have)
{
	const struct link *wanted = want != NULL ? model_find_link(want, have->name) : NULL;

	return wanted != NULL && have->owner == OWNER_FOREIGN && link_is_virtual(wanted) &&
	       have->group == 0 && link_differs(wanted, have) == 0;
}

static bool adopts_address(const struct model *want, const struct address *have)
{
	const struct address *wanted =
	    want != NULL ? model_find_address(want, have->link, &have->prefix) : NULL;

	return wanted != NULL && have->owner == OWNER_FOREIGN && have->protocol == IFAPROT_UNSPEC &&
	       address_is_like(wanted, have);
}

static bool adopts_route(const struct model *want, const struct route *have)
{
	if (want == NULL || have->owner != OWNER_FOREIGN || !is_by_hand(have->protocol))
		return false;
	for (size_t i = 0; i < want->n_routes; i++) {
		if (route_compare_key(&want->routes[i], have) == 0 &&
		    route_differs(&want->routes[i], have) == 0)
			return true;
	}
	return false;
}

static bool adopts_rule(const struct model *want, const struct rule *have)
{
	if (want == NULL || have->owner != OWNER_FOREIGN || !is_by_hand(have->protocol))
		return false;
	for (size_t i = 0; i < want->n_rules; i++) {
		if (rule_compare(&want->rules[i], have) == 0)
			return true;
	}
	return false;
}

void owned_settle(struct owned *owned, const struct model *want, const struct model *have)
{
	AUTO(owned_free) struct owned *next = owned_new();
	struct model *list;

	for (size_t i = 0; i < have->n_links; i++) {
		const struct link *link = &have->links[i];

		if (lists_link(owned, have, link) || adopts_link(want, link))
			owned_number(next, link->name, link->ifindex)->owner = OWNER_OURS;
	}
	for (size_t i = 0; i < have->n_addresses; i++) {
		const struct address *address = &have->addresses[i];

		if (lists_address(owned, have, address) || adopts_address(want, address))
			list_address(next, have, address, address->protocol);
	}
	for (size_t i = 0; i < have->n_routes; i++) {
		if (lists_route(owned, have, &have->routes[i]) || adopts_route(want, &have->routes[i]))
			list_route(next, have, &have->routes[i]);
	}
	for (size_t i = 0; i < have->n_rules; i++) {
		if (lists_rule(owned, &have->rules[i]) || adopts_rule(want, &have->rules[i]))
			list_rule(next, &have->rules[i]);
	}
	owned_sort(next);
	list = owned->list;
	owned->list = next->list;
	next->list = list;
}

/* --- the file --- */

/*
 * The list of what is ours without a mark, as a file: one JSON object, with the boot that it is
 * good for. Whatever does not read back exactly makes the whole file bad, since half a list would
 * leave the other half to nobody.
 */

static int read_boot_id(char **ret_id)
{
	size_t len;
	int r = file_read(BOOT_ID_PATH, BOOT_ID_MAX, ret_id, &len);

	if (r == 0)
		(*ret_id)[strcspn(*ret_id, "\n")] = '\0';
	return r;
}

/* --- writing --- */

static json_t *write_links(const struct model *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->n_links; i++) {
		const struct link *link = &list->links[i];

		(void) json_array_append_new(array,
		                             json_pack("{s:s, s:i, s:b}", "name", link->name, "ifindex",
		                                       link->ifindex, "ours", link->owner == OWNER_OURS));
	}
	return array;
}

static json_t *write_addresses(const struct model *list)
{
	json_t *array = json_array();
	char text[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < list->n_addresses; i++) {
		const struct address *a = &list->addresses[i];

		(void) json_array_append_new(array, json_pack("{s:s, s:s, s:i}", "link", a->link, "address",
		                                              prefix_format(&a->prefix, text), "protocol",
		                                              (int) a->protocol));
	}
	return array;
}

static json_t *write_routes(const struct model *list)
{
	json_t *array = json_array();
	char dst[PREFIX_TEXT_MAX], gateway[ADDR_TEXT_MAX];

	for (size_t i = 0; i < list->n_routes; i++) {
		const struct route *r = &list->routes[i];

		(void) json_array_append_new(
		    array,
		    json_pack("{s:s, s:s, s:s, s:I, s:I, s:i, s:i, s:i}", "dst",
		              prefix_format(&r->dst, dst), "gateway",
		              addr_is_set(&r->gateway) ? addr_format(&r->gateway, gateway) : "", "link",
		              r->link, "table", (json_int_t) r->table, "metric", (json_int_t) r->metric,
		              "tos", (int) r->tos, "type", (int) r->type, "protocol", (int) r->protocol));
	}
	return array;
}

static const char *selector(const struct prefix *prefix, char buf[static PREFIX_TEXT_MAX])
{
	return addr_is_set(&prefix->addr) ? prefix_format(prefix, buf) : "";
}

static json_t *write_rules(const struct model *list)
{
	json_t *array = json_array();
	char src[PREFIX_TEXT_MAX], dst[PREFIX_TEXT_MAX];

	for (size_t i = 0; i < list->n_rules; i++) {
		const struct rule *r = &list->rules[i];

		(void) json_array_append_new(
		    array, json_pack("{s:i, s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:I, s:i}", "family",
		                     (int) r->family, "priority", (json_int_t) r->priority, "src",
		                     selector(&r->src, src), "dst", selector(&r->dst, dst), "iif", r->iif,
		                     "oif", r->oif, "fwmark", (json_int_t) r->fwmark, "fwmask",
		                     (json_int_t) r->fwmask, "action", (int) r->action, "table",
		                     (json_int_t) r->table, "protocol", (int) r->protocol));
	}
	return array;
}

int owned_save(struct owned *owned, const char *path)
{
	AUTO(json_decref) json_t *object = NULL;
	AUTO(free) char *boot = NULL;
	AUTO(free) char *text = NULL;
	int r = read_boot_id(&boot);

	if (r < 0)
		return r;
	object = json_pack("{s:s, s:o, s:o, s:o, s:o}", "boot", boot, "links", write_links(owned->list),
	                   "addresses", write_addresses(owned->list), "routes",
	                   write_routes(owned->list), "rules", write_rules(owned->list));
	text = json_dumps(object, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	if (text == NULL)
		return -EBADMSG;
	if (owned->saved != NULL && strcmp(owned->saved, text) == 0)
		return 0;
	free(TAKE_PTR(owned->saved));
	/* Whatever makes a disk forget makes a new boot, for which the list is not good. */
	r = file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE);
	if (r == 0)
		owned->saved = TAKE_PTR(text);
	return r;
}

/* --- reading --- */

static bool take_name(const char *text, char to[static IFNAMSIZ])
{
	return snprintf(to, IFNAMSIZ, "%s", text) < IFNAMSIZ;
}

/* "": none. */
static bool take_prefix(const char *text, struct prefix *ret)
{
	return text[0] == '\0' || prefix_parse(text, ret) == 0;
}

static bool take_u32(json_int_t value, uint32_t *ret)
{
	*ret = (uint32_t) value;
	return value >= 0 && value <= UINT32_MAX;
}

static bool take_u8(int value, uint8_t *ret)
{
	*ret = (uint8_t) value;
	return value >= 0 && value <= UINT8_MAX;
}

static bool read_link(json_t *item, struct owned *owned)
{
	const char *name;
	int ifindex, ours;
	char copy[IFNAMSIZ];

	if (json_unpack(item, "{s:s, s:i, s:b}", "name", &name, "ifindex", &ifindex, "ours", &ours) <
	        0 ||
	    !take_name(name, copy))
		return false;
	owned_number(owned, copy, ifindex)->owner = ours != 0 ? OWNER_OURS : OWNER_UNKNOWN;
	return true;
}

static bool read_address(json_t *item, struct owned *owned)
{
	const char *link, *text;
	struct address a = {0};
	int protocol;

	if (json_unpack(item, "{s:s, s:s, s:i}", "link", &link, "address", &text, "protocol",
	                &protocol) < 0 ||
	    !take_name(link, a.link) || prefix_parse(text, &a.prefix) < 0 ||
	    !take_u8(protocol, &a.protocol))
		return false;
	*model_add_address(owned->list, a.link, &a.prefix) = a;
	return true;
}

static bool read_route(json_t *item, struct owned *owned)
{
	const char *dst, *gateway, *link;
	json_int_t table, metric;
	int tos, type, protocol;
	struct route r = {0};

	if (json_unpack(item, "{s:s, s:s, s:s, s:I, s:I, s:i, s:i, s:i}", "dst", &dst, "gateway",
	                &gateway, "link", &link, "table", &table, "metric", &metric, "tos", &tos,
	                "type", &type, "protocol", &protocol) < 0 ||
	    prefix_parse(dst, &r.dst) < 0 || !take_name(link, r.link) ||
	    (gateway[0] != '\0' && addr_parse(gateway, &r.gateway) < 0) || !take_u32(table, &r.table) ||
	    !take_u32(metric, &r.metric) || !take_u8(tos, &r.tos) || !take_u8(type, &r.type) ||
	    !take_u8(protocol, &r.protocol))
		return false;
	*model_add_route(owned->list, &r.dst) = r;
	return true;
}

static bool read_rule(json_t *item, struct owned *owned)
{
	const char *src, *dst, *iif, *oif;
	json_int_t priority, fwmark, fwmask, table;
	int family, action, protocol;
	struct rule r = {0};

	if (json_unpack(item, "{s:i, s:I, s:s, s:s, s:s, s:s, s:I, s:I, s:i, s:I, s:i}", "family",
	                &family, "priority", &priority, "src", &src, "dst", &dst, "iif", &iif, "oif",
	                &oif, "fwmark", &fwmark, "fwmask", &fwmask, "action", &action, "table", &table,
	                "protocol", &protocol) < 0 ||
	    (family != AF_INET && family != AF_INET6) || !take_u32(priority, &r.priority) ||
	    !take_prefix(src, &r.src) || !take_prefix(dst, &r.dst) || !take_name(iif, r.iif) ||
	    !take_name(oif, r.oif) || !take_u32(fwmark, &r.fwmark) || !take_u32(fwmask, &r.fwmask) ||
	    !take_u8(action, &r.action) || !take_u32(table, &r.table) ||
	    !take_u8(protocol, &r.protocol))
		return false;
	r.family = (sa_family_t) family;
	*model_add_rule(owned->list, r.family, r.priority) = r;
	return true;
}

static bool read_all(json_t *object, const char *key, struct owned *owned,
                     bool (*read)(json_t *, struct owned *))
{
	json_t *array = json_object_get(object, key), *item;
	size_t i;

	if (!json_is_array(array))
		return false;
	json_array_foreach(array, i, item)
	{
		if (!read(item, owned))
			return false;
	}
	return true;
}

int owned_load(const char *path, struct owned **ret_owned)
{
	AUTO(owned_free) struct owned *owned = owned_new();
	AUTO(json_decref) json_t *object = NULL;
	AUTO(free) char *boot = NULL;
	AUTO(free) char *text = NULL;
	const char *of;
	size_t len;
	int r = read_boot_id(&boot);

	if (r == 0)
		r = file_read(path, FILE_MAX_BYTES, &text, &len);
	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0) {
		object = json_loadb(text, len, 0, NULL);
		if (object == NULL || json_unpack(object, "{s:s}", "boot", &of) < 0)
			return -EBADMSG;
		if (strcmp(of, boot) == 0 && !(read_all(object, "links", owned, read_link) &&
		                               read_all(object, "addresses", owned, read_address) &&
		                               read_all(object, "routes", owned, read_route) &&
		                               read_all(object, "rules", owned, read_rule)))
			return -EBADMSG;
		owned_sort(owned);
		owned->saved = TAKE_PTR(text);
	}
	*ret_owned = TAKE_PTR(owned);
	return 0;
}
