/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's easy interface: a handle for each request, so nothing is left behind. */
#include "web/webask.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "web/credentials.h"

struct body {
	char *data;
	size_t len;
	size_t max;
	bool too_long;
};

static size_t body_cb(char *data, size_t size, size_t n, void *userdata)
{
	struct body *body = userdata;
	size_t len = size * n;

	if (len > body->max - body->len) {
		body->too_long = true;
		return 0;
	}
	body->data = xreallocarray(body->data, body->len + len + 1, 1);
	memcpy(body->data + body->len, data, len);
	body->len += len;
	body->data[body->len] = '\0';
	return len;
}

static void set_options(CURL *easy, const struct webask_request *q, struct curl_slist *headers,
                        char error[static CURL_ERROR_SIZE], struct body *body)
{
	const struct http_request tls = {.ca_file = q->ca_file};

	(void) curl_easy_setopt(easy, CURLOPT_URL, q->url);
	(void) curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, q->https ? "http,https" : "http");
	(void) curl_easy_setopt(easy, CURLOPT_PROXY, q->proxy != NULL ? q->proxy : "");
	(void) curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	credentials_set_tls(easy, &tls);
	(void) curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long) q->timeout_ms);
	(void) curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
	(void) curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_cb);
	(void) curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
	if (q->body != NULL)
		(void) curl_easy_setopt(easy, CURLOPT_POSTFIELDS, q->body);
	(void) curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, q->method);
	(void) curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
}

static int errno_of(CURLcode code, const struct body *body)
{
	if (body->too_long)
		return -EFBIG;
	switch (code) {
	case CURLE_OK:
		return 0;
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	default:
		return -EIO;
	}
}

int webask(const struct webask_request *request, char ret_error[static WEBASK_ERROR_MAX],
           struct webask_answer *ret_answer)
{
	CURL *easy = curl_easy_init();
	struct curl_slist *headers = NULL;
	struct body body = {.data = xcalloc(1, 1), .max = request->max_body_bytes};
	char error[CURL_ERROR_SIZE] = "";
	long status = 0;
	CURLcode code;
	int r;

	if (request->body != NULL) {
		AUTO(free)
		char *line =
		    xasprintf("Content-Type: %s",
		              request->content_type != NULL ? request->content_type : "application/json");

		headers = curl_slist_append(headers, line);
	}
	if (request->header != NULL)
		headers = curl_slist_append(headers, request->header);
	if (request->authorization != NULL) {
		AUTO(free) char *line = xasprintf("Authorization: %s", request->authorization);

		headers = curl_slist_append(headers, line);
	}
	set_options(easy, request, headers, error, &body);
	code = curl_easy_perform(easy);
	(void) curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(headers);
	curl_easy_cleanup(easy);
	r = errno_of(code, &body);
	if (r < 0) {
		free(body.data);
		(void) snprintf(ret_error, WEBASK_ERROR_MAX, "%s",
		                body.too_long      ? "the answer is too long"
		                : error[0] != '\0' ? error
		                                   : curl_easy_strerror(code));
		return r;
	}
	*ret_answer =
	    (struct webask_answer){.status = (int) status, .body = body.data, .body_len = body.len};
	return 0;
}
