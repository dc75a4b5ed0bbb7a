/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of PrismConfig: every key, its type, its range, its default. docs/config.md and
 * fairlead.yaml(5) describe these keys, and a test holds them to it.
 */
#include "prism/config_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/printable.h"

#define MINUTES INT64_C(60) * US_PER_S
#define HOURS INT64_C(3600) * US_PER_S

#define REPLAY_BYTES_MAX 16384
#define CONNECTIONS_MAX 1000000
#define URL_PATH_BYTES_MAX 255
#define API_URL_PORT 443 /* of https, and so of a control-plane endpoint without a port */

static const char *const when_down_names[] = {
    [CONFIG_WHEN_DOWN_RESET] = "reset",
    [CONFIG_WHEN_DOWN_REFUSE] = "refuse",
    NULL,
};

/* --- files and paths --- */

static const char *check_file(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint)
{
	if (strlen(text) > CONFIG_FILE_BYTES_MAX)
		return "is longer than 255 characters";
	return conf_check_file(text, scratch, ret_hint);
}

static const char *check_socket(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                const char **ret_hint)
{
	/* unix(7): the path and its NUL must fit. */
	if (strlen(text) >= sizeof(((struct sockaddr_un *) NULL)->sun_path))
		return "is longer than the 107 characters of a socket's name";
	return conf_check_file(text, scratch, ret_hint);
}

static const char *check_url_path(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                  const char **ret_hint)
{
	*ret_hint = "such as /readyz or /readyz?exclude=etcd";
	if (text[0] != '/')
		return "does not begin with '/'";
	if (strlen(text) > URL_PATH_BYTES_MAX)
		return "is longer than 255 characters";
	if (!printable_is_word(text))
		return "has a space or a character beyond ASCII";
	return strchr(text, '#') != NULL ? "has a fragment" : NULL;
}

/* --- addresses --- */

static const char not_an_endpoint[] = "is not an address with a port from 1 to 65535";

/* What nothing can listen on or connect to. */
static const char *check_sort(const struct addr *addr)
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};

	if (addr_is_multicast(addr))
		return "is a multicast address";
	if (addr->family == AF_INET6 && addr_is_linklocal(addr))
		return "is a link-local address, which means nothing without its link";
	if (addr->family == AF_INET && memcmp(addr->bytes, broadcast, sizeof(broadcast)) == 0)
		return "is the broadcast address";
	return NULL;
}

/* The port is what stands behind the last ':', unless that is part of an IPv6 address. */
static bool has_port(const char *text)
{
	const char *colon = strrchr(text, ':');
	struct addr addr;

	return colon != NULL && colon[1] != '\0' && strchr(colon, ']') == NULL &&
	       addr_parse(text, &addr) < 0;
}

static const char *parse_listener(const char *text, struct endpoint *ret_endpoint,
                                  const char **ret_hint)
{
	struct endpoint endpoint;
	const char *wrong;

	*ret_hint = "such as 127.0.0.1:7445 or [::1]:7445";
	if (endpoint_parse(text, 0, &endpoint) < 0)
		return has_port(text) ? not_an_endpoint : "has no port";
	wrong = check_sort(&endpoint.addr);
	if (wrong != NULL)
		return wrong;
	*ret_endpoint = endpoint;
	return NULL;
}

/* --- hosts --- */

static const char *check_name(const char *name, const char **ret_hint)
{
	struct addr addr;

	if (strlen(name) > CONFIG_HOST_MAX)
		return "has a host name that is too long";
	if (conf_has_upper_case(name)) {
		*ret_hint = "write it in lower case";
		return "has upper-case letters";
	}
	if (!conf_is_dns_name(name))
		return "is neither an address nor a DNS name";
	/* An address that is good by itself is here because of what stands behind it. */
	if (addr_parse(name, &addr) >= 0)
		return "has no valid port";
	/* 10.0.0 or 10.0.0.256: a name of digits alone is a mistyped address. */
	if (name[strspn(name, "0123456789.")] == '\0')
		return "is not a whole IPv4 address";
	return NULL;
}

