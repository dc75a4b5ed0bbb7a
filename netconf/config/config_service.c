/* SPDX-License-Identifier: Apache-2.0 */
/* What is done about links that the kernel alone does not do: DHCP, ethtool's settings, probes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/printable.h"
#include "netconf/config/config_priv.h"

/* --- DHCPv4Config, DHCPv6Config --- */

static const char *const client_ids[] = {
    [CONFIG_CLIENT_ID_NONE] = "none",
    [CONFIG_CLIENT_ID_MAC] = "mac",
    [CONFIG_CLIENT_ID_DUID] = "duid",
    NULL,
};

/* RFC 8415, section 11.1: 2 bytes of type and up to 128 more. */
#define DUID_BYTES_MAX 130

static const char *check_duid(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                              const char **ret_hint)
{
	size_t len = strlen(text);

	*ret_hint = "such as 00:03:00:01:02:00:00:00:00:01";
	if (len % 3 != 2 || len < 5 || len > DUID_BYTES_MAX * 3)
		return "is not a DUID";
	for (size_t i = 0; i < len; i++) {
		if (i % 3 == 2 ? text[i] != ':' : !isxdigit((unsigned char) text[i]))
			return "is not a DUID";
	}
	return NULL;
}

static bool is_true(const void *slot)
{
	return *(const bool *) slot;
}

#define DHCP(member) offsetof(struct config_dhcp, member)
const struct conf_field config_dhcp_fields[] = {
    CONF_ROW("name", conf_string, DHCP(ref.name), NULL, NULL, .flags = CONF_REQUIRED,
             .check = config_check_ref),
    CONF_ROW("routeMetric", conf_unsigned, DHCP(metric), "1024", NULL, .min = 1, .max = UINT32_MAX),
    CONF_ROW("ignoreHostname", conf_bool, DHCP(ignore_hostname), NULL, NULL, .is_set = is_true),
    CONF_ROW("clientIdentifier", conf_choice, DHCP(client_id), "mac", NULL, .choices = client_ids),
    CONF_ROW("duidRaw", conf_string, DHCP(duid), NULL, NULL, .check = check_duid),
    {0},
};

void config_add_dhcp(struct config_reading *reading, const struct config_dhcp *dhcp,
                     const struct conf_node *at)
{
	struct config *config = &reading->config;

	config->dhcps = xreallocarray(config->dhcps, config->n_dhcps + 1, sizeof(*config->dhcps));
	reading->dhcps = xreallocarray(reading->dhcps, config->n_dhcps + 1, sizeof(*reading->dhcps));
	config->dhcps[config->n_dhcps] = *dhcp;
	reading->dhcps[config->n_dhcps] = config_place(reading, at);
	config->n_dhcps++;
}

static void read_dhcp(struct conf *conf, const struct conf_node *document,
                      struct config_reading *reading, sa_family_t family)
{
	struct config_dhcp dhcp = {
	    .family = family,
	    .origin = config_origin(reading, document),
	};

	conf_set_defaults(config_dhcp_fields, &dhcp);
	conf_read_map(conf, document, config_dhcp_fields, &dhcp);
	if (dhcp.client_id == CONFIG_CLIENT_ID_DUID && conf_node_find(document, "duidRaw") == NULL)
		conf_error(conf, document, NULL, "'clientIdentifier: duid' needs 'duidRaw'");
	if (dhcp.client_id != CONFIG_CLIENT_ID_DUID && dhcp.duid != NULL)
		conf_error(conf, conf_node_find(document, "duidRaw"), NULL,
		           "'duidRaw' needs 'clientIdentifier: duid'");
	if (dhcp.ref.name != NULL) {
		config_add_dhcp(reading, &dhcp, document);
		return;
	}
	free(dhcp.duid);
}

void config_read_dhcp4(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_dhcp(conf, document, userdata, AF_INET);
}

void config_read_dhcp6(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_dhcp(conf, document, userdata, AF_INET6);
}

