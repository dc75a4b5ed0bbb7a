/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the load generator and the origin say to each other: a request is this head and as many more
 * bytes as it names; the answer is as long as the head asks for, of any bytes, its first one the
 * origin's number. The next request may follow on the same connection. Numbers are of the host's
 * order: both ends are one machine. The first byte differs from that of a TLS record (0x16), so
 * that an origin can speak both on one port.
 */

#include <stdint.h>

#define WIRE_MAGIC UINT32_C(0x31424c46)
#define WIRE_BODY_MAX (UINT32_C(16) << 20)

struct wire_head {
	uint32_t magic;
	uint32_t request_bytes;  /* this head included */
	uint32_t response_bytes; /* at least 1 */
};
