/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, in either style: the host's own, who resolves others, /etc/hosts. As with Talos, the same
 * thing may not be said in both styles; only entries of /etc/hosts add up.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/macro.h"
#include "base/mem.h"
#include "netconf/config/config_priv.h"

#define RESOLVERS_MAX 16
#define SEARCH_MAX 32 /* resolv.conf(5): as many as fit into 256 characters */
#define HOST_NAMES_MAX 64

static struct host *config_host_of(struct config_reading *reading)
{
	return &reading->config.common->host;
}

/* A DNS name in either case. */
static const char *config_check_dns_name(const char *text,
                                         char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                         const char **ret_hint UNUSED)
{
	AUTO(free) char *lower = xstrdup(text);

	for (char *p = lower; *p != '\0'; p++)
		*p = (char) tolower((unsigned char) *p);
	if (strlen(text) > CONF_DNS_NAME_MAX || !conf_is_dns_name(lower))
		return "is not a DNS name";
	return NULL;
}

/* *document: where a thing has been said, other_style: the same of the other style; NULL: not yet.
 * True if it is new, and is noted; else reported. */
static bool config_is_first(struct config_reading *reading, const struct conf_node *at,
                            const struct conf_node **document, const struct conf_node *other_style)
{
	AUTO(free) char *origin = NULL;
	const struct conf_node *first = *document != NULL ? *document : other_style;

	if (first == NULL) {
		*document = at;
		return true;
	}
	origin = conf_origin(reading->conf, first);
	conf_error(reading->conf, at, "there may be one", "is said a second time, first at %s", origin);
	return false;
}

/* --- the name --- */

static void set_hostname(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot)
{
	struct host *host = config_host_of(slot);
	size_t label = value->shape == CONF_SCALAR ? strcspn(value->text, ".") : 0;
	char scratch[CONF_SCRATCH_BYTES];
	const char *wrong, *hint = NULL;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	wrong = config_check_dns_name(value->text, scratch, &hint);
	if (wrong == NULL && label > HOST_LABEL_MAX)
		wrong = "has a first part of more than 63 characters";
	if (wrong != NULL) {
		conf_error(conf, value, hint, "%s", wrong);
		return;
	}
	(void) snprintf(host->name, sizeof(host->name), "%.*s", (int) label, value->text);
	if (value->text[label] == '.')
		(void) snprintf(host->domain, sizeof(host->domain), "%s", value->text + label + 1);
	host->has |= HOST_NAME;
}

static void set_auto(struct conf *conf, const struct conf_field *field UNUSED,
                     const struct conf_node *value, void *slot UNUSED)
{
	static const char *const kinds[] = {"off", "stable", NULL};
	static const struct conf_field choice = {.choices = kinds};
	int chosen = 0;

	conf_set_choice(conf, &choice, value, &chosen);
	if (chosen == 1)
		conf_note(conf, value, NULL, "makes no name here: the machine keeps the one that it has");
}

const struct conf_field config_hostname_fields[] = {
    {.key = "hostname", .set = set_hostname},
    {.key = "auto", .set = set_auto},
    {0},
};

void config_read_hostname(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;
	const struct conf_node *automatic = conf_node_find(document, "auto");

	if (!config_is_first(reading, document, &reading->hostname, reading->legacy_hostname))
		return;
	conf_read_map(conf, document, config_hostname_fields, reading);
	if (conf_node_find(document, "hostname") == NULL && automatic == NULL)
		conf_error(conf, document, NULL, "has neither 'hostname' nor 'auto'");
	if (conf_node_find(document, "hostname") != NULL && automatic != NULL &&
	    strcmp(automatic->shape == CONF_SCALAR ? automatic->text : "", "stable") == 0)
		conf_error(conf, automatic, NULL, "'hostname' and 'auto: stable' exclude each other");
}

void config_set_legacy_hostname(struct conf *conf, const struct conf_field *field,
                                const struct conf_node *value, void *slot)
{
	struct config_reading *reading = slot;

	if (config_is_first(reading, value, &reading->legacy_hostname, reading->hostname))
		set_hostname(conf, field, value, reading);
}