/* --- EthernetConfig --- */

#define SETTING_MAX 1000000
#define FEATURE_BYTES_MAX 31 /* ETH_GSTRING_LEN and its NUL */

static void set_setting(struct conf *conf, const struct conf_field *field,
                        const struct conf_node *value, void *slot)
{
	struct ethernet *ethernet = &((struct config_ethernet *) slot)->ethernet;
	enum ethernet_setting setting = (enum ethernet_setting) field->min;
	size_t errors = conf_error_count(conf);
	bool flag = false;

	if (ethernet_settings[setting].is_bool) {
		conf_set_bool(conf, field, value, &flag);
		ethernet->values[setting] = flag;
	} else {
		(void) config_read_u32(conf, value, 0, SETTING_MAX, &ethernet->values[setting]);
	}
	if (conf_error_count(conf) == errors)
		ethernet->has |= 1u << setting;
}

#define ROW(name, number)                              \
	{                                                  \
		.key = name, .set = set_setting, .min = number \
	}

static const struct conf_field rings_fields[] = {
    ROW("rx", ETHERNET_RING_RX),
    ROW("tx", ETHERNET_RING_TX),
    ROW("rx-mini", ETHERNET_RING_RX_MINI),
    ROW("rx-jumbo", ETHERNET_RING_RX_JUMBO),
    ROW("rx-buf-len", ETHERNET_RING_RX_BUF_LEN),
    ROW("cqe-size", ETHERNET_RING_CQE_SIZE),
    ROW("tx-push", ETHERNET_RING_TX_PUSH),
    ROW("rx-push", ETHERNET_RING_RX_PUSH),
    ROW("tx-push-buf-len", ETHERNET_RING_TX_PUSH_BUF_LEN),
    ROW("tcp-data-split", ETHERNET_RING_TCP_DATA_SPLIT),
    {0},
};

static const struct conf_field channels_fields[] = {
    ROW("rx", ETHERNET_CHANNELS_RX),
    ROW("tx", ETHERNET_CHANNELS_TX),
    ROW("other", ETHERNET_CHANNELS_OTHER),
    ROW("combined", ETHERNET_CHANNELS_COMBINED),
    {0},
};

static void read_wake_mode(struct conf *conf, const struct conf_node *item, void *userdata)
{
	const struct conf_field choice = {.choices = ethernet_wake_modes};
	struct ethernet *ethernet = userdata;
	int chosen = -1;

	conf_set_choice(conf, &choice, item, &chosen);
	if (chosen >= 0)
		ethernet->wake |= 1u << chosen;
}

static void set_wake(struct conf *conf, const struct conf_field *field UNUSED,
                     const struct conf_node *value, void *slot)
{
	struct ethernet *ethernet = &((struct config_ethernet *) slot)->ethernet;

	ethernet->has_wake = true;
	conf_read_list(conf, value, 32, read_wake_mode, ethernet);
}

/* The driver knows which there are. */
static bool is_feature_name(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && len <= FEATURE_BYTES_MAX &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == len;
}

static void set_features(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot)
{
	struct ethernet *ethernet = &((struct config_ethernet *) slot)->ethernet;

	if (!conf_expect(conf, value, CONF_MAP))
		return;
	for (size_t i = 0; i < value->n; i++) {
		size_t before = conf_enter(conf, "%s", value->keys[i]->text), errors;
		bool on = false;

		errors = conf_error_count(conf);
		if (!is_feature_name(value->keys[i]->text))
			conf_error(conf, value->keys[i], "such as tx-tcp-segmentation",
			           "is not the name of a feature");
		conf_set_bool(conf, field, value->values[i], &on);
		if (conf_error_count(conf) == errors)
			ethernet_add_feature(ethernet, value->keys[i]->text, on);
		conf_leave(conf, before);
	}
}

