/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From files to a struct config: reads every document by the tables of config_schema.c, each job
 * with its defaults (config_default.c), then checks what only the whole can show (config_cross.c).
 *
 * Nothing is half done: the caller gets a complete configuration or every error.
 */
#include "etcdwatch/config/config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "etcdwatch/config/config_priv.h"

/* --- life --- */

static void target_fini(struct config_target *target)
{
	for (size_t i = 0; i < CONFIG_VERBS; i++)
		conf_strings_fini(&target->command[i]);
	free(target->command_json);
	free(target->name);
	free(target->endpoint);
	free(target->bucket);
	free(target->prefix);
	free(target->region);
	free(target->ca_file);
	free(target->access_key_file);
	free(target->secret_key_file);
	free(target->session_token_file);
	free(target->credentials_file);
	free(target->role_arn);
	free(target->web_token_file);
	free(target->session_name);
	free(target->sts_endpoint);
	conf_strings_fini(&target->process);
	free(target->credentials_json);
	free(target->proxy);
	free(target->kms_key);
	free(target->customer_key_file);
}

static void job_fini(struct config_job *job)
{
	for (size_t i = 0; i < job->n_targets; i++)
		target_fini(&job->targets[i]);
	free(job->targets);
	free(job->name);
	free(job->time_zone);
	zone_free(job->zone);
	free(job->directory);
	conf_strings_fini(&job->recipients);
	free(job->recipients_file);
	conf_strings_fini(&job->extra_files);
	free(job->drill.directory);
	free(job->drill.identity_file);
	free(job->drill.etcd);
	free(job->drill.etcdutl);
	free(job->origin);
}

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	for (size_t i = 0; i < config->n_jobs; i++)
		job_fini(&config->jobs[i]);
	free(config->jobs);
	config_watch_fini(&config->watch);
	conf_strings_fini(&config->notes);
	etcdconf_fini(&config->etcd);
	free(config);
}

static void reading_fini(struct config_reading *reading)
{
	for (size_t i = 0; i < reading->n_jobs; i++) {
		job_fini(&reading->jobs[i].job);
		free(reading->jobs[i].drill_source);
	}
	free(reading->jobs);
	config_watch_fini(&reading->watch);
	nodeconf_fini(&reading->node);
	etcdconf_reading_fini(&reading->etcd);
	conf_free(reading->conf);
}

/* --- finding --- */

const struct config_job *config_find_job(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_jobs; i++) {
		if (strcmp(config->jobs[i].name, name) == 0)
			return &config->jobs[i];
	}
	return NULL;
}

const struct config_target *config_find_target(const struct config_job *job, const char *name)
{
	for (size_t i = 0; i < job->n_targets; i++) {
		if (strcmp(job->targets[i].name, name) == 0)
			return &job->targets[i];
	}
	return NULL;
}

/* --- loading --- */

static bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* What was read becomes the configuration's; the reading keeps nothing of it. */
static void take(struct config_reading *reading, struct config *config)
{
	memcpy(config->node_name, reading->node.name, sizeof(config->node_name));
	config->metrics_at = reading->node.metrics[NODECONF_ETCDWATCH];
	config->etcd = etcdconf_take(&reading->etcd);
	config->jobs = xcalloc(reading->n_jobs, sizeof(*config->jobs));
	config->n_jobs = reading->n_jobs;
	config->watch = reading->watch;
	reading->watch = (struct config_watch){0};
	for (size_t i = 0; i < reading->n_jobs; i++) {
		config->jobs[i] = reading->jobs[i].job;
		config->jobs[i].trusted_keys = &config->watch.trusted_keys;
		reading->jobs[i].job = (struct config_job){0};
	}
}

/* Takes conf, in which all text has been added. */
static int read_config(struct conf *conf, const struct config_env *env, conf_message_fn error,
                       void *userdata, struct config **ret_config)
{
	AUTO(config_free) struct config *config = NEW0(struct config);
	struct config_env actual = env != NULL ? *env : (struct config_env){0};
	struct config_reading reading = {.conf = conf, .env = &actual};
	int r;

	if (actual.file_exists == NULL)
		actual.file_exists = file_exists;
	etcdconf_set_defaults(&reading.etcd);
	config_set_watch_defaults(&reading.watch);
	conf_read(conf, config_kinds, &reading);
	etcdconf_resolve(&reading.etcd, conf, actual.file_exists);
	nodeconf_resolve(&reading.node, conf, actual.hostname);
	config_check_whole(&reading);

	r = conf_finish(conf, error, userdata, &config->notes);
	if (r == 0) {
		take(&reading, config);
		*ret_config = TAKE_PTR(config);
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
