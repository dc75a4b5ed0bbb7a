/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks of single values that the tables of several daemons name: conf_check_fn's, pure.
 */

#include "base/conf.h"

#define CONF_DNS_NAME_MAX 253 /* RFC 1035, section 2.3.4, as text without the last dot */

/* The name of a file: an absolute path, and not what belongs into the file. */
const char *conf_check_file(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                            const char **ret_hint);
/* A name that a certificate can have: a DNS name in lower case, or an address. */
const char *conf_check_server_name(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                   const char **ret_hint);
/* What keys begin with, in etcd or in S3: parts with '/' behind each. */
const char *conf_check_prefix(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint);

/* DNS labels in lower case with dots between, as Kubernetes names things. Any length. */
bool conf_is_dns_name(const char *text);
bool conf_has_upper_case(const char *text);
