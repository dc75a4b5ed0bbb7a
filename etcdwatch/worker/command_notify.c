/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notify: sends one message to a webhook, once. What and where stands in one JSON object on
 * standard input, because a URL may be a secret: {"url" or "url_file", "secret_file", "ca_file",
 * "cert_file", "key_file", "timeout_ms", "id", "body"}. The last line has the `status` of an answer
 * and its `retry_after_s`. Errors are WEBHOOK_REFUSED, for which trying again is useless, and
 * WEBHOOK_FAILED.
 */
#include "etcdwatch/worker/commands.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/conf_check.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "web/webask.h"

#define FILE_BYTES_MAX 4096
#define SECRET_PREFIX "whsec_"
#define SECRET_BYTES_MIN 16
#define TIMEOUT_MS_MAX 600000

struct order {
	json_t *json;
	char *url;
	char *key;
	size_t key_len;
};

static const char *text_of(const struct order *order, const char *name)
{
	return json_string_value(json_object_get(order->json, name));
}

/* Its first line. */
static int read_line(const char *path, char **ret_line, struct problem *problem)
{
	char *data;
	size_t len;
	int r = file_read(path, FILE_BYTES_MAX, &data, &len);

	if (r < 0) {
		(void) problem_set(problem, r, "WEBHOOK_FAILED", "cannot read '%s': %s", path,
		                   strerror(-r));
		return r;
	}
	data[strcspn(data, "\r\n")] = '\0';
	*ret_line = data;
	return 0;
}

/* With the prefix it is Base64, as the specification has it; else its bytes are the key. */
static int read_secret(struct order *order, struct problem *problem)
{
	const char *path = text_of(order, "secret_file");
	AUTO(free) char *line = NULL;
	int r;

	if (path == NULL)
		return 0;
	r = read_line(path, &line, problem);
	if (r < 0)
		return r;
	if (strncmp(line, SECRET_PREFIX, strlen(SECRET_PREFIX)) != 0) {
		order->key_len = strlen(line);
		order->key = TAKE_PTR(line);
	} else if (base64_decode(line + strlen(SECRET_PREFIX), &order->key, &order->key_len) < 0) {
		return problem_set(problem, -EBADMSG, "WEBHOOK_FAILED",
		                   "what follows " SECRET_PREFIX " in '%s' is not Base64", path);
	}
	if (order->key_len < SECRET_BYTES_MIN)
		return problem_set(problem, -EBADMSG, "WEBHOOK_FAILED",
		                   "the secret in '%s' is shorter than %d bytes", path, SECRET_BYTES_MIN);
	return 0;
}

/* As strict as the configuration is with a URL: without a scheme it would be asked for in clear
 * text, and a secret that was put there would be given to name servers. The line is told to nobody.
 */
static int read_url_file(const char *path, char **ret_url, struct problem *problem)
{
	AUTO(free) char *line = NULL;
	struct conf_url url;
	const char *wrong;
	int r = read_line(path, &line, problem);

	if (r < 0)
		return r;
	wrong = conf_parse_url(line, &url);
	if (wrong != NULL)
		return problem_set(problem, -EBADMSG, "WEBHOOK_FAILED", "what '%s' holds %s", path, wrong);
	*ret_url = TAKE_PTR(line);
	return 0;
}

static int read_url(struct order *order, struct problem *problem)
{
	const char *file = text_of(order, "url_file"), *url = text_of(order, "url");

	if (file != NULL)
		return read_url_file(file, &order->url, problem);
	if (url == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "notify needs a url");
	order->url = xstrdup(url);
	return 0;
}

static int read_order(struct order *order, struct problem *problem)
{
	json_int_t timeout_ms;
	int r;

	order->json = json_loadf(stdin, 0, NULL);
	timeout_ms = json_integer_value(json_object_get(order->json, "timeout_ms"));
	if (text_of(order, "id") == NULL || text_of(order, "body") == NULL || timeout_ms < 1 ||
	    timeout_ms > TIMEOUT_MS_MAX)
		return problem_set(problem, -EINVAL, "USAGE",
		                   "notify reads an object with url, id, body and timeout_ms");
	r = read_url(order, problem);
	return r < 0 ? r : read_secret(order, problem);
}

/* Who is busy or broken may not be so later; who understood and said no will say it again. */
static bool is_passing(int status)
{
	return status >= 500 || status == 408 || status == 425 || status == 429;
}

static int judge(const struct webask_answer *answer, struct problem *problem)
{
	if (answer->status >= 200 && answer->status < 300)
		return 0;
	return problem_set(problem, -EREMOTEIO,
	                   is_passing(answer->status) ? "WEBHOOK_FAILED" : "WEBHOOK_REFUSED",
	                   "the receiver answers with status %d", answer->status);
}

static int send_order(const struct order *order, struct problem *problem,
                      struct webask_answer *ret_answer)
{
	const struct webhook_way way = {
	    .url = order->url,
	    .ca_file = text_of(order, "ca_file"),
	    .cert_file = text_of(order, "cert_file"),
	    .key_file = text_of(order, "key_file"),
	    .timeout_ms = (unsigned) json_integer_value(json_object_get(order->json, "timeout_ms")),
	};
	const struct webhook_message message = {
	    .id = text_of(order, "id"),
	    .body = text_of(order, "body"),
	    .now_s = wall_now_us() / US_PER_S,
	    .key = order->key,
	    .key_len = order->key_len,
	};
	char error[WEBASK_ERROR_MAX];
	int r = webhook_post(&way, &message, error, ret_answer);

	if (r < 0)
		return problem_set(problem, r, "WEBHOOK_FAILED", "%s", error);
	return judge(ret_answer, problem);
}

static int notify(void *words UNUSED, struct problem *problem, json_t **ret_fields)
{
	struct order order = {0};
	struct webask_answer answer = {0};
	json_t *fields = json_object();
	int r = read_order(&order, problem);

	if (r == 0)
		r = send_order(&order, problem, &answer);
	if (answer.status != 0)
		(void) json_object_set_new(fields, "status", json_integer(answer.status));
	if (answer.retry_after_s != 0)
		(void) json_object_set_new(fields, "retry_after_s", json_integer(answer.retry_after_s));
	json_decref(order.json);
	free(order.url);
	free(order.key);
	*ret_fields = fields;
	return r;
}

const struct command notify_commands[] = {
    {"notify", COMMAND_URGENT, .run = notify},
    {.name = NULL},
};
