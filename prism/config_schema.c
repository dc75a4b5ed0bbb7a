/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of PrismConfig: every key, its type, its range. docs/config.md and fairlead.yaml(5)
 * describe these keys, and a test holds them to it.
 */
#include "prism/config_priv.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/mono.h"

#define MINUTES INT64_C(60) * US_PER_S
#define HOURS INT64_C(3600) * US_PER_S

#define API_PORT 6443
#define REPLAY_BYTES_MAX 16384
#define CONNECTIONS_MAX 1000000

const char *const config_when_down_names[] = {
    [CONFIG_WHEN_DOWN_RESET] = "reset",
    [CONFIG_WHEN_DOWN_REFUSE] = "refuse",
    NULL,
};

#define READING(member) offsetof(struct config_reading, member)

/* --- listeners and upstreams --- */

/* The list's items, if it is one and not longer than field->max. */
static size_t list_length(struct conf *conf, const struct conf_field *field,
                          const struct conf_node *value)
{
	if (!conf_expect(conf, value, CONF_LIST))
		return 0;
	if ((int64_t) value->n < field->min || (int64_t) value->n > field->max) {
		conf_error(conf, value, NULL, "must have %lld to %lld items, has %zu",
		           (long long) field->min, (long long) field->max, value->n);
		return 0;
	}
	return value->n;
}

static void set_listen(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct config_reading *reading = slot;
	size_t n = list_length(conf, field, value);

	for (size_t i = 0; i < n; i++) {
		const struct conf_node *item = value->values[i];
		size_t before = conf_enter(conf, "[%zu]", i);
		const char *wrong, *hint = NULL;
		struct endpoint endpoint;

		if (conf_expect(conf, item, CONF_SCALAR)) {
			wrong = config_parse_listener(item->text, &endpoint, &hint);
			if (wrong != NULL) {
				conf_error(conf, item, hint, "%s", wrong);
			} else {
				reading->listen_at[reading->config.n_listen] = item;
				reading->listen_item[reading->config.n_listen] = i;
				reading->config.listen[reading->config.n_listen++] = endpoint;
			}
		}
		conf_leave(conf, before);
	}
}

static void set_static(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct config_reading *reading = slot;
	size_t n = list_length(conf, field, value);

	reading->hosts = xcalloc(n, sizeof(*reading->hosts));
	for (size_t i = 0; i < n; i++) {
		const struct conf_node *item = value->values[i];
		size_t before = conf_enter(conf, "[%zu]", i);
		const char *wrong, *hint = NULL;
		struct config_host host;

		if (conf_expect(conf, item, CONF_SCALAR)) {
			wrong = config_parse_host(item->text, API_PORT, &host, &hint);
			if (wrong != NULL)
				conf_error(conf, item, hint, "%s", wrong);
			else
				reading->hosts[reading->n_hosts++] =
				    (struct written_host){host, item, xstrdup(conf_path(conf))};
		}
		conf_leave(conf, before);
	}
}

static void set_local(struct conf *conf, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	struct config_reading *reading = slot;
	const char *wrong = NULL, *hint = NULL;
	struct config_host host;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	reading->local_at = value;
	if (strcmp(value->text, "auto") == 0) {
		reading->local = LOCAL_AUTO;
	} else if (strcmp(value->text, "off") == 0) {
		reading->local = LOCAL_OFF;
	} else if (endpoint_parse(value->text, API_PORT, &reading->config.sources.local) == 0) {
		reading->local = LOCAL_WRITTEN;
		wrong = config_parse_host(value->text, API_PORT, &host, &hint);
	} else {
		wrong = "must be auto, off or an address";
	}
	if (wrong != NULL)
		conf_error(conf, value, "such as 127.0.0.1:6443", "%s", wrong);
}

static void set_port(struct conf *conf, const struct conf_field *field,
                     const struct conf_node *value, void *slot)
{
	unsigned port = 0;

	conf_set_unsigned(conf, field, value, &port);
	if (port > 0)
		*(uint16_t *) slot = (uint16_t) port;
}

#define SOURCES(member) offsetof(struct config_sources, member)
static const struct conf_field members_fields[] = {
    {.key = "file",
     .set = conf_set_string,
     .offset = SOURCES(members_file),
     .check = config_check_file},
    {.key = "socket",
     .set = conf_set_string,
     .offset = SOURCES(members_socket),
     .check = config_check_socket},
    {.key = "port", .set = set_port, .offset = SOURCES(members_port), .min = 1, .max = UINT16_MAX},
    {0},
};

static const struct conf_field slices_fields[] = {
    {.key = "kubeconfig",
     .set = conf_set_string,
     .offset = SOURCES(kubeconfig),
     .flags = CONF_REQUIRED | CONF_SECRET,
     .check = config_check_file},
    {.key = "interval",
     .set = conf_set_duration,
     .offset = SOURCES(slices_interval_us),
     .min = US_PER_S,
     .max = 1 * HOURS},
    {0},
};

static const struct conf_field upstreams_fields[] = {
    {.key = "static", .set = set_static, .offset = 0, .min = 0, .max = CONFIG_UPSTREAMS_MAX},
    {.key = "file",
     .set = conf_set_string,
     .offset = READING(config.sources.file),
     .check = config_check_file},
    {.key = "local", .set = set_local, .offset = 0},
    {.key = "members",
     .set = conf_set_map,
     .offset = READING(config.sources),
     .fields = members_fields},
    {.key = "endpointSlices",
     .set = conf_set_map,
     .offset = READING(config.sources),
     .fields = slices_fields},
    {0},
};

/* --- healthCheck --- */

