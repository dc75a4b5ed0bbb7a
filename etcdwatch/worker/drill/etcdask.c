/* SPDX-License-Identifier: Apache-2.0 */
/* Each question is one request. Numbers of 64 bits come as text, as JSON has them with protobuf;
 * fields that are zero do not come. */
#include "etcdwatch/worker/drill/etcdask.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "web/digest.h"
#include "web/webask.h"

/* --- roottoken --- */

/* Two JSON objects in base64 as addresses have it, and their signature. */

void roottoken_draw_key(char ret_key[static ROOTTOKEN_KEY_CHARS + 1])
{
	uint8_t bytes[ROOTTOKEN_KEY_CHARS / 2] = {0};

	/* It guards a copy that nobody else can reach, so any key would do. */
	if (getrandom(bytes, sizeof(bytes), 0) < 0)
		log_debug("no_random_key", "reason=\"getrandom failed\"");
	(void) digest_hex(bytes, sizeof(bytes), ret_key);
}

/* RFC 4648, section 5, without padding. */
static char *encode(const void *data, size_t len)
{
	char *text = base64_encode(data, len);

	text[strcspn(text, "=")] = '\0';
	for (char *p = text; *p != '\0'; p++) {
		if (*p == '+')
			*p = '-';
		else if (*p == '/')
			*p = '_';
	}
	return text;
}

char *roottoken_make(const char *key, uint64_t auth_revision, int64_t expires_s)
{
	static const char header[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
	AUTO(free)
	char *claims = xasprintf("{\"username\":\"root\",\"revision\":%llu,\"exp\":%lld}",
	                         (unsigned long long) auth_revision, (long long) expires_s);
	AUTO(free) char *first = encode(header, strlen(header));
	AUTO(free) char *second = encode(claims, strlen(claims));
	AUTO(free) char *both = xasprintf("%s.%s", first, second);
	AUTO(free) char *third = NULL;
	uint8_t mac[DIGEST_SHA256_BYTES];

	digest_hmac_sha256(key, strlen(key), both, strlen(both), mac);
	third = encode(mac, sizeof(mac));
	return xasprintf("%s.%s", both, third);
}

/* --- etcdask --- */

#define CODE "ASK"
/* A value is 1.5 MiB at most, unless etcd was told otherwise, and a third more in base64. */
#define ANSWER_BYTES_MAX ((size_t) 64 << 20)
#define HEALTH_TIMEOUT_US (2 * US_PER_S)
#define SAID_MAX 200
#define COMPACTED "required revision has been compacted"

static unsigned time_left_ms(const struct etcdask *ask)
{
	int64_t left_us = ask->deadline_us - mono_now_us();

	return (unsigned) MIN(MAX(left_us / US_PER_MS, 1), INT_MAX);
}

/* What it says is wrong: an object, of which 3.4 and 3.5 name the field differently, or plain text.
 */
static int refuse(const char *what, const struct webask_answer *answer, const json_t *object,
                  struct problem *problem)
{
	const char *said = json_string_value(json_object_get(object, "message"));

	if (said == NULL)
		said = json_string_value(json_object_get(object, "error"));
	if (said == NULL)
		said = answer->body;
	return problem_set(problem, strstr(said, COMPACTED) != NULL ? -ESTALE : -EPROTO, CODE,
	                   "etcd does not answer %s: status %d, %.*s", what, answer->status, SAID_MAX,
	                   said);
}

/* The object that it answers with, to be freed. */
static int ask_for(const struct etcdask *ask, const char *what, struct webask_request *request,
                   struct problem *problem, json_t **ret_object)
{
	char error[WEBASK_ERROR_MAX];
	AUTO(json_decref) json_t *object = NULL;
	AUTO(free) char *body = NULL;
	struct webask_answer answer;
	int r;

	request->authorization = ask->token;
	request->timeout_ms = time_left_ms(ask);
	request->max_body_bytes = ANSWER_BYTES_MAX;
	r = webask(request, error, &answer);
	if (r < 0)
		return problem_set(problem, r, CODE, "etcd does not answer %s: %s", what, error);
	body = answer.body;
	object = json_loadb(answer.body, answer.body_len, 0, NULL);
	if (answer.status != 200 || !json_is_object(object))
		return refuse(what, &answer, object, problem);
	*ret_object = TAKE_PTR(object);
	return 0;
}

static int64_t integer_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_string(value) ? strtoll(json_string_value(value), NULL, 10)
	                             : json_integer_value(value);
}

/* --- small questions --- */

int etcdask_version(const struct etcdask *ask, struct problem *problem,
                    char ret_version[static ETCDASK_VERSION_MAX])
{
	AUTO(free) char *url = xasprintf("%s/version", ask->client_url);
	struct webask_request request = {.method = "GET", .url = url};
	const char *version;
	AUTO(json_decref) json_t *object = NULL;
	int r;

	r = ask_for(ask, "for its version", &request, problem, &object);
	if (r < 0)
		return r;
	version = json_string_value(json_object_get(object, "etcdserver"));
	(void) snprintf(ret_version, ETCDASK_VERSION_MAX, "%s", version != NULL ? version : "unknown");
	return 0;
}

/* 0: that of the newest revision. */
static int ask_hashkv(const struct etcdask *ask, int64_t revision, struct problem *problem,
                      json_t **ret_object)
{
	AUTO(free) char *url = xasprintf("%s/members/hashkv", ask->peer_url);
	AUTO(free) char *body = xasprintf("{\"revision\":%" PRId64 "}", revision);
	struct webask_request request = {.method = "GET", .url = url, .body = body};

	return ask_for(ask, "for its HashKV", &request, problem, ret_object);
}

