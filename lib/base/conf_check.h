/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks of single values that the tables of several daemons name: conf_check_fn's, pure.
 */

#include "base/addr.h"
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

/* --- URLs --- */

/* http:// or https://, a host by address or by DNS name, perhaps a port, and what stands behind. */
struct conf_url {
	bool https;
	char host[CONF_DNS_NAME_MAX + 1]; /* without brackets */
	bool is_address;                  /* the host; else it is a DNS name in lower case */
	bool has_port;
	const char *rest; /* path, query and fragment, "" if none; borrowed from the text */
};

/* NULL, or what is wrong with the text ("has no host"), and then *ret_url is untouched. */
const char *conf_parse_url(const char *text, struct conf_url *ret_url);

/* The host of "https://[fd00::1]:2379" and the like, if it is an address: a name is nobody's. 0, or
 * -EINVAL. */
int conf_url_addr(const char *text, struct addr *ret_addr);
