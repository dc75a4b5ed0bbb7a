/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: what all of them share, and the kinds that need little more. Bonds and WireGuard have
 * files of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"

#define WORDS_MAX 8 /* of an attribute */

/* --- life --- */

static char *copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

void config_ref_fini(struct config_ref *ref)
{
	free(ref->name);
	if (ref->selector != NULL)
		selector_fini(ref->selector);
	free(ref->selector);
	*ref = (struct config_ref){0};
}

/* Only a LinkAliasConfig has an expression, and nobody copies that. */
void config_ref_copy(const struct config_ref *ref, struct config_ref *ret_copy)
{
	*ret_copy = (struct config_ref){.name = copy_text(ref->name)};
	if (ref->selector == NULL)
		return;
	ret_copy->selector = xmemdup(ref->selector, sizeof(*ref->selector));
	ret_copy->selector->bus_path = copy_text(ref->selector->bus_path);
	ret_copy->selector->mac = copy_text(ref->selector->mac);
	ret_copy->selector->permanent_mac = copy_text(ref->selector->permanent_mac);
	ret_copy->selector->pci_id = copy_text(ref->selector->pci_id);
	ret_copy->selector->driver = copy_text(ref->selector->driver);
}

void config_link_fini(struct config_link *link)
{
	config_ref_fini(&link->ref);
	config_ref_fini(&link->parent);
	for (size_t i = 0; i < link->n_ports; i++)
		config_ref_fini(&link->ports[i]);
	free(link->ports);
	free(link->peer);
	link_fini(&link->want);
	free(link->addresses);
	free(link->routes);
}

static void places_free(struct place *places, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(places[i].path);
	free(places);
}

void config_link_place_fini(struct link_place *place, const struct config_link *link)
{
	free(place->self.path);
	places_free(place->addresses, link->n_addresses);
	places_free(place->routes, link->n_routes);
	places_free(place->ports, link->n_ports);
}

void config_link_draft_init(struct link_draft *draft, struct config_reading *reading,
                            enum link_kind kind, const struct conf_node *at)
{
	*draft = (struct link_draft){.reading = reading};
	draft->link.want.kind = kind;
	draft->link.want.origin = config_origin(reading, at);
	/* A link that somebody describes is one that is used. */
	draft->link.want.has = LINK_HAS_UP;
	draft->link.want.up = true;
	draft->place.self = config_place(reading, at);
}

/* Without a name nothing can be done with it; that it lacks one has been reported. */
void config_link_draft_finish(struct link_draft *draft)
{
	struct config_reading *reading = draft->reading;
	struct config *config = &reading->config;
	bool is_named = draft->link.ref.name != NULL || draft->link.ref.selector != NULL ||
	                draft->link.parent.selector != NULL;

	if (!is_named || config->n_links == CONFIG_LINKS_MAX) {
		if (is_named)
			conf_error(reading->conf, draft->place.self.at, NULL, "more than %d links",
			           CONFIG_LINKS_MAX);
		config_link_place_fini(&draft->place, &draft->link);
		config_link_fini(&draft->link);
		return;
	}
	config->links = xreallocarray(config->links, config->n_links + 1, sizeof(*config->links));
	reading->links = xreallocarray(reading->links, config->n_links + 1, sizeof(*reading->links));
	config->links[config->n_links] = draft->link;
	reading->links[config->n_links] = draft->place;
	config->n_links++;
}

/* --- what all links share --- */

static void set_word(struct conf *conf, const struct conf_node *value,
                     const struct link_attr_info *info, struct link *link)
{
	const char *words[WORDS_MAX] = {NULL};
	const struct conf_field choice = {.choices = words};
	int chosen = 0;

	for (size_t i = 0; info->words[i].word != NULL; i++)
		words[i] = info->words[i].word;
	conf_set_choice(conf, &choice, value, &chosen);
	(void) record_set_number(&info->field, info->words[chosen].number, link);
}

/* Any row of link_attrs that has a key. */
static void set_attribute(struct conf *conf, const struct conf_field *field,
                          const struct conf_node *value, void *slot)
{
	struct link *link = &((struct link_draft *) slot)->link.want;
	const struct link_attr_info *info = &link_attrs[field->min];
	void *member = (char *) link + info->field.offset;
	uint32_t number;

	if (info->field.type == RECORD_BOOL)
		conf_set_bool(conf, field, value, member);
	else if (info->field.type == RECORD_MAC)
		config_set_mac(conf, field, value, member);
	else if (info->words != NULL)
		set_word(conf, value, info, link);
	else if (config_read_u32(conf, value, info->min, info->max, &number))
		(void) record_set_number(&info->field, number, link);
	else
		return;
	link->has |= info->attr;
}

