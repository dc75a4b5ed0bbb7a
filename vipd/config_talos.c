/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Talos's own documents, as far as they concern VIPs: Layer2VIPConfig, and in the legacy machine
 * configuration the `vip` of an interface or of its VLANs, plus the node's host name. Both styles
 * end as the same struct vip_entry.
 *
 * A machine configuration is pasted whole: `cluster:` and most of `machine:` is passed over, also
 * in parts that a newer Talos may add. `machine.network` is fairlead's own, so its keys are checked
 * even where their values are for another daemon.
 */
#include "vipd/config_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "web/digest.h"

/* --- single values --- */

/* As the kernel's dev_valid_name() has it. */
const char *config_check_link(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                              const char **ret_hint UNUSED)
{
	if (strlen(text) >= IFNAMSIZ)
		return "is longer than the 15 characters of a link's name";
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return "is no name of a link";
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '/' || *p == ':' || isspace((unsigned char) *p))
			return "has a character that no link's name can have";
		/* Where a link is made, the kernel would number it instead. */
		if (*p == '%')
			return "has a '%', which is a pattern and no name";
	}
	return NULL;
}

static const char *check_vip_sort(const struct addr *addr)
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};

	if (addr_is_unspecified(addr))
		return "is the unspecified address, not one that clients can reach";
	if (addr_is_loopback(addr))
		return "is a loopback address, which no other host can reach";
	if (addr_is_multicast(addr))
		return "is a multicast address";
	if (addr_is_linklocal(addr))
		return "is a link-local address";
	if (addr->family == AF_INET && memcmp(addr->bytes, broadcast, sizeof(broadcast)) == 0)
		return "is the broadcast address";
	if (addr->family == AF_INET && addr->bytes[0] == 0)
		return "lies in 0.0.0.0/8, which no host may have";
	return NULL;
}

const char *config_check_vip(const char *text, struct addr *ret_addr,
                             char scratch[static CONF_SCRATCH_BYTES], const char **ret_hint)
{
	char plain[ADDR_TEXT_MAX];
	struct prefix prefix;
	struct addr addr;
	const char *wrong;

	if (strchr(text, '/') != NULL && prefix_parse(text, &prefix) >= 0) {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "write '%s'; a VIP always is /%u",
		                addr_format(&prefix.addr, plain),
		                (unsigned) addr_len_bytes(&prefix.addr) * 8);
		*ret_hint = scratch;
		return "is an address with a prefix length";
	}
	if (strncasecmp(text, "::ffff:", 7) == 0 && strchr(text, '.') != NULL) {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "write '%.64s'", text + 7);
		*ret_hint = scratch;
		return "is an IPv4 address in IPv6 clothes";
	}
	if (addr_parse(text, &addr) < 0) {
		*ret_hint = "such as 10.0.0.5 or fd00::5";
		return "is not an IP address";
	}
	wrong = check_vip_sort(&addr);
	if (wrong == NULL)
		*ret_addr = addr;
	return wrong;
}

/* --- VIPs --- */

struct vlan {
	unsigned id;
	struct legacy_vip vip;
};

struct device {
	char link[IFNAMSIZ];
	const struct conf_node *selector;
	const struct conf_node *vlans;
	bool ignore;
	struct legacy_vip vip;
};

void config_add_vip(struct config_reading *reading, const struct legacy_vip *vip, const char *link,
                    struct config_hcloud *hcloud)
{
	struct vip_entry *entry;

	reading->vips = xreallocarray(reading->vips, reading->n_vips + 1, sizeof(*reading->vips));
	entry = &reading->vips[reading->n_vips++];
	*entry = (struct vip_entry){
	    .addr = vip->addr,
	    .at = vip->at,
	    .path = xstrdup(conf_path(reading->conf)),
	    .hcloud = hcloud,
	};
	(void) snprintf(entry->link, sizeof(entry->link), "%s", link);
}

/* Keeps the node, for what is looked at when the whole map is known. */
static void set_node(struct conf *conf UNUSED, const struct conf_field *field UNUSED,
                     const struct conf_node *value, void *slot)
{
	*(const struct conf_node **) slot = value;
}

