/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An address with a TCP port, where something listens or is dialled. A plain value, as struct addr.
 * Text is "10.0.0.5:6443" or "[fd00::5]:6443" (RFC 3986, section 3.2.2).
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/addr.h"

struct endpoint {
	struct addr addr;
	uint16_t port; /* host order, never 0 in a parsed one */
};

#define ENDPOINT_TEXT_MAX (ADDR_TEXT_MAX + 8)

/* 0, or -EINVAL. default_port 0: the port must be there. Without a port IPv6 needs no brackets. */
int endpoint_parse(const char *text, uint16_t default_port, struct endpoint *ret_endpoint);
const char *endpoint_format(const struct endpoint *e, char buf[static ENDPOINT_TEXT_MAX]);

bool endpoint_equal(const struct endpoint *a, const struct endpoint *b);
int endpoint_compare(const struct endpoint *a, const struct endpoint *b); /* a total order */

/* For connect(2) and bind(2); returns the length. */
socklen_t endpoint_to_sockaddr(const struct endpoint *e, struct sockaddr_storage *ret_address);
/* 0, or -EAFNOSUPPORT. An IPv4-mapped address becomes the IPv4 address that it stands for. */
int endpoint_from_sockaddr(const struct sockaddr *address, struct endpoint *ret_endpoint);
