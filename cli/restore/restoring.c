/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at this machine and the snapshot by the worker, and makes the plan of it. */
#include "cli/restore/restoring.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"
#include "cli/common/table.h"
#include "cli/common/worker.h"
#include "cli/restore/restorerender.h"

/* --- restoreelsewhere --- */

/* The worker is run once for each place, with a limit of time: a target that is down holds a
 * restore up no longer. */

#define LIMIT_S "10"
#define WORKER "etcdwatch-worker"
/* etcdwatch asks etcd first, and answers as well where that does not. */
#define DAEMON_TIMEOUT_US (10 * US_PER_S)

/* --- pure --- */

bool restoreelsewhere_is_newer(const json_t *entry, const json_t *than)
{
	bool same_line =
	    strcmp(field_string(entry, "cluster_id"), field_string(than, "cluster_id")) == 0 &&
	    field_integer(entry, "timeline") == field_integer(than, "timeline");

	if (strcmp(field_string(entry, "id"), field_string(than, "id")) == 0)
		return false;
	if (same_line)
		return field_integer(entry, "revision") > field_integer(than, "revision");
	/* Times are written alike, so they sort as texts. */
	return strcmp(field_string(entry, "finished"), field_string(than, "finished")) > 0;
}

char *restoreelsewhere_sentence(const char *place, const json_t *entry)
{
	const char *agreed = field_string(json_object_get(entry, "verified"), "hashkv");
	const char *node = field_string(entry, "node");
	AUTO(free) char *taker = node[0] != '\0' ? xasprintf(", taken by %s", node) : xstrdup("");
	AUTO(free)
	char *compared = agreed[0] != '\0' ? xasprintf("confirmed by %s", agreed)
	                                   : xstrdup("not compared with another member");

	return xasprintf("a newer one is known: %s%s, revision %lld, of %s%s, %s", place,
	                 field_string(entry, "id"), (long long) field_integer(entry, "revision"),
	                 field_string(entry, "finished"), taker, compared);
}

json_t *restoreelsewhere_known(const json_t *objects)
{
	json_t *newest = NULL, *known;
	const char *reason = NULL;
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		const char *id = field_string(object, "newest");

		reason = id[0] == '\0' ? field_string(object, "error") : reason;
		if (id[0] == '\0' || (newest != NULL && strcmp(field_string(object, "finished"),
		                                               field_string(newest, "finished")) <= 0))
			continue;
		json_decref(newest);
		newest = json_pack(
		    "{s:o, s:s, s:s, s:I, s:s}", "node", jsonval_text(field_string(object, "node")), "id",
		    id, "finished", field_string(object, "finished"), "revision",
		    field_integer(object, "revision"), "as_of", field_string(object, "as_of"));
	}
	known = json_pack("{s:o, s:o}", "newest", newest != NULL ? newest : json_null(), "reason",
	                  jsonval_text(reason));
	return known;
}

/* --- asking --- */

/* The last line, to be given back; NULL: it did not end in time. */
static json_t *ask(const struct snapshotsource *source, const struct texts *place)
{
	struct texts words = {0};
	AUTO(free) char *text = NULL;
	json_t *answer = NULL;
	int code;

	texts_add(&words, "newest");
	texts_add(&words, "--limit");
	texts_add(&words, LIMIT_S);
	texts_add_all(&words, &source->everywhere);
	texts_add_all(&words, &source->decrypt);
	texts_add_all(&words, place);
	if (worker_text(WORKER, &words, false, &text, &code) == CLI_OK)
		answer = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
	texts_fini(&words);
	return answer;
}

static void look(const struct snapshotsource *source, const json_t *found, const char *place,
                 const struct texts *words, struct texts *ret_sentences)
{
	json_t *answer = ask(source, words);
	const json_t *entry = json_object_get(answer, "entry");

	if (json_is_object(entry) && restoreelsewhere_is_newer(entry, found)) {
		AUTO(free) char *sentence = restoreelsewhere_sentence(place, entry);

		texts_add(ret_sentences, "%s", sentence);
	} else if (entry == NULL && strcmp(field_string(answer, "error"), "NOT_FOUND") != 0) {
		texts_add(ret_sentences, "%slatest could not be asked whether it is newer: %s", place,
		          answer != NULL ? field_string(answer, "reason")
		                         : "no answer within " LIMIT_S " s");
	}
	json_decref(answer);
}

/* Why there is no answer; to be freed. */
static char *ask_daemon(const struct cli *cli, const char *job, json_t **ret_objects)
{
	const char *const words[] = {"etcd", "snapshot", "list", job, "--others"};
	AUTO(free) char *path = xasprintf("%s/etcdwatch.sock", cli->runtime_dir);
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int r;

	if (job == NULL)
		return xstrdup("etcdwatch knows the snapshots of its jobs alone");
	r = client_ask(path, words, ARRAY_SIZE(words), DAEMON_TIMEOUT_US, &answer);
	if (r < 0)
		return xasprintf("etcdwatch does not answer on this node: %s", strerror(-r));
	if (answer->error != NULL)
		return xstrdup(answer->sentence);
	*ret_objects = json_incref(answer->objects);
	return NULL;
}

static void look_at_nodes(const struct cli *cli, const char *job, json_t *found,
                          struct texts *ret_sentences)
{
	json_t *objects = NULL, *known;
	const json_t *newest;
	AUTO(free) char *why = ask_daemon(cli, job, &objects);

	known = restoreelsewhere_known(objects);
	if (why != NULL)
		(void) json_object_set_new(known, "reason", jsonval_text(why));
	newest = json_object_get(known, "newest");
	if (json_is_object(newest) &&
	    restoreelsewhere_is_newer(newest, json_object_get(found, "entry")))
		texts_add(ret_sentences,
		          "a newer one is known: node %s took %s, revision %lld, of %s: restore it there, "
		          "or copy the file here",
		          field_string(newest, "node"), field_string(newest, "id"),
		          (long long) field_integer(newest, "revision"), field_string(newest, "finished"));
	(void) json_object_set_new(found, "elsewhere", known);
	json_decref(objects);
}

/*
 * `found` is the worker's, and gets the field `elsewhere` (restoreelsewhere_known()). Nothing is
 * asked where the snapshot is not the "latest", or no entry is known of it.
 */
static void restoreelsewhere_look(const struct cli *cli, const struct snapshotsource *source,
                                  json_t *found, struct texts *ret_sentences)
{
	const json_t *entry = json_object_get(found, "entry");

	if (strcmp(source->name, "latest") != 0 || !json_is_object(entry))
		return;
	look_at_nodes(cli, source->job, found, ret_sentences);
	for (size_t i = 0; i < source->n_places; i++)
		look(source, entry, source->places[i].name, &source->places[i].words, ret_sentences);
}

/* --- restoring --- */

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
		if (strcmp(step, steps[i].step) == 0)
			table_line(stderr, "%s %s", steps[i].text, name);
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

/* Finds, unpacks and proves the snapshot, or rebuilds it first; sets `found`. */
static int restoring_look_at_source(struct restoring *r)
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

static void restoring_make_plan(struct restoring *r)
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
	return cli_fail("etcd runs on %s: stop it, on this node and on all others",
	                path != NULL ? path : "");
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
