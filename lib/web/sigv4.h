/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * AWS Signature Version 4 in the Authorization header, as S3 takes it. Pure.
 *
 * Source: AWS's "Signature Calculations for the Authorization Header: Transferring Payload in a
 * Single Chunk" (Amazon S3 API reference). S3 encodes a path once and leaves "." and ".." in it, as
 * opposed to AWS's other services.
 */

#include <stddef.h>

/* "20130524T000000Z" */
#define SIGV4_DATE_MAX 17

struct sigv4_pair {
	const char *name;
	const char *value;
};

struct sigv4_key {
	const char *access_key;
	const char *secret_key;
	const char *region;
};

struct sigv4_request {
	const char *method;
	const char *path;                 /* as it stands in the URL: sigv4_encode_path() */
	const char *query;                /* sigv4_encode_query() */
	const struct sigv4_pair *headers; /* all that are signed, "host" among them: names in lower case
	                 and in order, values without spaces around or double ones */
	size_t n_headers;
	const char *payload_sha256; /* in hexadecimal: the value of x-amz-content-sha256 */
	const char *date;           /* the value of x-amz-date */
};

/* For URLs and for signing, which must be the same. The caller frees them. A path keeps its '/';
 * the pairs of a query come sorted. */
char *sigv4_encode_path(const char *path);
char *sigv4_encode_query(const struct sigv4_pair *pairs, size_t n);

/* The value of the Authorization header; the caller frees it. */
char *sigv4_authorization(const struct sigv4_key *key, const struct sigv4_request *request);
