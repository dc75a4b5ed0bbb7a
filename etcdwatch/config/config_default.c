/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds where a job's document says nothing. Some of it depends on what it does say: where the
 * snapshots lie on the job's name, how a bucket is addressed on who serves it.
 */
#include "etcdwatch/config/config_priv.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_url.h"
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

static char *command_json(const struct config_target *target)
{
	json_t *programs = json_object();
	char *text;

	for (size_t i = 0; i < CONFIG_VERBS; i++) {
		json_t *words = json_array();

		for (size_t k = 0; k < target->command[i].n; k++)
			(void) json_array_append_new(words, jsonval_text(target->command[i].items[k]));
		(void) json_object_set_new(programs, config_verb_names[i], words);
	}
	text = json_dumps(programs, JSON_COMPACT);
	json_decref(programs);
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
