/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What etcdwatch takes from the configuration: the jobs (EtcdSnapshotConfig, one document each),
 * the watchdog (EtcdWatchConfig),
 * how to reach etcd (EtcdClientConfig) and who this node is (NodeConfig). Immutable once read: a
 * reload reads a whole new one. Times are microseconds. Secrets are names of files.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/conf.h"
#include "base/nodeconf.h"
#include "etcd/etcdconf.h"
#include "etcdwatch/catalog/retain.h"
#include "etcdwatch/schedule/schedule.h"
#include "etcdwatch/schedule/zone.h"

#define CONFIG_JOBS_MAX 16
#define CONFIG_JOB_NAME_MAX 32
#define CONFIG_TARGETS_MAX 8 /* of a job */
#define CONFIG_RECIPIENTS_MAX 32
#define CONFIG_TRUSTED_KEYS_MAX 64 /* two of each of many nodes */
#define CONFIG_CERTIFICATES_MAX 8  /* to be watched besides those that are known */
#define CONFIG_DIRECTORY_MAX 200   /* bytes; an id and its endings must fit behind it */

enum config_taker {
	CONFIG_TAKER_ELECTED,    /* one member in each period */
	CONFIG_TAKER_EVERY_NODE, /* each for itself */
};

enum config_compression {
	CONFIG_COMPRESSION_ZSTD,
	CONFIG_COMPRESSION_NONE,
};

enum config_target_type {
	CONFIG_TARGET_S3,
	CONFIG_TARGET_COMMAND,
};

/* What a target of programs is asked for (worker/storeprogram.h). */
enum config_verb {
	CONFIG_VERB_UPLOAD,
	CONFIG_VERB_DOWNLOAD,
	CONFIG_VERB_LIST,
	CONFIG_VERB_DELETE,
	CONFIG_VERBS,
};

/* Which cluster this is (owner.h). */
struct config_owner {
	char id[33];      /* "": not known yet */
	const char *node; /* this one */
};

struct trust;

/* Somewhere else to keep copies. */
struct config_target {
	const struct config_owner *owner; /* set by the daemon; NULL: the store is not asked for it */
	const struct trust *trust;        /* set by the daemon; NULL: what is there is not judged */
	char *name;
	enum config_target_type type;
	char *prefix; /* of all keys: "" or "cluster-a/" */
	/* CONFIG_TARGET_COMMAND; empty else. And the same as JSON, for the worker; NULL else. */
	struct conf_strings command[CONFIG_VERBS];
	char *command_json;
	/* CONFIG_TARGET_S3; NULL else. */
	char *endpoint; /* "https://s3.example.org", perhaps a port, no path */
	char *bucket;
	char *region;
	bool path_style;       /* endpoint/bucket/key; else bucket.endpoint/key */
	char *ca_file;         /* NULL: those of the system */
	char *access_key_file; /* and secret_key_file; or credentials_file; the others are NULL */
	char *secret_key_file;
	char *session_token_file; /* NULL: none; only with access_key_file */
	char *credentials_file;   /* as the AWS tools have it, profile `default` */
	/* Or where temporary ones come from (worker/awsrole.h): one of four; as JSON for the worker. */
	bool instance_role;
	bool container_role;
	char *role_arn; /* of a web identity; then the next three are set as well */
	char *web_token_file;
	char *session_name;
	char *sts_endpoint;
	struct conf_strings process;
	char *credentials_json;
	char *proxy;             /* "http://HOST:PORT"; NULL: none */
	char *kms_key;           /* that the store encrypts with; NULL: the bucket's default */
	char *customer_key_file; /* the same with a key of ours; not both */
	struct retain_rules retention;
};

struct config_drill {
	bool enabled;
	struct schedule schedule;           /* in the job's time zone */
	const struct config_target *source; /* NULL: the local snapshot */
	char *directory;                    /* scratch: <directory>/drill */
	char *identity_file;                /* with encryption */
	char *etcd;                         /* programs; NULL: found in PATH */
	char *etcdutl;                      /* or etcdctl, for etcd 3.4 */
	int64_t timeout_us;
};

struct config_job {
	char *name;
	struct schedule schedule;
	char *time_zone;
	struct zone *zone;
	int64_t jitter_us; /* shorter than the time between two snapshots */
	bool catch_up;     /* at start, take the one that was missed */
	char *directory;   /* no other job's is in it, nor it in another's */
	enum config_taker taker;
	struct retain_rules retention; /* of the directory */
	enum config_compression compression;
	int compression_level;           /* of zstd */
	bool encrypted;                  /* then there are recipients, or recipients_file, or both */
	struct conf_strings recipients;  /* age1... */
	char *recipients_file;           /* of age; NULL: none */
	int64_t reserve_bytes;           /* that stay free on the disk */
	struct conf_strings extra_files; /* absolute paths of files and directories; only encrypted */
	struct config_target *targets;
	size_t n_targets;
	bool verify_hashkv;
	struct config_drill drill;
	const struct conf_strings *trusted_keys; /* those of EtcdWatchConfig; it may have none */
	int64_t no_progress_us; /* a stream or a disk that stands still so long is given up */
	char *origin;           /* where it was configured: "/etc/fairlead/config.yaml:12" */
};

