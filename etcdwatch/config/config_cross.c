/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only a whole document can show, and what only all of them can: names and directories that
 * are in each other's way, keys that go together or exclude each other.
 */
#include "etcdwatch/config/config_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/hint.h"
#include "base/mem.h"

#define KIND "EtcdSnapshotConfig"

/* A place in a job's document: its keys from the top, as far as they are written. */
struct place {
	const struct job_reading *job;
	const char *keys[4]; /* "[1]" is an item of a list */
};

static const struct conf_node *find(const struct conf_node *node, const char *key)
{
	size_t i;

	if (key[0] != '[')
		return conf_node_find(node, key);
	i = strtoul(key + 1, NULL, 10);
	return node->shape == CONF_LIST && i < node->n ? node->values[i] : NULL;
}

static void report(struct conf *conf, struct place place, const char *hint, const char *what)
{
	const struct conf_node *at = place.job->document;
	size_t before = conf_enter(conf, KIND);

	for (size_t i = 0; i < ARRAY_SIZE(place.keys) && place.keys[i] != NULL; i++) {
		const struct conf_node *inner = find(at, place.keys[i]);

		if (inner == NULL)
			break;
		(void) conf_enter(conf, "%s", place.keys[i]);
		at = inner;
	}
	conf_error(conf, at, hint, "%s", what);
	conf_leave(conf, before);
}

/* --- a job by itself --- */

static void check_schedule(struct conf *conf, const struct job_reading *reading)
{
	int64_t period_us = schedule_shortest_period_s(&reading->job.schedule) * INT64_C(1000000);
	char text[CONF_DURATION_TEXT_MAX];
	AUTO(free) char *what = NULL;

	if (reading->job.jitter_us < period_us)
		return;
	what = xasprintf("must be shorter than the %s between two snapshots",
	                 conf_format_duration(period_us, text));
	report(conf, (struct place){reading, {"jitter"}}, NULL, what);
}

/* The first text that stands there a second time; n: none does. */
static size_t find_twice(const struct conf_strings *strings)
{
	for (size_t i = 1; i < strings->n; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(strings->items[i], strings->items[k]) == 0)
				return i;
		}
	}
	return strings->n;
}

static void check_encryption(struct conf *conf, const struct job_reading *reading)
{
	const struct config_job *job = &reading->job;
	const struct place place = {reading, {"encryption"}};

	if (job->encrypted && job->recipients.n == 0 && job->recipients_file == NULL)
		report(conf, place, "name them in recipients or recipientsFile",
		       "there is no recipient who could decrypt it");
	if (find_twice(&job->recipients) < job->recipients.n)
		report(conf, (struct place){reading, {"encryption", "recipients"}}, NULL,
		       "the same recipient is there twice");
	if (job->extra_files.n > 0 && !job->encrypted)
		report(conf, (struct place){reading, {"extraFiles"}},
		       "add an encryption section with recipients",
		       "keys and certificates are bundled only where snapshots are encrypted");
	if (find_twice(&job->extra_files) < job->extra_files.n)
		report(conf, (struct place){reading, {"extraFiles"}}, NULL, "the same path is there twice");
}

static void check_compression(struct conf *conf, const struct job_reading *reading)
{
	const struct conf_node *section = conf_node_find(reading->document, "compression");

	if (reading->job.compression == CONFIG_COMPRESSION_NONE &&
	    conf_node_find(section, "level") != NULL)
		report(conf, (struct place){reading, {"compression", "level"}}, "remove it",
		       "without compression there is no level");
}

/* --- targets --- */

/* One source of keys, and no files with keys. */
static void check_provider(struct conf *conf, const struct config_target *target,
                           struct place place)
{
	int n = target->instance_role + target->container_role + (target->role_arn != NULL) +
	        (target->process.n > 0);

	place.keys[2] = "credentials";
	if (n != 1)
		report(conf, place, "instanceRole: true, container: true, webIdentity or process",
		       n == 0 ? "names no source of keys" : "names more than one source of keys");
	if (target->access_key_file != NULL || target->secret_key_file != NULL ||
	    target->credentials_file != NULL || target->session_token_file != NULL)
		report(conf, place, NULL, "excludes files with keys");
	if (target->process.n == 0 || target->process.items[0][0] == '/')
		return;
	place.keys[3] = "process";
	report(conf, place, "write the whole path",
	       "its first word is not the absolute path of a program");
}

