/* SPDX-License-Identifier: Apache-2.0 */
/* Single values: names of links, addresses, networks, numbers of tables. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"

/* --- names --- */

/* dev_valid_name() of the kernel. */
static const char *check_characters(const char *text)
{
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return "is no name of a link";
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '/' || *p == ':' || isspace((unsigned char) *p))
			return "has a character that no link's name can have";
	}
	return NULL;
}

const char *config_check_ref(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                             const char **ret_hint UNUSED)
{
	if (strlen(text) > CONFIG_REF_MAX)
		return "is longer than the 127 characters of an alternative name";
	return check_characters(text);
}

const char *config_check_name(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                              const char **ret_hint)
{
	if (strlen(text) >= IFNAMSIZ)
		return "is longer than the 15 characters of a link's name";
	if (strchr(text, '%') != NULL) {
		*ret_hint = "the kernel would put a number there";
		return "has a '%' in it";
	}
	return check_characters(text);
}

/* --- addresses --- */

void config_set_addr(struct conf *conf, const struct conf_field *field UNUSED,
                     const struct conf_node *value, void *slot)
{
	struct addr addr;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	if (addr_parse(value->text, &addr) >= 0)
		*(struct addr *) slot = addr;
	else if (strchr(value->text, '/') != NULL)
		conf_error(conf, value, "without a prefix length", "is not an address");
	else
		conf_error(conf, value, "such as 10.0.0.1 or fd00::1", "is not an address");
}

void config_set_mac(struct conf *conf, const struct conf_field *field UNUSED,
                    const struct conf_node *value, void *slot)
{
	static const struct mac zero;
	struct mac mac;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	if (mac_parse(value->text, &mac) < 0)
		conf_error(conf, value, "such as 02:00:00:00:00:01", "is not a hardware address");
	else if ((mac.bytes[0] & 1) != 0)
		conf_error(conf, value, "its first byte must be even",
		           "is the address of a group, not of a link");
	else if (mac_equal(&mac, &zero))
		conf_error(conf, value, NULL, "is not an address that a link can have");
	else
		*(struct mac *) slot = mac;
}

void config_set_network(struct conf *conf, const struct conf_field *field UNUSED,
                        const struct conf_node *value, void *slot)
{
	char text[PREFIX_TEXT_MAX];
	struct prefix prefix;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	if (prefix_parse(value->text, &prefix) < 0) {
		conf_error(conf, value, "such as 10.0.0.0/8 or fd00::/64", "is not a network");
		return;
	}
	if (strchr(value->text, '/') == NULL) {
		conf_error(conf, value, prefix_format(&prefix, text), "has no prefix length");
		return;
	}
	if (!prefix_is_masked(&prefix)) {
		prefix_mask(&prefix);
		conf_note(conf, value, NULL, "has bits behind its prefix and is taken as %s",
		          prefix_format(&prefix, text));
	}
	*(struct prefix *) slot = prefix;
}

/* --- numbers --- */

bool config_read_u32(struct conf *conf, const struct conf_node *value, uint32_t min, uint32_t max,
                     uint32_t *ret_value)
{
	const struct conf_field field = {.min = min, .max = max};
	size_t errors = conf_error_count(conf);
	unsigned number = 0;

	conf_set_unsigned(conf, &field, value, &number);
	if (conf_error_count(conf) > errors)
		return false;
	*ret_value = number;
	return true;
}

void config_set_u32(struct conf *conf, const struct conf_field *field,
                    const struct conf_node *value, void *slot)
{
	(void) config_read_u32(conf, value, (uint32_t) field->min, (uint32_t) field->max, slot);
}

/* A text for Talos, so quotes do not matter. */
void config_set_table(struct conf *conf, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	static const struct {
		const char *name;
		uint32_t table;
	} names[] = {{"main", RT_TABLE_MAIN}, {"default", RT_TABLE_DEFAULT}, {"local", RT_TABLE_LOCAL}};
	int64_t number;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i].name, value->text) == 0) {
			*(uint32_t *) slot = names[i].table;
			return;
		}
	}
	if (conf_parse_int(value->text, &number) < 0 || number < 1 || number > UINT32_MAX)
		conf_error(conf, value, "main, default, local, or 1 to 4294967295",
		           "is not a routing table");
	else
		*(uint32_t *) slot = (uint32_t) number;
}

/* Marks are bits, which people write in hexadecimal. */
void config_set_mark(struct conf *conf, const struct conf_field *field UNUSED,
                     const struct conf_node *value, void *slot)
{
	const char *text = value->shape == CONF_SCALAR ? value->text : "";

	if (!value->quoted && strncmp(text, "0x", 2) == 0) {
		size_t digits = strspn(text + 2, "0123456789abcdefABCDEF");

		if (digits == 0 || digits > 8 || text[2 + digits] != '\0')
			conf_error(conf, value, "up to 0xffffffff", "is not a mark");
		else
			*(uint32_t *) slot = (uint32_t) strtoul(text, NULL, 16);
		return;
	}
	(void) config_read_u32(conf, value, 0, UINT32_MAX, slot);
}

/* --- places --- */

struct origin config_origin(struct config_reading *reading, const struct conf_node *at)
{
	return model_origin(reading->config.common, conf_file_name(reading->conf, at), at->line);
}

