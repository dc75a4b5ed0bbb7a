/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at this machine and the snapshot by the worker, and makes the plan of it. */
#include "cli/restore/restoring.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/table.h"
#include "cli/restore/restoreelsewhere.h"
#include "cli/restore/restorerebuild.h"
#include "cli/restore/restorerender.h"

void restoring_fini(struct restoring *r)
{
	restoreoptions_fini(&r->options);
	snapshotsource_fini(&r->source);
	texts_fini(&r->source_words);
	texts_fini(&r->elsewhere);
	free(r->token);
	json_decref(r->host);
	json_decref(r->made);
	json_decref(r->found);
	json_decref(r->result);
	progress_free(r->progress);
	restoreplan_free(r->plan);
}

/* So that no two restores make the same cluster. */
void restoring_choose_token(struct restoring *r)
{
	if (r->options.wish.token != NULL)
		return;
	if (getrandom(&r->random, sizeof(r->random), 0) != (ssize_t) sizeof(r->random))
		abort();
	r->token = xasprintf("restore-%016" PRIx64, r->random);
	r->options.wish.token = r->token;
	r->options.wish.token_is_new = true;
}

/* --- asking the worker --- */

static void print_histories(const struct restoring *r, const json_t *object)
{
	if (r->cli.output != CLI_TABLE)
		cli_print(&r->cli, object);
	else
		restorerebuild_print_histories(stdout, json_object_get(object, "histories"));
}

/* What the worker does now. */
static void print_step(const json_t *object, void *userdata)
{
	static const struct {
		const char *step;
		const char *text;
	} steps[] = {
	    {"fetch", "fetching"},         {"unpack", "unpacking"},    {"prove", "proving"},
	    {"restore", "restoring with"}, {"verify", "reading back"}, {"exchange", "putting in place"},
	    {"merge", "rebuilding"},
	};
	const struct restoring *r = userdata;
	const char *step = json_string_value(json_object_get(object, "doing"));
	const char *name = json_string_value(json_object_get(object, "name"));

	if (json_object_get(object, "histories") != NULL)
		print_histories(r, object);
	if (r->cli.output != CLI_TABLE || step == NULL)
		return;
	if (name == NULL) {
		(void) progress_show_told(r->progress, object);
		return;
	}
	progress_clear();
	progress_anew(r->progress);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (strcmp(step, steps[i].step) != 0)
			continue;
		(void) fprintf(stderr, "%s ", steps[i].text);
		table_print_safe(stderr, name);
		(void) fputc('\n', stderr);
	}
}

int restoring_ask(struct restoring *r, struct texts *words, json_t **ret_last)
{
	int code = worker_run(words, print_step, r, ret_last);

	texts_fini(words);
	return code;
}

int restoring_add_access(const struct restoring *r, struct texts *words)
{
	struct texts print = {0};
	json_t *lines = NULL;
	const json_t *access;
	int code;

	texts_add(&print, "--print-etcd");
	texts_add_option(&print, "--config", r->options.from.config);
	code = worker_lines("etcdwatch", &print, &lines);
	texts_fini(&print);
	if (code != CLI_OK) {
		texts_fini(words);
		return code;
	}
	access = json_array_get(lines, 0);
	for (size_t i = 0; i < json_array_size(access); i++)
		texts_add(words, "%s", json_string_value(json_array_get(access, i)));
	json_decref(lines);
	return CLI_OK;
}

/* Another one may be named by now. */
static bool has_found_tool(const struct restoring *r)
{
	const char *path = json_string_value(json_object_get(json_object_get(r->host, "tool"), "path"));

	return path != NULL && (r->options.tool == NULL || strcmp(r->options.tool, path) == 0);
}

static void add_tool(const struct restoring *r, struct texts *words)
{
	if (has_found_tool(r))
		restoreplan_add_tool(json_object_get(r->host, "tool"), words);
	else
		texts_add_option(words, "--tool", r->options.tool);
}

int restoring_look_at_host(struct restoring *r, const char *peer_urls)
{
	struct texts words = {0};
	json_t *host = NULL;
	int code;

	texts_add(&words, "restore");
	texts_add(&words, "host");
	texts_add_option(&words, "--data-dir", r->options.wish.data_dir);
	add_tool(r, &words);
	texts_add_option(&words, "--manifests", r->options.manifests);
	texts_add_option(&words, "--peer-urls", peer_urls);
	code = restoring_ask(r, &words, &host);
	if (code != CLI_OK)
		return code;
	json_decref(r->host);
	r->host = host;
	return CLI_OK;
}

/* What was made is a file like any other from here on. */
static int rebuild(struct restoring *r)
{
	struct snapshotsource made = {0};
	int code = restorerebuild_run(&r->options, &r->source, print_step, r, &r->made);

	if (code != CLI_OK)
		return code;
	made.name = xstrdup(json_string_value(json_object_get(r->made, "file")));
	made.tool = TAKE_PTR(r->source.tool);
	snapshotsource_fini(&r->source);
	r->source = made;
	return CLI_OK;
}

