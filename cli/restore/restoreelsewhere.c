/* SPDX-License-Identifier: Apache-2.0 */
/* The worker is run once for each place, with a limit of time: a target that is down holds a
 * restore up no longer. */
#include "cli/restore/restoreelsewhere.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "cli/cli.h"
#include "cli/common/worker.h"

#define LIMIT_S "10"
#define WORKER "etcdwatch-worker"
/* etcdwatch asks etcd first, and answers as well where that does not. */
#define DAEMON_TIMEOUT_US (10 * US_PER_S)

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static json_int_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* --- pure --- */

bool restoreelsewhere_is_newer(const json_t *entry, const json_t *than)
{
	bool same_line = strcmp(text_of(entry, "cluster_id"), text_of(than, "cluster_id")) == 0 &&
	                 number_of(entry, "timeline") == number_of(than, "timeline");

	if (strcmp(text_of(entry, "id"), text_of(than, "id")) == 0)
		return false;
	if (same_line)
		return number_of(entry, "revision") > number_of(than, "revision");
	/* Times are written alike, so they sort as texts. */
	return strcmp(text_of(entry, "finished"), text_of(than, "finished")) > 0;
}

char *restoreelsewhere_sentence(const char *place, const json_t *entry)
{
	const char *agreed = text_of(json_object_get(entry, "verified"), "hashkv");
	const char *node = text_of(entry, "node");
	AUTO(free) char *taker = node[0] != '\0' ? xasprintf(", taken by %s", node) : xstrdup("");
	AUTO(free)
	char *compared = agreed[0] != '\0' ? xasprintf("confirmed by %s", agreed)
	                                   : xstrdup("not compared with another member");

	return xasprintf("a newer one is known: %s%s, revision %lld, of %s%s, %s", place,
	                 text_of(entry, "id"), (long long) number_of(entry, "revision"),
	                 text_of(entry, "finished"), taker, compared);
}

json_t *restoreelsewhere_known(const json_t *objects)
{
	json_t *newest = NULL, *known;
	const char *reason = NULL;
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		const char *id = text_of(object, "newest");

		reason = id[0] == '\0' ? text_of(object, "error") : reason;
		if (id[0] == '\0' || (newest != NULL && strcmp(text_of(object, "finished"),
		                                               text_of(newest, "finished")) <= 0))
			continue;
		json_decref(newest);
		newest =
		    json_pack("{s:o, s:s, s:s, s:I, s:s}", "node", jsonval_text(text_of(object, "node")),
		              "id", id, "finished", text_of(object, "finished"), "revision",
		              number_of(object, "revision"), "as_of", text_of(object, "as_of"));
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
	} else if (entry == NULL && strcmp(text_of(answer, "error"), "NOT_FOUND") != 0) {
		texts_add(ret_sentences, "%slatest could not be asked whether it is newer: %s", place,
		          answer != NULL ? text_of(answer, "reason") : "no answer within " LIMIT_S " s");
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
		          text_of(newest, "node"), text_of(newest, "id"),
		          (long long) number_of(newest, "revision"), text_of(newest, "finished"));
	(void) json_object_set_new(found, "elsewhere", known);
	json_decref(objects);
}

void restoreelsewhere_look(const struct cli *cli, const struct snapshotsource *source,
                           json_t *found, struct texts *ret_sentences)
{
	const json_t *entry = json_object_get(found, "entry");

	if (strcmp(source->name, "latest") != 0 || !json_is_object(entry))
		return;
	look_at_nodes(cli, source->job, found, ret_sentences);
	for (size_t i = 0; i < source->n_places; i++)
		look(source, entry, source->places[i].name, &source->places[i].words, ret_sentences);
}
