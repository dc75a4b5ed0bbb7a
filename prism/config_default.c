/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds where no document says otherwise. The values are constants, save for those that depend
 * on the machine (struct config_env): whether an API server runs here, and whether there is a CA to
 * verify any with.
 */
#include "prism/config_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/mono.h"

#define API_PORT 6443
#define KUBEPRISM_PORT 7445

const char config_default_ca_file[] = "/etc/kubernetes/pki/ca.crt";

/* kubeadm makes it on control-plane nodes alone, where every user may see it; the manifest of the
 * API server lies in a directory of root's own. */
static const char apiserver_cert[] = "/etc/kubernetes/pki/apiserver.crt";

static const char default_server_name[] = "kubernetes";

void config_set_defaults(struct config *config)
{
	config->sources.slices_interval_us = 30 * US_PER_S;
	config->health = (struct config_health){
	    .enabled = true,
	    .path = xstrdup("/readyz"),
	    .ca_file = xstrdup(config_default_ca_file),
	    .interval_us = 10 * US_PER_S,
	    .quick_us = 2 * US_PER_S,
	    .suspect_us = US_PER_S,
	    .timeout_us = US_PER_S,
	    .rise = 2,
	};
	config->connect = (struct config_connect){
	    .hedge_us = 250 * US_PER_MS,
	    .budget_us = 3 * US_PER_S,
	    .replay_us = 2 * US_PER_S,
	    .replay_bytes = 16384,
	};
	config->drain = (struct config_drain){
	    .idle_us = 2 * US_PER_S,
	    .spread_us = 10 * US_PER_S,
	    .deadline_us = 300 * US_PER_S,
	};
	config->limits = (struct config_limits){.half_closed_us = 60 * US_PER_S};
	config->when_down = CONFIG_WHEN_DOWN_RESET;
	config->state_dir = xstrdup("/var/lib/fairlead/prism");
}

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
	if (reading->document != NULL && conf_node_find(reading->document, "listen") != NULL)
		return;
	config->listen[0] = (struct endpoint){{AF_INET, {127, 0, 0, 1}}, (uint16_t) port};
	config->listen[1] = (struct endpoint){{AF_INET6, {[15] = 1}}, (uint16_t) port};
	config->n_listen = 2;
}

static void resolve_sources(struct config_reading *reading)
{
	struct config_sources *sources = &reading->config.sources;
	unsigned api_port = reading->api_port > 0 ? reading->api_port : API_PORT;

	if (sources->members_port == 0)
		sources->members_port = (uint16_t) api_port;
	sources->has_local = reading->local == LOCAL_WRITTEN;
	if (reading->local == LOCAL_AUTO && reading->env->file_exists(apiserver_cert)) {
		sources->local = (struct endpoint){{AF_INET, {127, 0, 0, 1}}, (uint16_t) api_port};
		sources->has_local = true;
	}
	sources->hosts = xcalloc(reading->n_hosts + 1, sizeof(*sources->hosts));
	for (size_t i = 0; i < reading->n_hosts; i++)
		sources->hosts[sources->n_hosts++] = reading->hosts[i].host;
	if (reading->endpoint.at == NULL)
		return;
	for (size_t i = 0; i < reading->n_hosts; i++) {
		const struct config_host *host = &reading->hosts[i].host;

		/* Said twice is no mistake here: one is Talos's, one is ours. */
		if (strcmp(host->name, reading->endpoint.host.name) == 0 &&
		    host->port == reading->endpoint.host.port)
			return;
	}
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
		health->server_name = xstrdup(default_server_name);
	if (reading->document != NULL && conf_node_find(reading->document, "healthCheck") != NULL)
		return;
	if (reading->env->file_exists(health->ca_file))
		return;
	health->enabled = false;
	reading->checks_are_off_by_themselves = true;
}

void config_resolve(struct config_reading *reading)
{
	resolve_kubeprism(reading);
	resolve_listen(reading);
	resolve_sources(reading);
	resolve_health(reading);
}
