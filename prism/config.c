/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From files to a struct config: reads every document by the tables of config_schema.c and
 * config_talos.c, fills in what none said (config_default.c), then checks what only the whole can
 * show (config_cross.c).
 *
 * Nothing is half done: the caller gets a complete configuration or every error.
 */
#include "prism/config.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "prism/config_priv.h"

/* --- life --- */

static void sources_fini(struct config_sources *sources)
{
	free(sources->hosts);
	free(sources->file);
	free(sources->members_file);
	free(sources->members_socket);
	free(sources->kubeconfig);
}

static void health_fini(struct config_health *health)
{
	free(health->path);
	free(health->server_name);
	free(health->ca_file);
	free(health->client_cert_file);
	free(health->client_key_file);
	free(health->token_file);
}

static void config_fini(struct config *config)
{
	conf_strings_fini(&config->notes);
	free(config->state_dir);
	sources_fini(&config->sources);
	health_fini(&config->health);
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	config_fini(config);
	free(config);
}

static void reading_fini(struct config_reading *reading)
{
	for (size_t i = 0; i < reading->n_hosts; i++)
		free(reading->hosts[i].path);
	free(reading->hosts);
	free(reading->endpoint.path);
	free(reading->kubeprism.server_name);
	free(reading->kubeprism.port_path);
	config_fini(&reading->config);
	conf_free(reading->conf);
}

/* --- loading --- */

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
	int r;

	if (env != NULL && env->file_exists != NULL)
		actual.file_exists = env->file_exists;
	config_set_defaults(&reading.config);
	conf_read(conf, config_kinds, &reading);
	config_resolve(&reading);
	config_check_whole(&reading);

	r = conf_finish(conf, error, userdata, &reading.config.notes);
	if (r == 0) {
		reading.config.metrics_at = reading.node.metrics[NODECONF_PRISM];
		*ret_config = xmemdup(&reading.config, sizeof(reading.config));
		reading.config = (struct config){0};
	}
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
