/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Bech32 (BIP 173), in which age writes its recipients: a name, '1', data and six characters of
 * checksum, so that a mistyped key is seen before anything is encrypted to nobody. As age has it,
 * without the limit of 90 characters. Pure.
 */

#include <stdbool.h>
#include <stddef.h>

/* In lower case, with a right checksum. ret_name_len: of the name, before the last '1'. */
bool bech32_is_good(const char *text, size_t *ret_name_len);
