/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as YAML: every document and key written out, so that a person sees what is in
 * force, in one fixed order, so that two outputs can be compared. It reads back as the same struct
 * config.
 */
#include "etcdwatch/config/config_priv.h"

void config_print_strings(FILE *out, const char *key, const char *indent,
                          const struct conf_strings *strings)
{
	if (strings->n == 0)
		return;
	(void) fprintf(out, "%s%s:\n", indent, key);
	for (size_t i = 0; i < strings->n; i++) {
		(void) fprintf(out, "%s  - ", indent);
		conf_write_string(out, strings->items[i]);
		(void) fputc('\n', out);
	}
}

static void print_retention(FILE *out, const char *indent, const struct retain_rules *rules)
{
	(void) fprintf(out,
	               "%sretention:\n%s  last: %u\n%s  hourly: %u\n%s  daily: %u\n%s  weekly: %u\n"
	               "%s  monthly: %u\n",
	               indent, indent, rules->last, indent, rules->hourly, indent, rules->daily, indent,
	               rules->weekly, indent, rules->monthly);
}

static void print_packing(FILE *out, const struct config_job *job)
{
	(void) fputs("compression:\n", out);
	conf_print_string(out, "  algorithm", config_compression_names[job->compression]);
	if (job->compression == CONFIG_COMPRESSION_ZSTD)
		(void) fprintf(out, "  level: %d\n", job->compression_level);
	if (job->encrypted) {
		(void) fputs("encryption:\n", out);
		config_print_strings(out, "recipients", "  ", &job->recipients);
		conf_print_string(out, "  recipientsFile", job->recipients_file);
	}
}

static void print_provider(FILE *out, const struct config_target *target)
{
	if (target->credentials_json == NULL)
		return;
	(void) fputs("    credentials:\n", out);
	if (target->instance_role)
		conf_print_bool(out, "      instanceRole", true);
	if (target->container_role)
		conf_print_bool(out, "      container", true);
	if (target->role_arn != NULL)
		(void) fputs("      webIdentity:\n", out);
	conf_print_string(out, "        roleARN", target->role_arn);
	conf_print_string(out, "        tokenFile", target->web_token_file);
	conf_print_string(out, "        sessionName", target->session_name);
	conf_print_string(out, "        endpoint", target->sts_endpoint);
	config_print_strings(out, "process", "      ", &target->process);
}

static void print_s3(FILE *out, const struct config_target *target)
{
	conf_print_string(out, "    endpoint", target->endpoint);
	conf_print_string(out, "    bucket", target->bucket);
	if (target->prefix[0] != '\0')
		conf_print_string(out, "    prefix", target->prefix);
	conf_print_string(out, "    region", target->region);
	conf_print_bool(out, "    pathStyle", target->path_style);
	conf_print_string(out, "    caFile", target->ca_file);
	conf_print_string(out, "    accessKeyFile", target->access_key_file);
	conf_print_string(out, "    secretKeyFile", target->secret_key_file);
	conf_print_string(out, "    sessionTokenFile", target->session_token_file);
	conf_print_string(out, "    credentialsFile", target->credentials_file);
	print_provider(out, target);
	conf_print_string(out, "    proxy", target->proxy);
	if (target->kms_key != NULL || target->customer_key_file != NULL)
		(void) fputs("    serverSideEncryption:\n", out);
	conf_print_string(out, "      kms", target->kms_key);
	conf_print_string(out, "      customerKeyFile", target->customer_key_file);
}

static void print_command(FILE *out, const struct config_target *target)
{
	if (target->prefix[0] != '\0')
		conf_print_string(out, "    prefix", target->prefix);
	(void) fputs("    command:\n", out);
	for (size_t i = 0; i < CONFIG_VERBS; i++)
		config_print_strings(out, config_verb_names[i], "      ", &target->command[i]);
}

static void print_target(FILE *out, const struct config_target *target)
{
	conf_print_string(out, "  - name", target->name);
	conf_print_string(out, "    type", config_target_type_names[target->type]);
	if (target->type == CONFIG_TARGET_COMMAND)
		print_command(out, target);
	else
		print_s3(out, target);
	print_retention(out, "    ", &target->retention);
}

static void print_drill(FILE *out, const struct config_drill *drill)
{
	(void) fputs("drill:\n", out);
	conf_print_string(out, "  schedule", drill->schedule.text);
	conf_print_string(out, "  source", drill->source != NULL ? drill->source->name : "local");
	conf_print_string(out, "  directory", drill->directory);
	conf_print_string(out, "  identityFile", drill->identity_file);
	conf_print_string(out, "  etcd", drill->etcd);
	conf_print_string(out, "  etcdutl", drill->etcdutl);
	conf_print_duration(out, "  timeout", drill->timeout_us);
}

static void print_job(FILE *out, const struct config_job *job)
{
	conf_print_header(out, CONF_API_FAIRLEAD, "EtcdSnapshotConfig");
	conf_print_string(out, "name", job->name);
	conf_print_string(out, "schedule", job->schedule.text);
	conf_print_string(out, "timeZone", job->time_zone);
	conf_print_duration(out, "jitter", job->jitter_us);
	conf_print_bool(out, "catchUp", job->catch_up);
	conf_print_string(out, "directory", job->directory);
	conf_print_string(out, "taker", config_taker_names[job->taker]);
	print_retention(out, "", &job->retention);
	print_packing(out, job);
	conf_print_bytes(out, "reserve", job->reserve_bytes);
	config_print_strings(out, "extraFiles", "", &job->extra_files);
	if (job->n_targets > 0)
		(void) fputs("targets:\n", out);
	for (size_t i = 0; i < job->n_targets; i++)
		print_target(out, &job->targets[i]);
	(void) fputs("verify:\n", out);
	conf_print_bool(out, "  hashKV", job->verify_hashkv);
	if (job->drill.enabled)
		print_drill(out, &job->drill);
	(void) fputs("limits:\n", out);
	conf_print_duration(out, "  noProgress", job->no_progress_us);
}

void config_print(const struct config *config, FILE *out)
{
	nodeconf_print(config->node_name, NODECONF_ETCDWATCH, &config->metrics_at, out);
	etcdconf_print(&config->etcd, out);
	config_print_watch(out, &config->watch);
	for (size_t i = 0; i < config->n_jobs; i++)
		print_job(out, &config->jobs[i]);
}
