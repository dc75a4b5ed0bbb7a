/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the config_*.c files share: the state of one reading, between the documents and the finished
 * struct config. Nobody else includes this, save tests that walk the tables.
 */

#include "base/conf.h"
#include "etcdwatch/config/config.h"

/* What one EtcdSnapshotConfig fills. */
struct job_reading {
	struct config_job job;
	char *drill_source;               /* as it is written; NULL: local */
	const struct conf_node *document; /* what is written */
	bool is_whole;                    /* every key of it could be read */
	const struct config_env *env;
};

struct config_reading {
	struct conf *conf;
	const struct config_env *env;
	struct nodeconf node;
	struct etcdconf_reading etcd;
	struct job_reading *jobs;
	size_t n_jobs;
	struct config_watch watch;
	const struct conf_node *watch_document; /* EtcdWatchConfig, or NULL */
};

/* config_schema.c: every kind that etcdwatch reads; conf_read()'s userdata is a struct
 * config_reading. */
extern const struct conf_kind config_kinds[];
extern const char *const config_taker_names[];       /* by enum config_taker */
extern const char *const config_compression_names[]; /* by enum config_compression */
extern const char *const config_target_type_names[]; /* by enum config_target_type */
extern const char *const config_verb_names[];        /* by enum config_verb */

/* A schedule of five fields, into a struct schedule. */
void config_set_schedule(struct conf *conf, const struct conf_field *field,
                         const struct conf_node *value, void *slot);
/* The name of a time zone, and what it stands for: both are put in place of what they were. */
void config_read_zone(struct conf *conf, const struct conf_node *value, const char *directory,
                      char **name, struct zone **zone);

/* config_cross.c */
bool config_is_same_place(const struct config_target *a, const struct config_target *b);

/* config_watch.c */
extern const struct conf_field config_watch_fields[];
void config_set_watch_defaults(struct config_watch *watch);
void config_watch_fini(struct config_watch *watch);
void config_read_watch(struct conf *conf, const struct conf_node *document, void *userdata);
void config_print_watch(FILE *out, const struct config_watch *watch);

/* config_notify.c */
extern const struct conf_field config_notify_fields[];
void config_set_notify_defaults(struct config_notify *notify);
void config_notify_fini(struct config_notify *notify);
void config_set_notify(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot);
void config_print_notify(FILE *out, const struct config_notify *notify);

/* config_record.c */
extern const struct conf_field config_record_fields[];
void config_set_record_defaults(struct config_record *record);
void config_record_fini(struct config_record *record);
void config_set_record(struct conf *conf, const struct conf_field *field,
                       const struct conf_node *value, void *slot);
void config_print_record(FILE *out, const struct config_record *record);

/* config_print.c */
void config_print_strings(FILE *out, const char *key, const char *indent,
                          const struct conf_strings *strings);

/* config_check.c: conf_check_fn's. */
const char *config_check_name(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint);
const char *config_check_directory(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                   const char **ret_hint);
const char *config_check_path(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint);
const char *config_check_recipient(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                   const char **ret_hint);
const char *config_check_public_key(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                    const char **ret_hint);
const char *config_check_s3_endpoint(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                     const char **ret_hint);
const char *config_check_bucket(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                const char **ret_hint);
const char *config_check_proxy(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                               const char **ret_hint);
const char *config_check_kms(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                             const char **ret_hint);
const char *config_check_arn(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                             const char **ret_hint);
const char *config_check_session(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                 const char **ret_hint);
const char *config_check_region(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                const char **ret_hint);

/* config_default.c */
void config_set_job_defaults(struct config_job *job);
/* After a document: what it does not say. */
void config_resolve_job(struct job_reading *reading);

/* config_cross.c: what only a whole document, or all of them, can show. */
void config_check_whole(struct config_reading *reading);