const struct conf_field config_ethernet_fields[] = {
    {.key = "name",
     .set = conf_set_string,
     .offset = offsetof(struct config_ethernet, ref.name),
     .flags = CONF_REQUIRED,
     .check = config_check_ref},
    {.key = "features", .set = set_features},
    {.key = "rings", .set = conf_set_map, .fields = rings_fields},
    {.key = "channels", .set = conf_set_map, .fields = channels_fields},
    {.key = "wakeOnLan", .set = set_wake},
    {0},
};

static bool has_ethernet(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_ethernets; i++) {
		if (strcmp(config->ethernets[i].ref.name, name) == 0)
			return true;
	}
	return false;
}

void config_read_ethernet(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;
	struct config *config = &reading->config;
	struct config_ethernet ethernet = {.origin = config_origin(reading, document)};

	conf_read_map(conf, document, config_ethernet_fields, &ethernet);
	if (ethernet.ref.name != NULL && has_ethernet(config, ethernet.ref.name))
		conf_error(conf, conf_node_find(document, "name"), NULL, "has two documents of this kind");
	if (ethernet.ref.name == NULL) {
		ethernet_fini(&ethernet.ethernet);
		return;
	}
	config->ethernets =
	    xreallocarray(config->ethernets, config->n_ethernets + 1, sizeof(*config->ethernets));
	config->ethernets[config->n_ethernets++] = ethernet;
}

static void print_settings(FILE *out, const struct ethernet *ethernet, const char *section)
{
	bool begun = false;

	for (enum ethernet_setting i = 0; i < ETHERNET_SETTINGS; i++) {
		const struct ethernet_setting_info *info = &ethernet_settings[i];

		if ((ethernet->has & (1u << i)) == 0 || strcmp(info->section, section) != 0)
			continue;
		if (!begun)
			(void) fprintf(out, "%s:\n", section);
		begun = true;
		if (info->is_bool)
			(void) fprintf(out, "  %s: %s\n", info->key, ethernet->values[i] ? "true" : "false");
		else
			(void) fprintf(out, "  %s: %u\n", info->key, ethernet->values[i]);
	}
}

void config_print_ethernet(const struct config_ethernet *config, FILE *out)
{
	const struct ethernet *ethernet = &config->ethernet;

	conf_print_header(out, CONF_API_TALOS, "EthernetConfig");
	conf_print_string(out, "name", config->ref.name);
	if (ethernet->n_features > 0)
		(void) fputs("features:\n", out);
	for (size_t i = 0; i < ethernet->n_features; i++) {
		(void) fputs("  ", out);
		conf_write_string(out, ethernet->features[i].name);
		(void) fprintf(out, ": %s\n", ethernet->features[i].on ? "true" : "false");
	}
	print_settings(out, ethernet, "rings");
	print_settings(out, ethernet, "channels");
	if (!ethernet->has_wake)
		return;
	(void) fprintf(out, "wakeOnLan:%s\n", ethernet->wake == 0 ? " []" : "");
	for (unsigned i = 0; ethernet_wake_modes[i] != NULL; i++) {
		if ((ethernet->wake & (1u << i)) != 0)
			(void) fprintf(out, "  - %s\n", ethernet_wake_modes[i]);
	}
}

/* --- TCPProbeConfig, HTTPProbeConfig --- */

#define PROBE_NAME_MAX 63

static const char *check_probe_name(const char *text,
                                    char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                    const char **ret_hint UNUSED)
{
	if (strlen(text) > PROBE_NAME_MAX)
		return "is longer than 63 characters";
	for (const char *p = text; *p != '\0'; p++) {
		if (isspace((unsigned char) *p) || *p == '"')
			return "has a space or a quote in it";
	}
	return NULL;
}

