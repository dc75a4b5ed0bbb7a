/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The JSON lines of `etcd members`, `etcd status` and `etcd alarms`. Pure. New objects: the caller
 * owns them. docs/control.md describes the fields. Ids are hexadecimal, as etcdctl writes them.
 */

#include <jansson.h>

#include "etcdwatch/cluster/survey.h"

json_t *surveyjson_id(uint64_t id);

/* What a member knows of the members; or why that is not known. */
json_t *surveyjson_list(const struct survey_member *member);
json_t *surveyjson_status(const struct survey_member *member);
json_t *surveyjson_alarm(const struct survey *survey, const struct etcd_alarm *alarm);

/* "NOSPACE", "CORRUPT", or "unknown". */
const char *surveyjson_alarm_name(enum etcd_alarm_type type);
