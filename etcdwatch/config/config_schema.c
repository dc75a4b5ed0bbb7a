/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of EtcdSnapshotConfig: every key, its type, its range. docs/config.md and
 * fairlead.yaml(5) describe these keys, and a test holds them to it.
 */
#include "etcdwatch/config/config_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/mono.h"

#define MINUTES INT64_C(60) * US_PER_S
#define HOURS INT64_C(3600) * US_PER_S

#define KEEP_MAX 10000
#define ZSTD_LEVEL_MAX 19 /* beyond, memory grows to hundreds of MiB */

const char *const config_taker_names[] = {
    [CONFIG_TAKER_ELECTED] = "elected",
    [CONFIG_TAKER_EVERY_NODE] = "every-node",
    NULL,
};

const char *const config_compression_names[] = {
    [CONFIG_COMPRESSION_ZSTD] = "zstd",
    [CONFIG_COMPRESSION_NONE] = "none",
    NULL,
};

const char *const config_target_type_names[] = {
    [CONFIG_TARGET_S3] = "s3",
    [CONFIG_TARGET_COMMAND] = "command",
    NULL,
};

const char *const config_verb_names[] = {
    [CONFIG_VERB_UPLOAD] = "upload",
    [CONFIG_VERB_DOWNLOAD] = "download",
    [CONFIG_VERB_LIST] = "list",
    [CONFIG_VERB_DELETE] = "delete",
    NULL,
};

/* --- when --- */

void config_set_schedule(struct conf *conf, const struct conf_field *field UNUSED,
                         const struct conf_node *value, void *slot)
{
	char error[SCHEDULE_ERROR_MAX];

	if (conf_expect(conf, value, CONF_SCALAR) && schedule_parse(value->text, slot, error) < 0)
		conf_error(conf, value, "such as '30 3 * * *' or @hourly", "%s", error);
}

void config_read_zone(struct conf *conf, const struct conf_node *value, const char *directory,
                      char **name, struct zone **zone)
{
	struct zone *read;
	int r;

	if (!conf_expect(conf, value, CONF_SCALAR))
		return;
	r = zone_load(directory, value->text, &read);
	if (r == 0) {
		zone_free(*zone);
		free(*name);
		*zone = read;
		*name = xstrdup(value->text);
	} else if (r == -EINVAL || r == -EBADMSG) {
		conf_error(conf, value, "such as Europe/Berlin", "is not the name of a time zone");
	} else if (r == -ENOENT) {
		conf_error(conf, value, "such as Europe/Berlin; they are in " ZONE_DIRECTORY,
		           "is a time zone that this system does not know");
	} else {
		conf_error(conf, value, NULL, "cannot be read: %s", strerror(-r));
	}
}

/* The slot is the whole struct job_reading. */
static void set_time_zone(struct conf *conf, const struct conf_field *field UNUSED,
                          const struct conf_node *value, void *slot)
{
	struct job_reading *reading = slot;

	config_read_zone(conf, value, reading->env->zone_directory, &reading->job.time_zone,
	                 &reading->job.zone);
}

/* --- what is kept --- */

#define KEEP(member) offsetof(struct retain_rules, member)
static const struct conf_field retention_fields[] = {
    {.key = "last", .set = conf_set_unsigned, .offset = KEEP(last), .max = KEEP_MAX},
    {.key = "hourly", .set = conf_set_unsigned, .offset = KEEP(hourly), .max = KEEP_MAX},
    {.key = "daily", .set = conf_set_unsigned, .offset = KEEP(daily), .max = KEEP_MAX},
    {.key = "weekly", .set = conf_set_unsigned, .offset = KEEP(weekly), .max = KEEP_MAX},
    {.key = "monthly", .set = conf_set_unsigned, .offset = KEEP(monthly), .max = KEEP_MAX},
    {0},
};

/* Once it is written, it says all: who writes `last: 3` does not mean seven days as well. */
static void set_retention(struct conf *conf, const struct conf_field *field,
                          const struct conf_node *value, void *slot)
{
	struct retain_rules rules = {0};
	size_t errors = conf_error_count(conf);

	conf_read_map(conf, value, field->fields, &rules);
	if (conf_error_count(conf) > errors)
		return;
	if (rules.last + rules.hourly + rules.daily + rules.weekly + rules.monthly == 0)
		conf_error(conf, value, "such as {last: 12, daily: 7, weekly: 4}",
		           "keeps nothing but the newest");
	*(struct retain_rules *) slot = rules;
}

/* --- how it is packed --- */

#define JOB(member) offsetof(struct config_job, member)
static const struct conf_field compression_fields[] = {
    {.key = "algorithm",
     .set = conf_set_choice,
     .offset = JOB(compression),
     .choices = config_compression_names},
    {.key = "level",
     .set = conf_set_int,
     .offset = JOB(compression_level),
     .min = 1,
     .max = ZSTD_LEVEL_MAX},
    {0},
};

