/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds where a job's document says nothing. Some of it depends on what it does say: where the
 * snapshots lie on the job's name, how a bucket is addressed on who serves it.
 */
#include "etcdwatch/config/config_priv.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/jsonval.h"
#include "base/mem.h"
#include "base/mono.h"

#define DIRECTORY "/var/lib/fairlead/etcdwatch"
#define AMAZON ".amazonaws.com"

static const struct retain_rules default_retention = {.last = 12, .daily = 7, .weekly = 4};

void config_set_job_defaults(struct config_job *job)
{
	*job = (struct config_job){
	    .time_zone = xstrdup("UTC"),
	    .catch_up = true,
	    .taker = CONFIG_TAKER_ELECTED,
	    .retention = default_retention,
	    .compression = CONFIG_COMPRESSION_ZSTD,
	    .compression_level = 3,
	    .reserve_bytes = INT64_C(1) << 30,
	    .verify_hashkv = true,
	    .drill = {.timeout_us = 600 * US_PER_S},
	    .no_progress_us = 30 * US_PER_S,
	};
	(void) zone_load(NULL, "UTC", &job->zone);
}

/* Amazon's buckets are hosts of their own; others are addressed by the path, since few have names
 * and certificates for each bucket. Amazon's hosts name their region: s3.eu-central-1. */
static void resolve_address(struct config_target *target, bool style_is_written)
{
	struct conf_url url = {.host = ""};
	size_t len, suffix = strlen(AMAZON);
	const char *region;
	bool is_amazon;

	(void) conf_parse_url(target->endpoint, &url);
	len = strlen(url.host);
	is_amazon = len > suffix && strcmp(url.host + len - suffix, AMAZON) == 0;
	if (!style_is_written)
		target->path_style = !is_amazon;
	if (target->region != NULL)
		return;
	if (is_amazon)
		url.host[len - suffix] = '\0';
	region = strrchr(url.host, '.');
	target->region = xstrdup(is_amazon && region != NULL ? region + 1 : "us-east-1");
}

static json_t *words_json(const struct conf_strings *words)
{
	json_t *list = json_array();

	for (size_t i = 0; i < words->n; i++)
		(void) json_array_append_new(list, jsonval_text(words->items[i]));
	return list;
}

static char *command_json(const struct config_target *target)
{
	json_t *programs = json_object();
	char *text;

	for (size_t i = 0; i < CONFIG_VERBS; i++)
		(void) json_object_set_new(programs, config_verb_names[i], words_json(&target->command[i]));
	text = json_dumps(programs, JSON_COMPACT);
	json_decref(programs);
	return text;
}

static json_t *web_identity(struct config_target *target)
{
	if (target->session_name == NULL)
		target->session_name = xstrdup("fairlead");
	if (target->sts_endpoint == NULL)
		target->sts_endpoint = xasprintf("https://sts.%s" AMAZON, target->region);
	return json_pack("{s:o, s:o, s:o, s:o}", "roleARN", jsonval_text(target->role_arn), "tokenFile",
	                 jsonval_text(target->web_token_file), "sessionName",
	                 jsonval_text(target->session_name), "endpoint",
	                 jsonval_text(target->sts_endpoint));
}

/* NULL: none is written, or not a whole one. Where it is several, config_cross.c says so. */
static char *provider_json(struct config_target *target)
{
	json_t *provider = json_object();
	char *text = NULL;

	if (target->instance_role)
		(void) json_object_set_new(provider, "instanceRole", json_true());
	if (target->container_role)
		(void) json_object_set_new(provider, "container", json_true());
	if (target->role_arn != NULL && target->web_token_file != NULL && target->region != NULL)
		(void) json_object_set_new(provider, "webIdentity", web_identity(target));
	if (target->process.n > 0)
		(void) json_object_set_new(provider, "process", words_json(&target->process));
	if (json_object_size(provider) > 0)
		text = json_dumps(provider, JSON_COMPACT);
	json_decref(provider);
	return text;
}

static void resolve_target(struct config_target *target, const struct conf_node *written,
                           const struct retain_rules *retention)
{
	if (target->prefix == NULL)
		target->prefix = xstrdup("");
	if (target->type == CONFIG_TARGET_COMMAND)
		target->command_json = command_json(target);
	else if (target->endpoint != NULL)
		resolve_address(target, conf_node_find(written, "pathStyle") != NULL);
	target->credentials_json = provider_json(target);
	if (conf_node_find(written, "retention") == NULL)
		target->retention = *retention;
}

void config_resolve_job(struct job_reading *reading)
{
	struct config_job *job = &reading->job;
	const struct conf_node *targets = conf_node_find(reading->document, "targets");

	if (job->directory == NULL && job->name != NULL)
		job->directory = xasprintf("%s/%s", DIRECTORY, job->name);
	if (job->drill.directory == NULL && job->directory != NULL)
		job->drill.directory = xasprintf("%s/drill", job->directory);
	for (size_t i = 0; i < job->n_targets; i++)
		resolve_target(&job->targets[i], targets->values[i], &job->retention);
	for (size_t i = 0; i < job->n_targets && reading->drill_source != NULL; i++) {
		if (job->targets[i].name != NULL &&
		    strcmp(job->targets[i].name, reading->drill_source) == 0)
			job->drill.source = &job->targets[i];
	}
}
