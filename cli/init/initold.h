/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What must not be lost of a configuration that is to be replaced. */

#include "cli/common/texts.h"

/* The VIPs of that file, in Talos's documents or its older style, as they are written there. What
 * cannot be read has none. */
void initold_vips(const char *path, struct texts *ret_vips);
