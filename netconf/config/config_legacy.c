/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talos's older style: machine.network and machine.time of a machine configuration, which is pasted
 * whole. Everything around them is passed over, also what a newer Talos may add; inside
 * machine.network nothing is.
 *
 * An entry of `interfaces` may be several links at once: a device, and its VLANs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"
#include "netconf/model/link.h"

struct dhcp_options {
	uint32_t metric;
	bool ipv4, ipv6;
	char *duid;
};

/* An entry of `interfaces`, or of its `vlans`. */
struct entry {
	struct link_draft draft; /* first: setters of links take either */
	const struct conf_node *bond_at, *bridge_at, *wireguard_at, *vlans_at, *options_at;
	bool is_dummy, has_dhcp;
	struct dhcp_options options;
	char master[IFNAMSIZ]; /* of bridgePort; "": none */
	const struct conf_node *master_at;
};

#define CONFIG_LEGACY_FIELDS_MAX (LINK_ATTRS + 20)
#define ENTRY(member) offsetof(struct entry, member)

/* --- DHCP --- */

static void set_duid(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot)
{
	/* Written by generators for "none". */
	if (value->shape != CONF_SCALAR || !value->quoted || value->text[0] != '\0')
		conf_set_string(conf, field, value, slot);
}

#define OPTIONS(member) offsetof(struct dhcp_options, member)
static const struct conf_field dhcp_options_fields[] = {
    {.key = "routeMetric",
     .set = config_set_u32,
     .offset = OPTIONS(metric),
     .min = 1,
     .max = UINT32_MAX},
    {.key = "ipv4", .set = conf_set_bool, .offset = OPTIONS(ipv4)},
    {.key = "ipv6", .set = conf_set_bool, .offset = OPTIONS(ipv6)},
    {.key = "duidv6", .set = set_duid, .offset = OPTIONS(duid)},
    {0},
};

static void set_options(struct conf *conf, const struct conf_field *field,
                        const struct conf_node *value, void *slot)
{
	struct entry *device = slot;

	device->options_at = value;
	conf_read_map(conf, value, field->fields, &device->options);
}

/* vlan_id 0: on the device itself. */
static void add_dhcp(struct entry *device, sa_family_t family, const struct config_ref *ref,
                     unsigned vlan_id)
{
	struct config_reading *reading = device->draft.reading;
	bool has_duid = family == AF_INET6 && device->options.duid != NULL;
	struct config_dhcp dhcp = {
	    .vlan_id = vlan_id,
	    .family = family,
	    .metric = device->options.metric,
	    .client_id = has_duid ? CONFIG_CLIENT_ID_DUID : CONFIG_CLIENT_ID_MAC,
	    .duid = has_duid ? xstrdup(device->options.duid) : NULL,
	    .origin = device->draft.link.want.origin,
	};

	config_ref_copy(ref, &dhcp.ref);
	config_add_dhcp(reading, &dhcp, device->draft.place.self.at);
}

static void take_dhcp(struct entry *device, const struct config_ref *ref, unsigned vlan_id)
{
	struct conf *conf = device->draft.reading->conf;

	if (device->has_dhcp && device->options.ipv4)
		add_dhcp(device, AF_INET, ref, vlan_id);
	if (device->has_dhcp && device->options.ipv6)
		add_dhcp(device, AF_INET6, ref, vlan_id);
	if (device->has_dhcp && !device->options.ipv4 && !device->options.ipv6)
		conf_error(conf, device->options_at, NULL, "leaves nothing of 'dhcp: true'");
	if (!device->has_dhcp && device->options_at != NULL)
		conf_note(conf, device->options_at, NULL, "has no effect without 'dhcp: true'");
}

/* --- the parts of a device --- */

static void set_selector(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot)
{
	((struct entry *) slot)->draft.link.ref.selector = config_read_selector(conf, value);
}

static void set_bond(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot)
{
	struct entry *device = slot;

	if (conf_node_is_null(value))
		return;
	device->bond_at = value;
	device->draft.link.want.kind = LINK_BOND;
	device->draft.link.want.bond = NEW0(struct bond);
	conf_read_map(conf, value, field->fields, &device->draft);
	config_check_bond(&device->draft, value, true);
}

static struct conf_field bridge_fields[CONFIG_LINK_FIELDS_MAX] = {
    {.key = "interfaces", .set = config_set_ports},
    {0},
};

static void set_bridge(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct entry *device = slot;

	device->bridge_at = value;
	device->draft.link.want.kind = LINK_BRIDGE;
	conf_read_map(conf, value, field->fields, &device->draft);
}

static void set_wireguard(struct conf *conf, const struct conf_field *field,
                          const struct conf_node *value, void *slot)
{
	struct entry *device = slot;

	if (conf_node_is_null(value))
		return;
	device->wireguard_at = value;
	device->draft.link.want.kind = LINK_WIREGUARD;
	conf_read_map(conf, value, field->fields, &device->draft);
	config_check_wireguard(&device->draft, value);
}