/* --- resolvers --- */

static void add_resolver(struct config_reading *reading, const struct conf_node *value)
{
	struct host *host = config_host_of(reading);
	struct addr addr = {0};

	config_set_addr(reading->conf, NULL, value, &addr);
	if (!addr_is_set(&addr))
		return;
	if (addr_is_unspecified(&addr)) {
		conf_error(reading->conf, value, NULL, "is the unspecified address");
		return;
	}
	for (size_t i = 0; i < host->n_resolvers; i++) {
		if (addr_equal(&host->resolvers[i], &addr)) {
			conf_error(reading->conf, value, NULL, "is there twice");
			return;
		}
	}
	host_add_resolver(host, &addr);
}

static void set_server(struct conf *conf UNUSED, const struct conf_field *field UNUSED,
                       const struct conf_node *value, void *slot)
{
	add_resolver(slot, value);
}

static void set_protocol(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot UNUSED)
{
	static const char *const protocols[] = {"Do53", "DoT", "DoH", NULL};
	static const struct conf_field choice = {.choices = protocols};
	int chosen = 0;

	conf_set_choice(conf, &choice, value, &chosen);
	if (chosen != 0)
		conf_error(conf, value, "configure systemd-resolved for it",
		           "encrypted DNS is not supported");
}

static const struct conf_field server_fields[] = {
    {.key = "address", .set = set_server, .flags = CONF_REQUIRED},
    {.key = "protocol", .set = set_protocol},
    {.key = "tlsServerName", .flags = CONF_REFUSED, .refusal = "encrypted DNS is not supported"},
    {0},
};

static void read_server(struct conf *conf, const struct conf_node *item, void *userdata)
{
	conf_read_map(conf, item, server_fields, userdata);
}

static void set_servers(struct conf *conf, const struct conf_field *field UNUSED,
                        const struct conf_node *value, void *slot)
{
	config_host_of(slot)->has |= HOST_RESOLVERS;
	conf_read_list(conf, value, RESOLVERS_MAX, read_server, slot);
}

static void set_search(struct conf *conf, const struct conf_field *field UNUSED,
                       const struct conf_node *value, void *slot)
{
	static const struct conf_field domains = {
	    .min = 0, .max = SEARCH_MAX, .check = config_check_dns_name};

	conf_set_strings(conf, &domains, value, &config_host_of(slot)->search);
	config_host_of(slot)->has |= HOST_SEARCH;
}

static void set_no_search(struct conf *conf, const struct conf_field *field,
                          const struct conf_node *value, void *slot)
{
	conf_set_bool(conf, field, value, &((struct config_reading *) slot)->config.no_default_search);
}

static const struct conf_field search_fields[] = {
    {.key = "domains", .set = set_search},
    {.key = "disableDefault", .set = set_no_search},
    {0},
};

const struct conf_field config_resolver_fields[] = {
    {.key = "nameservers", .set = set_servers, .fields = server_fields},
    {.key = "searchDomains", .set = conf_set_map, .fields = search_fields},
    {.key = "hostDNS", .flags = CONF_PASS}, /* Talos's own name server */
    {0},
};

void config_read_resolver(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;

	if (config_is_first(reading, document, &reading->resolver, reading->legacy_resolver))
		conf_read_map(conf, document, config_resolver_fields, reading);
}

/* The older style says it in three keys. */
static bool is_resolver_free(struct config_reading *reading, const struct conf_node *value)
{
	if (reading->resolver != NULL)
		return config_is_first(reading, value, &reading->resolver, NULL);
	reading->legacy_resolver = value;
	return true;
}

static void read_legacy_server(struct conf *conf UNUSED, const struct conf_node *item,
                               void *userdata)
{
	add_resolver(userdata, item);
}

