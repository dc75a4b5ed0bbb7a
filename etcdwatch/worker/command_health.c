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
#include "base/macro.h"
#include "base/mem.h"
#include "web/http.h"

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

/* One answer, copied. */
struct answer {
	int status; /* 0: none came */
	char *body;
	char *failure;
};

static void answer_fini(struct answer *answer)
{
	free(answer->body);
	free(answer->failure);
}

static void on_answer(const struct http_response *response, void *userdata)
{
	struct answer *answer = userdata;

	answer->status = response->status;
	answer->body = xstrndup(response->body != NULL ? response->body : "", response->body_len);
	answer->failure = xstrdup(response->failure_text);
}

static void ask(const struct health_words *w, const char *method, const char *url,
                struct answer *ret)
{
	struct ev_loop *ev = ev_loop_new(EVFLAG_AUTO);
	struct http *http = NULL;
	struct http_req *req = NULL;
	const struct http_request request = {
	    .method = method,
	    .url = url,
	    .body = strcmp(method, "GET") == 0 ? NULL : "{}",
	    .ca_file = w->ca_file,
	    .client_cert_file = w->cert_file,
	    .client_key_file = w->key_file,
	    .timeout_ms = TIMEOUT_MS,
	    .max_body_bytes = BODY_BYTES_MAX,
	};
	int r = http_new(ev, &http);

	*ret = (struct answer){0};
	if (r == 0)
		r = http_send(http, &request, on_answer, ret, &req);
	if (r < 0)
		ret->failure = xasprintf("'%s': %s", url, strerror(-r));
	else
		(void) ev_run(ev, 0);
	http_free(http);
	ev_loop_destroy(ev);
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
	AUTO(free) char *url = xasprintf("%s" STATUS_PATH, endpoint);
	struct answer answer;
	json_t *object, *header = NULL;

	ask(w, "POST", url, &answer);
	object = answer.status == 200 ? json_loads(answer.body, 0, NULL) : NULL;
	free(*why);
	if (object == NULL && answer.status != 0)
		*why = xasprintf("%s answers with status %d", endpoint, answer.status);
	else if (object == NULL)
		*why = xasprintf("%s does not answer: %s", endpoint, answer.failure);
	else
		*why = xasprintf("%s is another member", endpoint);
	if (number_of(json_object_get(object, "header"), "member_id") == id)
		header = json_incref(json_object_get(object, "header"));
	json_decref(object);
	answer_fini(&answer);
	return header;
}

static bool is_healthy(const struct health_words *w, const char *endpoint, char **why)
{
	AUTO(free) char *url = xasprintf("%s" HEALTH_PATH, endpoint);
	struct answer answer;
	bool healthy;

	ask(w, "GET", url, &answer);
	healthy = answer.status == 200;
	free(*why);
	*why = healthy ? NULL
	               : xasprintf("%s has no quorum yet (%s)", endpoint,
	                           answer.status != 0 ? answer.body : answer.failure);
	answer_fini(&answer);
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
		AUTO(free) char *url = xasprintf("%s" LIST_PATH, w->endpoints.values[i]);
		struct answer answer;
		json_t *object = NULL;

		if (!is_healthy(w, w->endpoints.values[i], &why))
			continue;
		ask(w, "POST", url, &answer);
		if (answer.status == 200)
			object = json_loads(answer.body, 0, NULL);
		members = members_of(object);
		json_decref(object);
		answer_fini(&answer);
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