static void check_credentials(struct conf *conf, const struct config_target *target,
                              const struct conf_node *written, struct place place)
{
	bool has_keys = target->access_key_file != NULL || target->secret_key_file != NULL;

	if (conf_node_find(written, "credentials") != NULL) {
		check_provider(conf, target, place);
		return;
	}
	if (target->credentials_file == NULL && !has_keys) {
		report(conf, place,
		       "accessKeyFile and secretKeyFile, credentialsFile, or a credentials section",
		       "has no credentials");
	} else if (target->credentials_file != NULL && has_keys) {
		place.keys[2] = "credentialsFile";
		report(conf, place, NULL, "excludes accessKeyFile and secretKeyFile");
	} else if (has_keys && (target->access_key_file == NULL || target->secret_key_file == NULL)) {
		report(conf, place, NULL, "accessKeyFile and secretKeyFile go together");
	}
	if (target->session_token_file != NULL && target->credentials_file != NULL) {
		place.keys[2] = "sessionTokenFile";
		report(conf, place, "the credentials file holds the token as well",
		       "goes with accessKeyFile and secretKeyFile");
	}
}

static void check_address(struct conf *conf, const struct config_target *target, struct place place)
{
	struct conf_url url;

	if (conf_parse_url(target->endpoint, &url) != NULL)
		return;
	if (target->ca_file != NULL && !url.https) {
		place.keys[2] = "caFile";
		report(conf, place, "did you mean https://?", "an http:// endpoint has no certificate");
	}
	if (target->customer_key_file != NULL && !url.https) {
		place.keys[2] = "serverSideEncryption";
		report(conf, place, "did you mean https://?",
		       "customerKeyFile: the key goes to the store with each request, and may not go "
		       "unencrypted");
	}
	if (target->path_style)
		return;
	place.keys[2] = "pathStyle";
	if (url.is_address)
		report(conf, place, "write 'pathStyle: true'",
		       "an endpoint that is an address has no host for each bucket");
	else if (url.https && strchr(target->bucket, '.') != NULL)
		report(conf, place, "write 'pathStyle: true'",
		       "no certificate is good for a bucket with a '.' in its name");
}

static void check_server_encryption(struct conf *conf, const struct config_target *target,
                                    const struct conf_node *written, struct place place)
{
	place.keys[2] = "serverSideEncryption";
	if (target->kms_key != NULL && target->customer_key_file != NULL)
		report(conf, place, "remove one of them", "kms and customerKeyFile exclude each other");
	else if (conf_node_find(written, place.keys[2]) != NULL && target->kms_key == NULL &&
	         target->customer_key_file == NULL)
		report(conf, place, "kms or customerKeyFile", "names no key");
}

static bool has_word(const struct conf_strings *words, const char *mark)
{
	for (size_t i = 0; i < words->n; i++) {
		if (strstr(words->items[i], mark) != NULL)
			return true;
	}
	return false;
}

static void check_program(struct conf *conf, const struct config_target *target,
                          enum config_verb verb, struct place place)
{
	const struct conf_strings *words = &target->command[verb];

	place.keys[2] = "command";
	place.keys[3] = config_verb_names[verb];
	if (words->n == 0)
		report(conf, place, "the four are upload, download, list and delete", "is missing");
	else if (words->items[0][0] != '/')
		report(conf, place, "write the whole path",
		       "its first word is not the absolute path of a program");
	else if (verb != CONFIG_VERB_LIST && !has_word(words, "{key}"))
		report(conf, place, "such as {key} in one of the words",
		       "has no {key}: it would be the same object each time");
	else if (verb != CONFIG_VERB_UPLOAD && has_word(words, "{file}"))
		report(conf, place, verb == CONFIG_VERB_DOWNLOAD ? "it prints the object" : NULL,
		       "{file} is for upload alone");
}

static void check_command(struct conf *conf, const struct config_target *target,
                          const struct conf_node *written, struct place place)
{
	static const char *const others[] = {
	    "endpoint",         "bucket", "region",          "pathStyle",
	    "credentials",      "caFile", "accessKeyFile",   "secretKeyFile",
	    "sessionTokenFile", "proxy",  "credentialsFile", "serverSideEncryption",
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		place.keys[2] = others[i];
		if (conf_node_find(written, others[i]) != NULL)
			report(conf, place, "its programs know where to", "goes with the type s3 alone");
	}
	for (unsigned verb = 0; verb < CONFIG_VERBS; verb++)
		check_program(conf, target, (enum config_verb) verb, place);
}

static void check_s3(struct conf *conf, const struct config_target *target,
                     const struct conf_node *written, struct place place)
{
	struct place command = place;

	command.keys[2] = "command";
	if (conf_node_find(written, "command") != NULL)
		report(conf, command, "write 'type: command'", "goes with the type command alone");
	check_credentials(conf, target, written, place);
	check_address(conf, target, place);
	check_server_encryption(conf, target, written, place);
}