/* host:port, the host by name or by address. */
static const char *check_endpoint(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                  const char **ret_hint)
{
	const char *colon = strrchr(text, ':'), *hint = NULL;
	AUTO(free) char *host = NULL;
	struct endpoint endpoint;
	int64_t port;

	*ret_hint = "such as proxy.example.org:3128 or [fd00::1]:3128";
	if (endpoint_parse(text, 0, &endpoint) >= 0)
		return NULL;
	if (colon == NULL || conf_parse_int(colon + 1, &port) < 0 || port < 1 || port > UINT16_MAX)
		return "has no valid port";
	host = xstrndup(text, (size_t) (colon - text));
	for (char *p = host; *p != '\0'; p++)
		*p = (char) tolower((unsigned char) *p);
	return conf_check_server_name(host, scratch, &hint) == NULL
	           ? NULL
	           : "has a host that is neither a DNS name nor an address";
}

static const char *check_url(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                             const char **ret_hint)
{
	const char *host = strstr(text, "://");

	*ret_hint = "such as https://example.org/healthz";
	if (strncmp(text, "http://", 7) != 0 && strncmp(text, "https://", 8) != 0)
		return "does not begin with http:// or https://";
	if (host[3] == '\0' || strchr("/?#:", host[3]) != NULL)
		return "has no host";
	if (memchr(host + 3, '@', strcspn(host + 3, "/?#")) != NULL)
		return "has a user name in it";
	if (!printable_is_word(text))
		return "has a space or a character beyond ASCII";
	(void) scratch;
	return NULL;
}

#define PROBE(member) offsetof(struct config_probe, member)
#define PROBE_NAME                                                                 \
	CONF_ROW("name", conf_string, PROBE(name), NULL, NULL, .flags = CONF_REQUIRED, \
	         .check = check_probe_name)
#define PROBE_TIMES                                                                                \
	CONF_ROW("interval", conf_duration, PROBE(interval_us), "1s", NULL, .min = 100 * US_PER_MS,    \
	         .max = 3600 * US_PER_S),                                                              \
	    CONF_ROW("timeout", conf_duration, PROBE(timeout_us), "10s", NULL, .min = 100 * US_PER_MS, \
	             .max = 60 * US_PER_S),                                                            \
	    CONF_ROW("failureThreshold", conf_unsigned, PROBE(failure_threshold), NULL, NULL,          \
	             .max = 1000)

const struct conf_field config_tcp_probe_fields[] = {
    PROBE_NAME,
    CONF_ROW("endpoint", conf_string, PROBE(endpoint), NULL, NULL, .flags = CONF_REQUIRED,
             .check = check_endpoint),
    PROBE_TIMES,
    {0},
};

const struct conf_field config_http_probe_fields[] = {
    PROBE_NAME,
    CONF_ROW("url", conf_string, PROBE(url), NULL, NULL, .flags = CONF_REQUIRED,
             .check = check_url),
    PROBE_TIMES,
    {0},
};

static bool has_probe(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_probes; i++) {
		if (strcmp(config->probes[i].name, name) == 0)
			return true;
	}
	return false;
}

static void read_probe(struct conf *conf, const struct conf_node *document,
                       struct config_reading *reading, const struct conf_field *fields)
{
	struct config *config = &reading->config;
	struct config_probe probe = {.origin = config_origin(reading, document)};

	conf_set_defaults(fields, &probe);
	conf_read_map(conf, document, fields, &probe);
	if (probe.name != NULL && has_probe(config, probe.name))
		conf_error(conf, conf_node_find(document, "name"), NULL, "is the name of two probes");
	if (probe.name == NULL || (probe.endpoint == NULL && probe.url == NULL)) {
		conf_fini(fields, &probe);
		return;
	}
	config->probes = xreallocarray(config->probes, config->n_probes + 1, sizeof(*config->probes));
	config->probes[config->n_probes++] = probe;
}

void config_read_tcp_probe(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_probe(conf, document, userdata, config_tcp_probe_fields);
}

void config_read_http_probe(struct conf *conf, const struct conf_node *document, void *userdata)
{
	read_probe(conf, document, userdata, config_http_probe_fields);
}
