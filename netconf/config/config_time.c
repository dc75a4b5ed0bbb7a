/* SPDX-License-Identifier: Apache-2.0 */
/* Who tells the time, in either style: servers by the network, or PTP devices. */
#include "netconf/config/config_host.h"

#include <string.h>

#include "base/conf_check.h"
#include "base/macro.h"

#define TIME_SERVERS_MAX 16

static const char ptp_prefix[] = "/dev/ptp";

static const char *check_time_server(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                     const char **ret_hint)
{
	struct addr addr;

	if (addr_parse(text, &addr) >= 0)
		return NULL;
	if (config_check_dns_name(text, scratch, ret_hint) == NULL)
		return NULL;
	*ret_hint = "such as time.example.org or 10.0.0.1";
	return "is neither a DNS name nor an address";
}

static const char *check_ptp(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                             const char **ret_hint)
{
	*ret_hint = "such as /dev/ptp0";
	if (strncmp(text, ptp_prefix, strlen(ptp_prefix)) != 0 ||
	    strchr(text + strlen(ptp_prefix), '/') != NULL)
		return "is not a PTP device";
	return NULL;
}

static const char *check_legacy_server(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                       const char **ret_hint)
{
	return text[0] == '/' ? check_ptp(text, scratch, ret_hint)
	                      : check_time_server(text, scratch, ret_hint);
}

static void set_enabled(struct conf *conf, const struct conf_field *field,
                        const struct conf_node *value, void *slot)
{
	conf_set_bool(conf, field, value, &config_host_of(slot)->time_enabled);
}

static void set_disabled(struct conf *conf, const struct conf_field *field,
                         const struct conf_node *value, void *slot)
{
	bool disabled = false;

	conf_set_bool(conf, field, value, &disabled);
	config_host_of(slot)->time_enabled = !disabled;
}

static void set_boot_timeout(struct conf *conf, const struct conf_field *field UNUSED,
                             const struct conf_node *value, void *slot UNUSED)
{
	static const struct conf_field range = {.min = 0, .max = INT64_MAX};
	int64_t us = 0;

	conf_set_duration(conf, &range, value, &us);
	conf_note(conf, value, NULL, "has no effect: nothing waits for the time here");
}

static void set_time_servers(struct conf *conf, const struct conf_field *field,
                             const struct conf_node *value, void *slot)
{
	conf_set_strings(conf, field, value, &config_host_of(slot)->time_servers);
}

/* Of the services that it is written for, one knows no such thing. */
static void set_nts(struct conf *conf, const struct conf_field *field,
                    const struct conf_node *value, void *slot UNUSED)
{
	bool use = false;

	conf_set_bool(conf, field, value, &use);
	if (use)
		conf_error(conf, value, "set it up in the time service, and leave the servers out here",
		           "NTS is not supported");
}

static const struct conf_field ntp_fields[] = {
    {.key = "useNTS", .set = set_nts},
    {.key = "servers",
     .set = set_time_servers,
     .min = 0,
     .max = TIME_SERVERS_MAX,
     .check = check_time_server},
    {0},
};

static const struct conf_field ptp_fields[] = {
    {.key = "devices",
     .set = set_time_servers,
     .min = 0,
     .max = TIME_SERVERS_MAX,
     .check = check_ptp},
    {0},
};

const struct conf_field config_time_fields[] = {
    {.key = "enabled", .set = set_enabled},
    {.key = "bootTimeout", .set = set_boot_timeout},
    {.key = "ntp", .set = conf_set_map, .fields = ntp_fields},
    {.key = "ptp", .set = conf_set_map, .fields = ptp_fields},
    {0},
};

static void begin_time(struct config_reading *reading)
{
	config_host_of(reading)->has |= HOST_TIME;
	config_host_of(reading)->time_enabled = true;
}

void config_read_time(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;

	if (!config_is_first(reading, document, &reading->time, reading->legacy_time))
		return;
	begin_time(reading);
	if (conf_node_find(document, "ntp") != NULL && conf_node_find(document, "ptp") != NULL)
		conf_error(conf, document, NULL, "'ntp' and 'ptp' exclude each other");
	else
		conf_read_map(conf, document, config_time_fields, reading);
}

/* TimeSyncConfig has two lists for what is one here. */
static void set_legacy_servers(struct conf *conf, const struct conf_field *field,
                               const struct conf_node *value, void *slot)
{
	const struct conf_strings *servers = &config_host_of(slot)->time_servers;

	set_time_servers(conf, field, value, slot);
	for (size_t i = 1; i < servers->n; i++) {
		if ((servers->items[0][0] == '/') == (servers->items[i][0] == '/'))
			continue;
		conf_error(conf, value, NULL, "time servers and PTP devices exclude each other");
		return;
	}
}

const struct conf_field config_legacy_time_fields[] = {
    {.key = "disabled", .set = set_disabled},
    {.key = "servers",
     .set = set_legacy_servers,
     .min = 0,
     .max = TIME_SERVERS_MAX,
     .check = check_legacy_server},
    {.key = "bootTimeout", .set = set_boot_timeout},
    {0},
};

void config_set_legacy_time(struct conf *conf, const struct conf_field *field,
                            const struct conf_node *value, void *slot)
{
	struct config_reading *reading = slot;

	if (conf_node_is_null(value) ||
	    !config_is_first(reading, value, &reading->legacy_time, reading->time))
		return;
	begin_time(reading);
	conf_read_map(conf, value, field->fields, reading);
}