bool config_is_same_place(const struct config_target *a, const struct config_target *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == CONFIG_TARGET_COMMAND)
		return strcmp(a->command_json, b->command_json) == 0 && strcmp(a->prefix, b->prefix) == 0;
	return strcmp(a->endpoint, b->endpoint) == 0 && strcmp(a->bucket, b->bucket) == 0 &&
	       strcmp(a->prefix, b->prefix) == 0;
}

static void check_targets(struct conf *conf, const struct job_reading *reading)
{
	const struct config_job *job = &reading->job;

	for (size_t i = 0; i < job->n_targets; i++) {
		const struct config_target *target = &job->targets[i];
		AUTO(free) char *item = xasprintf("[%zu]", i);
		const struct place place = {reading, {"targets", item}};
		const struct place name = {reading, {"targets", item, "name"}};
		const struct conf_node *written = conf_node_find(reading->document, "targets")->values[i];

		if (strcmp(target->name, "local") == 0)
			report(conf, name, NULL, "is what the directory on this node is called");
		if (target->type == CONFIG_TARGET_COMMAND)
			check_command(conf, target, written, place);
		else
			check_s3(conf, target, written, place);
		for (size_t k = 0; k < i; k++) {
			if (strcmp(target->name, job->targets[k].name) == 0)
				report(conf, name, NULL, "is the name of two targets");
			else if (config_is_same_place(target, &job->targets[k]))
				report(conf, place,
				       target->type == CONFIG_TARGET_COMMAND
				           ? "command and prefix are the same"
				           : "endpoint, bucket and prefix are the same",
				       "is the same place as the target before");
		}
	}
}

/* --- the drill --- */

static void check_source(struct conf *conf, const struct job_reading *reading)
{
	const struct config_job *job = &reading->job;
	const char *names[CONFIG_TARGETS_MAX + 1] = {"local"};
	const char *nearest;
	AUTO(free) char *hint = NULL;

	if (reading->drill_source == NULL || job->drill.source != NULL ||
	    strcmp(reading->drill_source, "local") == 0)
		return;
	for (size_t i = 0; i < job->n_targets; i++)
		names[i + 1] = job->targets[i].name;
	nearest = hint_nearest(reading->drill_source, names, job->n_targets + 1);
	if (nearest != NULL)
		hint = xasprintf("did you mean '%s'?", nearest);
	report(conf, (struct place){reading, {"drill", "source"}}, hint,
	       "is neither local nor the name of a target");
}

static void check_drill(struct conf *conf, const struct job_reading *reading)
{
	const struct config_job *job = &reading->job;

	if (!job->drill.enabled)
		return;
	check_source(conf, reading);
	if (job->encrypted && job->drill.identity_file == NULL)
		report(conf, (struct place){reading, {"drill"}},
		       "name one that is a recipient in identityFile",
		       "encrypted snapshots cannot be restored without an identity");
	if (!job->encrypted && job->drill.identity_file != NULL)
		report(conf, (struct place){reading, {"drill", "identityFile"}}, "remove it",
		       "there is nothing to decrypt");
}

/* --- jobs and each other --- */

/* a is b, or b lies in it. Paths are written in one way only (config_check_directory). */
static bool holds(const char *a, const char *b)
{
	size_t len = strlen(a);

	return strncmp(a, b, len) == 0 && (b[len] == '\0' || b[len] == '/');
}

static void report_overlap(struct conf *conf, struct place place, const struct config_job *other,
                           const char *path)
{
	AUTO(free)
	char *what =
	    xasprintf("would share %s with the job '%s', at %s", path, other->name, other->origin);

	report(conf, place, "each job needs directories of its own", what);
}

/* A drill's scratch directory may lie in its own job's, where store.c does not look. */
static void check_own_directories(struct conf *conf, const struct job_reading *reading)
{
	const struct config_job *job = &reading->job;

	if (job->drill.enabled && holds(job->drill.directory, job->directory))
		report(conf, (struct place){reading, {"drill", "directory"}}, NULL,
		       "holds the snapshots of the job");
}

static void check_pair(struct conf *conf, const struct job_reading *reading,
                       const struct job_reading *other)
{
	const struct config_job *a = &reading->job, *b = &other->job;
	const struct {
		const char *path;
		struct place place;
		bool used;
	} mine[] = {
	    {a->directory, {reading, {"directory"}}, true},
	    {a->drill.directory, {reading, {"drill", "directory"}}, a->drill.enabled},
	};
	const char *const theirs[] = {b->directory,
	                              b->drill.enabled ? b->drill.directory : b->directory};

	if (strcmp(a->name, b->name) == 0) {
		AUTO(free) char *what = xasprintf("is the name of two jobs, first at %s", b->origin);

		report(conf, (struct place){reading, {"name"}}, NULL, what);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(mine); i++) {
		for (size_t k = 0; k < ARRAY_SIZE(theirs) && mine[i].used; k++) {
			if (holds(mine[i].path, theirs[k]) || holds(theirs[k], mine[i].path)) {
				report_overlap(conf, mine[i].place, b, mine[i].path);
				return;
			}
		}
	}
}

