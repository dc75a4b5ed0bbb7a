/* SPDX-License-Identifier: Apache-2.0 */
/* The options that name a snapshot, and from them what the worker is told to find it by. */
#include "cli/common/snapshotsource.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/common/fields.h"
#include "cli/common/worker.h"

void snapshotoptions_fini(struct snapshotoptions *options)
{
	texts_fini(&options->identities);
	texts_fini(&options->trusted);
	texts_fini(&options->s3);
}

int snapshotoptions_set_list(void *into, const struct cli_option *option, const char *value)
{
	texts_add((struct texts *) (void *) ((char *) into + option->offset), "%s", value);
	return CLI_OK;
}

/* To the worker as it is. */
int snapshotoptions_set_s3(void *into, const struct cli_option *option, const char *value)
{
	struct snapshotoptions *o = into;

	texts_add(&o->s3, "--%s", option->name);
	if (value != NULL)
		texts_add(&o->s3, "%s", value);
	return CLI_OK;
}

const struct cli_option cli_etcd_snapshot_options[] = {SNAPSHOTOPTIONS_ROWS, {0}};

/*
 * The configuration is read by etcdwatch itself (--print-jobs), and only where it is needed.
 */

#define S3_MARK "s3:"

void snapshotsource_fini(struct snapshotsource *source)
{
	free(source->name);
	free(source->target);
	free(source->job);
	free(source->tool);
	free(source->record);
	texts_fini(&source->find);
	texts_fini(&source->decrypt);
	texts_fini(&source->everywhere);
	for (size_t i = 0; i < source->n_places; i++) {
		free(source->places[i].name);
		texts_fini(&source->places[i].words);
	}
	free(source->places);
}

/* --- the configuration --- */

static int read_jobs(const struct snapshotoptions *o, json_t **ret_jobs)
{
	struct texts words = {0};
	int code;

	texts_add(&words, "--print-jobs");
	if (o->config != NULL)
		texts_add_option(&words, "--config", o->config);
	code = worker_lines("etcdwatch", &words, ret_jobs);
	texts_fini(&words);
	if (code != CLI_OK)
		(void) fputs("fairlead: without the configuration of etcdwatch, name a file, or the store "
		             "(--directory, or --endpoint and --bucket)\n",
		             stderr);
	return code;
}

static bool is_wanted(const struct snapshotoptions *o, const json_t *job)
{
	const char *name = field_text(job, "name");

	return o->job == NULL || (name != NULL && strcmp(o->job, name) == 0);
}

/* The only job, or the one that --job names. */
static int choose_job(const struct snapshotoptions *o, const json_t *jobs, const json_t **ret_job)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(jobs); i++) {
		if (is_wanted(o, json_array_get(jobs, i))) {
			*ret_job = json_array_get(jobs, i);
			n++;
		}
	}
	if (n == 1)
		return CLI_OK;
	if (json_array_size(jobs) == 0)
		(void) fprintf(
		    stderr, "fairlead: '%s' is no file, and etcdwatch has no jobs here: --directory DIR?\n",
		    o->source);
	else if (o->job != NULL)
		(void) fprintf(stderr, "fairlead: etcdwatch has no job '%s'\n", o->job);
	else
		(void) fprintf(stderr, "fairlead: etcdwatch has %zu jobs: which one, --job NAME\n", n);
	return CLI_FAILED;
}

static const json_t *target_of(const json_t *job, const char *name, size_t len)
{
	const json_t *targets = json_object_get(job, "targets");

	for (size_t i = 0; i < json_array_size(targets); i++) {
		const char *text = field_text(json_array_get(targets, i), "name");

		if (text != NULL && strlen(text) == len && strncmp(text, name, len) == 0)
			return json_array_get(targets, i);
	}
	return NULL;
}