/* Compacted at its newest revision, etcd 3.4 computes it for whoever names none, and refuses those
 * who name that one. It says which it was. */
static int ask_newest_hashkv(const struct etcdask *ask, int64_t revision, struct problem *problem,
                             json_t **ret_object)
{
	AUTO(json_decref) json_t *object = NULL;
	int64_t newest;
	int r;

	r = ask_hashkv(ask, 0, problem, &object);
	if (r < 0)
		return r;
	newest = integer_of(json_object_get(object, "header"), "revision");
	if (newest != revision)
		return problem_set(problem, -ESTALE, CODE,
		                   "etcd has compacted revision %" PRId64 ", and is at %" PRId64
		                   " by now: its HashKV cannot be asked for",
		                   revision, newest);
	*ret_object = TAKE_PTR(object);
	return 0;
}

int etcdask_hashkv(const struct etcdask *ask, int64_t revision, struct problem *problem,
                   struct etcdask_hash *ret_hash)
{
	struct problem refused = {0};
	int64_t compact_revision;
	AUTO(json_decref) json_t *object = NULL;
	int r;

	r = ask_hashkv(ask, revision, &refused, &object);
	if (r == -ESTALE)
		r = ask_newest_hashkv(ask, revision, problem, &object);
	else if (r < 0)
		(void) problem_set(problem, r, refused.code, "%s", refused.reason);
	if (r < 0)
		return r;
	compact_revision = integer_of(object, "compact_revision");
	*ret_hash = (struct etcdask_hash){
	    .hash = (uint32_t) integer_of(object, "hash"),
	    .compact_revision = compact_revision > 0 ? compact_revision : -1,
	};
	return 0;
}

int etcdask_alarms(const struct etcdask *ask, struct problem *problem, size_t *ret_n,
                   char ret_first[static ETCDASK_ALARM_MAX])
{
	AUTO(free) char *url = xasprintf("%s/v3/maintenance/alarm", ask->client_url);
	struct webask_request request = {.method = "POST", .url = url, .body = "{\"action\":\"GET\"}"};
	const json_t *alarms;
	const char *first;
	AUTO(json_decref) json_t *object = NULL;
	int r;

	r = ask_for(ask, "for its alarms", &request, problem, &object);
	if (r < 0)
		return r;
	alarms = json_object_get(object, "alarms");
	first = json_string_value(json_object_get(json_array_get(alarms, 0), "alarm"));
	(void) snprintf(ret_first, ETCDASK_ALARM_MAX, "%s", first != NULL ? first : "");
	*ret_n = json_array_size(alarms);
	return 0;
}

/* --- ranges --- */

/* Takes the words of the question. */
static int ask_range(const struct etcdask *ask, const char *what, char *words,
                     struct problem *problem, json_t **ret_object)
{
	AUTO(free) char *body = words;
	AUTO(free) char *url = xasprintf("%s/v3/kv/range", ask->client_url);
	struct webask_request request = {.method = "POST", .url = url, .body = body};

	return ask_for(ask, what, &request, problem, ret_object);
}

/* Not by /health, where every alarm is an illness. */
bool etcdask_is_healthy(const struct etcdask *ask)
{
	struct etcdask soon = *ask;
	struct problem unwanted = {0};
	AUTO(json_decref) json_t *object = NULL;

	soon.deadline_us = MIN(soon.deadline_us, mono_now_us() + HEALTH_TIMEOUT_US);
	return ask_range(&soon, "", xstrdup("{\"key\":\"AA==\"}"), &unwanted, &object) == 0;
}

int etcdask_count(const struct etcdask *ask, int64_t revision, struct problem *problem,
                  int64_t *ret_count, int64_t *ret_current)
{
	/* From one NUL byte to the end: all keys. */
	char *words = xasprintf("{\"key\":\"AA==\",\"range_end\":\"AA==\",\"count_only\":true,"
	                        "\"revision\":\"%" PRId64 "\"}",
	                        revision);
	AUTO(json_decref) json_t *object = NULL;
	int r;

	r = ask_range(ask, "how many keys it has", words, problem, &object);
	if (r < 0)
		return r;
	*ret_count = integer_of(object, "count");
	*ret_current = integer_of(json_object_get(object, "header"), "revision");
	return 0;
}

static int take_kv(const json_t *object, struct problem *problem, struct etcdask_kv *ret_kv)
{
	const json_t *kv = json_array_get(json_object_get(object, "kvs"), 0);
	const char *value = json_string_value(json_object_get(kv, "value"));

	*ret_kv = (struct etcdask_kv){
	    .is_there = kv != NULL,
	    .create_revision = integer_of(kv, "create_revision"),
	    .mod_revision = integer_of(kv, "mod_revision"),
	    .version = integer_of(kv, "version"),
	    .lease = integer_of(kv, "lease"),
	};
	if (kv != NULL &&
	    base64_decode(value != NULL ? value : "", &ret_kv->value, &ret_kv->value_len) < 0)
		return problem_set(problem, -EPROTO, CODE, "%s", "etcd answers with a value in no base64");
	return 0;
}

int etcdask_get(const struct etcdask *ask, struct bytes key, int64_t revision,
                struct problem *problem, struct etcdask_kv *ret_kv)
{
	AUTO(free) char *name = base64_encode(key.data, key.len);
	char *words = xasprintf("{\"key\":\"%s\",\"revision\":\"%" PRId64 "\"}", name, revision);
	AUTO(json_decref) json_t *object = NULL;
	int r;

	r = ask_range(ask, "for a key", words, problem, &object);
	return r < 0 ? r : take_kv(object, problem, ret_kv);
}
