/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of PrismConfig: every key, its type, its range, its default. docs/config.md and
 * fairlead.yaml(5) describe these keys, and a test holds them to it.
 */
#include "prism/config_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/mono.h"

#define MINUTES INT64_C(60) * US_PER_S
#define HOURS INT64_C(3600) * US_PER_S

#define REPLAY_BYTES_MAX 16384
#define CONNECTIONS_MAX 1000000

static const char *const when_down_names[] = {
    [CONFIG_WHEN_DOWN_RESET] = "reset",
    [CONFIG_WHEN_DOWN_REFUSE] = "refuse",
    NULL,
};

/* --- listeners and upstreams --- */

static void set_listener(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot)
{
	const char *wrong, *hint = NULL;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	wrong = config_parse_listener(value->text, slot, &hint);
	if (wrong != NULL)
		conf_error(conf, value, hint, "%s", wrong);
}

static void set_host(struct conf *conf, const struct conf_field *field UNUSED,
                     const struct conf_node *value, void *slot)
{
	const char *wrong, *hint = NULL;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	wrong = config_parse_host(value->text, CONFIG_API_PORT, slot, &hint);
	if (wrong != NULL)
		conf_error(conf, value, hint, "%s", wrong);
}

static void print_host(const struct conf_field *field, const void *slot, FILE *out)
{
	const struct config_host *host = slot;
	struct endpoint endpoint;

	if (config_host_is_address(host, &endpoint))
		conf_print_endpoint(field, &endpoint, out);
	else
		(void) fprintf(out, "\"%s:%u\"", host->name, host->port);
}

static const struct conf_type listener_type = {.set = set_listener, .print = conf_print_endpoint};
static const struct conf_type host_type = {.set = set_host, .print = print_host};

static void set_local(struct conf *conf, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	struct config_reading *reading =
	    CONTAINER_OF(slot, struct config_reading, config.sources.local);
	const char *wrong = NULL, *hint = NULL;
	struct config_host host;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	reading->local_at = value;
	if (strcmp(value->text, "auto") == 0) {
		reading->local = LOCAL_AUTO;
	} else if (strcmp(value->text, "off") == 0) {
		reading->local = LOCAL_OFF;
	} else if (endpoint_parse(value->text, CONFIG_API_PORT, slot) == 0) {
		reading->local = LOCAL_WRITTEN;
		wrong = config_parse_host(value->text, CONFIG_API_PORT, &host, &hint);
	} else {
		wrong = "must be auto, off or an address";
	}
	if (wrong != NULL)
		conf_error(conf, value, "such as 127.0.0.1:6443", "%s", wrong);
}

static void print_local(const struct conf_field *field, const void *slot, FILE *out)
{
	if (addr_is_set(&((const struct endpoint *) slot)->addr))
		conf_print_endpoint(field, slot, out);
	else
		conf_write_string(out, "off");
}

static const struct conf_type local_type = {.set = set_local, .print = print_local};

static bool has_members(const void *slot)
{
	const struct config_sources *sources = slot;

	return sources->members_file != NULL || sources->members_socket != NULL;
}

static bool has_slices(const void *slot)
{
	return ((const struct config_sources *) slot)->kubeconfig != NULL;
}

#define SOURCES(member) offsetof(struct config_sources, member)
#define READING(member) offsetof(struct config_reading, member)
static const struct conf_field members_fields[] = {
    CONF_ROW("file", conf_string, SOURCES(members_file), NULL, NULL, .check = config_check_file),
    CONF_ROW("socket", conf_string, SOURCES(members_socket), NULL, NULL,
             .check = config_check_socket),
    CONF_ROW("port", conf_u16, SOURCES(members_port), NULL, NULL, .min = 1, .max = UINT16_MAX),
    {0},
};

static const struct conf_field slices_fields[] = {
    CONF_ROW("kubeconfig", conf_string, SOURCES(kubeconfig), NULL, NULL,
             .flags = CONF_REQUIRED | CONF_SECRET, .check = config_check_file),
    CONF_ROW("interval", conf_duration, SOURCES(slices_interval_us), "30s", NULL, .min = US_PER_S,
             .max = 1 * HOURS),
    {0},
};