static const struct conf_field encryption_fields[] = {
    /* Who pastes the wrong half of a key pair pastes a secret. */
    {.key = "recipients",
     .set = conf_set_strings,
     .flags = CONF_SECRET,
     .offset = JOB(recipients),
     .min = 1,
     .max = CONFIG_RECIPIENTS_MAX,
     .check = config_check_recipient},
    {.key = "recipientsFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = JOB(recipients_file),
     .check = conf_check_file},
    {.key = "identity",
     .flags = CONF_REFUSED,
     .refusal = "an identity decrypts and does not belong here, only recipients do"},
    {.key = "passphrase",
     .flags = CONF_REFUSED,
     .refusal = "snapshots are encrypted to recipients, not with a passphrase"},
    {0},
};

/* --- where else it goes --- */

#define TARGET(member) offsetof(struct config_target, member)
static const struct conf_field server_encryption_fields[] = {
    {.key = "kms", .set = conf_set_string, .offset = TARGET(kms_key), .check = config_check_kms},
    {.key = "customerKeyFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = TARGET(customer_key_file),
     .check = conf_check_file},
    {.key = "customerKey",
     .flags = CONF_REFUSED,
     .refusal = "a key does not belong here, write it into a file and name that in "
                "customerKeyFile"},
    {0},
};

static const struct conf_field web_identity_fields[] = {
    {.key = "roleARN",
     .set = conf_set_string,
     .offset = TARGET(role_arn),
     .flags = CONF_REQUIRED,
     .check = config_check_arn},
    {.key = "tokenFile",
     .set = conf_set_string,
     .flags = CONF_SECRET | CONF_REQUIRED,
     .offset = TARGET(web_token_file),
     .check = conf_check_file},
    {.key = "sessionName",
     .set = conf_set_string,
     .offset = TARGET(session_name),
     .check = config_check_session},
    {.key = "endpoint",
     .set = conf_set_string,
     .offset = TARGET(sts_endpoint),
     .check = config_check_s3_endpoint},
    {.key = "token",
     .flags = CONF_REFUSED,
     .refusal = "a token does not belong here, write it into a file and name that in tokenFile"},
    {0},
};

#define COMMAND_WORDS_MAX 32
static const struct conf_field provider_fields[] = {
    {.key = "instanceRole", .set = conf_set_bool, .offset = TARGET(instance_role)},
    {.key = "container", .set = conf_set_bool, .offset = TARGET(container_role)},
    {.key = "webIdentity", .set = conf_set_map, .offset = 0, .fields = web_identity_fields},
    {.key = "process",
     .set = conf_set_strings,
     .offset = TARGET(process),
     .min = 1,
     .max = COMMAND_WORDS_MAX},
    {0},
};

#define VERB(name, verb)                                                                   \
	{                                                                                      \
		.key = (name), .set = conf_set_strings, .offset = TARGET(command[verb]), .min = 1, \
		.max = COMMAND_WORDS_MAX                                                           \
	}
static const struct conf_field command_fields[] = {
    VERB("upload", CONFIG_VERB_UPLOAD),
    VERB("download", CONFIG_VERB_DOWNLOAD),
    VERB("list", CONFIG_VERB_LIST),
    VERB("delete", CONFIG_VERB_DELETE),
    {0},
};

static const struct conf_field target_fields[] = {
    {.key = "name",
     .set = conf_set_string,
     .offset = TARGET(name),
     .flags = CONF_REQUIRED,
     .check = config_check_name},
    {.key = "type",
     .set = conf_set_choice,
     .offset = TARGET(type),
     .choices = config_target_type_names},
    {.key = "endpoint",
     .set = conf_set_string,
     .offset = TARGET(endpoint),
     .check = config_check_s3_endpoint},
    {.key = "bucket",
     .set = conf_set_string,
     .offset = TARGET(bucket),
     .check = config_check_bucket},
    {.key = "prefix", .set = conf_set_string, .offset = TARGET(prefix), .check = conf_check_prefix},
    {.key = "region",
     .set = conf_set_string,
     .offset = TARGET(region),
     .check = config_check_region},
    {.key = "pathStyle", .set = conf_set_bool, .offset = TARGET(path_style)},
    {.key = "caFile", .set = conf_set_string, .offset = TARGET(ca_file), .check = conf_check_file},
    {.key = "accessKeyFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = TARGET(access_key_file),
     .check = conf_check_file},
    {.key = "secretKeyFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = TARGET(secret_key_file),
     .check = conf_check_file},
    {.key = "sessionTokenFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = TARGET(session_token_file),
     .check = conf_check_file},
    {.key = "credentialsFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = TARGET(credentials_file),
     .check = conf_check_file},
    {.key = "credentials", .set = conf_set_map, .offset = 0, .fields = provider_fields},
    {.key = "accessKey",
     .flags = CONF_REFUSED,
     .refusal = "a key does not belong here, write it into a file and name that in accessKeyFile"},
    {.key = "secretKey",
     .flags = CONF_REFUSED,
     .refusal = "a key does not belong here, write it into a file and name that in secretKeyFile"},
    {.key = "sessionToken",
     .flags = CONF_REFUSED,
     .refusal = "a token does not belong here, write it into a file and name that in "
                "sessionTokenFile"},
    {.key = "proxy",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = TARGET(proxy),
     .check = config_check_proxy},
    {.key = "serverSideEncryption",
     .set = conf_set_map,
     .flags = CONF_SECRET,
     .offset = 0,
     .fields = server_encryption_fields},
    {.key = "command", .set = conf_set_map, .offset = 0, .fields = command_fields},
    {.key = "retention",
     .set = set_retention,
     .offset = TARGET(retention),
     .fields = retention_fields},
    {0},
};

