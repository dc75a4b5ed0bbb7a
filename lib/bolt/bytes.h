/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs of bytes that somebody else owns, and the numbers in them. bbolt's own numbers are in the
 * byte order of the machine that wrote the file: little-endian on all that Kubernetes runs on
 * (s390x is the exception, and its files are refused for their magic). etcd's keys are big-endian,
 * so that they sort. Nothing is assumed of alignment: an inline bucket begins where it happens to.
 * Pure.
 */

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macro.h"

struct bytes {
	const uint8_t *data; /* borrowed; whoever hands it out says until when */
	size_t len;
};

static inline uint16_t bytes_le16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t bytes_le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t bytes_le64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static inline uint64_t bytes_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/* The order of bbolt's keys: byte by byte, and a beginning before what goes on. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
	size_t n = MIN(a.len, b.len);
	int order = n > 0 ? memcmp(a.data, b.data, n) : 0;

	if (order != 0)
		return order;
	return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool bytes_equal_text(struct bytes a, const char *text)
{
	return a.len == strlen(text) && (a.len == 0 || memcmp(a.data, text, a.len) == 0);
}

static inline struct bytes bytes_of_text(const char *text)
{
	return (struct bytes){.data = (const uint8_t *) text, .len = strlen(text)};
}
