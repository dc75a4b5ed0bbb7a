/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The XML that S3 answers with, element by element. Attributes, comments and name spaces are passed
 * over. Entities of a document's own and document types are refused: S3 has none, and they are what
 * small documents grow large by. Pure.
 */

#include <stddef.h>

#define S3XML_DEPTH_MAX 8
#define S3XML_PATH_MAX 128
/* A key has at most 1024 bytes, of which each may be written as "%XX"; STS sets no bound for a
 * session token, and those that are in use have up to some thousand bytes. */
#define S3XML_TEXT_MAX 16384

/*
 * At the end of each element: the names from the root to it ("ListBucketResult/Contents/Key"), and
 * the text directly inside it since the last element in it. Both are valid until it returns. What
 * is negative ends the reading.
 */
typedef int (*s3xml_element_fn)(const char *path, const char *text, void *userdata);

/* 0; -EBADMSG for what is not XML, or exceeds a limit; or what the callback returned. */
int s3xml_parse(const char *data, size_t len, s3xml_element_fn element, void *userdata);

/*
 * Whether this is an <Error> document; then its Code and Message, cut to the buffers, with '?' for
 * what is not visible ASCII: it goes to terminals and logs. "" for what it lacks.
 */
int s3xml_parse_error(const char *data, size_t len, char *ret_code, size_t code_size,
                      char *ret_message, size_t message_size);
