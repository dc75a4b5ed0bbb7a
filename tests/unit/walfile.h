/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Write-ahead logs of etcd made by hand, for tests of lib/bolt: frames, records, and the checksum
 * that goes through them. Written from the format, not by lib/bolt.
 */

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/macro.h"
#include "bolt/crc32c.h"

#define WALFILE_MAX 65536
#define WALFILE_DATA_MAX 1000

struct walfile {
	uint8_t bytes[WALFILE_MAX];
	size_t len;
	uint32_t crc;
};

static inline size_t walfile_put_varint(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t) (v | 0x80);
	p[n++] = (uint8_t) v;
	return n;
}

static inline size_t walfile_put_integer(uint8_t *p, unsigned field, uint64_t v)
{
	size_t n = walfile_put_varint(p, (uint64_t) field << 3);

	return n + walfile_put_varint(p + n, v);
}

static inline size_t walfile_put_bytes(uint8_t *p, unsigned field, const void *data, size_t len)
{
	size_t n = walfile_put_varint(p, (uint64_t) field << 3 | 2);

	n += walfile_put_varint(p + n, len);
	if (len > 0)
		memcpy(p + n, data, len);
	return n + len;
}

static inline void walfile_put_record(struct walfile *log, unsigned type, const void *data,
                                      size_t len, uint32_t crc)
{
	uint8_t record[1024];
	size_t n = walfile_put_integer(record, 1, type), padding;
	uint64_t head;

	n += walfile_put_integer(record + n, 2, crc);
	if (data != NULL)
		n += walfile_put_bytes(record + n, 3, data, len);
	padding = (8 - n % 8) % 8;
	head = n;
	if (padding > 0)
		head |= (0x80 | (uint64_t) padding) << 56;
	head = htole64(head);
	memcpy(log->bytes + log->len, &head, sizeof(head));
	memcpy(log->bytes + log->len + 8, record, n);
	memset(log->bytes + log->len + 8 + n, 0, padding);
	log->len += 8 + n + padding;
}

static inline void walfile_put_data(struct walfile *log, unsigned type, const void *data,
                                    size_t len)
{
	log->crc = crc32c_update(log->crc, data, len);
	walfile_put_record(log, type, data, len, log->crc);
}

/* As each file begins. */
static inline UNUSED void walfile_begin(struct walfile *log, uint32_t crc)
{
	uint8_t metadata[64];
	size_t n = walfile_put_integer(metadata, 1, 0xabc);

	n += walfile_put_integer(metadata + n, 2, 0xdef);
	*log = (struct walfile){.crc = crc};
	walfile_put_record(log, 4, NULL, 0, crc);
	walfile_put_data(log, 1, metadata, n);
}
