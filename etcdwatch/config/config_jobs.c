/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs and the access to etcd as JSON lines, for `fairlead etcd restore`, which works where no
 * daemon does. A target has the options by which the worker reaches it. */
#include <jansson.h>
#include <string.h>

#include "base/jsonval.h"
#include "etcdwatch/config/config_priv.h"
#include "etcdwatch/config/s3words.h"

/* Behind the names of program, command and subcommand. */
#define FIRST_OPTION 3

static bool has_record(const struct config *config, const struct config_job *job,
                       const struct config_target *target)
{
	const struct config_record *record = &config->watch.record;

	for (size_t i = 0; i < record->n_targets; i++) {
		if (strcmp(record->targets[i].job, job->name) == 0 &&
		    strcmp(record->targets[i].target, target->name) == 0)
			return true;
	}
	return false;
}

/* Another job copies to the same place. */
static bool is_shared(const struct config *config, const struct config_job *job,
                      const struct config_target *target)
{
	for (size_t i = 0; i < config->n_jobs; i++) {
		const struct config_job *other = &config->jobs[i];

		for (size_t k = 0; other != job && k < other->n_targets; k++) {
			if (config_is_same_place(target, &other->targets[k]))
				return true;
		}
	}
	return false;
}

/* `record`: it is uploaded to the target as well. */
static json_t *describe_target(const struct config *config, const struct config_job *job,
                               const struct config_target *target)
{
	json_t *options = json_array();
	struct s3words words;

	s3words_begin(&words, "", "", target);
	for (size_t i = FIRST_OPTION; i < words.n; i++)
		(void) json_array_append_new(options, jsonval_text(words.argv[i]));
	return json_pack("{s:o, s:o, s:b, s:b, s:o}", "name", jsonval_text(target->name), "prefix",
	                 jsonval_text(target->prefix), "record", has_record(config, job, target),
	                 "shared", is_shared(config, job, target), "options", options);
}

/* `record` is where all changes are recorded, or were once. */
static json_t *describe_job(const struct config *config, const struct config_job *job,
                            const char *own_key)
{
	json_t *targets = json_array(), *keys = json_array();

	for (size_t i = 0; i < job->n_targets; i++)
		(void) json_array_append_new(targets, describe_target(config, job, &job->targets[i]));
	for (size_t i = 0; i < job->trusted_keys->n; i++)
		(void) json_array_append_new(keys, jsonval_text(job->trusted_keys->items[i]));
	return json_pack(
	    "{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "name", jsonval_text(job->name),
	    "directory", jsonval_text(job->directory), "encrypted", job->encrypted, "identity_file",
	    jsonval_text(job->drill.identity_file), "etcdutl", jsonval_text(job->drill.etcdutl),
	    "targets", targets, "record", jsonval_text(config->watch.record.directory), "trusted_keys",
	    keys, "own_key", jsonval_text(own_key));
}

void config_print_jobs(const struct config *config, const char *own_key, FILE *out)
{
	for (size_t i = 0; i < config->n_jobs; i++) {
		json_t *job = describe_job(config, &config->jobs[i], own_key);

		(void) json_dumpf(job, out, JSON_COMPACT);
		(void) fputc('\n', out);
		json_decref(job);
	}
}

static void add_option(json_t *words, const char *option, const char *value)
{
	if (value == NULL)
		return;
	(void) json_array_append_new(words, json_string(option));
	(void) json_array_append_new(words, jsonval_text(value));
}

/* The words by which `etcdwatch-worker health` reaches etcd. */
void config_print_etcd(const struct config *config, FILE *out)
{
	const struct etcdconf *etcd = &config->etcd;
	json_t *words = json_array();

	for (size_t i = 0; i < etcd->n_endpoints; i++)
		add_option(words, "--endpoint", etcd->endpoints[i]);
	add_option(words, "--ca-file", etcd->ca_file);
	add_option(words, "--cert-file", etcd->cert_file);
	add_option(words, "--key-file", etcd->key_file);
	(void) json_dumpf(words, out, JSON_COMPACT);
	(void) fputc('\n', out);
	json_decref(words);
}