void config_set_legacy_nameservers(struct conf *conf, const struct conf_field *field UNUSED,
                                   const struct conf_node *value, void *slot)
{
	if (!is_resolver_free(slot, value))
		return;
	config_host_of(slot)->has |= HOST_RESOLVERS;
	conf_read_list(conf, value, RESOLVERS_MAX, read_legacy_server, slot);
}

void config_set_legacy_search(struct conf *conf, const struct conf_field *field,
                              const struct conf_node *value, void *slot)
{
	if (is_resolver_free(slot, value))
		set_search(conf, field, value, slot);
}

void config_set_legacy_no_search(struct conf *conf, const struct conf_field *field,
                                 const struct conf_node *value, void *slot)
{
	if (is_resolver_free(slot, value))
		set_no_search(conf, field, value, slot);
}

/* --- /etc/hosts --- */

struct entry_draft {
	const struct conf_node *addr_at;
	struct addr addr;
	struct conf_strings names;
};

#define ENTRY(member) offsetof(struct entry_draft, member)

static void set_entry_addr(struct conf *conf, const struct conf_field *field,
                           const struct conf_node *value, void *slot)
{
	struct entry_draft *entry = slot;

	entry->addr_at = value;
	config_set_addr(conf, field, value, &entry->addr);
}

const struct conf_field config_static_host_fields[] = {
    {.key = "name", .set = set_entry_addr, .flags = CONF_REQUIRED},
    {.key = "hostnames",
     .set = conf_set_strings,
     .offset = ENTRY(names),
     .flags = CONF_REQUIRED,
     .min = 1,
     .max = HOST_NAMES_MAX,
     .check = config_check_dns_name},
    {0},
};

const struct conf_field config_extra_host_fields[] = {
    {.key = "ip", .set = set_entry_addr, .flags = CONF_REQUIRED},
    {.key = "aliases",
     .set = conf_set_strings,
     .offset = ENTRY(names),
     .flags = CONF_REQUIRED,
     .min = 1,
     .max = HOST_NAMES_MAX,
     .check = config_check_dns_name},
    {0},
};

static bool has_text(const struct conf_strings *strings, const char *text)
{
	for (size_t i = 0; i < strings->n; i++) {
		if (strcasecmp(strings->items[i], text) == 0)
			return true;
	}
	return false;
}

/* Two entries of one address are one line. */
static void add_entry(struct config_reading *reading, struct entry_draft *entry)
{
	struct host_entry *known;

	if (addr_is_set(&entry->addr) && entry->names.n > 0) {
		known = host_add_entry(config_host_of(reading), &entry->addr);
		for (size_t i = 0; i < entry->names.n; i++) {
			if (!has_text(&known->names, entry->names.items[i]))
				host_add_text(&known->names, entry->names.items[i]);
		}
		config_host_of(reading)->has |= HOST_ENTRIES;
	}
	conf_strings_fini(&entry->names);
}

void config_read_static_host(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct entry_draft entry = {0};

	conf_read_map(conf, document, config_static_host_fields, &entry);
	add_entry(userdata, &entry);
}

static void read_extra_host(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct entry_draft entry = {0};

	conf_read_map(conf, item, config_extra_host_fields, &entry);
	add_entry(userdata, &entry);
}

void config_set_extra_hosts(struct conf *conf, const struct conf_field *field UNUSED,
                            const struct conf_node *value, void *slot)
{
	conf_read_list(conf, value, CONF_MAP_KEYS_MAX, read_extra_host, slot);
}

/* --- the whole --- */

/* As with Talos: who is called cp1.example.org finds cp2 of example.org by its short name. */
void config_finish_host(struct config_reading *reading)
{
	struct host *host = config_host_of(reading);

	if ((host->has & HOST_SEARCH) != 0 || reading->config.no_default_search ||
	    host->domain[0] == '\0')
		return;
	host_add_text(&host->search, host->domain);
	host->has |= HOST_SEARCH;
}

/* --- time --- */

/* Who tells the time, in either style: servers by the network, or PTP devices. */

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