static const struct conf_field upstreams_fields[] = {
    CONF_ROW("static", conf_list, READING(config.sources.hosts), NULL, NULL, .item = &host_type,
             .size = sizeof(struct config_host),
             .count = READING(config.sources.n_hosts) - READING(config.sources.hosts),
             .max = CONFIG_UPSTREAMS_MAX),
    CONF_ROW("file", conf_string, READING(config.sources.file), NULL, NULL,
             .check = config_check_file),
    CONF_ROW("local", local_type, READING(config.sources.local), NULL, NULL),
    CONF_ROW("members", conf_map, READING(config.sources), NULL, NULL, .fields = members_fields,
             .is_set = has_members),
    CONF_ROW("endpointSlices", conf_map, READING(config.sources), NULL, NULL,
             .fields = slices_fields, .is_set = has_slices),
    {0},
};

/* --- healthCheck --- */

#define HEALTH(member) offsetof(struct config_health, member)
static const struct conf_field health_fields[] = {
    CONF_ROW("enabled", conf_bool, HEALTH(enabled), "true", NULL),
    CONF_ROW("path", conf_string, HEALTH(path), "/readyz", NULL, .check = config_check_url_path),
    CONF_ROW("serverName", conf_string, HEALTH(server_name), NULL, NULL,
             .check = conf_check_server_name),
    CONF_ROW("caFile", conf_string, HEALTH(ca_file), CONFIG_CA_FILE, NULL,
             .check = config_check_file),
    CONF_ROW("clientCertFile", conf_string, HEALTH(client_cert_file), NULL, NULL,
             .check = config_check_file),
    CONF_ROW("clientKeyFile", conf_string, HEALTH(client_key_file), NULL, NULL,
             .flags = CONF_SECRET, .check = config_check_file),
    {.key = "token",
     .flags = CONF_REFUSED,
     .refusal = "a token does not belong here, write it into a file and name that in tokenFile"},
    CONF_ROW("tokenFile", conf_string, HEALTH(token_file), NULL, NULL, .flags = CONF_SECRET,
             .check = config_check_file),
    CONF_ROW("interval", conf_duration, HEALTH(interval_us), "10s", NULL, .min = 100 * US_PER_MS,
             .max = 10 * MINUTES),
    CONF_ROW("quickInterval", conf_duration, HEALTH(quick_us), "2s", NULL, .min = 100 * US_PER_MS,
             .max = 10 * MINUTES),
    CONF_ROW("suspectInterval", conf_duration, HEALTH(suspect_us), "1s", NULL,
             .min = 100 * US_PER_MS, .max = 10 * MINUTES),
    CONF_ROW("timeout", conf_duration, HEALTH(timeout_us), "1s", NULL, .min = 50 * US_PER_MS,
             .max = 1 * MINUTES),
    CONF_ROW("rise", conf_unsigned, HEALTH(rise), "2", NULL, .min = 1, .max = 100),
    {0},
};

/* --- connections --- */

#define CONNECT(member) offsetof(struct config_connect, member)
static const struct conf_field connect_fields[] = {
    CONF_ROW("hedgeDelay", conf_duration, CONNECT(hedge_us), "250ms", NULL, .min = 10 * US_PER_MS,
             .max = 10 * US_PER_S),
    CONF_ROW("budget", conf_duration, CONNECT(budget_us), "3s", NULL, .min = 100 * US_PER_MS,
             .max = 1 * MINUTES),
    CONF_ROW("replayTimeout", conf_duration, CONNECT(replay_us), "2s", NULL, .flags = CONF_OR_ZERO,
             .min = 100 * US_PER_MS, .max = 1 * MINUTES),
    CONF_ROW("replayBytes", conf_size, CONNECT(replay_bytes), "16384", NULL, .min = 0,
             .max = REPLAY_BYTES_MAX),
    {0},
};

#define DRAIN(member) offsetof(struct config_drain, member)
static const struct conf_field drain_fields[] = {
    CONF_ROW("idle", conf_duration, DRAIN(idle_us), "2s", NULL, .min = 100 * US_PER_MS,
             .max = 1 * HOURS),
    CONF_ROW("spread", conf_duration, DRAIN(spread_us), "10s", NULL, .min = 0, .max = 1 * HOURS),
    CONF_ROW("deadline", conf_duration, DRAIN(deadline_us), "5m", NULL, .min = US_PER_S,
             .max = 24 * HOURS),
    {0},
};

