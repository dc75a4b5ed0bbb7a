/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the config_*.c files share: the state of one reading, between the documents and the finished
 * struct config. Nobody else includes this, save tests that walk the tables.
 */

#include "base/conf.h"
#include "etcdwatch/config/config.h"

/* Rows without a sentence: docs/config.md has those of these kinds. */
#define ROW(key_, type_, offset_, def_, ...) CONF_ROW(key_, type_, offset_, def_, NULL, __VA_ARGS__)
#define ROW_SECRET_FILE(key_, offset_) \
	ROW(key_, conf_string, offset_, NULL, .flags = CONF_SECRET, .check = conf_check_file)
#define ROW_REFUSED(key_, refusal_)                             \
	{                                                           \
		.key = key_, .flags = CONF_REFUSED, .refusal = refusal_ \
	}

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

/* A schedule of five fields: struct schedule. */
extern const struct conf_type config_schedule;
/* The name of a time zone, and what it stands for: both are put in place of what they were. */
void config_read_zone(struct conf *conf, const struct conf_node *value, const char *directory,
                      char **name, struct zone **zone);
void config_job_fini(struct config_job *job);

/* config_cross.c */
bool config_is_same_place(const struct config_target *a, const struct config_target *b);

/* config_watch.c */
extern const struct conf_field config_watch_fields[];
void config_set_watch_defaults(struct config_watch *watch);
void config_watch_fini(struct config_watch *watch);
void config_read_watch(struct conf *conf, const struct conf_node *document, void *userdata);

/* config_check.c */

/*
 * Bech32 (BIP 173), in which age writes its recipients: a name, '1', data and six characters of
 * checksum, so that a mistyped key is seen before anything is encrypted to nobody. As age has it,
 * without the limit of 90 characters. Pure.
 */
/* In lower case, with a right checksum. ret_name_len: of the name, before the last '1'. */
bool bech32_is_good(const char *text, size_t *ret_name_len);

/* conf_check_fn's. */
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

/* config.c: after a document, what it does not say. */
void config_resolve_job(struct job_reading *reading);

/* config_cross.c: what only a whole document, or all of them, can show. */
void config_check_whole(struct config_reading *reading);