void config_set_vip(struct conf *conf, const struct conf_field *field UNUSED,
                    const struct conf_node *value, void *slot)
{
	char scratch[CONF_SCRATCH_BYTES];
	const char *hint = NULL, *wrong;
	struct legacy_vip *vip = slot;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	wrong = config_check_vip(value->text, &vip->addr, scratch, &hint);
	if (wrong != NULL)
		conf_error(conf, value, hint, "%s", wrong);
	vip->at = value;
}

/* --- Layer2VIPConfig --- */

struct layer2 {
	struct legacy_vip vip;
	char link[IFNAMSIZ];
};

const struct conf_field config_layer2_fields[] = {
    CONF_ROW("name", conf_addr, offsetof(struct layer2, vip), NULL,
             "The VIP, without a prefix length. Not unspecified, loopback, multicast, link-local "
             "or broadcast, and no address of the node itself.",
             .set = config_set_vip, .flags = CONF_REQUIRED),
    CONF_ROW("link", conf_text, offsetof(struct layer2, link), NULL,
             "The link that gets the address: a device, bond, VLAN or bridge. It need not exist "
             "yet; with `announce: bgp` vipd makes a dummy where there is none.",
             .word = "link name, 15 characters", .flags = CONF_REQUIRED, .check = config_check_link,
             .size = IFNAMSIZ),
    {0},
};

void config_read_layer2(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct layer2 layer2 = {0};

	size_t before;

	conf_read_map(conf, document, config_layer2_fields, &layer2);
	before = conf_enter(conf, "name");
	if (addr_is_set(&layer2.vip.addr))
		config_add_vip(userdata, &layer2.vip, layer2.link, NULL);
	conf_leave(conf, before);
}

/* --- the legacy document --- */

static const struct conf_field vip_fields[] = {
    CONF_READ("ip", config_set_vip, 0, .flags = CONF_REQUIRED),
    {.key = "equinixMetal",
     .flags = CONF_REFUSED,
     .refusal = "VIPs of Equinix Metal are not supported yet"},
    CONF_READ("hcloud", config_set_hcloud, offsetof(struct legacy_vip, hcloud),
              .fields = config_hcloud_fields),
    {0},
};

static const struct conf_field vlan_fields[] = {
    CONF_READ("vlanId", conf_set_unsigned, offsetof(struct vlan, id), .flags = CONF_REQUIRED,
              .min = 1, .max = 4094),
    CONF_READ("vip", conf_set_map, offsetof(struct vlan, vip), .fields = vip_fields),
    {.key = "addresses", .flags = CONF_PASS},
    {.key = "cidr", .flags = CONF_PASS},
    {.key = "routes", .flags = CONF_PASS},
    {.key = "dhcp", .flags = CONF_PASS},
    {.key = "dhcpOptions", .flags = CONF_PASS},
    {.key = "mtu", .flags = CONF_PASS},
    {0},
};

static const struct conf_field device_fields[] = {
    CONF_READ("interface", conf_set_text, offsetof(struct device, link), .check = config_check_link,
              .size = IFNAMSIZ),
    CONF_READ("deviceSelector", set_node, offsetof(struct device, selector)),
    CONF_READ("ignore", conf_set_bool, offsetof(struct device, ignore)),
    CONF_READ("vip", conf_set_map, offsetof(struct device, vip), .fields = vip_fields),
    CONF_READ("vlans", set_node, offsetof(struct device, vlans), .fields = vlan_fields),
    {.key = "addresses", .flags = CONF_PASS},
    {.key = "cidr", .flags = CONF_PASS},
    {.key = "routes", .flags = CONF_PASS},
    {.key = "bond", .flags = CONF_PASS},
    {.key = "bridge", .flags = CONF_PASS},
    {.key = "bridgePort", .flags = CONF_PASS},
    {.key = "mtu", .flags = CONF_PASS},
    {.key = "dhcp", .flags = CONF_PASS},
    {.key = "dhcpOptions", .flags = CONF_PASS},
    {.key = "dummy", .flags = CONF_PASS},
    {.key = "wireguard", .flags = CONF_PASS},
    {0},
};