static const char *parse_port(const char *text, uint16_t *ret_port)
{
	int64_t port;

	if (conf_parse_int(text, &port) < 0 || port < 1 || port > UINT16_MAX)
		return "has no valid port";
	*ret_port = (uint16_t) port;
	return NULL;
}

static const char *parse_named(const char *text, uint16_t default_port,
                               struct config_host *ret_host, const char **ret_hint)
{
	struct config_host host = {.port = default_port};
	size_t len = strcspn(text, ":");
	const char *wrong;

	if (strchr(text, '[') != NULL || strchr(text, ']') != NULL ||
	    (text[len] == ':' && strchr(text + len + 1, ':') != NULL))
		return not_an_endpoint;
	if (len > CONFIG_HOST_MAX)
		return "has a host name that is too long";
	memcpy(host.name, text, len);
	wrong = check_name(host.name, ret_hint);
	if (wrong == NULL && text[len] == ':')
		wrong = parse_port(text + len + 1, &host.port);
	if (wrong == NULL)
		*ret_host = host;
	return wrong;
}

const char *config_parse_host(const char *text, uint16_t default_port, struct config_host *ret_host,
                              const char **ret_hint)
{
	struct config_host host = {0};
	struct endpoint endpoint;
	const char *wrong;

	*ret_hint = "such as 10.0.0.11, [fd00::11]:6443 or cp1.example.org";
	if (endpoint_parse(text, default_port, &endpoint) < 0)
		return parse_named(text, default_port, ret_host, ret_hint);
	wrong = check_sort(&endpoint.addr);
	if (wrong == NULL && addr_is_unspecified(&endpoint.addr))
		wrong = "is the unspecified address, not one to connect to";
	if (wrong != NULL)
		return wrong;
	(void) addr_format(&endpoint.addr, host.name);
	host.port = endpoint.port;
	*ret_host = host;
	return NULL;
}

const char *config_parse_url(const char *text, struct config_host *ret_host, const char **ret_hint)
{
	static const char scheme[] = "https://";
	char authority[CONFIG_HOST_MAX + sizeof("[]:65535")];
	const char *wrong, *host = text + strlen(scheme);
	size_t len;

	*ret_hint = "such as https://cp.example.org:6443";
	if (strncmp(text, scheme, strlen(scheme)) != 0)
		return "does not begin with https://";
	len = strcspn(host, "/?#");
	if (len == 0)
		return "has no host";
	if (memchr(host, '@', len) != NULL)
		return "has a user name in it";
	if (len >= sizeof(authority))
		return "has a host name that is too long";
	memcpy(authority, host, len);
	authority[len] = '\0';
	/* RFC 3986, section 3.2.2: only in brackets is it clear which ':' the port's is. */
	if (authority[0] != '[' && strchr(authority, ':') != strrchr(authority, ':'))
		return "has an IPv6 address without brackets";
	wrong = config_parse_host(authority, API_URL_PORT, ret_host, ret_hint);
	if (wrong != NULL)
		*ret_hint = "such as https://cp.example.org:6443";
	return wrong;
}

bool config_host_is_address(const struct config_host *host, struct endpoint *ret_endpoint)
{
	struct endpoint endpoint = {.port = host->port};

	if (addr_parse(host->name, &endpoint.addr) < 0)
		return false;
	*ret_endpoint = endpoint;
	return true;
}

/* --- listeners and upstreams --- */

