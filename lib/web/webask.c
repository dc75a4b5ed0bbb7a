/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's easy interface: a handle for each request, so nothing is left behind. */
#include "web/webask.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/macro.h"
#include "base/mem.h"
#include "web/credentials.h"
#include "web/digest.h"

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
	const struct http_request tls = {
	    .ca_file = q->ca_file,
	    .client_cert_file = q->cert_file,
	    .client_key_file = q->key_file,
	};

	(void) curl_easy_setopt(easy, CURLOPT_URL, q->url);
	(void) curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, q->https ? "http,https" : "http");
	(void) curl_easy_setopt(easy, CURLOPT_PROXY, q->proxy != NULL ? q->proxy : "");
	(void) curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	credentials_set_tls(easy, &tls);
	(void) curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_USERAGENT, "fairlead/" FAIRLEAD_VERSION);
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
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return -EINVAL;
	case CURLE_COULDNT_RESOLVE_HOST:
		return -EHOSTUNREACH;
	case CURLE_COULDNT_CONNECT:
		return -ECONNREFUSED;
	case CURLE_OPERATION_TIMEDOUT:
		return -ETIMEDOUT;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
		return -EKEYREJECTED;
	default:
		return -EIO;
	}
}

static void add_header(struct curl_slist **headers, const char *name, const char *value)
{
	AUTO(free) char *line = NULL;

	if (value == NULL)
		return;
	line = xasprintf("%s%s", name, value);
	*headers = curl_slist_append(*headers, line);
}

static struct curl_slist *make_headers(const struct webask_request *q)
{
	struct curl_slist *headers = NULL;

	if (q->body != NULL)
		add_header(&headers, "Content-Type: ",
		           q->content_type != NULL ? q->content_type : "application/json");
	add_header(&headers, "", q->header);
	for (size_t i = 0; q->headers != NULL && q->headers[i] != NULL; i++)
		add_header(&headers, "", q->headers[i]);
	add_header(&headers, "Authorization: ", q->authorization);
	return headers;
}

static unsigned retry_after_s(CURL *easy)
{
	curl_off_t s = 0;

	(void) curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &s);
	return (unsigned) MIN(MAX(s, (curl_off_t) 0), (curl_off_t) UINT32_MAX);
}

int webask(const struct webask_request *request, char ret_error[static WEBASK_ERROR_MAX],
           struct webask_answer *ret_answer)
{
	CURL *easy = curl_easy_init();
	struct curl_slist *headers = make_headers(request);
	struct body body = {.data = xcalloc(1, 1), .max = request->max_body_bytes};
	char error[CURL_ERROR_SIZE] = "";
	struct webask_answer answer = {0};
	long status = 0;
	CURLcode code;
	int r;

	set_options(easy, request, headers, error, &body);
	code = curl_easy_perform(easy);
	(void) curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	answer.status = (int) status;
	answer.retry_after_s = retry_after_s(easy);
	curl_slist_free_all(headers);
	curl_easy_cleanup(easy);
	r = errno_of(code, &body);
	if (r == 0) {
		answer.body = body.data;
		answer.body_len = body.len;
	} else {
		free(body.data);
		(void) snprintf(ret_error, WEBASK_ERROR_MAX, "%s",
		                body.too_long      ? "the answer is too long"
		                : error[0] != '\0' ? error
		                                   : curl_easy_strerror(code));
	}
	if (r == 0 || r == -EFBIG)
		*ret_answer = answer;
	return r;
}

/* --- webhooks --- */

/* Of what the receiver says only its status counts. */
#define HOOK_ANSWER_BYTES_MAX ((size_t) 1 << 20)

char *webhook_sign(const struct webhook_message *m)
{
	AUTO(free) char *signed_text = xasprintf("%s.%" PRId64 ".%s", m->id, m->now_s, m->body);
	uint8_t mac[DIGEST_SHA256_BYTES];
	AUTO(free) char *base64 = NULL;

	digest_hmac_sha256(m->key, m->key_len, signed_text, strlen(signed_text), mac);
	base64 = base64_encode(mac, sizeof(mac));
	return xasprintf("v1,%s", base64);
}

int webhook_post(const struct webhook_way *way, const struct webhook_message *message,
                 char ret_error[static WEBASK_ERROR_MAX], struct webask_answer *ret_answer)
{
	AUTO(free) char *id = xasprintf("webhook-id: %s", message->id);
	AUTO(free) char *time = xasprintf("webhook-timestamp: %" PRId64, message->now_s);
	AUTO(free) char *mac = message->key != NULL ? webhook_sign(message) : NULL;
	AUTO(free) char *signature = mac != NULL ? xasprintf("webhook-signature: %s", mac) : NULL;
	/* Without "Expect:" curl waits to be asked for the body. */
	const char *const headers[] = {"Expect:", id, time, signature, NULL};
	const struct webask_request request = {
	    .method = "POST",
	    .url = way->url,
	    .body = message->body,
	    .headers = headers,
	    .https = true,
	    .ca_file = way->ca_file,
	    .cert_file = way->cert_file,
	    .key_file = way->key_file,
	    .timeout_ms = way->timeout_ms,
	    .max_body_bytes = HOOK_ANSWER_BYTES_MAX,
	};
	int r;

	r = webask(&request, ret_error, ret_answer);
	if (r == 0)
		free(TAKE_PTR(ret_answer->body));
	if (r == -ECONNREFUSED)
		return -EHOSTUNREACH;
	return r == -EFBIG ? 0 : r;
}
