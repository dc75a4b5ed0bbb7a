/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The keys in a credentials file of the AWS tools: sections of lines `name = value`, of which the
 * profile `default` is read. Empty lines and those that begin with '#' or ';' are passed over, and
 * so are other profiles and other names. (Source: "Configuration and credential file settings in
 * the AWS CLI".) Pure.
 */

#include <stddef.h>
#include <stdint.h>

struct awsfile {
	char *access_key;
	char *secret_key;
	char *session_token; /* or NULL */
	int64_t expires_s;   /* since 1970; 0: it is not told. A file does not tell it */
};

/*
 * -EBADMSG when that is not what it is, or it lacks a key, or has one twice: then `ret_why` says
 * what, in a constant phrase that has nothing of the file in it, and `ret_line` in which line, from
 * 1; 0 when it is about no line.
 */
int awsfile_parse(const char *text, size_t len, struct awsfile *ret_keys, const char **ret_why,
                  unsigned *ret_line);

/* Overwrites the texts before it frees them. */
void awsfile_fini(struct awsfile *keys);

/*
 * Temporary keys in the answers that have them. Pure. -EBADMSG: it is not that; then `ret_why` is
 * a constant phrase that has nothing of the text in it.
 *
 * Sources: "IAM roles for Amazon EC2" and "Container credential provider" (Code, AccessKeyId,
 * SecretAccessKey, Token, Expiration), "Process credentials" (Version 1, SessionToken), and
 * AssumeRoleWithWebIdentity of the AWS STS API reference (XML).
 */

enum awsanswer_kind {
	AWSANSWER_METADATA, /* of an instance or a container */
	AWSANSWER_PROCESS,
};

int awsanswer_parse_json(enum awsanswer_kind kind, const char *text, size_t len,
                         struct awsfile *ret_keys, const char **ret_why);
int awsanswer_parse_sts(const char *text, size_t len, struct awsfile *ret_keys,
                        const char **ret_why);
