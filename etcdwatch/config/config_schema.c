/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of EtcdSnapshotConfig: every key, its type, its range, its default; and what is done
 * by them. docs/config.md and fairlead.yaml(5) describe these keys, and a test holds them to it.
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

static void set_schedule(struct conf *conf, const struct conf_field *field UNUSED,
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

static void print_schedule(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	conf_write_string(out, ((const struct schedule *) slot)->text);
}

const struct conf_type config_schedule = {
    .word = "schedule",
    .size = sizeof(struct schedule),
    .set = set_schedule,
    .print = print_schedule,
};

static void set_time_zone(struct conf *conf, const struct conf_field *field UNUSED,
                          const struct conf_node *value, void *slot)
{
	struct job_reading *reading = CONTAINER_OF(slot, struct job_reading, job.time_zone);

	config_read_zone(conf, value, reading->env->zone_directory, &reading->job.time_zone,
	                 &reading->job.zone);
}

/* --- what is kept --- */

#define KEEP(key, member, def) \
	ROW(key, conf_unsigned, offsetof(struct retain_rules, member), def, .max = KEEP_MAX)
static const struct conf_field retention_fields[] = {
    KEEP("last", last, "12"),    KEEP("hourly", hourly, "0"),   KEEP("daily", daily, "7"),
    KEEP("weekly", weekly, "4"), KEEP("monthly", monthly, "0"), {0},
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

#define RETENTION(offset_) \
	ROW("retention", conf_map, offset_, NULL, .set = set_retention, .fields = retention_fields)

/* --- how it is packed --- */

static bool has_level(const void *slot)
{
	const void *job = (const char *) slot - offsetof(struct config_job, compression_level);

	return ((const struct config_job *) job)->compression == CONFIG_COMPRESSION_ZSTD;
}

#define JOB(member) offsetof(struct config_job, member)
static const struct conf_field compression_fields[] = {
    ROW("algorithm", conf_choice, JOB(compression), "zstd", .choices = config_compression_names),
    ROW("level", conf_int, JOB(compression_level), "3", .min = 1, .max = ZSTD_LEVEL_MAX,
        .is_set = has_level),
    {0},
};

static bool is_encrypted(const void *slot)
{
	return ((const struct config_job *) slot)->encrypted;
}

static const struct conf_field encryption_fields[] = {
    /* Who pastes the wrong half of a key pair pastes a secret. */
    ROW("recipients", conf_strings, JOB(recipients), NULL, .flags = CONF_SECRET, .min = 1,
        .max = CONFIG_RECIPIENTS_MAX, .check = config_check_recipient),
    ROW_SECRET_FILE("recipientsFile", JOB(recipients_file)),
    ROW_REFUSED("identity", "an identity decrypts and does not belong here, only recipients do"),
    ROW_REFUSED("passphrase", "snapshots are encrypted to recipients, not with a passphrase"),
    {0},
};

/* --- where else it goes --- */

static bool is_true(const void *slot)
{
	return *(const bool *) slot;
}

static bool is_not_empty(const void *slot)
{
	const char *text = *(char *const *) slot;

	return text != NULL && text[0] != '\0';
}

static bool is_s3(const void *slot)
{
	const void *target = (const char *) slot - offsetof(struct config_target, path_style);

	return ((const struct config_target *) target)->type == CONFIG_TARGET_S3;
}

/* Of a section: the slot is the whole target. */
static bool is_command(const void *slot)
{
	return ((const struct config_target *) slot)->type == CONFIG_TARGET_COMMAND;
}

static bool has_provider(const void *slot)
{
	return ((const struct config_target *) slot)->credentials_json != NULL;
}

static bool has_identity(const void *slot)
{
	return ((const struct config_target *) slot)->role_arn != NULL;
}

static bool has_server_encryption(const void *slot)
{
	const struct config_target *target = slot;

	return target->kms_key != NULL || target->customer_key_file != NULL;
}

#define TARGET(member) offsetof(struct config_target, member)
static const struct conf_field server_encryption_fields[] = {
    ROW("kms", conf_string, TARGET(kms_key), NULL, .check = config_check_kms),
    ROW_SECRET_FILE("customerKeyFile", TARGET(customer_key_file)),
    ROW_REFUSED("customerKey", "a key does not belong here, write it into a file and name that in "
                               "customerKeyFile"),
    {0},
};

static const struct conf_field web_identity_fields[] = {
    ROW("roleARN", conf_string, TARGET(role_arn), NULL, .flags = CONF_REQUIRED,
        .check = config_check_arn),
    ROW("tokenFile", conf_string, TARGET(web_token_file), NULL,
        .flags = CONF_SECRET | CONF_REQUIRED, .check = conf_check_file),
    ROW("sessionName", conf_string, TARGET(session_name), NULL, .check = config_check_session),
    ROW("endpoint", conf_string, TARGET(sts_endpoint), NULL, .check = config_check_s3_endpoint),
    ROW_REFUSED("token", "a token does not belong here, write it into a file and name that in "
                         "tokenFile"),
    {0},
};

#define COMMAND_WORDS_MAX 32
#define ROW_WORDS(key, offset) \
	ROW(key, conf_strings, offset, NULL, .min = 1, .max = COMMAND_WORDS_MAX)
static const struct conf_field provider_fields[] = {
    ROW("instanceRole", conf_bool, TARGET(instance_role), "false", .is_set = is_true),
    ROW("container", conf_bool, TARGET(container_role), "false", .is_set = is_true),
    ROW("webIdentity", conf_map, 0, NULL, .fields = web_identity_fields, .is_set = has_identity),
    ROW_WORDS("process", TARGET(process)),
    {0},
};

static const struct conf_field command_fields[] = {
    ROW_WORDS("upload", TARGET(command[CONFIG_VERB_UPLOAD])),
    ROW_WORDS("download", TARGET(command[CONFIG_VERB_DOWNLOAD])),
    ROW_WORDS("list", TARGET(command[CONFIG_VERB_LIST])),
    ROW_WORDS("delete", TARGET(command[CONFIG_VERB_DELETE])),
    {0},
};

static const struct conf_field target_fields[] = {
    ROW("name", conf_string, TARGET(name), NULL, .flags = CONF_REQUIRED,
        .check = config_check_name),
    ROW("type", conf_choice, TARGET(type), "s3", .choices = config_target_type_names),
    ROW("endpoint", conf_string, TARGET(endpoint), NULL, .check = config_check_s3_endpoint),
    ROW("bucket", conf_string, TARGET(bucket), NULL, .check = config_check_bucket),
    ROW("prefix", conf_string, TARGET(prefix), NULL, .check = conf_check_prefix,
        .is_set = is_not_empty),
    ROW("region", conf_string, TARGET(region), NULL, .check = config_check_region),
    ROW("pathStyle", conf_bool, TARGET(path_style), NULL, .is_set = is_s3),
    ROW("caFile", conf_string, TARGET(ca_file), NULL, .check = conf_check_file),
    ROW_SECRET_FILE("accessKeyFile", TARGET(access_key_file)),
    ROW_SECRET_FILE("secretKeyFile", TARGET(secret_key_file)),
    ROW_SECRET_FILE("sessionTokenFile", TARGET(session_token_file)),
    ROW_SECRET_FILE("credentialsFile", TARGET(credentials_file)),
    ROW("credentials", conf_map, 0, NULL, .fields = provider_fields, .is_set = has_provider),
    ROW_REFUSED("accessKey", "a key does not belong here, write it into a file and name that in "
                             "accessKeyFile"),
    ROW_REFUSED("secretKey", "a key does not belong here, write it into a file and name that in "
                             "secretKeyFile"),
    ROW_REFUSED("sessionToken", "a token does not belong here, write it into a file and name that "
                                "in sessionTokenFile"),
    ROW("proxy", conf_string, TARGET(proxy), NULL, .flags = CONF_SECRET,
        .check = config_check_proxy),
    ROW("serverSideEncryption", conf_map, 0, NULL, .flags = CONF_SECRET,
        .fields = server_encryption_fields, .is_set = has_server_encryption),
    ROW("command", conf_map, 0, NULL, .fields = command_fields, .is_set = is_command),
    RETENTION(TARGET(retention)),
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
	struct config_job *job = CONTAINER_OF(slot, struct config_job, targets);

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
    ROW("hashKV", conf_bool, JOB(verify_hashkv), "true"),
    {0},
};

/* The target is found when all are read. */
static void set_source(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	conf_set_string(conf, field, value,
	                &CONTAINER_OF(slot, struct job_reading, job.drill.source)->drill_source);
}

static void print_source(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	const struct config_target *source = *(const struct config_target *const *) slot;

	conf_write_string(out, source != NULL ? source->name : "local");
}

static const struct conf_type source_type = {
    .word = "`local` or the name of a target",
    .size = sizeof(const struct config_target *),
    .set = set_source,
    .print = print_source,
};

#define DRILL(member) offsetof(struct config_drill, member)
static const struct conf_field drill_fields[] = {
    ROW("schedule", config_schedule, DRILL(schedule), NULL, .flags = CONF_REQUIRED),
    ROW("source", source_type, DRILL(source), NULL, .check = config_check_name),
    ROW("directory", conf_string, DRILL(directory), NULL, .check = config_check_path),
    ROW_SECRET_FILE("identityFile", DRILL(identity_file)),
    ROW_REFUSED("identity", "an identity does not belong here, write it into a file and name that "
                            "in identityFile"),
    ROW("etcd", conf_string, DRILL(etcd), NULL, .check = conf_check_file),
    ROW("etcdutl", conf_string, DRILL(etcdutl), NULL, .check = conf_check_file),
    ROW("timeout", conf_duration, DRILL(timeout_us), "10m", .min = 10 * US_PER_S,
        .max = 24 * HOURS),
    {0},
};

static void set_drill(struct conf *conf, const struct conf_field *field,
                      const struct conf_node *value, void *slot)
{
	((struct config_drill *) slot)->enabled = true;
	conf_read_map(conf, value, field->fields, slot);
}

static bool has_drill(const void *slot)
{
	return ((const struct config_drill *) slot)->enabled;
}

static const struct conf_field limits_fields[] = {
    ROW("noProgress", conf_duration, JOB(no_progress_us), "30s", .min = 1 * US_PER_S,
        .max = 10 * MINUTES),
    {0},
};

/* --- EtcdSnapshotConfig --- */

/* A struct job_reading begins with the job: the table is for both. */
static const struct conf_field job_fields[] = {
    ROW("name", conf_string, JOB(name), NULL, .flags = CONF_REQUIRED, .check = config_check_name),
    ROW("schedule", config_schedule, JOB(schedule), NULL, .flags = CONF_REQUIRED),
    ROW("timeZone", conf_string, JOB(time_zone), NULL, .set = set_time_zone),
    ROW("jitter", conf_duration, JOB(jitter_us), "0s", .min = 0, .max = 24 * HOURS),
    ROW("catchUp", conf_bool, JOB(catch_up), "true"),
    ROW("directory", conf_string, JOB(directory), NULL, .check = config_check_directory),
    ROW("taker", conf_choice, JOB(taker), "elected", .choices = config_taker_names),
    RETENTION(JOB(retention)),
    ROW("compression", conf_map, 0, NULL, .fields = compression_fields),
    ROW("encryption", conf_map, 0, NULL, .flags = CONF_SECRET, .fields = encryption_fields,
        .is_set = is_encrypted),
    ROW("reserve", conf_bytes, JOB(reserve_bytes), "1GiB", .min = 0, .max = INT64_C(1) << 50),
    ROW("extraFiles", conf_strings, JOB(extra_files), NULL, .min = 0, .max = CATALOG_EXTRA_MAX,
        .check = config_check_path),
    ROW("targets", conf_list, JOB(targets), NULL, .set = set_targets, .item = &conf_map,
        .size = sizeof(struct config_target), .count = JOB(n_targets) - JOB(targets),
        .max = CONFIG_TARGETS_MAX, .fields = target_fields),
    ROW("verify", conf_map, 0, NULL, .fields = verify_fields),
    ROW("drill", conf_map, JOB(drill), NULL, .set = set_drill, .fields = drill_fields,
        .is_set = has_drill),
    ROW("limits", conf_map, 0, NULL, .fields = limits_fields),
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
	conf_set_defaults(job_fields, job);
	job->job.time_zone = xstrdup("UTC");
	(void) zone_load(NULL, "UTC", &job->job.zone);
	conf_read_map(conf, document, job_fields, job);
	config_resolve_job(job);
	job->job.encrypted = conf_node_find(document, "encryption") != NULL;
	job->job.origin = conf_origin(conf, document);
	job->is_whole = conf_error_count(conf) == errors;
}

void config_job_fini(struct config_job *job)
{
	for (size_t i = 0; i < job->n_targets; i++) {
		free(job->targets[i].command_json);
		free(job->targets[i].credentials_json);
	}
	conf_fini(job_fields, job);
	zone_free(job->zone);
	free(job->origin);
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
    {CONF_KIND_LEGACY, legacy_fields, NULL},
    {"HostnameConfig", nodeconf_hostname_fields, read_hostname},
    {"NodeConfig", nodeconf_fields, read_node},
    {"EtcdClientConfig", etcdconf_fields, read_etcd},
    {"EtcdSnapshotConfig", job_fields, read_job},
    {"EtcdWatchConfig", config_watch_fields, config_read_watch},
    {0},
};

/* Every document and key written out, so that a person sees what is in force, in one fixed order,
 * so that two outputs can be compared. */
void config_print(const struct config *config, FILE *out)
{
	nodeconf_print(config->node_name, NODECONF_ETCDWATCH, &config->metrics_at, out);
	etcdconf_print(&config->etcd, out);
	conf_print_header(out, CONF_API_FAIRLEAD, "EtcdWatchConfig");
	conf_print(config_watch_fields, &config->watch, "", out);
	for (size_t i = 0; i < config->n_jobs; i++) {
		conf_print_header(out, CONF_API_FAIRLEAD, "EtcdSnapshotConfig");
		conf_print(job_fields, &config->jobs[i], "", out);
	}
}
