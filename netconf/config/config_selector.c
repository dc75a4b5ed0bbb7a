/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to choose a link that say no name: deviceSelector, and a LinkAliasConfig that gives one.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "netconf/config/config_priv.h"

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