/* A VLAN's name as Talos forms it: the base's name and the id; where base and ".4094" do not fit
 * into 15 characters, four of the base's and six hexadecimal digits of its SHA-256. */
static void name_vlan(const char *base, unsigned id, char ret_name[static IFNAMSIZ])
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

/* The VIP belongs to the link that this device describes, which must have a name by now. */
static void add_legacy_vip(struct config_reading *reading, const struct device *device,
                           struct legacy_vip *vip, const char *link)
{
	struct conf *conf = reading->conf;
	size_t before;

	if (vip->at == NULL) {
		config_hcloud_free(vip->hcloud);
		return;
	}
	before = conf_enter(conf, "vip.ip");
	if (device->ignore)
		conf_note(conf, vip->at, NULL, "is not used, for its interface has 'ignore: true'");
	else if (device->selector != NULL)
		conf_error(conf, vip->at, "name the link with 'interface'",
		           "a VIP on a link that 'deviceSelector' chooses is not supported");
	else if (addr_is_set(&vip->addr) && link[0] != '\0')
		config_add_vip(reading, vip, link, TAKE_PTR(vip->hcloud));
	config_hcloud_free(vip->hcloud);
	conf_leave(conf, before);
}

static void read_vlans(struct config_reading *reading, const struct device *device)
{
	struct conf *conf = reading->conf;
	size_t outer;

	if (device->vlans == NULL)
		return;
	outer = conf_enter(conf, "vlans");
	if (conf_expect(conf, device->vlans, CONF_LIST)) {
		for (size_t i = 0; i < device->vlans->n; i++) {
			size_t before = conf_enter(conf, "[%zu]", i);
			char link[IFNAMSIZ] = "";
			struct vlan vlan = {0};

			conf_read_map(conf, device->vlans->values[i], vlan_fields, &vlan);
			if (device->link[0] != '\0' && vlan.id > 0)
				name_vlan(device->link, vlan.id, link);
			add_legacy_vip(reading, device, &vlan.vip, link);
			conf_leave(conf, before);
		}
	}
	conf_leave(conf, outer);
}

static void read_device(struct config_reading *reading, const struct conf_node *node)
{
	struct conf *conf = reading->conf;
	struct device device = {0};

	conf_read_map(conf, node, device_fields, &device);
	if (device.selector != NULL && conf_node_find(node, "interface") != NULL)
		conf_error(conf, device.selector, NULL,
		           "'interface' and 'deviceSelector' exclude each other");
	if (device.selector == NULL && node->shape == CONF_MAP &&
	    conf_node_find(node, "interface") == NULL)
		conf_error(conf, node, NULL, "has neither 'interface' nor 'deviceSelector'");
	add_legacy_vip(reading, &device, &device.vip, device.link);
	read_vlans(reading, &device);
}

static void set_interfaces(struct conf *conf, const struct conf_field *field UNUSED,
                           const struct conf_node *value, void *slot)
{
	if (!conf_expect(conf, value, CONF_LIST))
		return;
	for (size_t i = 0; i < value->n; i++) {
		size_t before = conf_enter(conf, "[%zu]", i);

		read_device(slot, value->values[i]);
		conf_leave(conf, before);
	}
}

static const struct conf_field network_fields[] = {
    CONF_READ("hostname", nodeconf_set_hostname, offsetof(struct config_reading, node)),
    CONF_READ("interfaces", set_interfaces, 0, .fields = device_fields),
    {.key = "nameservers", .flags = CONF_PASS},
    {.key = "searchDomains", .flags = CONF_PASS},
    {.key = "disableSearchDomain", .flags = CONF_PASS},
    {.key = "extraHostEntries", .flags = CONF_PASS},
    {.key = "kubespan", .flags = CONF_PASS},
    {0},
};

static const struct conf_field machine_fields[] = {
    CONF_READ("network", conf_set_map, 0, .fields = network_fields),
    CONF_REST,
    {0},
};

const struct conf_field config_legacy_fields[] = {
    CONF_READ("machine", conf_set_map, 0, .fields = machine_fields),
    {.key = "version", .flags = CONF_PASS}, /* conf_read() has looked at it */
    CONF_REST,
    {0},
};
