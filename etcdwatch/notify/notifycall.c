/* SPDX-License-Identifier: Apache-2.0 */
/* What the worker is to do goes to its standard input; what it says is judged by its code. */
#include "etcdwatch/notify/notifycall.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/work/child.h"

/* Beyond the time that the worker itself gives the receiver. */
#define LATE_US (10 * US_PER_S)

struct notifycall {
	struct child *child;
	notifycall_done_fn done;
	void *userdata;
};

static void put(json_t *json, const char *key, const char *value)
{
	if (value != NULL)
		(void) json_object_set_new(json, key, jsonval_text(value));
}

static char *make_order(const struct config_notify *config, const char *id, const char *body)
{
	json_t *json = json_object();
	char *text;

	put(json, "url", config->url);
	put(json, "url_file", config->url_file);
	put(json, "secret_file", config->secret_file);
	put(json, "ca_file", config->ca_file);
	put(json, "cert_file", config->cert_file);
	put(json, "key_file", config->key_file);
	put(json, "id", id);
	put(json, "body", body);
	(void) json_object_set_new(json, "timeout_ms", json_integer(config->timeout_us / US_PER_MS));
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return text;
}

static int64_t number_of(const struct child_result *result, const char *key)
{
	return json_integer_value(json_object_get(result->last, key));
}

static void over_cb(const struct child_result *result, void *userdata)
{
	struct notifycall *call = userdata;
	notifycall_done_fn done = call->done;
	void *its = call->userdata;
	struct notifycall_result told = {
	    .end = NOTIFYCALL_ARRIVED,
	    .status = (int) number_of(result, "status"),
	    .asked_us = number_of(result, "retry_after_s") * US_PER_S,
	    .reason = result->reason,
	};

	if (result->r < 0)
		told.end = strcmp(child_error_code(result), "WEBHOOK_REFUSED") == 0 ? NOTIFYCALL_REFUSED
		                                                                    : NOTIFYCALL_FAILED;
	free(call);
	done(&told, its);
}

int notifycall_start(struct ev_loop *ev, const char *worker, const struct config_notify *config,
                     const char *id, const char *body, notifycall_done_fn done, void *userdata,
                     struct notifycall **ret_call)
{
	const char *argv[] = {worker, "notify", NULL};
	AUTO(free) char *order = make_order(config, id, body);
	AUTO(free) struct notifycall *call = NEW0(struct notifycall);
	int r;

	call->done = done;
	call->userdata = userdata;
	r = child_start_told(ev, argv, order, config->timeout_us + LATE_US, over_cb, call,
	                     &call->child);
	if (r < 0)
		return r;
	*ret_call = TAKE_PTR(call);
	return 0;
}

void notifycall_free(struct notifycall *call)
{
	if (call == NULL)
		return;
	child_free(call->child);
	free(call);
}
