/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EtcdWatchConfig: how the watchdog looks, and what an operator thinks of its rules. Its defaults
 * hold without such a document.
 */
#include "etcdwatch/config/config_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hint.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/rules/rules.h"

#define DEFRAG_LEAST_BYTES (INT64_C(100) << 20)
#define DEFRAG_LEAST_FREE 45 /* per cent */
#define DATA_DIRECTORY "/var/lib/etcd"
#define INTERVAL_US (10 * US_PER_S)
/* Less often, a rule that must hold for a while would be guessed at. */
#define INTERVAL_MAX_US (60 * US_PER_S)
#define COMPARE_US (4 * 3600 * US_PER_S)
#define COMPARE_MAX_US (7 * 86400 * US_PER_S)
#define TIME_MAX_US (7 * 86400 * US_PER_S)

void config_set_watch_defaults(struct config_watch *watch)
{
	*watch = (struct config_watch){
	    .interval_us = INTERVAL_US,
	    .compare_every_us = COMPARE_US,
	    .data_directory = xstrdup(DATA_DIRECTORY),
	    .time_zone = xstrdup("UTC"),
	    .defrag = {.min_bytes = DEFRAG_LEAST_BYTES, .min_free = DEFRAG_LEAST_FREE},
	};
	(void) zone_load(NULL, "UTC", &watch->zone);
	config_set_notify_defaults(&watch->notify);
	config_set_record_defaults(&watch->record);
}

void config_watch_fini(struct config_watch *watch)
{
	conf_strings_fini(&watch->members);
	conf_strings_fini(&watch->certificates);
	free(watch->data_directory);
	free(watch->time_zone);
	zone_free(watch->zone);
	config_record_fini(&watch->record);
	conf_strings_fini(&watch->trusted_keys);
	for (size_t i = 0; i < watch->n_rules; i++)
		free(watch->rules[i].id);
	free(watch->rules);
	config_notify_fini(&watch->notify);
}

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

#define RULE(member) offsetof(struct config_watch_rule, member)
static const struct conf_field rule_fields[] = {
    {.key = "id",
     .set = conf_set_string,
     .offset = RULE(id),
     .flags = CONF_REQUIRED,
     .check = check_rule},
    {.key = "after",
     .set = conf_set_duration,
     .offset = RULE(after_us),
     .flags = CONF_OR_ZERO,
     .min = US_PER_S,
     .max = TIME_MAX_US},
    {.key = "hold",
     .set = conf_set_duration,
     .offset = RULE(hold_us),
     .flags = CONF_OR_ZERO,
     .min = US_PER_S,
     .max = TIME_MAX_US},
    {.key = "off", .set = conf_set_bool, .offset = RULE(off)},
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
		conf_read_list(conf, value, RULES_N, add_rule, slot);
}

/* --- what is done by itself --- */

#define DEFRAG(member) offsetof(struct config_defrag, member)
static const struct conf_field defrag_fields[] = {
    {.key = "schedule",
     .set = config_set_schedule,
     .offset = DEFRAG(schedule),
     .flags = CONF_REQUIRED},
    {.key = "minSize",
     .set = conf_set_bytes,
     .offset = DEFRAG(min_bytes),
     .min = INT64_C(1) << 20,
     .max = INT64_C(1) << 40},
    {.key = "minFree", .set = conf_set_unsigned, .offset = DEFRAG(min_free), .min = 5, .max = 95},
    {0},
};

static void set_defrag(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct config_defrag *defrag = slot;

	defrag->enabled = true;
	conf_read_map(conf, value, field->fields, defrag);
}

/* --- when --- */

/* The slot is the whole struct config_watch. */
static void set_time_zone(struct conf *conf, const struct conf_field *field UNUSED,
                          const struct conf_node *value, void *slot)
{
	struct config_watch *watch = slot;
	const struct config_reading *reading = CONTAINER_OF(watch, struct config_reading, watch);

	config_read_zone(conf, value, reading->env->zone_directory, &watch->time_zone, &watch->zone);
}

static void set_hours(struct conf *conf, const struct conf_field *field UNUSED,
                      const struct conf_node *value, void *slot)
{
	if (conf_expect(conf, value, CONF_SCALAR) && hours_parse(value->text, slot) < 0)
		conf_error(conf, value, "such as \"01:00-05:00\", or over midnight \"22:00-05:00\"",
		           "is not a time of the day");
}

