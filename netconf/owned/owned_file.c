/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of what is ours without a mark, as a file: one JSON object, with the boot that it is
 * good for. Whatever does not read back exactly makes the whole file bad, since half a list would
 * leave the other half to nobody.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "netconf/owned/owned_priv.h"

#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define BOOT_ID_MAX 256
#define FILE_MAX_BYTES (16 * 1024 * 1024)

DEFINE_AUTO(json_t, json_decref);

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
