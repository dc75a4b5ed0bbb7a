/* SPDX-License-Identifier: Apache-2.0 */
/* libcurl's easy interface, once. What the receiver says besides its status is passed over. */
#include "web/webhook.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/macro.h"
#include "base/mem.h"
#include "web/credentials.h"
#include "web/digest.h"

/* Whoever sends more is cut off: its status was said before. */
#define ANSWER_BYTES_MAX ((size_t) 1 << 20)

struct answer_body {
	size_t n_bytes;
};

char *webhook_sign(const struct webhook_message *m)
{
	AUTO(free) char *signed_text = xasprintf("%s.%" PRId64 ".%s", m->id, m->now_s, m->body);
	uint8_t mac[DIGEST_SHA256_BYTES];
	AUTO(free) char *base64 = NULL;

	digest_hmac_sha256(m->key, m->key_len, signed_text, strlen(signed_text), mac);
	base64 = base64_encode(mac, sizeof(mac));
	return xasprintf("v1,%s", base64);
}

static void add_header(struct curl_slist **headers, char *line)
{
	*headers = curl_slist_append(*headers, line);
	free(line);
}

static struct curl_slist *make_headers(const struct webhook_message *m)
{
	struct curl_slist *headers = NULL;

	add_header(&headers, xstrdup("Content-Type: application/json"));
	/* Else curl waits to be asked for the body. */
	add_header(&headers, xstrdup("Expect:"));
	add_header(&headers, xasprintf("webhook-id: %s", m->id));
	add_header(&headers, xasprintf("webhook-timestamp: %" PRId64, m->now_s));
	if (m->key != NULL) {
		AUTO(free) char *signature = webhook_sign(m);

		add_header(&headers, xasprintf("webhook-signature: %s", signature));
	}
	return headers;
}

static size_t body_cb(char *data UNUSED, size_t size, size_t n, void *userdata)
{
	struct answer_body *body = userdata;

	body->n_bytes += size * n;
	return body->n_bytes <= ANSWER_BYTES_MAX ? size * n : 0;
}

static void set_options(CURL *easy, const struct webhook_way *way, const struct webhook_message *m,
                        struct answer_body *body)
{
	const struct http_request tls = {
	    .ca_file = way->ca_file,
	    .client_cert_file = way->cert_file,
	    .client_key_file = way->key_file,
	};

	(void) curl_easy_setopt(easy, CURLOPT_URL, way->url);
	(void) curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void) curl_easy_setopt(easy, CURLOPT_PROXY, "");
	(void) curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long) way->timeout_ms);
	(void) curl_easy_setopt(easy, CURLOPT_USERAGENT, "fairlead/" FAIRLEAD_VERSION);
	(void) curl_easy_setopt(easy, CURLOPT_POSTFIELDS, m->body);
	(void) curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_cb);
	(void) curl_easy_setopt(easy, CURLOPT_WRITEDATA, body);
	credentials_set_tls(easy, &tls);
}

static int errno_of(CURLcode code)
{
	switch (code) {
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return -EINVAL;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
		return -EHOSTUNREACH;
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

static unsigned retry_after_s(CURL *easy)
{
	curl_off_t s = 0;

	(void) curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &s);
	return (unsigned) MIN(MAX(s, (curl_off_t) 0), (curl_off_t) UINT32_MAX);
}

int webhook_post(const struct webhook_way *way, const struct webhook_message *message,
                 char ret_error[static WEBHOOK_ERROR_MAX], struct webhook_answer *ret_answer)
{
	struct curl_slist *headers = make_headers(message);
	CURL *easy = curl_easy_init();
	struct answer_body body = {0};
	char error[CURL_ERROR_SIZE] = "";
	long status = 0;
	unsigned after_s;
	CURLcode code;

	set_options(easy, way, message, &body);
	(void) curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
	(void) curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	code = curl_easy_perform(easy);
	(void) curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	after_s = retry_after_s(easy);
	curl_easy_cleanup(easy);
	curl_slist_free_all(headers);
	if (code != CURLE_OK && !(code == CURLE_WRITE_ERROR && body.n_bytes > ANSWER_BYTES_MAX)) {
		(void) snprintf(ret_error, WEBHOOK_ERROR_MAX, "%s",
		                error[0] != '\0' ? error : curl_easy_strerror(code));
		return errno_of(code);
	}
	*ret_answer = (struct webhook_answer){.status = (int) status, .retry_after_s = after_s};
	return 0;
}
