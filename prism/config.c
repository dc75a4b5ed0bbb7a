/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From files to a struct config: reads every document by the tables of config_schema.c and
 * config_talos.c, fills in what depends on the machine (struct config_env: does an API server run
 * here, is there a CA), then checks what only the whole can show: listeners that are in each
 * other's way, upstreams that would be prism itself, settings that exclude each other, and whether
 * there is anything to connect to at all.
 *
 * Nothing is half done: the caller gets a complete configuration or every error.
 */
#include "prism/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "prism/config_priv.h"

#define KUBEPRISM_PORT 7445

/* kubeadm makes it on control-plane nodes alone, where every user may see it; the manifest of the
 * API server lies in a directory of root's own. */
static const char apiserver_cert[] = "/etc/kubernetes/pki/apiserver.crt";

/* --- what depends on the machine, and on other documents --- */

/* Off in Talos's words: then a PrismConfig is what says that prism runs. */
static void resolve_kubeprism(struct config_reading *reading)
{
	struct kubeprism *kubeprism = &reading->kubeprism;
	const struct conf_node *enabled;
	size_t before;

	if (kubeprism->at == NULL || kubeprism->enabled)
		return;
	enabled = conf_node_find(kubeprism->at, "enabled");
	before = conf_enter(reading->conf, "machine.features.kubePrism");
	if (reading->document != NULL) {
		conf_note(reading->conf, kubeprism->at, "there is a PrismConfig, so prism runs without it",
		          "KubePrism is off");
	} else if (enabled == NULL) {
		conf_error(reading->conf, kubeprism->at, "write 'enabled: true'",
		           "KubePrism is off, as for Talos");
	} else {
		(void) conf_enter(reading->conf, "enabled");
		conf_error(reading->conf, enabled, "remove this, or do not start prism",
		           "KubePrism is off");
	}
	conf_leave(reading->conf, before);
	kubeprism->port = 0;
	kubeprism->port_at = NULL;
}

static void resolve_listen(struct config_reading *reading)
{
	struct config *config = &reading->config;
	unsigned port = reading->kubeprism.port;

	if (port == 0)
		port = KUBEPRISM_PORT;
	if (conf_node_find(reading->document, "listen") != NULL)
		return;
	config->listen[0] = (struct endpoint){{AF_INET, {127, 0, 0, 1}}, (uint16_t) port};
	config->listen[1] = (struct endpoint){{AF_INET6, {[15] = 1}}, (uint16_t) port};
	config->n_listen = 2;
}

static void resolve_sources(struct config_reading *reading)
{
	struct config_sources *sources = &reading->config.sources;
	unsigned api_port = reading->api_port > 0 ? reading->api_port : CONFIG_API_PORT;

	if (sources->members_port == 0)
		sources->members_port = (uint16_t) api_port;
	sources->has_local = reading->local == LOCAL_WRITTEN;
	if (reading->local == LOCAL_AUTO && reading->env->file_exists(apiserver_cert)) {
		sources->local = (struct endpoint){{AF_INET, {127, 0, 0, 1}}, (uint16_t) api_port};
		sources->has_local = true;
	}
	reading->n_static = sources->n_hosts;
	if (reading->endpoint.at == NULL)
		return;
	for (size_t i = 0; i < reading->n_static; i++) {
		const struct config_host *host = &sources->hosts[i];

		/* Said twice is no mistake here: one is Talos's, one is ours. */
		if (strcmp(host->name, reading->endpoint.host.name) == 0 &&
		    host->port == reading->endpoint.host.port)
			return;
	}
	sources->hosts = xreallocarray(sources->hosts, sources->n_hosts + 1, sizeof(*sources->hosts));
	sources->hosts[sources->n_hosts++] = reading->endpoint.host;
}

/* No API server can be told from another host without the CA. Where nobody asked for checks and
 * there is none, this is no node that kubeadm made. */