/* --- the record --- */

static const struct job_reading *find_job(const struct config_reading *reading, const char *name)
{
	for (size_t i = 0; i < reading->n_jobs; i++) {
		if (reading->jobs[i].job.name != NULL && strcmp(reading->jobs[i].job.name, name) == 0)
			return &reading->jobs[i];
	}
	return NULL;
}

/* NULL: not known here. */
static const struct config_target *resolve(const struct config_reading *reading,
                                           const struct config_record_target *t)
{
	const struct job_reading *job = find_job(reading, t->job);

	return job != NULL && job->is_whole ? config_find_target(&job->job, t->target) : NULL;
}

static void check_record_target(struct conf *conf, const struct config_reading *reading, size_t i,
                                const struct conf_node *item)
{
	const struct config_record *record = &reading->watch.record;
	const struct config_record_target *t = &record->targets[i];
	const struct config_target *target;
	const struct job_reading *job;

	/* A key that is missing is reported already. */
	if (t->job == NULL || t->target == NULL)
		return;
	job = find_job(reading, t->job);
	if (job == NULL) {
		conf_error(conf, conf_node_find(item, "job"), "name an EtcdSnapshotConfig",
		           "is not the name of a job");
		return;
	}
	if (!job->is_whole)
		return;
	target = config_find_target(&job->job, t->target);
	if (target == NULL) {
		conf_error(conf, conf_node_find(item, "target"), "name one of its targets",
		           "is not the name of a target of the job '%s'", t->job);
		return;
	}
	for (size_t k = 0; k < i; k++) {
		const struct config_target *other =
		    record->targets[k].job != NULL && record->targets[k].target != NULL
		        ? resolve(reading, &record->targets[k])
		        : NULL;

		if (other != NULL && config_is_same_place(target, other))
			conf_error(conf, item, "endpoint, bucket and prefix are the same",
			           "is the same place as the target before");
	}
}

static void check_record_targets(struct conf *conf, const struct config_reading *reading,
                                 const struct conf_node *record)
{
	const struct conf_node *list = conf_node_find(record, "targets");

	for (size_t i = 0; list != NULL && i < reading->watch.record.n_targets; i++) {
		size_t before = conf_enter(conf, "targets[%zu]", i);

		check_record_target(conf, reading, i, list->values[i]);
		conf_leave(conf, before);
	}
}

/* The directories of the jobs are swept, and so is that of the record. */
static void check_record(struct conf *conf, const struct config_reading *reading)
{
	const struct config_record *record = &reading->watch.record;
	const struct conf_node *document = reading->watch_document;
	size_t before;

	if (!record->enabled || document == NULL)
		return;
	before = conf_enter(conf, "EtcdWatchConfig");
	(void) conf_enter(conf, "record");
	check_record_targets(conf, reading, conf_node_find(document, "record"));
	for (size_t i = 0; i < reading->n_jobs; i++) {
		const struct config_job *job = &reading->jobs[i].job;

		if (!reading->jobs[i].is_whole || (!holds(job->directory, record->directory) &&
		                                   !holds(record->directory, job->directory)))
			continue;
		conf_error(conf, conf_node_find(document, "record"), "it needs a directory of its own",
		           "would share %s with the job '%s', at %s", record->directory, job->name,
		           job->origin);
	}
	conf_leave(conf, before);
}

/* --- all --- */

static void note_plain_copies(struct conf *conf, const struct config_job *job)
{
	if (job->n_targets > 0 && !job->encrypted)
		conf_note(conf, NULL, "add an encryption section",
		          "snapshots of the job '%s' leave this node unencrypted, with every Secret of the "
		          "cluster in them",
		          job->name);
}

void config_check_whole(struct config_reading *reading)
{
	struct conf *conf = reading->conf;

	for (size_t i = 0; i < reading->n_jobs; i++) {
		const struct job_reading *job = &reading->jobs[i];

		/* What is wrong by itself has been said, and a half-read job makes no sense as a whole. */
		if (!job->is_whole)
			continue;
		check_schedule(conf, job);
		check_compression(conf, job);
		check_encryption(conf, job);
		check_targets(conf, job);
		check_drill(conf, job);
		check_own_directories(conf, job);
		for (size_t k = 0; k < i; k++) {
			if (reading->jobs[k].is_whole)
				check_pair(conf, job, &reading->jobs[k]);
		}
		note_plain_copies(conf, &job->job);
	}
	check_record(conf, reading);
	if (reading->n_jobs == 0)
		conf_note(conf, NULL, NULL, "no job is configured: there is nothing to take");
}
