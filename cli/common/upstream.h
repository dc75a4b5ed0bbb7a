/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* An upstream of `prism status`, as all commands judge it. */

#include <jansson.h>
#include <stdbool.h>

/* Its overview, the first object, says whether upstreams are checked at all. */
bool upstream_is_checked(const json_t *overview);
/* Drained ones are not looked at by anybody. */
bool upstream_is_good(const json_t *upstream, bool is_checked);

/* What the first API server answers of those that do not tell whether they are ready; NULL: all
 * tell. Also of `vip status`, whose objects have the answer under another key. */
const char *upstream_unknown(const json_t *objects, const char *reason_key);
#define UPSTREAM_UNKNOWN_TEXT "an API server does not tell whether it is ready: "
#define UPSTREAM_UNKNOWN_TO_DO "Give the probes a certificate: fairlead init --probe-certificate"