static void resolve_health(struct config_reading *reading)
{
	struct config_health *health = &reading->config.health;

	if (health->server_name == NULL && reading->kubeprism.server_name != NULL)
		health->server_name = TAKE_PTR(reading->kubeprism.server_name);
	if (health->server_name == NULL)
		health->server_name = xstrdup("kubernetes");
	if (conf_node_find(reading->document, "healthCheck") != NULL)
		return;
	if (reading->env->file_exists(health->ca_file))
		return;
	health->enabled = false;
	reading->checks_are_off_by_themselves = true;
}

/* --- what only the whole can show --- */

/* Reports at PrismConfig.section.key, or at as much of it as is written. key may be NULL. */
static void report(struct config_reading *reading, const char *section, const char *key,
                   const char *hint, const char *what)
{
	const struct conf_node *at = reading->document, *inner;
	size_t before = at != NULL ? conf_enter(reading->conf, "PrismConfig") : 0;
	const char *const keys[] = {section, key};

	for (size_t i = 0; i < ARRAY_SIZE(keys) && keys[i] != NULL && at != NULL; i++) {
		inner = conf_node_find(at, keys[i]);
		if (inner == NULL)
			break;
		(void) conf_enter(reading->conf, "%s", keys[i]);
		at = inner;
	}
	conf_error(reading->conf, at, hint, "%s", what);
	conf_leave(reading->conf, before);
}

static bool has_key(const struct config_reading *reading, const char *section, const char *key)
{
	return conf_node_find(conf_node_find(reading->document, section), key) != NULL;
}

/* Where an item of a list of PrismConfig stands; NULL: it is a default. */
static const struct conf_node *item_at(const struct config_reading *reading, const char *section,
                                       const char *key, size_t i)
{
	const struct conf_node *map = reading->document, *list;

	if (section != NULL)
		map = conf_node_find(map, section);
	list = conf_node_find(map, key);
	return list != NULL && i < list->n ? list->values[i] : NULL;
}

static struct written_host static_host(const struct config_reading *reading, size_t i)
{
	return (struct written_host){
	    .host = reading->config.sources.hosts[i],
	    .at = item_at(reading, "upstreams", "static", i),
	    .path = xasprintf("PrismConfig.upstreams.static[%zu]", i),
	};
}

/* --- listeners --- */

/* Binding one fails while the other is open. */
static bool listeners_clash(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port && addr_is_set(&a->addr) && a->addr.family == b->addr.family &&
	       (addr_equal(&a->addr, &b->addr) || addr_is_unspecified(&a->addr) ||
	        addr_is_unspecified(&b->addr));
}

static void check_listeners(struct config_reading *reading)
{
	const struct config *config = &reading->config;

	for (size_t i = 1; i < config->n_listen; i++) {
		for (size_t k = 0; k < i; k++) {
			const struct endpoint *a = &config->listen[i], *b = &config->listen[k];
			char text[ENDPOINT_TEXT_MAX];
			size_t before;

			if (!listeners_clash(a, b))
				continue;
			before = conf_enter(reading->conf, "PrismConfig.listen[%zu]", i);
			if (endpoint_equal(a, b))
				conf_error(reading->conf, item_at(reading, NULL, "listen", i), NULL,
				           "is there twice");
			else
				conf_error(reading->conf, item_at(reading, NULL, "listen", i),
				           "0.0.0.0 and :: hold every address", "cannot be opened beside %s",
				           endpoint_format(b, text));
			conf_leave(reading->conf, before);
			break;
		}
	}
}

/* Every daemon's: whoever comes second would not get it. */
static void check_metrics_ports(struct config_reading *reading)
{
	const struct config *config = &reading->config;
	char text[ENDPOINT_TEXT_MAX];

	for (enum nodeconf_daemon d = 0; d < NODECONF_N_DAEMONS; d++) {
		for (size_t i = 0; i < config->n_listen; i++) {
			if (listeners_clash(&config->listen[i], &reading->node.metrics[d]))
				nodeconf_refuse_port(&reading->node, reading->conf, d, "is where prism listens, on",
				                     endpoint_format(&config->listen[i], text));
		}
	}
}

/* --- upstreams --- */

/* The listener that a connection to this address would reach, or NULL. Where prism listens on every
 * address, only those are known here that every node has. */
