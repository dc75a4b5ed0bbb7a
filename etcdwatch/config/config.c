/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From files to a struct config: reads every document by the tables of config_schema.c, each job
 * with its defaults, then checks what only the whole can show (config_cross.c).
 *
 * Nothing is half done: the caller gets a complete configuration or every error.
 */
#include "etcdwatch/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/conf_check.h"
#include "base/jsonval.h"
#include "base/mem.h"
#include "etcdwatch/config/config_priv.h"
#include "etcdwatch/config/s3words.h"

/* --- life --- */

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	for (size_t i = 0; i < config->n_jobs; i++)
		config_job_fini(&config->jobs[i]);
	free(config->jobs);
	config_watch_fini(&config->watch);
	conf_strings_fini(&config->notes);
	etcdconf_fini(&config->etcd);
	free(config);
}

static void reading_fini(struct config_reading *reading)
{
	for (size_t i = 0; i < reading->n_jobs; i++) {
		config_job_fini(&reading->jobs[i].job);
		free(reading->jobs[i].drill_source);
	}
	free(reading->jobs);
	config_watch_fini(&reading->watch);
	nodeconf_fini(&reading->node);
	etcdconf_reading_fini(&reading->etcd);
	conf_free(reading->conf);
}

/* --- finding --- */

const struct config_target *config_find_target(const struct config_job *job, const char *name)
{
	for (size_t i = 0; i < job->n_targets; i++) {
		if (strcmp(job->targets[i].name, name) == 0)
			return &job->targets[i];
	}
	return NULL;
}

/* --- what holds where a document says nothing, and depends on what it does say --- */

#define DIRECTORY "/var/lib/fairlead/etcdwatch"
#define AMAZON ".amazonaws.com"

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

static json_t *words_json(const struct conf_strings *words)
{
	json_t *list = json_array();

	for (size_t i = 0; i < words->n; i++)
		(void) json_array_append_new(list, jsonval_text(words->items[i]));
	return list;
}

static char *command_json(const struct config_target *target)
{
	json_t *programs = json_object();
	char *text;

	for (size_t i = 0; i < CONFIG_VERBS; i++)
		(void) json_object_set_new(programs, config_verb_names[i], words_json(&target->command[i]));
	text = json_dumps(programs, JSON_COMPACT);
	json_decref(programs);
	return text;
}

static json_t *web_identity(struct config_target *target)
{
	if (target->session_name == NULL)
		target->session_name = xstrdup("fairlead");
	if (target->sts_endpoint == NULL)
		target->sts_endpoint = xasprintf("https://sts.%s" AMAZON, target->region);
	return json_pack("{s:o, s:o, s:o, s:o}", "roleARN", jsonval_text(target->role_arn), "tokenFile",
	                 jsonval_text(target->web_token_file), "sessionName",
	                 jsonval_text(target->session_name), "endpoint",
	                 jsonval_text(target->sts_endpoint));
}