static void set_listener(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot)
{
	const char *wrong, *hint = NULL;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	wrong = parse_listener(value->text, slot, &hint);
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
    CONF_ROW("file", conf_string, SOURCES(members_file), NULL,
             "Holds what `etcdctl member list -w json` prints. Read again when it changes.",
             .check = check_file),
    CONF_ROW("socket", conf_string, SOURCES(members_socket), NULL,
             "Control socket of a daemon that knows the members: `/run/fairlead/vipd.sock`.",
             .word = "file, 107 characters", .check = check_socket),
    CONF_ROW("port", conf_u16, SOURCES(members_port), NULL,
             "The port of the API server beside each member.", .def_word = "`6443`", .min = 1,
             .max = UINT16_MAX),
    {0},
};

static const struct conf_field slices_fields[] = {
    CONF_ROW(
        "kubeconfig", conf_string, SOURCES(kubeconfig), NULL,
        "Credentials that may list EndpointSlices in the namespace `default`; those of kubelets "
        "may not, unless a Role says so. prism's user must be able to read it, and the files that "
        "it names. The server in it does not matter: prism asks through itself.",
        .flags = CONF_REQUIRED | CONF_SECRET, .check = check_file),
    CONF_ROW("interval", conf_duration, SOURCES(slices_interval_us), "30s", "Between two readings.",
             .min = US_PER_S, .max = 1 * HOURS),
    {0},
};

static const struct conf_field upstreams_fields[] = {
    CONF_ROW("static", conf_list, READING(config.sources.hosts), NULL,
             "API servers by address or by name, of names at most 16. Without a port it is 6443. "
             "IPv6 with a port needs brackets. None twice, and none where prism listens.",
             .word = "list of at most 32 `HOST[:PORT]`", .item = &host_type,
             .size = sizeof(struct config_host),
             .count = READING(config.sources.n_hosts) - READING(config.sources.hosts),
             .max = CONFIG_UPSTREAMS_MAX),
    CONF_ROW("file", conf_string, READING(config.sources.file), NULL,
             "One `ADDRESS[:PORT]` a line, `#` begins a comment. Read again when it changes.",
             .check = check_file),
    CONF_ROW("local", local_type, READING(config.sources.local), NULL,
             "The API server of this node, which is preferred among equals. `auto`: 127.0.0.1:6443 "
             "if `/etc/kubernetes/pki/apiserver.crt` exists, else none.",
             .word = "`auto`, `off`, `ADDRESS[:PORT]`", .def_word = "`auto`"),
    CONF_ROW("members", conf_map, READING(config.sources), NULL,
             "The API servers beside etcd's members: discovery for control-plane nodes. `file` or "
             "`socket` must be there.",
             .def_word = "none", .fields = members_fields, .is_set = has_members),
    CONF_ROW("endpointSlices", conf_map, READING(config.sources), NULL,
             "The addresses of the Service `default/kubernetes`: discovery for every node.",
             .def_word = "none", .fields = slices_fields, .is_set = has_slices),
    {0},
};

/* --- healthCheck --- */

