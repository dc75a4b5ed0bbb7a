/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of EtcdWatchConfig: how the watchdog looks, what an operator thinks of its rules, whom
 * it tells what it finds, whether this node records what happens in etcd. Its defaults hold without
 * such a document.
 */
#include "etcdwatch/config/config_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/hint.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/rules/rules.h"

#define HOURS (INT64_C(3600) * US_PER_S)
#define DAYS (24 * HOURS)
/* Less often, a rule that must hold for a while would be guessed at. */
#define INTERVAL_MAX_US (60 * US_PER_S)

/* --- rules --- */

static const char *check_rule(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint)
{
	const char *ids[RULES_N], *nearest;

	if (rules_find(text) != RULES_N)
		return NULL;
	for (size_t i = 0; i < RULES_N; i++)
		ids[i] = rules[i].id;
	nearest = hint_nearest(text, ids, RULES_N);
	if (nearest != NULL) {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "did you mean '%s'?", nearest);
		*ret_hint = scratch;
	}
	return "is not the id of a rule";
}

static bool is_given(const void *slot)
{
	return *(const int64_t *) slot >= 0;
}

#define RULE(member) offsetof(struct config_watch_rule, member)
static const struct conf_field rule_fields[] = {
    ROW("id", conf_string, RULE(id), NULL, .flags = CONF_REQUIRED, .check = check_rule),
    ROW("after", conf_duration, RULE(after_us), NULL, .flags = CONF_OR_ZERO, .min = US_PER_S,
        .max = 7 * DAYS, .is_set = is_given),
    ROW("hold", conf_duration, RULE(hold_us), NULL, .flags = CONF_OR_ZERO, .min = US_PER_S,
        .max = 7 * DAYS, .is_set = is_given),
    ROW("off", conf_bool, RULE(off), "false"),
    {0},
};

static void add_rule(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct config_watch *watch = userdata;
	struct config_watch_rule *rule;

	watch->rules = xreallocarray(watch->rules, watch->n_rules + 1, sizeof(*watch->rules));
	rule = &watch->rules[watch->n_rules++];
	*rule = (struct config_watch_rule){.after_us = -1, .hold_us = -1};
	conf_read_map(conf, item, rule_fields, rule);
	for (size_t i = 0; i + 1 < watch->n_rules && rule->id != NULL; i++) {
		if (watch->rules[i].id != NULL && strcmp(watch->rules[i].id, rule->id) == 0)
			conf_error(conf, conf_node_find(item, "id"), NULL, "is written twice");
	}
}

static void set_rules(struct conf *conf, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	if (conf_expect(conf, value, CONF_LIST))
		conf_read_list(conf, value, RULES_N, add_rule,
		               CONTAINER_OF(slot, struct config_watch, rules));
}

/* --- what is done by itself --- */

#define DEFRAG(member) offsetof(struct config_defrag, member)
static const struct conf_field defrag_fields[] = {
    ROW("schedule", config_schedule, DEFRAG(schedule), NULL, .flags = CONF_REQUIRED),
    ROW("minSize", conf_bytes, DEFRAG(min_bytes), "100MiB", .min = INT64_C(1) << 20,
        .max = INT64_C(1) << 40),
    ROW("minFree", conf_unsigned, DEFRAG(min_free), "45", .min = 5, .max = 95), /* per cent */
    {0},
};

static void set_defrag(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	((struct config_defrag *) slot)->enabled = true;
	conf_read_map(conf, value, field->fields, slot);
}

static bool has_defrag(const void *slot)
{
	return ((const struct config_defrag *) slot)->enabled;
}

/* --- when --- */

static void set_time_zone(struct conf *conf, const struct conf_field *field UNUSED,
                          const struct conf_node *value, void *slot)
{
	struct config_reading *reading = CONTAINER_OF(slot, struct config_reading, watch.time_zone);

	config_read_zone(conf, value, reading->env->zone_directory, &reading->watch.time_zone,
	                 &reading->watch.zone);
}

static void set_hours(struct conf *conf, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	if (conf_expect(conf, value, CONF_SCALAR) && hours_parse(value->text, slot) < 0)
		conf_error(conf, value, "such as \"01:00-05:00\", or over midnight \"22:00-05:00\"",
		           "is not a time of the day");
}