/* What a target must have depends on its type. */
static void need(struct conf *conf, const struct conf_node *target, const char *key)
{
	size_t before;

	if (conf_node_find(target, key) != NULL || target->shape == CONF_LIST ||
	    (target->shape == CONF_SCALAR && !conf_node_is_null(target)))
		return;
	before = conf_enter(conf, "%s", key);
	conf_error(conf, target, NULL, "is missing");
	conf_leave(conf, before);
}

static void read_target(struct conf *conf, const struct conf_node *value,
                        const struct conf_field *fields, struct config_target *target)
{
	conf_read_map(conf, value, fields, target);
	if (target->type == CONFIG_TARGET_COMMAND) {
		need(conf, value, "command");
		return;
	}
	need(conf, value, "endpoint");
	need(conf, value, "bucket");
}

static void set_targets(struct conf *conf, const struct conf_field *field,
                        const struct conf_node *value, void *slot)
{
	struct config_job *job = slot;

	if (!conf_expect(conf, value, CONF_LIST))
		return;
	if ((int64_t) value->n > field->max) {
		conf_error(conf, value, NULL, "must have at most %lld items, has %zu",
		           (long long) field->max, value->n);
		return;
	}
	job->targets = xcalloc(value->n, sizeof(*job->targets));
	for (size_t i = 0; i < value->n; i++) {
		size_t before = conf_enter(conf, "[%zu]", i);

		read_target(conf, value->values[i], field->fields, &job->targets[job->n_targets++]);
		conf_leave(conf, before);
	}
}

/* --- what is tried --- */

static const struct conf_field verify_fields[] = {
    {.key = "hashKV", .set = conf_set_bool, .offset = JOB(verify_hashkv)},
    {0},
};

#define READING(member) offsetof(struct job_reading, member)
static const struct conf_field drill_fields[] = {
    {.key = "schedule",
     .set = config_set_schedule,
     .offset = READING(job.drill.schedule),
     .flags = CONF_REQUIRED},
    {.key = "source",
     .set = conf_set_string,
     .offset = READING(drill_source),
     .check = config_check_name},
    {.key = "directory",
     .set = conf_set_string,
     .offset = READING(job.drill.directory),
     .check = config_check_path},
    {.key = "identityFile",
     .set = conf_set_string,
     .flags = CONF_SECRET,
     .offset = READING(job.drill.identity_file),
     .check = conf_check_file},
    {.key = "identity",
     .flags = CONF_REFUSED,
     .refusal = "an identity does not belong here, write it into a file and name that in "
                "identityFile"},
    {.key = "etcd",
     .set = conf_set_string,
     .offset = READING(job.drill.etcd),
     .check = conf_check_file},
    {.key = "etcdutl",
     .set = conf_set_string,
     .offset = READING(job.drill.etcdutl),
     .check = conf_check_file},
    {.key = "timeout",
     .set = conf_set_duration,
     .offset = READING(job.drill.timeout_us),
     .min = 10 * US_PER_S,
     .max = 24 * HOURS},
    {0},
};

static void set_drill(struct conf *conf, const struct conf_field *field,
                      const struct conf_node *value, void *slot)
{
	struct job_reading *reading = slot;

	reading->job.drill.enabled = true;
	conf_read_map(conf, value, field->fields, reading);
}

static const struct conf_field limits_fields[] = {
    {.key = "noProgress",
     .set = conf_set_duration,
     .offset = JOB(no_progress_us),
     .min = 1 * US_PER_S,
     .max = 10 * MINUTES},
    {0},
};

/* --- EtcdSnapshotConfig --- */

