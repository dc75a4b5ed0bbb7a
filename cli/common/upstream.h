/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An upstream of `prism status`, as all commands judge it. */

#include <jansson.h>
#include <stdbool.h>

/* Its overview, the first object, says whether upstreams are checked at all. */
bool upstream_is_checked(const json_t *overview);
/* Drained ones are not looked at by anybody. */
bool upstream_is_good(const json_t *upstream, bool is_checked);