/* --- EtcdWatchConfig --- */

#define WATCH(member) offsetof(struct config_watch, member)
const struct conf_field config_watch_fields[] = {
    {.key = "interval",
     .set = conf_set_duration,
     .offset = WATCH(interval_us),
     .min = US_PER_S,
     .max = INTERVAL_MAX_US},
    {.key = "members",
     .set = conf_set_strings,
     .offset = WATCH(members),
     .min = 1,
     .max = VIEW_MEMBERS_MAX},
    {.key = "certificates",
     .set = conf_set_strings,
     .offset = WATCH(certificates),
     .min = 1,
     .max = CONFIG_CERTIFICATES_MAX,
     .check = config_check_path},
    {.key = "dataDirectory",
     .set = conf_set_string,
     .offset = WATCH(data_directory),
     .check = config_check_path},
    {.key = "compareEvery",
     .set = conf_set_duration,
     .offset = WATCH(compare_every_us),
     .flags = CONF_OR_ZERO,
     .min = US_PER_S,
     .max = COMPARE_MAX_US},
    {.key = "compareBetween", .set = set_hours, .offset = WATCH(compare_between)},
    {.key = "timeZone", .set = set_time_zone, .offset = 0},
    {.key = "defrag", .set = set_defrag, .offset = WATCH(defrag), .fields = defrag_fields},
    {.key = "recoverSpace", .set = conf_set_bool, .offset = WATCH(recover_space)},
    {.key = "notify",
     .set = config_set_notify,
     .offset = WATCH(notify),
     .fields = config_notify_fields},
    {.key = "record",
     .set = config_set_record,
     .offset = WATCH(record),
     .fields = config_record_fields},
    {.key = "trustedKeys",
     .set = conf_set_strings,
     .offset = WATCH(trusted_keys),
     .min = 1,
     .max = CONFIG_TRUSTED_KEYS_MAX,
     .check = config_check_public_key},
    {.key = "rules", .set = set_rules, .offset = 0, .fields = rule_fields},
    {0},
};

void config_read_watch(struct conf *conf, const struct conf_node *document, void *userdata)
{
	struct config_reading *reading = userdata;

	if (!conf_is_only_one(conf, document, &reading->watch_document))
		return;
	conf_read_map(conf, document, config_watch_fields, &reading->watch);
}

/* --- printing --- */

static void print_rule(FILE *out, const struct config_watch_rule *rule)
{
	conf_print_string(out, "  - id", rule->id);
	if (rule->after_us >= 0)
		conf_print_duration(out, "    after", rule->after_us);
	if (rule->hold_us >= 0)
		conf_print_duration(out, "    hold", rule->hold_us);
	conf_print_bool(out, "    off", rule->off);
}

static void print_defrag(FILE *out, const struct config_defrag *defrag)
{
	(void) fputs("defrag:\n", out);
	conf_print_string(out, "  schedule", defrag->schedule.text);
	conf_print_bytes(out, "  minSize", defrag->min_bytes);
	(void) fprintf(out, "  minFree: %u\n", defrag->min_free);
}

void config_print_watch(FILE *out, const struct config_watch *watch)
{
	char hours[HOURS_TEXT_MAX];

	conf_print_header(out, CONF_API_FAIRLEAD, "EtcdWatchConfig");
	conf_print_duration(out, "interval", watch->interval_us);
	config_print_strings(out, "members", "", &watch->members);
	config_print_strings(out, "certificates", "", &watch->certificates);
	conf_print_string(out, "dataDirectory", watch->data_directory);
	conf_print_duration(out, "compareEvery", watch->compare_every_us);
	if (!hours_are_any(&watch->compare_between))
		conf_print_string(out, "compareBetween", hours_format(&watch->compare_between, hours));
	conf_print_string(out, "timeZone", watch->time_zone);
	if (watch->defrag.enabled)
		print_defrag(out, &watch->defrag);
	conf_print_bool(out, "recoverSpace", watch->recover_space);
	if (watch->record.enabled)
		config_print_record(out, &watch->record);
	config_print_strings(out, "trustedKeys", "", &watch->trusted_keys);
	if (watch->n_rules > 0)
		(void) fputs("rules:\n", out);
	for (size_t i = 0; i < watch->n_rules; i++)
		print_rule(out, &watch->rules[i]);
	config_print_notify(out, &watch->notify);
}
