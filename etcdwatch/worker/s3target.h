/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The S3 server and bucket that a command is about, as its options say:
 *
 *   --endpoint URL --bucket NAME [--region NAME] [--virtual-host] [--ca-file FILE]
 *   [--access-key-file FILE] [--secret-key-file FILE] [--session-token-file FILE]
 *   [--attempts N] [--stall-timeout SECONDS]
 *
 * Secrets are never options. What no file gives is taken from AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN in the environment.
 */

#include "etcdwatch/worker/options.h"
#include "etcdwatch/worker/problem.h"
#include "web/s3.h"

struct s3target {
	const char *endpoint;
	const char *bucket;
	const char *region;
	bool virtual_host;
	const char *ca_file;
	const char *access_key_file;
	const char *secret_key_file;
	const char *session_token_file;
	const char *attempts;
	const char *stall_timeout;
};

#define S3TARGET_OPTIONS 10

/* The entries for options_parse(), which fill the target. */
void s3target_options(struct s3target *target, struct options_entry ret[static S3TARGET_OPTIONS]);

int s3target_open(const struct s3target *target, struct problem *problem, struct s3 **ret_s3);

/* The client's last error as the problem, unless there is one already: "S3_DENIED" and the like. */
int s3target_fail(const struct s3 *s3, int r, struct problem *problem);