#define HEALTH(member) offsetof(struct config_health, member)
static const struct conf_field health_fields[] = {
    CONF_ROW("enabled", conf_bool, HEALTH(enabled), "true",
             "Off: upstreams are tried by TCP alone. Without any `healthCheck` section and without "
             "`/etc/kubernetes/pki/ca.crt` checks are off, and a note says so."),
    CONF_ROW("path", conf_string, HEALTH(path), "/readyz", "What is asked of each upstream.",
             .word = "path of a URL", .check = check_url_path),
    CONF_ROW("serverName", conf_string, HEALTH(server_name), NULL,
             "The name to verify in the certificate, whatever the address.",
             .def_word = "`tlsServerName`, else `kubernetes`", .check = conf_check_server_name),
    CONF_ROW("caFile", conf_string, HEALTH(ca_file), CONFIG_CA_FILE, "Verifies it.",
             .check = check_file),
    CONF_ROW("clientCertFile", conf_string, HEALTH(client_cert_file), NULL,
             "Client certificate, where anonymous requests are refused. With `clientKeyFile`.",
             .def_word = "`/etc/fairlead/pki/probe.crt`, see below", .check = check_file),
    CONF_ROW("clientKeyFile", conf_string, HEALTH(client_key_file), NULL, "Its key.",
             .def_word = "`/etc/fairlead/pki/probe.key`, see below", .flags = CONF_SECRET,
             .check = check_file),
    {.key = "token",
     .flags = CONF_REFUSED,
     .refusal = "a token does not belong here, write it into a file and name that in tokenFile"},
    CONF_ROW(
        "tokenFile", conf_string, HEALTH(token_file), NULL,
        "Holds a bearer token for the same purpose. A `token` in the configuration is refused.",
        .flags = CONF_SECRET, .check = check_file),
    CONF_ROW("interval", conf_duration, HEALTH(interval_us), "10s",
             "Between two questions to an upstream of which nothing bad is known.",
             .min = 100 * US_PER_MS, .max = 10 * MINUTES),
    CONF_ROW("quickInterval", conf_duration, HEALTH(quick_us), "2s",
             "The same to an upstream that carries connections and has sent nothing to a client "
             "for so long. An `interval` that is shorter than the default takes its place.",
             .word = "100ms to 10m, not longer than `interval`", .min = 100 * US_PER_MS,
             .max = 10 * MINUTES),
    CONF_ROW("suspectInterval", conf_duration, HEALTH(suspect_us), "1s",
             "The same while something is unknown or in doubt, or wrong with it and no other one "
             "serves. Where another serves, one that is down is asked at this pace once, then each "
             "`interval`, and a node sees it come back up to that much later.",
             .word = "100ms to 10m, not longer than `interval`", .min = 100 * US_PER_MS,
             .max = 10 * MINUTES),
    CONF_ROW("timeout", conf_duration, HEALTH(timeout_us), "1s",
             "How long a question waits for its answer. After half of this a second question goes "
             "out on a connection of its own; an upstream that answers neither is hung.",
             .min = 50 * US_PER_MS, .max = 1 * MINUTES),
    CONF_ROW("rise", conf_unsigned, HEALTH(rise), "2",
             "Good answers in a row until an upstream that was not good is again.", .min = 1,
             .max = 100),
    {0},
};

/* --- connections --- */

#define CONNECT(member) offsetof(struct config_connect, member)
static const struct conf_field connect_fields[] = {
    CONF_ROW("hedgeDelay", conf_duration, CONNECT(hedge_us), "250ms",
             "When an upstream has not accepted by then, the next one is tried as well; the first "
             "to accept is taken.",
             .word = "10ms to 10s, shorter than `budget`", .min = 10 * US_PER_MS,
             .max = 10 * US_PER_S),
    CONF_ROW("budget", conf_duration, CONNECT(budget_us), "3s",
             "For all of them. Then the client's connection is reset.", .min = 100 * US_PER_MS,
             .max = 1 * MINUTES),
    CONF_ROW("replayTimeout", conf_duration, CONNECT(replay_us), "2s",
             "An upstream that accepted and says nothing for so long is left: what the client said "
             "first goes to another. 0: never.",
             .flags = CONF_OR_ZERO, .min = 100 * US_PER_MS, .max = 1 * MINUTES),
    CONF_ROW("replayBytes", conf_size, CONNECT(replay_bytes), "16384",
             "How much of that is held. A client that says more is not replayed. 0: nothing.",
             .min = 0, .max = REPLAY_BYTES_MAX),
    {0},
};

#define DRAIN(member) offsetof(struct config_drain, member)
static const struct conf_field drain_fields[] = {
    CONF_ROW("idle", conf_duration, DRAIN(idle_us), "2s",
             "A connection that is silent for so long may be closed.", .min = 100 * US_PER_MS,
             .max = 1 * HOURS),
    CONF_ROW("spread", conf_duration, DRAIN(spread_us), "10s",
             "The closings are spread over this, so that clients do not come back all at once.",
             .word = "0 to 1h, not longer than `deadline`", .min = 0, .max = 1 * HOURS),
    CONF_ROW("deadline", conf_duration, DRAIN(deadline_us), "5m",
             "Then the busy ones are closed too.", .min = US_PER_S, .max = 24 * HOURS),
    {0},
};

