/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * URLs as configurations have them: http:// or https://, a host by address or by DNS name, perhaps
 * a port, and whatever stands behind. Pure.
 */

#include <stdbool.h>

#include "base/addr.h"
#include "base/conf_check.h"

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
