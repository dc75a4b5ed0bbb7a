/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CRC-32C (Castagnoli, RFC 3720 appendix B.4): what etcd hashes with. By the processor's own
 * instruction where there is one (SSE 4.2), else by tables. Pure, and safe from several threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Goes on from `crc`, which is 0 in the beginning and else what the call before returned. */
uint32_t crc32c_update(uint32_t crc, const void *data, size_t len);

/* The two ways by name, so that a test can hold one against the other. */
uint32_t crc32c_update_tables(uint32_t crc, const void *data, size_t len);
bool crc32c_has_instruction(void);
