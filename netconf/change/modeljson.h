/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Networks and plans as JSON: what a transaction puts on the disk, so that whoever comes after a
 * crash undoes just what was done. All that a model has is there, raw messages and WireGuard's keys
 * too, so a file of it is for root alone. Of a desired model the host and the origins are not
 * written. Pure.
 */

#include <jansson.h>

#include "netconf/model/model.h"
#include "netconf/plan/plan.h"

/* One object a line. The caller frees it. */
char *model_to_text(const struct model *model);
/* Normalised. 0, or -EBADMSG. */
int model_from_json(const json_t *json, struct model **ret_model);

/* The steps; obstacles are not written. */
char *plan_to_text(const struct plan *plan);
int plan_from_json(const json_t *json, struct plan **ret_plan);
