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
