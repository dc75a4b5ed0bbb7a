/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Prints a line for each object of a prefix: {"key","bytes","etag","modified"}. Objects whose
 * names, behind the last slash, are like the pattern `read` (fnmatch(3)) are small JSON files, and
 * come with what is in them: "content", or, when they are
 * too long or not JSON, "content":null and a "reason". One that is gone before it is read is left
 * out.
 */

#include <stdint.h>

#include "etcdwatch/worker/common/result.h"
#include "web/s3.h"

#define S3LIST_CONTENT_MAX ((uint64_t) 64 << 10)

int s3list_run(struct s3 *s3, const char *prefix, const char *read, struct problem *problem,
               uint64_t *ret_objects);