static const struct conf_field job_fields[] = {
    {.key = "name",
     .set = conf_set_string,
     .offset = READING(job.name),
     .flags = CONF_REQUIRED,
     .check = config_check_name},
    {.key = "schedule",
     .set = config_set_schedule,
     .offset = READING(job.schedule),
     .flags = CONF_REQUIRED},
    {.key = "timeZone", .set = set_time_zone, .offset = 0},
    {.key = "jitter",
     .set = conf_set_duration,
     .offset = READING(job.jitter_us),
     .min = 0,
     .max = 24 * HOURS},
    {.key = "catchUp", .set = conf_set_bool, .offset = READING(job.catch_up)},
    {.key = "directory",
     .set = conf_set_string,
     .offset = READING(job.directory),
     .check = config_check_directory},
    {.key = "taker",
     .set = conf_set_choice,
     .offset = READING(job.taker),
     .choices = config_taker_names},
    {.key = "retention",
     .set = set_retention,
     .offset = READING(job.retention),
     .fields = retention_fields},
    {.key = "compression",
     .set = conf_set_map,
     .offset = READING(job),
     .fields = compression_fields},
    {.key = "encryption",
     .set = conf_set_map,
     .flags = CONF_SECRET,
     .offset = READING(job),
     .fields = encryption_fields},
    {.key = "reserve",
     .set = conf_set_bytes,
     .offset = READING(job.reserve_bytes),
     .min = 0,
     .max = INT64_C(1) << 50},
    {.key = "extraFiles",
     .set = conf_set_strings,
     .offset = READING(job.extra_files),
     .min = 0,
     .max = CATALOG_EXTRA_MAX,
     .check = config_check_path},
    {.key = "targets",
     .set = set_targets,
     .offset = READING(job),
     .max = CONFIG_TARGETS_MAX,
     .fields = target_fields},
    {.key = "verify", .set = conf_set_map, .offset = READING(job), .fields = verify_fields},
    {.key = "drill", .set = set_drill, .offset = 0, .fields = drill_fields},
    {.key = "limits", .set = conf_set_map, .offset = READING(job), .fields = limits_fields},
    {0},
};

static void read_job(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;
	size_t errors = conf_error_count(conf);
	struct job_reading *job;

	if (reading->n_jobs == CONFIG_JOBS_MAX) {
		conf_error(conf, document, NULL, "more than %d jobs", CONFIG_JOBS_MAX);
		return;
	}
	reading->jobs = xreallocarray(reading->jobs, reading->n_jobs + 1, sizeof(*reading->jobs));
	job = &reading->jobs[reading->n_jobs++];
	*job = (struct job_reading){.document = document, .env = reading->env};
	config_set_job_defaults(&job->job);
	conf_read_map(conf, document, job_fields, job);
	config_resolve_job(job);
	job->job.encrypted = conf_node_find(document, "encryption") != NULL;
	job->job.origin = conf_origin(conf, document);
	job->is_whole = conf_error_count(conf) == errors;
}

/* --- kinds that other daemons read as well --- */

static const struct conf_field network_fields[] = {
    {.key = "hostname",
     .set = nodeconf_set_hostname,
     .offset = offsetof(struct config_reading, node)},
    {.key = CONF_ANY_KEY, .flags = CONF_PASS},
    {0},
};

static const struct conf_field machine_fields[] = {
    {.key = "network", .set = conf_set_map, .offset = 0, .fields = network_fields},
    {.key = CONF_ANY_KEY, .flags = CONF_PASS},
    {0},
};

static const struct conf_field legacy_fields[] = {
    {.key = "machine", .set = conf_set_map, .offset = 0, .fields = machine_fields},
    {.key = "version", .flags = CONF_PASS},
    {.key = CONF_ANY_KEY, .flags = CONF_PASS},
    {0},
};

static void read_legacy(struct conf *conf, const struct conf_node *document, void *userdata)
{
	conf_read_map(conf, document, legacy_fields, userdata);
}

static void read_hostname(struct conf *conf, const struct conf_node *document, void *userdata)
{
	nodeconf_read_hostname(&((struct config_reading *) userdata)->node, conf, document);
}

static void read_node(struct conf *conf, const struct conf_node *document, void *userdata)
{
	nodeconf_read(&((struct config_reading *) userdata)->node, conf, document);
}

static void read_etcd(struct conf *conf, const struct conf_node *document, void *userdata)
{
	etcdconf_read(&((struct config_reading *) userdata)->etcd, conf, document);
}

/* --- all --- */

const struct conf_kind config_kinds[] = {
    {CONF_KIND_LEGACY, legacy_fields, read_legacy},
    {"HostnameConfig", nodeconf_hostname_fields, read_hostname},
    {"NodeConfig", nodeconf_fields, read_node},
    {"EtcdClientConfig", etcdconf_fields, read_etcd},
    {"EtcdSnapshotConfig", job_fields, read_job},
    {"EtcdWatchConfig", config_watch_fields, config_read_watch},
    {0},
};
