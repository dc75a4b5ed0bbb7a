/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks in the handshake, and at the headers. The connection is one of its own, and its session
 * too: what a peer presents now is not what it once presented.
 */
#include "web/peer.h"

#include <openssl/ssl.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"
#include "base/mono.h"
#include "web/certificate.h"

#define DATE "Date:"
#define DATE_TEXT_MAX 64

/* OpenSSL's own: of which peer a handshake is. */
static int owner_index(void)
{
	static int index = -1;

	if (index < 0)
		index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
	return index;
}

/* Changes nothing of the verdict (SSL_CTX_set_verify(3)). One that is not accepted is noted, too:
 * it may be its end that is the reason. */
static int verify_cb(int accepted, X509_STORE_CTX *store)
{
	const SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
	struct peer *peer = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), owner_index());
	const X509 *certificate = X509_STORE_CTX_get0_cert(store);

	if (peer != NULL && certificate != NULL)
		(void) certificate_end(certificate, &peer->seen.not_after_s);
	return accepted;
}

/* CURLOPT_SSL_CTX_FUNCTION(3): before the handshake, of which there is one. */
static CURLcode context_cb(CURL *easy UNUSED, void *context, void *userdata)
{
	(void) SSL_CTX_set_ex_data(context, owner_index(), userdata);
	(void) SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_verify(context, SSL_CTX_get_verify_mode(context), verify_cb);
	return CURLE_OK;
}

/* CURLOPT_HEADERFUNCTION(3): one whole line a call, without a NUL. */
static size_t header_cb(char *line, size_t size, size_t n, void *userdata)
{
	struct peer *peer = userdata;
	size_t len = size * n;
	char text[DATE_TEXT_MAX];
	time_t date;

	if (len < strlen(DATE) || len >= sizeof(text) || strncasecmp(line, DATE, strlen(DATE)) != 0)
		return len;
	memcpy(text, line + strlen(DATE), len - strlen(DATE));
	text[len - strlen(DATE)] = '\0';
	date = curl_getdate(text, NULL);
	if (date > 0) {
		peer->seen.date_s = date;
		peer->seen.date_seen_us = wall_now_us();
	}
	return len;
}

void peer_watch(struct peer *peer, CURL *easy)
{
	peer->easy = easy;
	(void) curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	(void) curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header_cb);
	(void) curl_easy_setopt(easy, CURLOPT_HEADERDATA, peer);
	(void) curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, context_cb);
	(void) curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, peer);
}
