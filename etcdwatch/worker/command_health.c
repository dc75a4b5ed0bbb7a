/* SPDX-License-Identifier: Apache-2.0 */
/*
 * health --member-id HEX --endpoint URL... [--ca-file FILE] [--cert-file FILE --key-file FILE]
 * health --list, and the same without a member
 *
 * --list asks for the members: {"members": [{"name", "peer_urls"}]}, or null where no endpoint that
 * has a quorum answers (etcd 3.4 lists them without one). Else it looks for the endpoint that leads
 * to that member, and asks whether it serves reads that need a quorum: {"member_id", "cluster_id",
 * "revision", "healthy", "reason"}. It needs no user of etcd: neither the status nor /health asks
 * for one (3.4, 3.5).
 */
#include "etcdwatch/worker/commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/mem.h"
#include "web/webask.h"

#define TIMEOUT_MS 5000
#define BODY_BYTES_MAX ((size_t) 64 << 10)
#define LIST_PATH "/v3/cluster/member/list"
#define STATUS_PATH "/v3/maintenance/status"
/* What an alarm says is for etcd health; 3.4 passes over words that it does not know. */
#define HEALTH_PATH "/health?exclude=NOSPACE&exclude=CORRUPT"

struct health_words {
	struct words common;
	const char *member_id;
	const char *ca_file;
	const char *cert_file;
	const char *key_file;
	bool list;
	struct options_list endpoints;
};

/* With a status of 0 none came, and the body is why. */
static struct webask_answer ask(const struct health_words *w, const char *method,
                                const char *endpoint, const char *path)
{
	AUTO(free) char *url = xasprintf("%s%s", endpoint, path);
	const struct webask_request request = {
	    .method = method,
	    .url = url,
	    .body = strcmp(method, "GET") == 0 ? NULL : "{}",
	    .https = true,
	    .ca_file = w->ca_file,
	    .cert_file = w->cert_file,
	    .key_file = w->key_file,
	    .timeout_ms = TIMEOUT_MS,
	    .max_body_bytes = BODY_BYTES_MAX,
	};
	struct webask_answer answer = {0};
	char error[WEBASK_ERROR_MAX] = "";

	if (webask(&request, error, &answer) < 0) {
		free(answer.body);
		answer = (struct webask_answer){.body = xstrdup(error)};
	}
	return answer;
}

/* --- the member --- */

/* The gateway writes numbers of 64 bits as text. */
static uint64_t number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_string(value) ? strtoull(json_string_value(value), NULL, 10)
	                             : (uint64_t) json_integer_value(value);
}

/* The header of its status, if it is the member that is looked for; else NULL, and why. */
static json_t *find_at(const struct health_words *w, uint64_t id, const char *endpoint, char **why)
{
	struct webask_answer answer = ask(w, "POST", endpoint, STATUS_PATH);
	AUTO(free) char *body = answer.body;
	json_t *object = answer.status == 200 ? json_loads(body, 0, NULL) : NULL, *header = NULL;

	free(*why);
	if (object == NULL && answer.status != 0)
		*why = xasprintf("%s answers with status %d", endpoint, answer.status);
	else if (object == NULL)
		*why = xasprintf("%s does not answer: %s", endpoint, body);
	else
		*why = xasprintf("%s is another member", endpoint);
	if (number_of(json_object_get(object, "header"), "member_id") == id)
		header = json_incref(json_object_get(object, "header"));
	json_decref(object);
	return header;
}

static bool is_healthy(const struct health_words *w, const char *endpoint, char **why)
{
	struct webask_answer answer = ask(w, "GET", endpoint, HEALTH_PATH);
	AUTO(free) char *body = answer.body;
	bool healthy = answer.status == 200;

	free(*why);
	*why = healthy ? NULL : xasprintf("%s has no quorum yet (%s)", endpoint, body);
	return healthy;
}

static json_t *hex_of(const json_t *header, const char *key)
{
	AUTO(free) char *text = xasprintf("%" PRIx64, number_of(header, key));

	return json_string(text);
}

static json_t *look(const struct health_words *w, uint64_t id)
{
	AUTO(free) char *why = NULL;
	json_t *header = NULL, *fields;
	bool healthy = false;

	for (size_t i = 0; header == NULL && i < w->endpoints.n; i++) {
		header = find_at(w, id, w->endpoints.values[i], &why);
		if (header != NULL)
			healthy = is_healthy(w, w->endpoints.values[i], &why);
	}
	fields = json_pack("{s:b, s:o, s:o, s:o, s:I}", "healthy", (int) healthy, "reason",
	                   jsonval_text(why), "member_id", hex_of(header, "member_id"), "cluster_id",
	                   hex_of(header, "cluster_id"), "revision",
	                   (json_int_t) number_of(header, "revision"));
	json_decref(header);
	return fields;
}

/* NULL: it is no list. */
static json_t *members_of(const json_t *object)
{
	const json_t *members = json_object_get(object, "members"), *member;
	json_t *list = json_is_array(members) ? json_array() : NULL;
	size_t i;

	json_array_foreach(members, i, member)
	{
		/* etcd leaves out what is empty: a member that never started has no name. */
		(void) json_array_append_new(
		    list, json_pack("{s:o, s:O*}", "name",
		                    jsonval_text(json_string_value(json_object_get(member, "name"))),
		                    "peer_urls", json_object_get(member, "peerURLs")));
	}
	return list;
}

static json_t *list(const struct health_words *w)
{
	AUTO(free) char *why = NULL;
	json_t *members = NULL;

	for (size_t i = 0; members == NULL && i < w->endpoints.n; i++) {
		struct webask_answer answer;
		json_t *object;

		if (!is_healthy(w, w->endpoints.values[i], &why))
			continue;
		answer = ask(w, "POST", w->endpoints.values[i], LIST_PATH);
		object = answer.status == 200 ? json_loads(answer.body, 0, NULL) : NULL;
		members = members_of(object);
		json_decref(object);
		free(answer.body);
	}
	return json_pack("{s:o}", "members", members != NULL ? members : json_null());
}

static const struct options_entry options[] = {
    OPTION("--member-id", TEXT, struct health_words, member_id),
    OPTION("--list", FLAG, struct health_words, list),
    OPTION("--endpoint", LIST, struct health_words, endpoints),
    OPTION("--ca-file", TEXT, struct health_words, ca_file),
    OPTION("--cert-file", TEXT, struct health_words, cert_file),
    OPTION("--key-file", TEXT, struct health_words, key_file),
};

static int health(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct health_words *w = words;

	if ((w->member_id == NULL && !w->list) || w->endpoints.n == 0)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--endpoint and one of --member-id and --list are needed");
	*ret_fields = w->list ? list(w) : look(w, strtoull(w->member_id, NULL, 16));
	return 0;
}

const struct command health_commands[] = {
    {"health", COMMAND_URGENT, 0, 0, sizeof(struct health_words), COMMAND_OPTIONS(options),
     .run = health},
    {.name = NULL},
};
