/* SPDX-License-Identifier: Apache-2.0 */
/* The section `record` of EtcdWatchConfig: whether this node records what happens in etcd, and how
 * much of that it keeps. */
#include "etcdwatch/config/config_priv.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define DIRECTORY "/var/lib/fairlead/etcdwatch/record"
#define HOURS (INT64_C(3600) * US_PER_S)
#define KEEP_MIN_US (60 * US_PER_S)
#define KEEP_MAX_US (90 * 24 * HOURS)
#define UPLOAD_MIN_US US_PER_S
#define UPLOAD_MAX_US (3600 * US_PER_S)
#define SIZE_MIN_BYTES (INT64_C(1) << 20)
#define SIZE_MAX_BYTES (INT64_C(1) << 40)

void config_set_record_defaults(struct config_record *record)
{
	*record = (struct config_record){
	    .directory = xstrdup(DIRECTORY),
	    .keep_us = 24 * HOURS,
	    .max_bytes = INT64_C(4) << 30,
	    .reserve_bytes = INT64_C(1) << 30,
	    .hash_every_us = 1 * HOURS,
	    .upload_every_us = 20 * US_PER_S,
	};
}

void config_record_fini(struct config_record *record)
{
	for (size_t i = 0; i < record->n_targets; i++) {
		free(record->targets[i].job);
		free(record->targets[i].target);
	}
	free(record->targets);
	free(record->directory);
}

#define TARGET(member) offsetof(struct config_record_target, member)
static const struct conf_field target_fields[] = {
    {.key = "job", .set = conf_set_string, .offset = TARGET(job), .flags = CONF_REQUIRED},
    {.key = "target", .set = conf_set_string, .offset = TARGET(target), .flags = CONF_REQUIRED},
    {0},
};

static void add_target(struct conf *conf, const struct conf_node *item, void *userdata)
{
	struct config_record *record = userdata;

	record->targets =
	    xreallocarray(record->targets, record->n_targets + 1, sizeof(*record->targets));
	record->targets[record->n_targets] = (struct config_record_target){0};
	conf_read_map(conf, item, target_fields, &record->targets[record->n_targets++]);
}

/* The slot is the whole struct config_record. */
static void set_targets(struct conf *conf, const struct conf_field *field UNUSED,
                        const struct conf_node *value, void *slot)
{
	if (conf_expect(conf, value, CONF_LIST))
		conf_read_list(conf, value, CONFIG_RECORD_TARGETS_MAX, add_target, slot);
}

#define RECORD(member) offsetof(struct config_record, member)
const struct conf_field config_record_fields[] = {
    {.key = "enabled", .set = conf_set_bool, .offset = RECORD(enabled)},
    {.key = "directory",
     .set = conf_set_string,
     .offset = RECORD(directory),
     .check = config_check_directory},
    {.key = "keep",
     .set = conf_set_duration,
     .offset = RECORD(keep_us),
     .min = KEEP_MIN_US,
     .max = KEEP_MAX_US},
    {.key = "maxSize",
     .set = conf_set_bytes,
     .offset = RECORD(max_bytes),
     .min = SIZE_MIN_BYTES,
     .max = SIZE_MAX_BYTES},
    {.key = "reserve",
     .set = conf_set_bytes,
     .offset = RECORD(reserve_bytes),
     .min = 0,
     .max = INT64_C(1) << 50},
    {.key = "hashEvery",
     .set = conf_set_duration,
     .offset = RECORD(hash_every_us),
     .flags = CONF_OR_ZERO,
     .min = US_PER_S,
     .max = 24 * HOURS},
    {.key = "targets", .set = set_targets, .offset = 0, .fields = target_fields},
    {.key = "uploadEvery",
     .set = conf_set_duration,
     .offset = RECORD(upload_every_us),
     .min = UPLOAD_MIN_US,
     .max = UPLOAD_MAX_US},
    {0},
};

/* Who writes the section wants it, unless it says otherwise. */
void config_set_record(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot)
{
	struct config_record *record = slot;

	record->enabled = true;
	conf_read_map(conf, value, field->fields, record);
}

void config_print_record(FILE *out, const struct config_record *record)
{
	(void) fputs("record:\n", out);
	conf_print_bool(out, "  enabled", true);
	conf_print_string(out, "  directory", record->directory);
	conf_print_duration(out, "  keep", record->keep_us);
	conf_print_bytes(out, "  maxSize", record->max_bytes);
	conf_print_bytes(out, "  reserve", record->reserve_bytes);
	conf_print_duration(out, "  hashEvery", record->hash_every_us);
	conf_print_duration(out, "  uploadEvery", record->upload_every_us);
	if (record->n_targets > 0)
		(void) fputs("  targets:\n", out);
	for (size_t i = 0; i < record->n_targets; i++) {
		conf_print_string(out, "    - job", record->targets[i].job);
		conf_print_string(out, "      target", record->targets[i].target);
	}
}
