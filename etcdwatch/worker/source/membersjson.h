/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The member list of a database as the worker's answers have it. */

#include <jansson.h>

#include "bolt/dbinfo.h"

/* A list of "id", in hexadecimal, "name", "peer_urls" and "learner". The caller frees it. */
json_t *membersjson_make(const struct dbinfo *info);
