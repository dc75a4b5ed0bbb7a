/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates and tokens for libcurl. It is given the contents of files and not their names: it
 * uses a kept connection again only if all that it was made with is equal (for blobs that is their
 * bytes), and a name stays equal when its file rotates. For the same reason no TLS session is
 * resumed: that would be one of the old certificates, on both sides.
 */
#include "web/credentials.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/printable.h"
#include "web/certificate.h"

#define TOKEN_MAX_BYTES 65536
/* The CA bundle of a distribution has some 250 kB. */
#define PEM_MAX_BYTES (1 << 20)

/* What can stand in one header. */
static bool is_token(const char *token)
{
	return token[0] != '\0' && printable_is_word(token);
}

int credentials_set_token(CURL *easy, const struct http_request *request,
                          struct curl_slist **headers)
{
	AUTO(free) char *content = NULL;
	AUTO(free) char *header = NULL;
	const char *token = request->bearer_token;
	size_t len;
	int r;

	if (token == NULL && request->bearer_token_file == NULL)
		return 0;
	if (token == NULL) {
		r = file_read(request->bearer_token_file, TOKEN_MAX_BYTES, &content, &len);
		if (r < 0)
			return r;
		content[strcspn(content, "\r\n")] = '\0';
		token = content;
	}
	if (!is_token(token))
		return -EBADMSG;
	header = xasprintf("Authorization: Bearer %s", token);
	*headers = curl_slist_append(*headers, header);
	(void) curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *headers);
	return 0;
}

struct pem {
	CURLoption as_blob;
	CURLoption as_file;
	const char *text; /* wins */
	const char *file;
};

/* One that we cannot read is left to curl, which then says what is wrong with it; but not a FIFO,
 * for whose writer it would wait: that is as if it were empty. */
static void set_pem(CURL *easy, const struct pem *pem)
{
	static char nothing[] = "";
	AUTO(free) char *content = NULL;
	struct curl_blob blob = {.flags = CURL_BLOB_COPY};
	int r = -ENOENT;

	if (pem->text == NULL && pem->file != NULL)
		r = file_read(pem->file, PEM_MAX_BYTES, &content, &blob.len);
	if (pem->text != NULL) {
		/* curl_blob has no const; it is copied from. */
		blob.data = (void *) (uintptr_t) pem->text;
		blob.len = strlen(pem->text);
	} else if (r == 0) {
		blob.data = content;
	} else if (r == -EOPNOTSUPP) {
		blob.data = nothing;
	} else {
		(void) curl_easy_setopt(easy, pem->as_file, pem->file);
		return;
	}
	(void) curl_easy_setopt(easy, pem->as_file, NULL);
	(void) curl_easy_setopt(easy, pem->as_blob, &blob);
}

void credentials_set_tls(CURL *easy, const struct http_request *request)
{
	const struct pem ca = {CURLOPT_CAINFO_BLOB, CURLOPT_CAINFO, request->ca_pem, request->ca_file};
	const struct pem cert = {CURLOPT_SSLCERT_BLOB, CURLOPT_SSLCERT, request->client_cert_pem,
	                         request->client_cert_file};
	const struct pem key = {CURLOPT_SSLKEY_BLOB, CURLOPT_SSLKEY, request->client_key_pem,
	                        request->client_key_file};

	(void) curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long) CURL_SSLVERSION_TLSv1_2);
	(void) curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
	/* Sessions are a handle's own in older libcurl; since 8.12 the multi handle shares them. */
	(void) curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	if (ca.text != NULL || ca.file != NULL) {
		set_pem(easy, &ca);
		/* Debian builds a default in, and curl trusts both. */
		(void) curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
		/* Else what is read by name is not looked at again for a day. */
		(void) curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 0L);
	}
	set_pem(easy, &cert);
	set_pem(easy, &key);
}

/*
 * Looks in the handshake, and at the headers. The connection is one of its own, and its session
 * too: what a peer presents now is not what it once presented.
 */

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
	(void) curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	(void) curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header_cb);
	(void) curl_easy_setopt(easy, CURLOPT_HEADERDATA, peer);
	(void) curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, context_cb);
	(void) curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, peer);
}
