/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Base64 as RFC 4648, section 4 has it. Pure.
 */

#include <stddef.h>

/*
 * Decodes text into a new buffer (the caller frees it) that has a NUL behind its len bytes. White
 * space between the characters is passed over, as texts are folded. 0; -EINVAL when it is not
 * base64: a strange character, a wrong length, padding in the middle, bits that are not zero.
 */
int base64_decode(const char *text, char **ret_data, size_t *ret_len);

/* In one line, padded; the caller frees it. */
char *base64_encode(const void *data, size_t len);
