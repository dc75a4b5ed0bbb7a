/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How one request proves who it is, and knows the peer: the part that reads files. Only http.c,
 * s3_transfer.c and webask.c include this.
 */

#include <curl/curl.h>

#include "web/http.h"

/* Verification and client certificate. What is wrong with a file shows in the request's result. */
void credentials_set_tls(CURL *easy, const struct http_request *request);

/* The bearer token, if there is one, is added to *headers, which are to live as long as `easy` and
 * are the caller's to free. 0; -EBADMSG for what cannot be a token, or the error of reading its
 * file. */
int credentials_set_token(CURL *easy, const struct http_request *request,
                          struct curl_slist **headers);

/*
 * Notes during a request what its answer tells of the peer: the end of its certificate, and its
 * clock. Only http.c includes this.
 */

struct peer {
	struct http_peer seen;
};

/* `peer` is to live as long as `easy`. */
void peer_watch(struct peer *peer, CURL *easy);