static const struct endpoint *find_listener(const struct config *config,
                                            const struct endpoint *upstream)
{
	for (size_t i = 0; i < config->n_listen; i++) {
		const struct endpoint *listener = &config->listen[i];

		if (listener->port != upstream->port)
			continue;
		if (addr_equal(&listener->addr, &upstream->addr) ||
		    (listener->addr.family == upstream->addr.family &&
		     addr_is_unspecified(&listener->addr) && addr_is_loopback(&upstream->addr)))
			return listener;
	}
	return NULL;
}

/* localhost is the one name of which the address is known. */
static bool resolve_localhost(const struct config_host *host, size_t i,
                              struct endpoint *ret_endpoint)
{
	static const struct addr loopback[] = {{AF_INET, {127, 0, 0, 1}}, {AF_INET6, {[15] = 1}}};

	if (strcmp(host->name, "localhost") != 0)
		return false;
	*ret_endpoint = (struct endpoint){loopback[i], host->port};
	return true;
}

static void report_loop(struct config_reading *reading, const struct conf_node *at,
                        const char *path, const struct endpoint *listener)
{
	char text[ENDPOINT_TEXT_MAX];
	size_t before = conf_enter(reading->conf, "%s", path);

	conf_error(reading->conf, at, "prism would connect to itself", "is where prism listens, on %s",
	           endpoint_format(listener, text));
	conf_leave(reading->conf, before);
}

typedef void (*host_fn)(struct config_reading *reading, const struct written_host *written);

static void for_each_host(struct config_reading *reading, host_fn fn)
{
	for (size_t i = 0; i < reading->n_static; i++) {
		struct written_host host = static_host(reading, i);

		fn(reading, &host);
		free(host.path);
	}
	if (reading->endpoint.at != NULL)
		fn(reading, &reading->endpoint);
}

static void check_host(struct config_reading *reading, const struct written_host *written)
{
	for (size_t i = 0; i < 2; i++) {
		const struct endpoint *listener;
		struct endpoint endpoint;

		if (!config_host_is_address(&written->host, &endpoint) &&
		    !resolve_localhost(&written->host, i, &endpoint))
			return;
		listener = find_listener(&reading->config, &endpoint);
		if (listener != NULL) {
			report_loop(reading, written->at, written->path, listener);
			return;
		}
	}
}

/* The node's API server has the place that prism is to listen on. */
static void check_local(struct config_reading *reading)
{
	const struct config *config = &reading->config;
	const struct conf_node *at = reading->kubeprism.port_at;
	const struct endpoint *listener;
	char text[ENDPOINT_TEXT_MAX];
	size_t i, before = 0;

	if (!config->sources.has_local)
		return;
	listener = find_listener(config, &config->sources.local);
	if (listener == NULL)
		return;
	if (reading->local == LOCAL_WRITTEN) {
		report_loop(reading, reading->local_at, "PrismConfig.upstreams.local", listener);
		return;
	}
	i = (size_t) (listener - config->listen);
	if (item_at(reading, NULL, "listen", i) != NULL) {
		at = item_at(reading, NULL, "listen", i);
		before = conf_enter(reading->conf, "PrismConfig.listen[%zu]", i);
	} else if (at != NULL) {
		before = conf_enter(reading->conf, "%s", reading->kubeprism.port_path);
	}
	conf_error(reading->conf, at, "choose another port to listen on",
	           "prism cannot listen where the API server of this node does, on %s",
	           endpoint_format(&config->sources.local, text));
	conf_leave(reading->conf, before);
}

static void check_doubles(struct config_reading *reading)
{
	const struct config_host *hosts = reading->config.sources.hosts;

	for (size_t i = 1; i < reading->n_static; i++) {
		for (size_t k = 0; k < i && hosts[i].port != 0; k++) {
			size_t before;

			if (strcmp(hosts[i].name, hosts[k].name) != 0 || hosts[i].port != hosts[k].port)
				continue;
			before = conf_enter(reading->conf, "PrismConfig.upstreams.static[%zu]", i);
			conf_error(reading->conf, item_at(reading, "upstreams", "static", i), NULL,
			           "is there twice");
			conf_leave(reading->conf, before);
			break;
		}
	}
}