/* Another time, or none, for a rule of the watchdog (rules/rules.h). */
struct config_watch_rule {
	char *id;
	int64_t after_us, hold_us; /* -1: the rule's own */
	bool off;
};

/* Databases are written anew by themselves, when that is worth it. */
struct config_defrag {
	bool enabled;
	struct schedule schedule; /* in the watchdog's time zone */
	int64_t min_bytes;        /* of a database */
	unsigned min_free;        /* per cent of it */
};

/* A webhook that is told of findings (notify/). */
struct config_notify {
	char *url; /* or url_file, where it is the first line; neither: nobody is told */
	char *url_file;
	char *secret_file; /* what messages are signed with; NULL: they are not */
	char *ca_file;     /* NULL: those of the system */
	char *cert_file;   /* with key_file; NULL: none */
	char *key_file;
	int64_t timeout_us; /* of one attempt */
	int64_t retry_max_us;
	int64_t give_up_after_us;
};

#define CONFIG_RECORD_TARGETS_MAX 8

/* A target of a job that gets the record as well, encrypted as that job says. */
struct config_record_target {
	char *job;
	char *target;
};

/* What happens in etcd is recorded, on this node (record/recorder.h). */
struct config_record {
	bool enabled;
	char *directory; /* no job's is in it, nor it in one of those */
	int64_t keep_us;
	int64_t max_bytes;
	int64_t reserve_bytes; /* that stay free on the disk */
	int64_t hash_every_us; /* at most so often a member is asked for HashKV; 0: never */
	struct config_record_target *targets; /* of which each is there; no two are the same place */
	size_t n_targets;
	int64_t upload_every_us;
};

struct config_watch {
	int64_t interval_us;
	struct conf_strings members; /* the names that they should have; none: whatever they are */
	struct conf_strings certificates;
	char *data_directory; /* of this node's etcd */
	char *time_zone;
	struct zone *zone;
	struct config_defrag defrag;
	int64_t compare_every_us;     /* the members' data, with each other; 0: never */
	struct hours compare_between; /* in that time zone */
	bool recover_space;           /* by itself, when the alarm NOSPACE stands */
	struct config_record record;
	struct conf_strings trusted_keys; /* public keys of the nodes; none: not configured */
	struct config_watch_rule *rules;
	size_t n_rules;
	struct config_notify notify;
};

struct config {
	char node_name[NODECONF_NAME_MAX + 1];
	struct endpoint metrics_at; /* AF_UNSPEC: nowhere but on the control socket */
	struct etcdconf etcd;
	struct config_job *jobs; /* in the order of the files; no two of one name */
	size_t n_jobs;
	struct config_watch watch;
	/* What is odd but goes on, for the log and for --check. */
	struct conf_strings notes;
};

/* What the defaults depend on. NULL instead of one: the machine as it is. */
struct config_env {
	const char *hostname;
	bool (*file_exists)(const char *path);
	const char *zone_directory;
};

/*
 * Reads a file, or a directory's *.yaml files in order, or (paths empty) the default places:
 * /etc/fairlead/config.yaml and /etc/fairlead/conf.d. Every error in every file is reported through
 * `error` as one "file:line:col: path: what is wrong: 'value'" each; then -EINVAL. 0 on success.
 */
int config_load(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
                struct config **ret_config);
int config_load_env(const char *const *paths, size_t n_paths, const struct config_env *env,
                    conf_message_fn error, void *userdata, struct config **ret_config);
/* The same from a text; `name` stands for the file in messages. */
int config_load_text(const char *name, const char *text, size_t len, const struct config_env *env,
                     conf_message_fn error, void *userdata, struct config **ret_config);
void config_free(struct config *config);
DEFINE_AUTO(struct config, config_free);

/* NULL: there is none of that name. */
const struct config_target *config_find_target(const struct config_job *job, const char *name);

/* Reads what it names: keys, certificates, secrets of jobs, targets and the webhook, of which
 * `fn` is told what this process cannot read, a sentence for each: "job a, target b: caFile: '/c'
 * cannot be read: Permission denied". Blocking. */
typedef void (*config_file_fn)(const char *sentence, void *userdata);
void config_look_at_files(const struct config *config, config_file_fn fn, void *userdata);

/* Whether anybody is told. */
bool config_notify_is_on(const struct config_notify *notify);

/* YAML that config_load() reads back as the same configuration, every key written out. Secrets are
 * not in it: there are only the names of their files. */
void config_print(const struct config *config, FILE *out);

/* What other programs need to find a job's snapshots, as JSON: an object a line for each job. Names
 * of files instead of secrets, here too. own_key: this node's public one; NULL: it has none that
 * can be read. */
void config_print_jobs(const struct config *config, const char *own_key, FILE *out);
/* How etcd is reached: the options of `etcdwatch-worker health` as a JSON array. */
void config_print_etcd(const struct config *config, FILE *out);
