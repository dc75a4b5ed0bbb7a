/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Temporary keys in the answers that have them. Pure. -EBADMSG: it is not that; then `ret_why` is
 * a constant phrase that has nothing of the text in it.
 *
 * Sources: "IAM roles for Amazon EC2" and "Container credential provider" (Code, AccessKeyId,
 * SecretAccessKey, Token, Expiration), "Process credentials" (Version 1, SessionToken), and
 * AssumeRoleWithWebIdentity of the AWS STS API reference (XML).
 */

#include "etcdwatch/worker/store/awsfile.h"

enum awsanswer_kind {
	AWSANSWER_METADATA, /* of an instance or a container */
	AWSANSWER_PROCESS,
};

int awsanswer_parse_json(enum awsanswer_kind kind, const char *text, size_t len,
                         struct awsfile *ret_keys, const char **ret_why);
int awsanswer_parse_sts(const char *text, size_t len, struct awsfile *ret_keys,
                        const char **ret_why);
