/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as YAML: every key written out, so that a person sees what is in force, in one
 * fixed order, so that two outputs can be compared. It reads back as the same struct config, so
 * what came from Talos's documents or from the machine stands here as a PrismConfig would say it.
 */
#include "prism/config_priv.h"

static void print_string(FILE *out, const char *key, const char *value)
{
	if (value == NULL)
		return;
	(void) fprintf(out, "%s: ", key);
	conf_write_string(out, value);
	(void) fputc('\n', out);
}

static void print_duration(FILE *out, const char *key, int64_t us)
{
	char text[CONF_DURATION_TEXT_MAX];

	(void) fprintf(out, "%s: %s\n", key, conf_format_duration(us, text));
}

static void print_endpoint(FILE *out, const char *key, const struct endpoint *endpoint)
{
	char text[ENDPOINT_TEXT_MAX];

	(void) fprintf(out, "%s\"%s\"\n", key, endpoint_format(endpoint, text));
}

static void print_host(FILE *out, const struct config_host *host)
{
	struct endpoint endpoint;

	if (config_host_is_address(host, &endpoint))
		print_endpoint(out, "    - ", &endpoint);
	else
		(void) fprintf(out, "    - \"%s:%u\"\n", host->name, host->port);
}

static void print_sources(const struct config_sources *sources, FILE *out)
{
	(void) fputs("upstreams:\n", out);
	if (sources->n_hosts > 0)
		(void) fputs("  static:\n", out);
	for (size_t i = 0; i < sources->n_hosts; i++)
		print_host(out, &sources->hosts[i]);
	print_string(out, "  file", sources->file);
	if (sources->has_local)
		print_endpoint(out, "  local: ", &sources->local);
	else
		(void) fputs("  local: \"off\"\n", out);
	if (sources->members_file != NULL || sources->members_socket != NULL) {
		(void) fputs("  members:\n", out);
		print_string(out, "    file", sources->members_file);
		print_string(out, "    socket", sources->members_socket);
		(void) fprintf(out, "    port: %u\n", sources->members_port);
	}
	if (sources->kubeconfig != NULL) {
		(void) fputs("  endpointSlices:\n", out);
		print_string(out, "    kubeconfig", sources->kubeconfig);
		print_duration(out, "    interval", sources->slices_interval_us);
	}
}

static void print_health(const struct config_health *health, FILE *out)
{
	(void) fprintf(out, "healthCheck:\n  enabled: %s\n", health->enabled ? "true" : "false");
	print_string(out, "  path", health->path);
	print_string(out, "  serverName", health->server_name);
	print_string(out, "  caFile", health->ca_file);
	print_string(out, "  clientCertFile", health->client_cert_file);
	print_string(out, "  clientKeyFile", health->client_key_file);
	print_string(out, "  tokenFile", health->token_file);
	print_duration(out, "  interval", health->interval_us);
	print_duration(out, "  quickInterval", health->quick_us);
	print_duration(out, "  suspectInterval", health->suspect_us);
	print_duration(out, "  timeout", health->timeout_us);
	(void) fprintf(out, "  rise: %u\n", health->rise);
}

void config_print(const struct config *config, FILE *out)
{
	nodeconf_print(NULL, NODECONF_PRISM, &config->metrics_at, out);
	(void) fputs("---\napiVersion: " CONF_API_FAIRLEAD "\nkind: PrismConfig\nlisten:\n", out);
	for (size_t i = 0; i < config->n_listen; i++)
		print_endpoint(out, "  - ", &config->listen[i]);
	print_sources(&config->sources, out);
	print_health(&config->health, out);
	(void) fputs("connect:\n", out);
	print_duration(out, "  hedgeDelay", config->connect.hedge_us);
	print_duration(out, "  budget", config->connect.budget_us);
	print_duration(out, "  replayTimeout", config->connect.replay_us);
	(void) fprintf(out, "  replayBytes: %zu\n", config->connect.replay_bytes);
	(void) fputs("drain:\n", out);
	print_duration(out, "  idle", config->drain.idle_us);
	print_duration(out, "  spread", config->drain.spread_us);
	print_duration(out, "  deadline", config->drain.deadline_us);
	(void) fprintf(out, "limits:\n  maxConnections: %u\n", config->limits.max_connections);
	print_duration(out, "  idleTimeout", config->limits.idle_us);
	print_duration(out, "  halfCloseTimeout", config->limits.half_closed_us);
	print_duration(out, "  maxAge", config->limits.max_age_us);
	print_string(out, "whenDown", config_when_down_names[config->when_down]);
	print_string(out, "stateDir", config->state_dir);
}