static bool has_hours(const struct conf_field *field UNUSED, const void *slot)
{
	return !hours_are_any(slot);
}

static void print_hours(const struct conf_field *field UNUSED, const void *slot, FILE *out)
{
	char text[HOURS_TEXT_MAX];

	conf_write_string(out, hours_format(slot, text));
}

static const struct conf_type hours_type = {
    .word = "hours",
    .size = sizeof(struct hours),
    .set = set_hours,
    .is_set = has_hours,
    .print = print_hours,
};

/* --- the webhook --- */

static const char *check_url(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                             const char **ret_hint)
{
	struct conf_url url;

	*ret_hint = "such as https://hooks.example.org/etcd";
	return conf_parse_url(text, &url);
}

#define NOTIFY(member) offsetof(struct config_notify, member)
static const struct conf_field notify_fields[] = {
    ROW("url", conf_string, NOTIFY(url), NULL, .flags = CONF_SECRET, .check = check_url),
    ROW_SECRET_FILE("urlFile", NOTIFY(url_file)),
    ROW_SECRET_FILE("secretFile", NOTIFY(secret_file)),
    ROW_REFUSED("secret", "a secret does not belong here, write it into a file and name that in "
                          "secretFile"),
    ROW_SECRET_FILE("caFile", NOTIFY(ca_file)),
    ROW_SECRET_FILE("certFile", NOTIFY(cert_file)),
    ROW_SECRET_FILE("keyFile", NOTIFY(key_file)),
    ROW("timeout", conf_duration, NOTIFY(timeout_us), "10s", .min = US_PER_S,
        .max = 120 * US_PER_S),
    ROW("retryMax", conf_duration, NOTIFY(retry_max_us), "5m", .min = US_PER_S, .max = 1 * HOURS),
    ROW("giveUpAfter", conf_duration, NOTIFY(give_up_after_us), "24h", .min = 60 * US_PER_S,
        .max = 7 * DAYS),
    {0},
};

static void set_notify(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct config_notify *notify = slot;
	bool has_url, has_file, has_cert, has_key;

	conf_read_map(conf, value, field->fields, notify);
	if (value->shape != CONF_MAP)
		return;
	has_url = conf_node_find(value, "url") != NULL;
	has_file = conf_node_find(value, "urlFile") != NULL;
	has_cert = conf_node_find(value, "certFile") != NULL;
	has_key = conf_node_find(value, "keyFile") != NULL;
	if (has_url == has_file)
		conf_error(conf, value, "one of the two",
		           has_url ? "has url and urlFile" : "has neither url nor urlFile");
	if (has_cert != has_key)
		conf_error(conf, value, "a certificate goes with its key", "%s is missing",
		           has_cert ? "keyFile" : "certFile");
}

bool config_notify_is_on(const struct config_notify *notify)
{
	return notify->url != NULL || notify->url_file != NULL;
}

static bool has_notify(const void *slot)
{
	return config_notify_is_on(slot);
}

/* --- the record --- */

#define RECORD_TARGET(member) offsetof(struct config_record_target, member)
static const struct conf_field record_target_fields[] = {
    ROW("job", conf_string, RECORD_TARGET(job), NULL, .flags = CONF_REQUIRED),
    ROW("target", conf_string, RECORD_TARGET(target), NULL, .flags = CONF_REQUIRED),
    {0},
};

static void add_target(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct config_record *record = userdata;

	record->targets =
	    xreallocarray(record->targets, record->n_targets + 1, sizeof(*record->targets));
	record->targets[record->n_targets] = (struct config_record_target){0};
	conf_read_map(conf, item, record_target_fields, &record->targets[record->n_targets++]);
}

static void set_record_targets(struct conf *conf, const struct conf_field *field UNUSED,
                               const struct conf_node *value, void *slot)
{
	if (conf_expect(conf, value, CONF_LIST))
		conf_read_list(conf, value, CONFIG_RECORD_TARGETS_MAX, add_target,
		               CONTAINER_OF(slot, struct config_record, targets));
}