#define LIMITS(member) offsetof(struct config_limits, member)
static const struct conf_field limits_fields[] = {
    CONF_ROW("maxConnections", conf_unsigned, LIMITS(max_connections), "0",
             "0: as many as the limit of open files allows (`LimitNOFILE=` of systemd).", .min = 0,
             .max = CONNECTIONS_MAX),
    CONF_ROW("idleTimeout", conf_duration, LIMITS(idle_us), "0",
             "A connection that is silent for so long is closed. 0: never.", .flags = CONF_OR_ZERO,
             .min = US_PER_S, .max = 168 * HOURS),
    CONF_ROW("halfCloseTimeout", conf_duration, LIMITS(half_closed_us), "1m",
             "The same when one side has ended already.", .min = US_PER_S, .max = 1 * HOURS),
    CONF_ROW("maxAge", conf_duration, LIMITS(max_age_us), "0",
             "A connection that is older is closed when it is idle, up to a fifth later by chance. "
             "0: never. With it an API server that was away gets its share back: `6h` costs each "
             "client one new connection in that time.",
             .flags = CONF_OR_ZERO, .min = 1 * MINUTES, .max = 720 * HOURS),
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
    CONF_ROW("listen", conf_list, READING(config.listen), NULL,
             "Where clients connect. 0.0.0.0 and :: stand for every address of one family, and "
             "whoever reaches them reaches the API servers through prism.",
             .word = "list of 1 to 8 `ADDRESS:PORT`",
             .def_word = "127.0.0.1 and ::1 with KubePrism's port", .flags = CONF_IN_PLACE,
             .item = &listener_type, .size = sizeof(struct endpoint),
             .count = READING(config.n_listen) - READING(config.listen), .min = 1,
             .max = CONFIG_LISTEN_MAX),
    CONF_ROW("upstreams", conf_map, 0, NULL,
             "The API servers, from any number of sources. There must be at least one.",
             .set = set_upstreams, .fields = upstreams_fields),
    CONF_ROW("healthCheck", conf_map, READING(config.health), NULL,
             "How they are asked for their health.", .fields = health_fields),
    CONF_ROW("connect", conf_map, READING(config.connect), NULL,
             "How long a new connection waits for an upstream.", .fields = connect_fields),
    CONF_ROW("drain", conf_map, READING(config.drain), NULL,
             "How connections leave an upstream that is no longer ready or no longer named.",
             .fields = drain_fields),
    CONF_ROW("limits", conf_map, READING(config.limits), NULL,
             "How many connections, and for how long.", .fields = limits_fields),
    CONF_ROW("whenDown", conf_choice, READING(config.when_down), "reset",
             "While no upstream is worth trying: `reset` accepts connections and resets them, "
             "`refuse` closes the listeners.",
             .choices = when_down_names),
    CONF_ROW("stateDir", conf_string, READING(config.state_dir), "/var/lib/fairlead/prism",
             "Holds the last good list of upstreams, with which prism starts when the sources do "
             "not answer. `\"\"`: nothing is kept.",
             .word = "directory", .set = set_state_dir, .check = check_file),
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
    {CONF_KIND_LEGACY, config_legacy_fields, NULL},
    {"KubePrismConfig", config_kubeprism_fields, config_read_kubeprism},
    {"KubeClusterConfig", config_cluster_fields, NULL},
    {"KubeAPIServerConfig", config_apiserver_fields, NULL},
    {"NodeConfig", nodeconf_fields, read_node},
    {"PrismConfig", prism_fields, read_prism},
    {0},
};