static void set_dummy(struct conf *conf, const struct conf_field *field,
                      const struct conf_node *value, void *slot)
{
	struct entry *device = slot;

	conf_set_bool(conf, field, value, &device->is_dummy);
	if (device->is_dummy)
		device->draft.link.want.kind = LINK_DUMMY;
}

static void set_master(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct entry *device = slot;

	device->master_at = value;
	conf_set_text(conf, field, value, device->master);
}

static const struct conf_field bridge_port_fields[] = {
    {.key = "master",
     .set = set_master,
     .flags = CONF_REQUIRED,
     .check = config_check_name,
     .size = IFNAMSIZ},
    {0},
};

static void set_vlans(struct conf *conf UNUSED, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	((struct entry *) slot)->vlans_at = value;
}

/* --- VLANs --- */

#define FIELDS_OF_DEVICE_AND_VLAN                                                          \
	{.key = "addresses", .set = config_set_legacy_addresses},                              \
	    {.key = "cidr", .set = config_set_legacy_cidr},                                    \
	    {.key = "routes", .set = config_set_routes, .fields = config_legacy_route_fields}, \
	    {.key = "dhcp", .set = conf_set_bool, .offset = ENTRY(has_dhcp)},                  \
	    {.key = "dhcpOptions", .set = set_options, .fields = dhcp_options_fields},         \
	{                                                                                      \
		.key = "vip", .flags = CONF_PASS                                                   \
	}

static struct conf_field vlan_fields[CONFIG_LEGACY_FIELDS_MAX] = {
    FIELDS_OF_DEVICE_AND_VLAN,
    {0},
};

static void device_init(struct entry *device, struct config_reading *reading, enum link_kind kind,
                        const struct conf_node *at)
{
	*device = (struct entry){.options = {.metric = CONFIG_METRIC_DEFAULT, .ipv4 = true}};
	config_link_draft_init(&device->draft, reading, kind, at);
}

struct vlan_reading {
	struct config_reading *reading;
	const struct config_ref *base;
};

static void read_vlan(struct conf *conf, const struct conf_node *item, void *userdata)
{
	const struct vlan_reading *r = userdata;
	struct entry vlan;
	struct config_link *link = &vlan.draft.link;
	char name[IFNAMSIZ];

	device_init(&vlan, r->reading, LINK_VLAN, item);
	conf_read_map(conf, item, vlan_fields, &vlan);
	config_ref_copy(r->base, &link->parent);
	if (r->base->name != NULL && link->want.vlan_id > 0) {
		vlanname_form(r->base->name, link->want.vlan_id, name);
		link->ref.name = xstrdup(name);
		take_dhcp(&vlan, &link->ref, 0);
	} else if (r->base->selector != NULL && link->want.vlan_id > 0) {
		take_dhcp(&vlan, r->base, link->want.vlan_id);
	} else {
		config_ref_fini(&link->parent); /* wrong, and reported */
	}
	free(vlan.options.duid);
	config_link_draft_finish(&vlan.draft);
}

static void read_vlans(struct config_reading *reading, const struct conf_node *vlans,
                       const struct config_ref *base)
{
	struct vlan_reading r = {reading, base};
	size_t before;

	if (vlans == NULL)
		return;
	before = conf_enter(reading->conf, "vlans");
	conf_read_list(reading->conf, vlans, CONFIG_LINKS_MAX, read_vlan, &r);
	conf_leave(reading->conf, before);
}

/* --- devices --- */

static struct conf_field device_fields[CONFIG_LEGACY_FIELDS_MAX] = {
    {.key = "interface",
     .set = conf_set_string,
     .offset = ENTRY(draft.link.ref.name),
     .check = config_check_ref},
    {.key = "deviceSelector", .set = set_selector, .fields = config_selector_fields},
    {.key = "ignore", .set = conf_set_bool, .offset = ENTRY(draft.link.is_ignored)},
    {.key = "bond", .set = set_bond, .fields = config_legacy_bond_fields},
    {.key = "bridge", .set = set_bridge, .fields = bridge_fields},
    {.key = "bridgePort", .set = conf_set_map, .fields = bridge_port_fields},
    {.key = "dummy", .set = set_dummy},
    {.key = "wireguard", .set = set_wireguard, .fields = config_legacy_wireguard_fields},
    {.key = "vlans", .set = set_vlans, .fields = vlan_fields},
    FIELDS_OF_DEVICE_AND_VLAN,
    {0},
};

/* Those of a bridge are in its own map. */
void config_make_legacy_tables(void)
{
	unsigned shared = link_attrs_of(LINK_PHYSICAL);

	config_add_attributes(device_fields, shared, true);
	config_add_attributes(vlan_fields, link_attrs_of(LINK_VLAN), true);
	config_add_attributes(bridge_fields, link_attrs_of(LINK_BRIDGE) & ~shared, true);
}

