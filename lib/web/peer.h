/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Notes during a request what its answer tells of the peer: the end of its certificate, and its
 * clock. Only http.c includes this.
 */

#include <curl/curl.h>

#include "web/http.h"

struct peer {
	CURL *easy;
	struct http_peer seen;
};

/* `peer` is to live as long as `easy`. */
void peer_watch(struct peer *peer, CURL *easy);
