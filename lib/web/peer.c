/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks while the headers come, because only then is curl's connection there to be asked for its
 * certificate (CURLINFO_TLS_SSL_PTR(3)); that goes for a connection that is used again as well.
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

static void look_at_certificate(struct peer *peer)
{
	const struct curl_tlssessioninfo *session = NULL;
	const X509 *certificate = NULL;

	if (curl_easy_getinfo(peer->easy, CURLINFO_TLS_SSL_PTR, &session) == CURLE_OK &&
	    session != NULL && session->backend == CURLSSLBACKEND_OPENSSL && session->internals != NULL)
		certificate = SSL_get0_peer_certificate(session->internals);
	if (certificate != NULL)
		(void) certificate_end(certificate, &peer->seen.not_after_s);
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
	look_at_certificate(peer);
	return len;
}

void peer_watch(struct peer *peer, CURL *easy)
{
	peer->easy = easy;
	(void) curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header_cb);
	(void) curl_easy_setopt(easy, CURLOPT_HEADERDATA, peer);
}