/* NULL: none is written, or not a whole one. Where it is several, config_cross.c says so. */
static char *provider_json(struct config_target *target)
{
	json_t *provider = json_object();
	char *text = NULL;

	if (target->instance_role)
		(void) json_object_set_new(provider, "instanceRole", json_true());
	if (target->container_role)
		(void) json_object_set_new(provider, "container", json_true());
	if (target->role_arn != NULL && target->web_token_file != NULL && target->region != NULL)
		(void) json_object_set_new(provider, "webIdentity", web_identity(target));
	if (target->process.n > 0)
		(void) json_object_set_new(provider, "process", words_json(&target->process));
	if (json_object_size(provider) > 0)
		text = json_dumps(provider, JSON_COMPACT);
	json_decref(provider);
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
	target->credentials_json = provider_json(target);
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

/* --- loading --- */

static bool file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* What was read becomes the configuration's; the reading keeps nothing of it. */
static void take(struct config_reading *reading, struct config *config)
{
	memcpy(config->node_name, reading->node.name, sizeof(config->node_name));
	config->metrics_at = reading->node.metrics[NODECONF_ETCDWATCH];
	config->etcd = etcdconf_take(&reading->etcd);
	config->jobs = xcalloc(reading->n_jobs, sizeof(*config->jobs));
	config->n_jobs = reading->n_jobs;
	config->watch = reading->watch;
	reading->watch = (struct config_watch){0};
	for (size_t i = 0; i < reading->n_jobs; i++) {
		config->jobs[i] = reading->jobs[i].job;
		config->jobs[i].trusted_keys = &config->watch.trusted_keys;
		reading->jobs[i].job = (struct config_job){0};
	}
}

/* Takes conf, in which all text has been added. */
static int read_config(struct conf *conf, const struct config_env *env, conf_message_fn error,
                       void *userdata, struct config **ret_config)
{
	AUTO(config_free) struct config *config = NEW0(struct config);
	struct config_env actual = env != NULL ? *env : (struct config_env){0};
	struct config_reading reading = {.conf = conf, .env = &actual};
	int r;

	if (actual.file_exists == NULL)
		actual.file_exists = file_exists;
	etcdconf_set_defaults(&reading.etcd);
	config_set_watch_defaults(&reading.watch);
	conf_read(conf, config_kinds, &reading);
	etcdconf_resolve(&reading.etcd, conf, actual.file_exists);
	nodeconf_resolve(&reading.node, conf, actual.hostname);
	config_check_whole(&reading);

	r = conf_finish(conf, error, userdata, &config->notes);
	if (r == 0) {
		take(&reading, config);
		*ret_config = TAKE_PTR(config);
	}
	reading_fini(&reading);
	return r;
}

int config_load_env(const char *const *paths, size_t n_paths, const struct config_env *env,
                    conf_message_fn error, void *userdata, struct config **ret_config)
{
	struct conf *conf = conf_new();

	conf_add_paths(conf, paths, n_paths);
	return read_config(conf, env, error, userdata, ret_config);
}

int config_load(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
                struct config **ret_config)
{
	return config_load_env(paths, n_paths, NULL, error, userdata, ret_config);
}

int config_load_text(const char *name, const char *text, size_t len, const struct config_env *env,
                     conf_message_fn error, void *userdata, struct config **ret_config)
{
	struct conf *conf = conf_new();

	conf_add_text(conf, name, text, len);
	return read_config(conf, env, error, userdata, ret_config);
}

/* --- the files that are named, besides those by which etcd is reached --- */

struct look {
	config_file_fn fn;
	void *userdata;
};

/* 0, or -errno; -ENODATA: it is empty. */
static int try(const char *path)
{
	/* A FIFO that nobody writes to would hold this up. */
	AUTO(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char byte;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, &byte, 1);
	if (n < 0)
		return -errno;
	return n == 0 ? -ENODATA : 0;
}

static void look_at(const struct look *look, const char *whose, const char *key, const char *path)
{
	AUTO(free) char *message = NULL;
	int r = path != NULL ? try(path) : 0;

	if (r == 0)
		return;
	message = xasprintf(
	    "%s: %s: '%s' %s%s", whose, key, path,
	    r == -ENODATA ? "is empty" : "cannot be read: ", r == -ENODATA ? "" : strerror(-r));
	look->fn(message, look->userdata);
}

static void look_at_target(const struct look *look, const char *job, const struct config_target *t)
{
	AUTO(free) char *whose = xasprintf("job %s, target %s", job, t->name);

	look_at(look, whose, "caFile", t->ca_file);
	look_at(look, whose, "accessKeyFile", t->access_key_file);
	look_at(look, whose, "secretKeyFile", t->secret_key_file);
	look_at(look, whose, "sessionTokenFile", t->session_token_file);
	look_at(look, whose, "credentialsFile", t->credentials_file);
	look_at(look, whose, "credentials.webIdentity.tokenFile", t->web_token_file);
	look_at(look, whose, "serverSideEncryption.customerKeyFile", t->customer_key_file);
}

void config_look_at_files(const struct config *config, config_file_fn fn, void *userdata)
{
	const struct config_notify *notify = &config->watch.notify;
	const struct look look = {fn, userdata};

	for (size_t i = 0; i < config->n_jobs; i++) {
		const struct config_job *job = &config->jobs[i];
		AUTO(free) char *whose = xasprintf("job %s", job->name);

		look_at(&look, whose, "recipientsFile", job->recipients_file);
		if (job->drill.enabled)
			look_at(&look, whose, "identityFile", job->drill.identity_file);
		for (size_t k = 0; k < job->n_targets; k++)
			look_at_target(&look, job->name, &job->targets[k]);
	}
	look_at(&look, "notify", "urlFile", notify->url_file);
	look_at(&look, "notify", "secretFile", notify->secret_file);
	look_at(&look, "notify", "caFile", notify->ca_file);
	look_at(&look, "notify", "certFile", notify->cert_file);
	look_at(&look, "notify", "keyFile", notify->key_file);
}

/* --- config_jobs --- */

/* The jobs and the access to etcd as JSON lines, for `fairlead etcd restore`, which works where no
 * daemon does. A target has the options by which the worker reaches it. */

/* Behind the names of program, command and subcommand. */
#define FIRST_OPTION 3

static bool has_record(const struct config *config, const struct config_job *job,
                       const struct config_target *target)
{
	const struct config_record *record = &config->watch.record;

	for (size_t i = 0; i < record->n_targets; i++) {
		if (strcmp(record->targets[i].job, job->name) == 0 &&
		    strcmp(record->targets[i].target, target->name) == 0)
			return true;
	}
	return false;
}

/* Another job copies to the same place. */
static bool is_shared(const struct config *config, const struct config_job *job,
                      const struct config_target *target)
{
	for (size_t i = 0; i < config->n_jobs; i++) {
		const struct config_job *other = &config->jobs[i];

		for (size_t k = 0; other != job && k < other->n_targets; k++) {
			if (config_is_same_place(target, &other->targets[k]))
				return true;
		}
	}
	return false;
}

/* `record`: it is uploaded to the target as well. */
static json_t *describe_target(const struct config *config, const struct config_job *job,
                               const struct config_target *target)
{
	json_t *options = json_array();
	struct s3words words;

	s3words_begin(&words, "", "", target);
	for (size_t i = FIRST_OPTION; i < words.n; i++)
		(void) json_array_append_new(options, jsonval_text(words.argv[i]));
	return json_pack("{s:o, s:o, s:b, s:b, s:o}", "name", jsonval_text(target->name), "prefix",
	                 jsonval_text(target->prefix), "record", has_record(config, job, target),
	                 "shared", is_shared(config, job, target), "options", options);
}

/* `record` is where all changes are recorded, or were once. */
static json_t *describe_job(const struct config *config, const struct config_job *job,
                            const char *own_key)
{
	json_t *targets = json_array(), *keys = json_array();

	for (size_t i = 0; i < job->n_targets; i++)
		(void) json_array_append_new(targets, describe_target(config, job, &job->targets[i]));
	for (size_t i = 0; i < job->trusted_keys->n; i++)
		(void) json_array_append_new(keys, jsonval_text(job->trusted_keys->items[i]));
	return json_pack(
	    "{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "name", jsonval_text(job->name),
	    "directory", jsonval_text(job->directory), "encrypted", job->encrypted, "identity_file",
	    jsonval_text(job->drill.identity_file), "etcdutl", jsonval_text(job->drill.etcdutl),
	    "targets", targets, "record", jsonval_text(config->watch.record.directory), "trusted_keys",
	    keys, "own_key", jsonval_text(own_key));
}

void config_print_jobs(const struct config *config, const char *own_key, FILE *out)
{
	for (size_t i = 0; i < config->n_jobs; i++) {
		json_t *job = describe_job(config, &config->jobs[i], own_key);

		(void) json_dumpf(job, out, JSON_COMPACT);
		(void) fputc('\n', out);
		json_decref(job);
	}
}

static void add_option(json_t *words, const char *option, const char *value)
{
	if (value == NULL)
		return;
	(void) json_array_append_new(words, json_string(option));
	(void) json_array_append_new(words, jsonval_text(value));
}

/* The words by which `etcdwatch-worker health` reaches etcd. */
void config_print_etcd(const struct config *config, FILE *out)
{
	const struct etcdconf *etcd = &config->etcd;
	json_t *words = json_array();

	for (size_t i = 0; i < etcd->n_endpoints; i++)
		add_option(words, "--endpoint", etcd->endpoints[i]);
	add_option(words, "--ca-file", etcd->ca_file);
	add_option(words, "--cert-file", etcd->cert_file);
	add_option(words, "--key-file", etcd->key_file);
	(void) json_dumpf(words, out, JSON_COMPACT);
	(void) fputc('\n', out);
	json_decref(words);
}