static void check_device(const struct entry *device, const struct conf_node *node)
{
	struct conf *conf = device->draft.reading->conf;
	const struct config_link *link = &device->draft.link;
	const struct conf_node *name = conf_node_find(node, "interface");
	const struct conf_node *selector = conf_node_find(node, "deviceSelector");
	int kinds = (device->bond_at != NULL) + (device->bridge_at != NULL) +
	            (device->wireguard_at != NULL) + device->is_dummy;
	char scratch[CONF_SCRATCH_BYTES];
	const char *wrong = NULL, *hint = NULL;

	if (node->shape != CONF_MAP)
		return;
	if (name != NULL && selector != NULL)
		conf_error(conf, selector, NULL, "'interface' and 'deviceSelector' exclude each other");
	if (name == NULL && selector == NULL)
		conf_error(conf, node, NULL, "has neither 'interface' nor 'deviceSelector'");
	if (kinds > 1)
		conf_error(conf, node, NULL,
		           "'bond', 'bridge', 'dummy' and 'wireguard' exclude each other");
	if (kinds > 0 && selector != NULL)
		conf_error(conf, selector, "name it with 'interface'",
		           "chooses devices that are there, but this one is to be made");
	if (kinds > 0 && link->ref.name != NULL)
		wrong = config_check_name(link->ref.name, scratch, &hint);
	if (wrong != NULL)
		conf_error(conf, name, hint, "%s", wrong);
}

static void take_bridge_port(struct entry *device)
{
	struct config_reading *reading = device->draft.reading;
	struct bridge_port *port;

	if (device->master[0] == '\0')
		return;
	reading->bridge_ports = xreallocarray(reading->bridge_ports, reading->n_bridge_ports + 1,
	                                      sizeof(*reading->bridge_ports));
	port = &reading->bridge_ports[reading->n_bridge_ports++];
	*port = (struct bridge_port){.place = config_place(reading, device->master_at)};
	memcpy(port->master, device->master, sizeof(port->master));
	config_ref_copy(&device->draft.link.ref, &port->ref);
}

static void read_device(struct conf *conf, const struct conf_node *item, void *userdata)
{
	const struct conf_node *vlans = NULL;
	struct config_ref base = {0};
	struct entry device;

	device_init(&device, userdata, LINK_PHYSICAL, item);
	conf_read_map(conf, item, device_fields, &device);
	check_device(&device, item);
	if (device.draft.link.is_ignored) {
		if (item->n > 2)
			conf_note(conf, item, NULL, "has 'ignore: true', so nothing else of it has an effect");
	} else {
		take_dhcp(&device, &device.draft.link.ref, 0);
		take_bridge_port(&device);
		vlans = device.vlans_at;
	}
	free(device.options.duid);
	config_ref_copy(&device.draft.link.ref, &base);
	config_link_draft_finish(&device.draft);
	read_vlans(userdata, vlans, &base);
	config_ref_fini(&base);
}

static void set_interfaces(struct conf *conf, const struct conf_field *field UNUSED,
                           const struct conf_node *value, void *slot)
{
	conf_read_list(conf, value, CONFIG_LINKS_MAX, read_device, slot);
}

/* --- the document --- */

const struct conf_field config_machine_network_fields[] = {
    {.key = "hostname", .set = config_set_legacy_hostname},
    {.key = "nameservers", .set = config_set_legacy_nameservers},
    {.key = "searchDomains", .set = config_set_legacy_search},
    {.key = "disableSearchDomain", .set = config_set_legacy_no_search},
    {.key = "extraHostEntries", .set = config_set_extra_hosts, .fields = config_extra_host_fields},
    {.key = "interfaces", .set = set_interfaces, .fields = device_fields},
    {.key = "kubespan", .flags = CONF_PASS},
    {0},
};

static const struct conf_field machine_fields[] = {
    {.key = "network", .set = conf_set_map, .fields = config_machine_network_fields},
    {.key = "time", .set = config_set_legacy_time, .fields = config_legacy_time_fields},
    {.key = "type", .flags = CONF_PASS}, /* no misspelt `time` */
    {.key = CONF_ANY_KEY, .flags = CONF_PASS},
    {0},
};

const struct conf_field config_legacy_fields[] = {
    {.key = "machine", .set = conf_set_map, .fields = machine_fields},
    {.key = "version", .flags = CONF_PASS}, /* conf_read() has looked at it */
    {.key = CONF_ANY_KEY, .flags = CONF_PASS},
    {0},
};

void config_read_legacy(struct conf *conf, const struct conf_node *document, void *userdata)
{
	conf_read_map(conf, document, config_legacy_fields, userdata);
}