#define LIMITS(member) offsetof(struct config_limits, member)
static const struct conf_field limits_fields[] = {
    CONF_ROW("maxConnections", conf_unsigned, LIMITS(max_connections), "0", NULL, .min = 0,
             .max = CONNECTIONS_MAX),
    CONF_ROW("idleTimeout", conf_duration, LIMITS(idle_us), "0", NULL, .flags = CONF_OR_ZERO,
             .min = US_PER_S, .max = 168 * HOURS),
    CONF_ROW("halfCloseTimeout", conf_duration, LIMITS(half_closed_us), "1m", NULL, .min = US_PER_S,
             .max = 1 * HOURS),
    CONF_ROW("maxAge", conf_duration, LIMITS(max_age_us), "0", NULL, .flags = CONF_OR_ZERO,
             .min = 1 * MINUTES, .max = 720 * HOURS),
    {0},
};

/* --- PrismConfig --- */

/* "" means: none. */
static void set_state_dir(struct conf *conf, const struct conf_field *field,
                          const struct conf_node *value, void *slot)
{
	char **string = slot;

	if (value->shape == CONF_SCALAR && value->quoted && value->text[0] == '\0') {
		free(*string);
		*string = xstrdup("");
	} else {
		conf_set_string(conf, field, value, slot);
	}
}

static void set_upstreams(struct conf *conf, const struct conf_field *field,
                          const struct conf_node *value, void *slot)
{
	if (value->shape == CONF_LIST)
		conf_error(conf, value, "a list of addresses is 'upstreams.static'",
		           "must be a map of keys, not a list");
	else
		conf_set_map(conf, field, value, slot);
}

static const struct conf_field prism_fields[] = {
    CONF_ROW("listen", conf_list, READING(config.listen), NULL, NULL, .flags = CONF_IN_PLACE,
             .item = &listener_type, .size = sizeof(struct endpoint),
             .count = READING(config.n_listen) - READING(config.listen), .min = 1,
             .max = CONFIG_LISTEN_MAX),
    CONF_ROW("upstreams", conf_map, 0, NULL, NULL, .set = set_upstreams,
             .fields = upstreams_fields),
    CONF_ROW("healthCheck", conf_map, READING(config.health), NULL, NULL, .fields = health_fields),
    CONF_ROW("connect", conf_map, READING(config.connect), NULL, NULL, .fields = connect_fields),
    CONF_ROW("drain", conf_map, READING(config.drain), NULL, NULL, .fields = drain_fields),
    CONF_ROW("limits", conf_map, READING(config.limits), NULL, NULL, .fields = limits_fields),
    CONF_ROW("whenDown", conf_choice, READING(config.when_down), "reset", NULL,
             .choices = when_down_names),
    CONF_ROW("stateDir", conf_string, READING(config.state_dir), "/var/lib/fairlead/prism", NULL,
             .set = set_state_dir, .check = config_check_file),
    {0},
};

/* --- the configuration --- */

/* The rows are of a struct config_reading, which begins with the configuration. */
void config_set_defaults(struct config *config)
{
	conf_set_defaults(prism_fields, config);
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	conf_strings_fini(&config->notes);
	conf_fini(prism_fields, config);
	free(config);
}

/* What came from Talos's documents or from the machine stands here as a PrismConfig would say it.
 */
void config_print(const struct config *config, FILE *out)
{
	nodeconf_print(NULL, NODECONF_PRISM, &config->metrics_at, out);
	conf_print_header(out, CONF_API_FAIRLEAD, "PrismConfig");
	conf_print(prism_fields, config, "", out);
}

static void read_prism(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;

	if (conf_is_only_one(conf, document, &reading->document))
		conf_read_map(conf, document, prism_fields, reading);
}

static void read_node(struct conf *conf, const struct conf_node *document, void *userdata)
{
	nodeconf_read(&((struct config_reading *) userdata)->node, conf, document);
}

/* --- all --- */

const struct conf_kind config_kinds[] = {
    {CONF_KIND_LEGACY, config_legacy_fields, config_read_legacy},
    {"KubePrismConfig", config_kubeprism_fields, config_read_kubeprism},
    {"KubeClusterConfig", config_cluster_fields, config_read_cluster},
    {"KubeAPIServerConfig", config_apiserver_fields, config_read_apiserver},
    {"NodeConfig", nodeconf_fields, read_node},
    {"PrismConfig", prism_fields, read_prism},
    {0},
};