/* The end of a table. */
static struct conf_field *end_of(struct conf_field *table)
{
	while (table->key != NULL)
		table++;
	return table;
}

/* The table of the map that the key is in ("stp.enabled"), which is made if it is new. */
static struct conf_field *map_of(struct conf_field *table, const char *key, size_t len)
{
	struct conf_field *map = table;

	while (map->key != NULL && (strncmp(map->key, key, len) != 0 || map->key[len] != '\0'))
		map++;
	if (map->key == NULL)
		*map = (struct conf_field){.key = xstrndup(key, len),
		                           .set = conf_set_map,
		                           .fields = xcalloc(LINK_ATTRS + 1, sizeof(*table))};
	return (struct conf_field *) (uintptr_t) map->fields;
}

void config_add_attributes(struct conf_field *table, unsigned attributes, bool is_legacy)
{
	for (size_t i = 0; i < LINK_ATTRS; i++) {
		const struct link_attr_info *info = &link_attrs[i];
		const char *key = is_legacy ? info->legacy_key : info->key, *dot;
		struct conf_field *map = table;

		if (key == NULL || (attributes & info->attr) == 0)
			continue;
		dot = strchr(key, '.');
		if (dot != NULL)
			map = map_of(table, key, (size_t) (dot - key));
		*end_of(map) = (struct conf_field){
		    .key = dot != NULL ? dot + 1 : key,
		    .set = set_attribute,
		    .flags = (info->flags & LINK_NEEDED) != 0 ? CONF_REQUIRED : 0,
		    .min = (int64_t) i,
		};
	}
}

#define DRAFT(member) offsetof(struct link_draft, member)

#define NAME_OF_FOUND                                                          \
	{                                                                          \
		.key = "name", .set = conf_set_string, .offset = DRAFT(link.ref.name), \
		.flags = CONF_REQUIRED, .check = config_check_ref                      \
	}

#define NAME_OF_MADE                                                           \
	{                                                                          \
		.key = "name", .set = conf_set_string, .offset = DRAFT(link.ref.name), \
		.flags = CONF_REQUIRED, .check = config_check_name                     \
	}

static void read_kind(struct conf *conf, const struct conf_node *document, void *userdata,
                      enum link_kind kind, const struct conf_field *fields)
{
	struct link_draft draft;

	config_link_draft_init(&draft, userdata, kind, document);
	conf_read_map(conf, document, fields, &draft);
	config_link_draft_finish(&draft);
}

/* --- ports --- */

void config_add_port(struct link_draft *draft, struct config_ref *ref, const struct conf_node *at)
{
	struct config_link *link = &draft->link;
	size_t n = link->n_ports;

	link->ports = xreallocarray(link->ports, n + 1, sizeof(*link->ports));
	draft->place.ports = xreallocarray(draft->place.ports, n + 1, sizeof(*draft->place.ports));
	link->ports[n] = *ref;
	*ref = (struct config_ref){0};
	draft->place.ports[n] = config_place(draft->reading, at);
	link->n_ports++;
}

static void read_port(struct conf *conf, const struct conf_node *item, void *userdata)
{
	static const struct conf_field field = {.check = config_check_ref};
	struct link_draft *draft = userdata;
	struct config_ref ref = {0};

	conf_set_string(conf, &field, item, &ref.name);
	if (ref.name == NULL)
		return;
	for (size_t i = 0; i < draft->link.n_ports; i++) {
		if (strcmp(draft->link.ports[i].name, ref.name) != 0)
			continue;
		conf_note(conf, item, NULL, "is there twice");
		config_ref_fini(&ref);
		return;
	}
	config_add_port(draft, &ref, item);
}

void config_set_ports(struct conf *conf, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	conf_read_list(conf, value, CONFIG_PORTS_MAX, read_port, slot);
}

/* --- LinkConfig, DummyLinkConfig --- */

struct conf_field config_link_fields[CONFIG_LINK_FIELDS_MAX] = {
    NAME_OF_FOUND,
    CONFIG_LINK_FIELDS,
    {0},
};