int restoring_look_at_source(struct restoring *r)
{
	struct texts words = {0};
	int code;

	r->options.from.any_job = restorerebuild_is_wanted(&r->options);
	code = snapshotsource_find(&r->options.from, &r->source);

	if (code == CLI_OK && restorerebuild_is_wanted(&r->options))
		code = rebuild(r);
	if (code != CLI_OK)
		return code;
	texts_add(&words, "restore");
	texts_add(&words, "source");
	texts_add_option(&words, "--data-dir", r->options.wish.data_dir);
	texts_add_option(&words, "--sha256", r->options.sha256);
	/* The restore proves it, while etcd's tool works. */
	if (r->options.yes && !r->options.wish.of_cluster)
		texts_add(&words, "--unproven");
	texts_add_all(&words, &r->source.find);
	texts_add_all(&words, &r->source.decrypt);
	texts_add(&words, "--");
	texts_add(&words, "%s", r->source.name);
	code = restoring_ask(r, &words, &r->found);
	if (code != CLI_OK)
		return code;
	/* What was rebuilt has no entry, and the members of its base. */
	if (r->made != NULL)
		(void) json_object_set(r->found, "base_members",
		                       json_object_get(json_object_get(r->made, "base"), "members"));
	restoreelsewhere_look(&r->cli, &r->source, r->found, &r->elsewhere);
	snapshotsource_words(&r->source, &r->options.from, r->found, &r->source_words);
	r->options.wish.source = &r->source_words;
	r->options.wish.source_is_local = r->source.target == NULL;
	if (r->options.tool == NULL)
		r->options.tool = r->source.tool;
	return CLI_OK;
}

/* What was unpacked, or half made, is removed; a restore that went well has done that itself. */
void restoring_clean_up(struct restoring *r)
{
	struct texts words = {0};
	json_t *last = NULL;

	if (r->result != NULL || (!r->acted && !json_is_true(json_object_get(r->found, "unpacked"))))
		return;
	texts_add(&words, "restore");
	texts_add(&words, "clean");
	texts_add_option(&words, "--data-dir", r->options.wish.data_dir);
	(void) restoring_ask(r, &words, &last);
	json_decref(last);
}

/* --- the plan --- */

/* The plan again, as its ids follow from the token, and the token from its members. */
static void seal_token(struct restoring *r)
{
	const char *sha256 = json_string_value(json_object_get(r->found, "sha256"));
	char *token;

	if (!r->options.wish.token_is_new || r->plan->cluster == NULL || sha256 == NULL)
		return;
	token = restoreplan_token(r->random, sha256, r->plan);
	restoreplan_free(r->plan);
	free(r->token);
	r->token = token;
	r->options.wish.token = token;
	r->plan = restoreplan_make(&r->options.wish, r->host, r->found);
}

void restoring_make_plan(struct restoring *r)
{
	restoreplan_free(r->plan);
	r->plan = restoreplan_make(&r->options.wish, r->host, r->found);
	seal_token(r);
	texts_add_all(&r->plan->mind, &r->elsewhere);
}

/* What needs no snapshot to be seen is seen before it is fetched. */
static int refuse_early(const struct restoring *r)
{
	const json_t *dir = json_object_get(r->host, "data_dir");
	const char *path = json_string_value(json_object_get(dir, "path"));

	if (!r->options.yes || r->options.wish.of_cluster ||
	    !json_is_true(json_object_get(dir, "in_use")))
		return CLI_OK;
	(void) fputs("fairlead: etcd runs on ", stderr);
	table_print_safe(stderr, path != NULL ? path : "");
	(void) fputs(": stop it, on this node and on all others\n", stderr);
	return CLI_FAILED;
}

/* Where this member would listen, if the options alone tell it, as those of a plan's commands do;
 * to be freed, or NULL. */
static char *named_urls(const struct restoreplan_wish *wish)
{
	AUTO(newcluster_free) struct newcluster *cluster = NULL;
	AUTO(free) char *why = NULL;
	const struct newcluster_member *self = NULL;

	if (wish->initial_cluster != NULL && wish->name != NULL)
		why = newcluster_parse(wish->initial_cluster, wish->token, &cluster);
	if (cluster != NULL)
		self = newcluster_find(cluster, wish->name);
	return self != NULL ? newcluster_urls(self) : NULL;
}

/* What was seen before the plan was made is all that it needs, and no time went by for unpacking.
 */
static bool has_seen_all(const struct restoring *r, const char *urls)
{
	return urls != NULL && r->plan->peer_urls != NULL && strcmp(urls, r->plan->peer_urls) == 0 &&
	       has_found_tool(r) && !json_is_true(json_object_get(r->found, "unpacked"));
}

int restoring_plan(struct restoring *r)
{
	AUTO(free) char *urls = named_urls(&r->options.wish);
	int code = restoring_look_at_host(r, urls);

	if (code == CLI_OK)
		code = refuse_early(r);
	if (code == CLI_OK)
		code = restoring_look_at_source(r);
	if (code != CLI_OK)
		return code;
	restoring_make_plan(r);
	if (has_seen_all(r, urls))
		return CLI_OK;
	/* Again, as now it is known where this member would listen, and which tool the job has; and
	 * time has passed. */
	code = restoring_look_at_host(r, r->plan->peer_urls);
	if (code == CLI_OK)
		restoring_make_plan(r);
	return code;
}

/* Takes the object. */
void restoring_print_new(const struct restoring *r, json_t *object)
{
	cli_print(&r->cli, object);
	json_decref(object);
}

void restoring_print_plan(const struct restoring *r)
{
	if (r->made != NULL && r->cli.output != CLI_TABLE)
		restoring_print_new(r, json_pack("{s:O}", "rebuilt", r->made));
	else if (r->made != NULL)
		restorerebuild_print(stdout, r->made);
	if (r->cli.output != CLI_TABLE)
		restoring_print_new(
		    r, json_pack("{s:o}", "plan",
		                 restorerender_plan_json(&r->options.wish, r->plan, r->host, r->found)));
	else
		restorerender_plan(stdout, &r->options.wish, r->plan, r->host, r->found,
		                   wall_now_us() / US_PER_S);
}
