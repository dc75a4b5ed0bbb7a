/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Asks etcd for the newest snapshot of each other node, which the job remembers (others.h). */

#include "etcdwatch/job/job.h"
#include "etcdwatch/others.h"

struct others_request;

/* reason: why etcd's keys are not among them, or "". */
typedef void (*others_done_fn)(const struct others *others, const char *reason, void *userdata);

/* The handle is gone when `done` returns, which is called once, never from inside. */
struct others_request *others_ask(struct job *job, others_done_fn done, void *userdata);
void others_free(struct others_request *request); /* done is not called; NULL is fine */
