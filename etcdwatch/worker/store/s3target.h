/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The store that a command is about, as its options say: programs, by --command JSON
 * (storeprogram.h), or an S3 server and bucket:
 *
 *   --endpoint URL --bucket NAME [--region NAME] [--virtual-host] [--ca-file FILE]
 *   [--access-key-file FILE --secret-key-file FILE [--session-token-file FILE]]
 *   [--credentials-file FILE] [--proxy URL] [--kms-key ID | --customer-key-file FILE]
 *   [--attempts N] [--stall-timeout SECONDS] [--backoff MILLISECONDS]
 *
 * --credentials JSON, in place of files: where temporary keys come from (awsrole.h). Others are
 * fetched before they expire.
 *
 * Secrets are never options. They are the first lines of their files, or the profile `default` of a
 * file of the AWS tools (awskeys.h), or, when no file is named, AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN in the environment; never some of each. A customer's
 * key for the server's encryption is 32 bytes in base64, the first line of its file.
 */

#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/common/result.h"
#include "web/s3.h"

struct s3target {
	const char *command; /* of programs; then all others are NULL */
	const char *endpoint;
	const char *bucket;
	const char *region;
	bool virtual_host;
	const char *ca_file;
	const char *access_key_file;
	const char *secret_key_file;
	const char *session_token_file;
	const char *credentials_file;
	const char *credentials; /* JSON */
	const char *proxy;
	const char *kms_key;
	const char *customer_key_file;
	int64_t attempts; /* of each request; of these three, 0: as s3.h has it */
	int64_t stall_s;
	int64_t backoff_ms; /* the pause before the second attempt; then it doubles */
};

#define S3TARGET_OPTIONS 17

/* For options_parse(), of a struct s3target. */
extern const struct options_entry s3target_options[S3TARGET_OPTIONS];

/* Whether the options name a store. */
bool s3target_is_named(const struct s3target *target);

int s3target_open(const struct s3target *target, struct problem *problem, struct s3 **ret_s3);

/* The client's last error as the problem, unless there is one already: "S3_DENIED" and the like. */
int s3target_fail(const struct s3 *s3, int r, struct problem *problem);