const char *config_place_of(struct config_reading *reading, const struct origin *origin)
{
	return model_format_origin(reading->config.common, origin, reading->origin_text);
}

struct place config_place(struct config_reading *reading, const struct conf_node *at)
{
	return (struct place){.at = at, .path = xstrdup(conf_path(reading->conf))};
}

/* --- selectors --- */

/* The ways to choose a link that say no name: deviceSelector, and a LinkAliasConfig that gives one.
 */

/* --- deviceSelector --- */

/* A pattern that no hardware address can match is a mistake. */
static const char *check_mac_pattern(const char *text,
                                     char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                     const char **ret_hint)
{
	*ret_hint = "such as 02:00:00:00:00:01 or 02:00:00:*";
	for (const char *p = text; *p != '\0'; p++) {
		if (!isxdigit((unsigned char) *p) && strchr(":*?", *p) == NULL)
			return "is not a hardware address or a pattern of one";
	}
	if (strpbrk(text, "*?") == NULL && strlen(text) != MAC_TEXT_MAX - 1)
		return "is not a whole hardware address";
	return NULL;
}

#define SELECTOR(member) offsetof(struct selector, member)

static void set_physical(struct conf *conf, const struct conf_field *field,
                         const struct conf_node *value, void *slot)
{
	struct selector *selector = slot;

	conf_set_bool(conf, field, value, &selector->physical);
	selector->has_physical = true;
}

const struct conf_field config_selector_fields[] = {
    {.key = "busPath", .set = conf_set_string, .offset = SELECTOR(bus_path)},
    {.key = "hardwareAddr",
     .set = conf_set_string,
     .offset = SELECTOR(mac),
     .check = check_mac_pattern},
    {.key = "permanentAddr",
     .set = conf_set_string,
     .offset = SELECTOR(permanent_mac),
     .check = check_mac_pattern},
    {.key = "pciID", .set = conf_set_string, .offset = SELECTOR(pci_id)},
    {.key = "driver", .set = conf_set_string, .offset = SELECTOR(driver)},
    {.key = "physical", .set = set_physical},
    {0},
};

struct selector *config_read_selector(struct conf *conf, const struct conf_node *value)
{
	struct selector *selector = NEW0(struct selector);
	size_t errors = conf_error_count(conf);

	conf_read_map(conf, value, config_selector_fields, selector);
	if (conf_error_count(conf) == errors && selector_is_empty(selector))
		conf_error(conf, value, NULL, "chooses nothing: it has no keys");
	if (conf_error_count(conf) == errors)
		return selector;
	selector_fini(selector);
	free(selector);
	return NULL;
}

/* --- LinkAliasConfig --- */

static const char *check_alias(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                               const char **ret_hint)
{
	const char *percent = strchr(text, '%');

	if (percent != NULL && (percent == text || strcmp(percent, "%d") != 0)) {
		*ret_hint = "such as net%d";
		return "may have '%d' at its end, behind something, and no other '%'";
	}
	return config_check_ref(text, scratch, ret_hint);
}

static void set_match(struct conf *conf, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	struct config_alias *alias = slot;
	struct selector *selector = &alias->selector;
	const char *wrong;
	size_t at;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	if (expression_parse(value->text, &wrong, &at, &selector->match) < 0)
		conf_error(conf, value, NULL, "%s, at character %zu", wrong, at + 1);
	else
		selector->text = xstrdup(value->text);
}

static void set_unique(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct config_alias *alias = slot;
	bool unique = true;

	conf_set_bool(conf, field, value, &unique);
	alias->takes_first = !unique;
}

static void set_skip(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot UNUSED)
{
	bool skip = true;

	conf_set_bool(conf, field, value, &skip);
	if (!skip)
		conf_note(conf, value, NULL, "has no effect: a device has one alias, that which is first");
}

static const struct conf_field alias_selector_fields[] = {
    {.key = "match", .set = set_match, .flags = CONF_REQUIRED},
    {.key = "requireUniqueMatch", .set = set_unique},
    {.key = "skipAliasedLinks", .set = set_skip},
    {0},
};

#define ALIAS(member) offsetof(struct config_alias, member)
const struct conf_field config_alias_fields[] = {
    {.key = "name",
     .set = conf_set_string,
     .offset = ALIAS(name),
     .flags = CONF_REQUIRED,
     .check = check_alias},
    {.key = "selector",
     .set = conf_set_map,
     .flags = CONF_REQUIRED,
     .fields = alias_selector_fields},
    {0},
};

static bool has_alias(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_aliases; i++) {
		if (strcmp(config->aliases[i].name, name) == 0)
			return true;
	}
	return false;
}

void config_read_alias(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;
	struct config *config = &reading->config;
	struct config_alias alias = {.origin = config_origin(reading, document)};

	conf_read_map(conf, document, config_alias_fields, &alias);
	if (alias.name != NULL && has_alias(config, alias.name))
		conf_error(conf, conf_node_find(document, "name"), NULL, "is the name of two aliases");
	if (alias.name == NULL || alias.selector.match == NULL) {
		free(alias.name);
		selector_fini(&alias.selector);
		return;
	}
	config->aliases =
	    xreallocarray(config->aliases, config->n_aliases + 1, sizeof(*config->aliases));
	config->aliases[config->n_aliases++] = alias;
}