/* Of the job, or of the only one that has one of that name. */
static int choose_target(const struct snapshotoptions *o, const json_t *jobs, const char *name,
                         size_t len, const json_t **ret_job, const json_t **ret_target)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		const json_t *target = is_wanted(o, job) ? target_of(job, name, len) : NULL;

		if (target == NULL)
			continue;
		*ret_job = job;
		*ret_target = target;
		n++;
	}
	if (n == 1)
		return CLI_OK;
	(void) fprintf(stderr,
	               n == 0
	                   ? "fairlead: no job of etcdwatch has a target '%.*s'\n"
	                   : "fairlead: several jobs of etcdwatch have a target '%.*s': --job NAME\n",
	               (int) len, name);
	return CLI_FAILED;
}

static void add_target(struct texts *words, const json_t *target)
{
	const json_t *options = json_object_get(target, "options");
	const char *prefix = field_text(target, "prefix");

	for (size_t i = 0; i < json_array_size(options); i++)
		texts_add(words, "%s", json_string_value(json_array_get(options, i)));
	if (prefix != NULL)
		texts_add_option(words, "--s3-prefix", prefix);
}

/* What decrypts the drills decrypts this, unless it was said what does; and the tool is theirs. */
static void take_from_job(struct snapshotsource *source, const struct snapshotoptions *o,
                          const json_t *job)
{
	const char *file = field_text(job, "identity_file"), *tool = field_text(job, "etcdutl");
	const char *record = field_text(job, "record");

	if (o->identities.n == 0 && file != NULL)
		texts_add_option(&source->decrypt, "--identity", file);
	if (json_is_true(json_object_get(job, "encrypted")))
		texts_add(&source->find, "--encrypted");
	texts_add_option(&source->find, "--own-key", field_text(job, "own_key"));
	source->tool = tool != NULL ? xstrdup(tool) : NULL;
	source->record = record != NULL ? xstrdup(record) : NULL;
}

/* Of a store: by whom its entries may be signed, and what this node knows of them. */
static void add_trust(struct texts *words, const json_t *job)
{
	const json_t *keys = json_object_get(job, "trusted_keys");

	for (size_t i = 0; i < json_array_size(keys); i++)
		texts_add_option(words, "--trust", json_string_value(json_array_get(keys, i)));
	texts_add_option(words, "--known", field_text(job, "directory"));
}

static struct texts *add_place(struct snapshotsource *source, char *name)
{
	struct snapshotsource_place *place;

	source->places = xreallocarray(source->places, source->n_places + 1, sizeof(source->places[0]));
	place = &source->places[source->n_places++];
	*place = (struct snapshotsource_place){.name = name};
	return &place->words;
}

/* All but the one that was named. */
static void take_places(struct snapshotsource *source, const json_t *job)
{
	const json_t *targets = json_object_get(job, "targets");

	source->job = xstrdup(field_text(job, "name"));
	texts_add_option(&source->everywhere, "--job", source->job);
	texts_add_option(&source->everywhere, "--own-key", field_text(job, "own_key"));
	if (json_is_true(json_object_get(job, "encrypted")))
		texts_add(&source->everywhere, "--encrypted");
	if (source->target != NULL)
		texts_add_option(add_place(source, xstrdup("")), "--directory",
		                 field_text(job, "directory"));
	for (size_t i = 0; i < json_array_size(targets); i++) {
		const json_t *target = json_array_get(targets, i);
		AUTO(free) char *name = xasprintf("%s/", field_text(target, "name"));
		struct texts *words;

		if (source->target != NULL && strcmp(source->target, name) == 0)
			continue;
		words = add_place(source, xasprintf(S3_MARK "%s", name));
		add_target(words, target);
		add_trust(words, job);
	}
}

/* --- the snapshot --- */

static int find_in_target(const struct snapshotoptions *o, const char *name,
                          struct snapshotsource *source)
{
	const char *slash = strchr(name, '/');
	const json_t *job = NULL, *target = NULL;
	json_t *jobs = NULL;
	int code;