static void check_counts(struct config_reading *reading)
{
	const struct config_sources *sources = &reading->config.sources;
	size_t names = 0;
	struct endpoint endpoint;
	char what[64];

	for (size_t i = 0; i < sources->n_hosts; i++)
		names += !config_host_is_address(&sources->hosts[i], &endpoint);
	if (sources->n_hosts > CONFIG_UPSTREAMS_MAX) {
		(void) snprintf(what, sizeof(what), "more than %d upstreams", CONFIG_UPSTREAMS_MAX);
		report(reading, "upstreams", "static", "the control plane's endpoint counts too", what);
	}
	if (names > CONFIG_NAMES_MAX) {
		(void) snprintf(what, sizeof(what), "more than %d upstreams by name", CONFIG_NAMES_MAX);
		report(reading, "upstreams", "static", "write their addresses", what);
	}
}

/* --- discovery --- */

static const char discovery_hint[] =
    "what is found at run time is used only when its certificate was verified";

static void report_unverified(struct config_reading *reading, const struct conf_node *at,
                              const char *path, const char *what)
{
	size_t before = conf_enter(reading->conf, "%s", path);

	if (reading->checks_are_off_by_themselves)
		conf_error(reading->conf, at, "name the CA in healthCheck.caFile",
		           "%s need health checks, and %s does not exist", what, CONFIG_CA_FILE);
	else
		conf_error(reading->conf, at, discovery_hint, "%s need health checks", what);
	conf_leave(reading->conf, before);
}

static void check_written_name(struct config_reading *reading, const struct written_host *written)
{
	struct endpoint endpoint;

	if (!config_host_is_address(&written->host, &endpoint))
		report_unverified(reading, written->at, written->path, "names instead of addresses");
}

/* An address that was discovered may be anybody's. */
static void check_discovery(struct config_reading *reading)
{
	const struct config_sources *sources = &reading->config.sources;
	const struct conf_node *upstreams;

	if (reading->config.health.enabled)
		return;
	for_each_host(reading, check_written_name);
	if (sources->members_file == NULL && sources->members_socket == NULL &&
	    sources->kubeconfig == NULL)
		return;
	upstreams = conf_node_find(reading->document, "upstreams");
	if (sources->members_file != NULL || sources->members_socket != NULL)
		report_unverified(reading, conf_node_find(upstreams, "members"),
		                  "PrismConfig.upstreams.members", "etcd's members");
	if (sources->kubeconfig != NULL)
		report_unverified(reading, conf_node_find(upstreams, "endpointSlices"),
		                  "PrismConfig.upstreams.endpointSlices", "EndpointSlices");
}

/* --- what there must be --- */

static void check_sources(struct config_reading *reading)
{
	const struct config_sources *sources = &reading->config.sources;
	bool has_members = sources->members_file != NULL || sources->members_socket != NULL;
	bool has_others =
	    sources->n_hosts > 0 || sources->file != NULL || has_members || sources->kubeconfig != NULL;

	if (has_key(reading, "upstreams", "members") && !has_members)
		report(reading, "upstreams", "members", "the list is in one of the two",
		       "has neither 'file' nor 'socket'");
	else if (!has_others && !sources->has_local)
		report(reading, "upstreams", NULL,
		       "write their addresses into 'upstreams.static' of a PrismConfig",
		       "no API server is known: there is nobody to connect to");
	else if (!has_others)
		conf_note(reading->conf, NULL, "name the others in a PrismConfig, under 'upstreams'",
		          "the API server of this node is the only upstream");
}