#define HEALTH(member) offsetof(struct config_health, member)
static const struct conf_field health_fields[] = {
    {.key = "enabled", .set = conf_set_bool, .offset = HEALTH(enabled)},
    {.key = "path", .set = conf_set_string, .offset = HEALTH(path), .check = config_check_url_path},
    {.key = "serverName",
     .set = conf_set_string,
     .offset = HEALTH(server_name),
     .check = conf_check_server_name},
    {.key = "caFile",
     .set = conf_set_string,
     .offset = HEALTH(ca_file),
     .check = config_check_file},
    {.key = "clientCertFile",
     .set = conf_set_string,
     .offset = HEALTH(client_cert_file),
     .check = config_check_file},
    {.key = "clientKeyFile",
     .set = conf_set_string,
     .offset = HEALTH(client_key_file),
     .flags = CONF_SECRET,
     .check = config_check_file},
    {.key = "token",
     .flags = CONF_REFUSED,
     .refusal = "a token does not belong here, write it into a file and name that in tokenFile"},
    {.key = "tokenFile",
     .set = conf_set_string,
     .offset = HEALTH(token_file),
     .flags = CONF_SECRET,
     .check = config_check_file},
    {.key = "interval",
     .set = conf_set_duration,
     .offset = HEALTH(interval_us),
     .min = 100 * US_PER_MS,
     .max = 10 * MINUTES},
    {.key = "quickInterval",
     .set = conf_set_duration,
     .offset = HEALTH(quick_us),
     .min = 100 * US_PER_MS,
     .max = 10 * MINUTES},
    {.key = "suspectInterval",
     .set = conf_set_duration,
     .offset = HEALTH(suspect_us),
     .min = 100 * US_PER_MS,
     .max = 10 * MINUTES},
    {.key = "timeout",
     .set = conf_set_duration,
     .offset = HEALTH(timeout_us),
     .min = 50 * US_PER_MS,
     .max = 1 * MINUTES},
    {.key = "rise", .set = conf_set_unsigned, .offset = HEALTH(rise), .min = 1, .max = 100},
    {0},
};

/* --- connections --- */

static void set_bytes(struct conf *conf, const struct conf_field *field,
                      const struct conf_node *value, void *slot)
{
	unsigned bytes = UINT_MAX;

	conf_set_unsigned(conf, field, value, &bytes);
	if (bytes != UINT_MAX)
		*(size_t *) slot = bytes;
}

#define CONNECT(member) offsetof(struct config_connect, member)
static const struct conf_field connect_fields[] = {
    {.key = "hedgeDelay",
     .set = conf_set_duration,
     .offset = CONNECT(hedge_us),
     .min = 10 * US_PER_MS,
     .max = 10 * US_PER_S},
    {.key = "budget",
     .set = conf_set_duration,
     .offset = CONNECT(budget_us),
     .min = 100 * US_PER_MS,
     .max = 1 * MINUTES},
    {.key = "replayTimeout",
     .set = conf_set_duration,
     .flags = CONF_OR_ZERO,
     .offset = CONNECT(replay_us),
     .min = 100 * US_PER_MS,
     .max = 1 * MINUTES},
    {.key = "replayBytes",
     .set = set_bytes,
     .offset = CONNECT(replay_bytes),
     .min = 0,
     .max = REPLAY_BYTES_MAX},
    {0},
};

#define DRAIN(member) offsetof(struct config_drain, member)
static const struct conf_field drain_fields[] = {
    {.key = "idle",
     .set = conf_set_duration,
     .offset = DRAIN(idle_us),
     .min = 100 * US_PER_MS,
     .max = 1 * HOURS},
    {.key = "spread",
     .set = conf_set_duration,
     .offset = DRAIN(spread_us),
     .min = 0,
     .max = 1 * HOURS},
    {.key = "deadline",
     .set = conf_set_duration,
     .offset = DRAIN(deadline_us),
     .min = US_PER_S,
     .max = 24 * HOURS},
    {0},
};

#define LIMITS(member) offsetof(struct config_limits, member)
static const struct conf_field limits_fields[] = {
    {.key = "maxConnections",
     .set = conf_set_unsigned,
     .offset = LIMITS(max_connections),
     .min = 0,
     .max = CONNECTIONS_MAX},
    {.key = "idleTimeout",
     .set = conf_set_duration,
     .flags = CONF_OR_ZERO,
     .offset = LIMITS(idle_us),
     .min = US_PER_S,
     .max = 168 * HOURS},
    {.key = "halfCloseTimeout",
     .set = conf_set_duration,
     .offset = LIMITS(half_closed_us),
     .min = US_PER_S,
     .max = 1 * HOURS},
    {.key = "maxAge",
     .set = conf_set_duration,
     .flags = CONF_OR_ZERO,
     .offset = LIMITS(max_age_us),
     .min = 1 * MINUTES,
     .max = 720 * HOURS},
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
    {.key = "listen", .set = set_listen, .offset = 0, .min = 1, .max = CONFIG_LISTEN_MAX},
    {.key = "upstreams", .set = set_upstreams, .offset = 0, .fields = upstreams_fields},
    {.key = "healthCheck",
     .set = conf_set_map,
     .offset = READING(config.health),
     .fields = health_fields},
    {.key = "connect",
     .set = conf_set_map,
     .offset = READING(config.connect),
     .fields = connect_fields},
    {.key = "drain", .set = conf_set_map, .offset = READING(config.drain), .fields = drain_fields},
    {.key = "limits",
     .set = conf_set_map,
     .offset = READING(config.limits),
     .fields = limits_fields},
    {.key = "whenDown",
     .set = conf_set_choice,
     .offset = READING(config.when_down),
     .choices = config_when_down_names},
    {.key = "stateDir",
     .set = set_state_dir,
     .offset = READING(config.state_dir),
     .check = config_check_file},
    {0},
};

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