	if (slash == NULL && o->s3.n == 0) {
		(void) fprintf(stderr,
		               "fairlead: s3:TARGET/ID, or s3:ID with --endpoint and --bucket, not '%s'\n",
		               o->source);
		return CLI_USAGE;
	}
	if (slash == NULL) {
		source->target = xstrdup("");
		source->name = xstrdup(name);
		texts_add_all(&source->find, &o->s3);
		if (o->s3_prefix != NULL)
			texts_add_option(&source->find, "--s3-prefix", o->s3_prefix);
		return CLI_OK;
	}
	code = read_jobs(o, &jobs);
	if (code != CLI_OK)
		return code;
	code = choose_target(o, jobs, name, (size_t) (slash - name), &job, &target);
	if (code == CLI_OK) {
		source->target = xstrndup(name, (size_t) (slash + 1 - name));
		source->name = xstrdup(slash + 1);
		add_target(&source->find, target);
		add_trust(&source->find, job);
		source->has_record = json_is_true(json_object_get(target, "record"));
		if (json_is_true(json_object_get(target, "shared")) && o->job == NULL && !o->any_job)
			texts_add_option(&source->find, "--job", field_text(job, "name"));
		take_from_job(source, o, job);
		take_places(source, job);
	}
	json_decref(jobs);
	return code;
}

static int find_in_directory(const struct snapshotoptions *o, struct snapshotsource *source)
{
	const json_t *job = NULL;
	json_t *jobs = NULL;
	int code;

	source->name = xstrdup(o->source);
	if (strchr(o->source, '/') != NULL || access(o->source, F_OK) == 0)
		return CLI_OK;
	if (o->directory != NULL) {
		texts_add_option(&source->find, "--directory", o->directory);
		return CLI_OK;
	}
	code = read_jobs(o, &jobs);
	if (code != CLI_OK)
		return code;
	code = choose_job(o, jobs, &job);
	if (code == CLI_OK) {
		const char *directory = field_text(job, "directory");

		texts_add_option(&source->find, "--directory", directory != NULL ? directory : "");
		take_from_job(source, o, job);
		take_places(source, job);
	}
	json_decref(jobs);
	return code;
}

bool snapshotsource_is_s3(const char *name)
{
	return strncmp(name, S3_MARK, strlen(S3_MARK)) == 0;
}

int snapshotsource_find(const struct snapshotoptions *o, struct snapshotsource *ret)
{
	*ret = (struct snapshotsource){0};
	for (size_t i = 0; i < o->identities.n; i++)
		texts_add_option(&ret->decrypt, "--identity", o->identities.items[i]);
	for (size_t i = 0; i < o->trusted.n; i++)
		texts_add_option(&ret->decrypt, "--trust", o->trusted.items[i]);
	if (o->skip_hash_check)
		texts_add(&ret->decrypt, "--skip-hash-check");
	if (o->plain)
		texts_add(&ret->decrypt, "--plain");
	if (o->job != NULL)
		texts_add_option(&ret->find, "--job", o->job);
	if (snapshotsource_is_s3(o->source))
		return find_in_target(o, o->source + strlen(S3_MARK), ret);
	return find_in_directory(o, ret);
}

void snapshotsource_words(const struct snapshotsource *source, const struct snapshotoptions *o,
                          const json_t *found, struct texts *ret_words)
{
	const char *origin = field_text(found, "origin"), *id = field_text(found, "id");
	AUTO(free) char *real = realpath(origin, NULL);

	if (source->target != NULL) {
		texts_add(ret_words, S3_MARK "%s%s", source->target, id != NULL ? id : source->name);
		texts_add_all(ret_words, &o->s3);
		if (o->s3_prefix != NULL)
			texts_add_option(ret_words, "--s3-prefix", o->s3_prefix);
		if (o->job != NULL)
			texts_add_option(ret_words, "--job", o->job);
		if (o->config != NULL)
			texts_add_option(ret_words, "--config", o->config);
	} else {
		texts_add(ret_words, "%s", real != NULL ? real : origin);
	}
	texts_add_all(ret_words, &source->decrypt);
}