void config_read_link(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_kind(conf, document, userdata, LINK_PHYSICAL, config_link_fields);
}

struct conf_field config_dummy_fields[CONFIG_LINK_FIELDS_MAX] = {
    NAME_OF_MADE,
    CONFIG_LINK_FIELDS,
    {0},
};

void config_read_dummy(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_kind(conf, document, userdata, LINK_DUMMY, config_dummy_fields);
}

/* --- VLANConfig --- */

struct conf_field config_vlan_fields[CONFIG_LINK_FIELDS_MAX] = {
    NAME_OF_MADE,
    {.key = "parent",
     .set = conf_set_string,
     .offset = DRAFT(link.parent.name),
     .flags = CONF_REQUIRED,
     .check = config_check_ref},
    CONFIG_LINK_FIELDS,
    {0},
};

void config_read_vlan(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_kind(conf, document, userdata, LINK_VLAN, config_vlan_fields);
}

/* --- BridgeConfig --- */

struct conf_field config_bridge_fields[CONFIG_LINK_FIELDS_MAX] = {
    NAME_OF_MADE,
    {.key = "links", .set = config_set_ports},
    CONFIG_LINK_FIELDS,
    {0},
};

void config_read_bridge(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_kind(conf, document, userdata, LINK_BRIDGE, config_bridge_fields);
}

/* --- VRFConfig --- */

static void set_vrf_table(struct conf *conf, const struct conf_field *field,
                          const struct conf_node *value, void *slot)
{
	struct config_link *link = &((struct link_draft *) slot)->link;

	config_set_table(conf, field, value, &link->want.table);
	if (link->want.table == RT_TABLE_MAIN || link->want.table == RT_TABLE_LOCAL ||
	    link->want.table == RT_TABLE_DEFAULT)
		conf_error(conf, value, "a VRF needs a table of its own", "is one of the kernel's tables");
	link->want.has |= LINK_HAS_TABLE;
}

struct conf_field config_vrf_fields[CONFIG_LINK_FIELDS_MAX] = {
    NAME_OF_MADE,
    {.key = "links", .set = config_set_ports},
    {.key = "table", .set = set_vrf_table, .flags = CONF_REQUIRED},
    CONFIG_LINK_FIELDS,
    {0},
};

void config_read_vrf(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_kind(conf, document, userdata, LINK_VRF, config_vrf_fields);
}

/* --- VethConfig: a document, two links --- */

static void set_peer(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot)
{
	struct link_draft *draft = slot, peer;

	config_link_draft_init(&peer, draft->reading, LINK_VETH, value);
	peer.link.is_peer = true;
	conf_read_map(conf, value, field->fields, &peer);
	if (peer.link.ref.name != NULL && draft->link.ref.name != NULL) {
		draft->link.peer = xstrdup(peer.link.ref.name);
		peer.link.peer = xstrdup(draft->link.ref.name);
		draft->link.want.has |= LINK_HAS_PEER;
		peer.link.want.has |= LINK_HAS_PEER;
	}
	config_link_draft_finish(&peer);
}

static struct conf_field peer_fields[CONFIG_LINK_FIELDS_MAX] = {
    NAME_OF_MADE,
    CONFIG_LINK_FIELDS,
    {0},
};

struct conf_field config_veth_fields[CONFIG_LINK_FIELDS_MAX] = {
    NAME_OF_MADE,
    {.key = "peer", .set = set_peer, .flags = CONF_REQUIRED, .fields = peer_fields},
    CONFIG_LINK_FIELDS,
    {0},
};

void config_read_veth(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_kind(conf, document, userdata, LINK_VETH, config_veth_fields);
}

void config_make_link_tables(void)
{
	static const struct {
		struct conf_field *table;
		enum link_kind kind;
	} tables[] = {
	    {config_link_fields, LINK_PHYSICAL},
	    {config_dummy_fields, LINK_DUMMY},
	    {config_vlan_fields, LINK_VLAN},
	    {config_bridge_fields, LINK_BRIDGE},
	    {config_vrf_fields, LINK_VRF},
	    {config_veth_fields, LINK_VETH},
	    {peer_fields, LINK_VETH},
	    {config_bond_fields, LINK_BOND},
	    {config_wireguard_fields, LINK_WIREGUARD},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		config_add_attributes(tables[i].table, link_attrs_of(tables[i].kind), false);
}