static void check_health(struct config_reading *reading)
{
	const struct config_health *health = &reading->config.health;

	if (reading->checks_are_off_by_themselves)
		conf_note(reading->conf, NULL, "write a healthCheck section to say how to check",
		          "health checks are off, upstreams are tried by TCP alone: %s does not exist",
		          health->ca_file);
	if (health->client_cert_file != NULL && health->client_key_file == NULL)
		report(reading, "healthCheck", "clientCertFile", "clientKeyFile is missing",
		       "a certificate is of no use without its key");
	if (health->client_key_file != NULL && health->client_cert_file == NULL)
		report(reading, "healthCheck", NULL, "clientCertFile is missing",
		       "a key is of no use without its certificate");
	if (health->suspect_us > health->interval_us)
		report(reading, "healthCheck",
		       has_key(reading, "healthCheck", "suspectInterval") ? "suspectInterval" : "interval",
		       NULL, "suspectInterval must not be longer than interval");
	/* The default gives way to a shorter interval: judge_pause(). */
	if (has_key(reading, "healthCheck", "quickInterval") && health->quick_us > health->interval_us)
		report(reading, "healthCheck", "quickInterval", NULL,
		       "quickInterval must not be longer than interval");
}

static void check_times(struct config_reading *reading)
{
	const struct config_connect *connect = &reading->config.connect;
	const struct config_drain *drain = &reading->config.drain;

	if (connect->hedge_us >= connect->budget_us)
		report(reading, "connect",
		       has_key(reading, "connect", "hedgeDelay") ? "hedgeDelay" : "budget",
		       "the time would be up before a second upstream is tried",
		       "hedgeDelay must be shorter than budget");
	if (drain->spread_us > drain->deadline_us)
		report(reading, "drain", has_key(reading, "drain", "spread") ? "spread" : "deadline", NULL,
		       "spread must not be longer than deadline");
}

static void check_whole(struct config_reading *reading)
{
	/* What is wrong by itself has been said, and a half-read whole makes no sense. */
	bool is_whole = conf_error_count(reading->conf) == 0;

	check_listeners(reading);
	check_metrics_ports(reading);
	check_doubles(reading);
	for_each_host(reading, check_host);
	check_local(reading);
	if (!is_whole)
		return;
	check_counts(reading);
	check_discovery(reading);
	check_sources(reading);
	check_health(reading);
	check_times(reading);
}

/* --- loading --- */

static void reading_fini(struct config_reading *reading)
{
	free(reading->endpoint.path);
	free(reading->kubeprism.server_name);
	free(reading->kubeprism.port_path);
	conf_free(reading->conf);
}

static bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* Takes conf, in which all text has been added. */
static int read_config(struct conf *conf, const struct config_env *env, conf_message_fn error,
                       void *userdata, struct config **ret_config)
{
	struct config_env actual = {.file_exists = file_exists};
	struct config_reading reading = {.conf = conf, .env = &actual};
	AUTO(config_free) struct config *config = NULL;
	int r;

	if (env != NULL && env->file_exists != NULL)
		actual.file_exists = env->file_exists;
	config_set_defaults(&reading.config);
	conf_read(conf, config_kinds, &reading);
	resolve_kubeprism(&reading);
	resolve_listen(&reading);
	resolve_sources(&reading);
	resolve_health(&reading);
	check_whole(&reading);

	r = conf_finish(conf, error, userdata, &reading.config.notes);
	reading.config.metrics_at = reading.node.metrics[NODECONF_PRISM];
	config = xmemdup(&reading.config, sizeof(reading.config));
	if (r == 0)
		*ret_config = TAKE_PTR(config);
	reading_fini(&reading);
	return r;
}

int config_load_env(const char *const *paths, size_t n_paths, const struct config_env *env,
                    conf_message_fn error, void *userdata, struct config **ret_config)
{
	struct conf *conf = conf_new();

	conf_add_paths(conf, paths, n_paths);
	return read_config(conf, env, error, userdata, ret_config);
}

int config_load(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
                struct config **ret_config)
{
	return config_load_env(paths, n_paths, NULL, error, userdata, ret_config);
}

int config_load_text(const char *name, const char *text, size_t len, const struct config_env *env,
                     conf_message_fn error, void *userdata, struct config **ret_config)
{
	struct conf *conf = conf_new();

	conf_add_text(conf, name, text, len);
	return read_config(conf, env, error, userdata, ret_config);
}
