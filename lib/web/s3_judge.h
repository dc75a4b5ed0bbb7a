/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What an answer of S3 means, whether trying again can help, and when. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "web/s3.h"

/* S3 takes what was signed 15 minutes ago or in 15 minutes. */
#define S3_CLOCK_LIMIT_S 900

/*
 * `code` is the error's own, "" without one. `clock_ahead_s` is by how much the server is ahead of
 * us, 0 when that is unknown: servers name a wrong clock in several ways, also as a wrong
 * signature.
 */
enum s3_failure s3_judge_status(int status, const char *code, int64_t clock_ahead_s);

bool s3_judge_is_passing(enum s3_failure failure, const char *code);

/*
 * Before the attempt that follows `n_failed` of them. Between half of the doubled base and all of
 * it, where `random` says, so that many who failed together do not come back together; or what the
 * server asked for, within a limit.
 */
#define S3_DELAY_MAX_MS 20000
#define S3_RETRY_AFTER_MAX_S 60
unsigned s3_judge_delay_ms(unsigned n_failed, unsigned base_ms, unsigned retry_after_s,
                           uint32_t random);

/* -EACCES, -ENOENT, ...; not for S3_OK and S3_LOCAL. */
int s3_judge_errno(enum s3_failure failure);
