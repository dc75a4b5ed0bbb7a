/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where temporary keys come from: the role of an EC2 instance or of a container, a web identity, a
 * program. One of them, as JSON says:
 *
 *   {"instanceRole": true}
 *   {"container": true}
 *   {"webIdentity": {"roleARN", "tokenFile", "sessionName", "endpoint"}}
 *   {"process": [WORD...]}
 *
 * The environment has what it has by AWS's own names: AWS_EC2_METADATA_SERVICE_ENDPOINT;
 * AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or
 * AWS_CONTAINER_AUTHORIZATION_TOKEN.
 */

#include "base/cleanup.h"
#include "etcdwatch/worker/store/awskeys.h"
#include "etcdwatch/worker/common/result.h"

struct awsrole;

/* `ca_file` and `proxy` are for the endpoint of a web identity; either may be NULL. All is copied.
 * Codes: USAGE, it is no such JSON. */
int awsrole_new(const char *text, const char *ca_file, const char *proxy, struct problem *problem,
                struct awsrole **ret_role);
void awsrole_free(struct awsrole *role);
DEFINE_AUTO(struct awsrole, awsrole_free);

/* Asks, and blocks. Code: CREDENTIALS, none are to be had, or what came is not what it should be.
 */
int awsrole_fetch(const struct awsrole *role, struct problem *problem, struct awsfile *ret_keys);
