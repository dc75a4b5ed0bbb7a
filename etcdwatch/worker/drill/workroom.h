/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A place for files that are gone when the work is over, however it ends: what a killed process
 * left is removed by the next one that opens it. It is one directory, "etcd-drill", in one that the
 * caller names, which is made if it is not there and goes again if nothing else is in it. Nothing
 * else in there is ever touched. Only this user can look into it.
 */

#include "base/cleanup.h"
#include "etcdwatch/worker/common/problem.h"

#define WORKROOM_NAME "etcd-drill"

struct workroom;

/* Codes: BUSY, another process has it; DIRECTORY, others may write into `base`. */
int workroom_open(const char *base, struct problem *problem, struct workroom **ret_room);

/* Removes everything in it. */
void workroom_free(struct workroom *room);
DEFINE_AUTO(struct workroom, workroom_free);

const char *workroom_path(const struct workroom *room);

/* Removes what a killed process left. 0 also when there is nothing, and when somebody is at work.
 */
int workroom_clear(const char *base, struct problem *problem);