#define RECORD(member) offsetof(struct config_record, member)
static const struct conf_field record_fields[] = {
    ROW("enabled", conf_bool, RECORD(enabled), NULL),
    ROW("directory", conf_string, RECORD(directory), "/var/lib/fairlead/etcdwatch/record",
        .check = config_check_directory),
    ROW("keep", conf_duration, RECORD(keep_us), "24h", .min = 60 * US_PER_S, .max = 90 * DAYS),
    ROW("maxSize", conf_bytes, RECORD(max_bytes), "4GiB", .min = INT64_C(1) << 20,
        .max = INT64_C(1) << 40),
    ROW("reserve", conf_bytes, RECORD(reserve_bytes), "1GiB", .min = 0, .max = INT64_C(1) << 50),
    ROW("hashEvery", conf_duration, RECORD(hash_every_us), "1h", .flags = CONF_OR_ZERO,
        .min = US_PER_S, .max = 24 * HOURS),
    ROW("uploadEvery", conf_duration, RECORD(upload_every_us), "20s", .min = US_PER_S,
        .max = 1 * HOURS),
    ROW("targets", conf_list, RECORD(targets), NULL, .set = set_record_targets, .item = &conf_map,
        .size = sizeof(struct config_record_target), .count = RECORD(n_targets) - RECORD(targets),
        .max = CONFIG_RECORD_TARGETS_MAX, .fields = record_target_fields),
    {0},
};

/* Who writes the section wants it, unless it says otherwise. */
static void set_record(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	((struct config_record *) slot)->enabled = true;
	conf_read_map(conf, value, field->fields, slot);
}

static bool has_record(const void *slot)
{
	return ((const struct config_record *) slot)->enabled;
}

/* --- EtcdWatchConfig --- */

#define WATCH(member) offsetof(struct config_watch, member)
const struct conf_field config_watch_fields[] = {
    ROW("interval", conf_duration, WATCH(interval_us), "10s", .min = US_PER_S,
        .max = INTERVAL_MAX_US),
    ROW("members", conf_strings, WATCH(members), NULL, .min = 1, .max = VIEW_MEMBERS_MAX),
    ROW("certificates", conf_strings, WATCH(certificates), NULL, .min = 1,
        .max = CONFIG_CERTIFICATES_MAX, .check = config_check_path),
    ROW("dataDirectory", conf_string, WATCH(data_directory), "/var/lib/etcd",
        .check = config_check_path),
    ROW("compareEvery", conf_duration, WATCH(compare_every_us), "4h", .flags = CONF_OR_ZERO,
        .min = US_PER_S, .max = 7 * DAYS),
    ROW("compareBetween", hours_type, WATCH(compare_between), NULL),
    ROW("timeZone", conf_string, WATCH(time_zone), NULL, .set = set_time_zone),
    ROW("defrag", conf_map, WATCH(defrag), NULL, .set = set_defrag, .fields = defrag_fields,
        .is_set = has_defrag),
    ROW("recoverSpace", conf_bool, WATCH(recover_space), "false"),
    ROW("record", conf_map, WATCH(record), NULL, .set = set_record, .fields = record_fields,
        .is_set = has_record),
    ROW("trustedKeys", conf_strings, WATCH(trusted_keys), NULL, .min = 1,
        .max = CONFIG_TRUSTED_KEYS_MAX, .check = config_check_public_key),
    ROW("rules", conf_list, WATCH(rules), NULL, .set = set_rules, .item = &conf_map,
        .size = sizeof(struct config_watch_rule), .count = WATCH(n_rules) - WATCH(rules),
        .max = RULES_N, .fields = rule_fields),
    ROW("notify", conf_map, WATCH(notify), NULL, .set = set_notify, .fields = notify_fields,
        .is_set = has_notify),
    {0},
};

void config_set_watch_defaults(struct config_watch *watch)
{
	*watch = (struct config_watch){.time_zone = xstrdup("UTC")};
	conf_set_defaults(config_watch_fields, watch);
	(void) zone_load(NULL, "UTC", &watch->zone);
}

void config_watch_fini(struct config_watch *watch)
{
	conf_fini(config_watch_fields, watch);
	zone_free(watch->zone);
}

void config_read_watch(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;

	if (!conf_is_only_one(conf, document, &reading->watch_document))
		return;
	conf_read_map(conf, document, config_watch_fields, &reading->watch);
}
