/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From files to a struct config: reads every document by the tables of config_schema.c and
 * config_talos.c, fills in what depends on the machine (struct config_env: does an API server run
 * here, is there a CA), then checks what only the whole can show (config_cross.c).
 *
 * Nothing is half done: the caller gets a complete configuration or every error.
 */
#include "prism/config.h"

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
	config_check_whole(&reading);

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
