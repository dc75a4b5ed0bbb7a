/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The URL of one endpoint: http://, https:// or unix:///path. Parsed once, then compared by its
 * canonical text: addresses as inet_ntop(3) writes them, always with a port.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

#define URL_TEXT_MAX 320 /* a DNS name has at most 253 characters */
#define URL_HOST_MAX 253

enum url_scheme {
	URL_HTTP,
	URL_HTTPS,
	URL_UNIX,
};

struct url {
	enum url_scheme scheme;
	char text[URL_TEXT_MAX];      /* canonical */
	char authority[URL_TEXT_MAX]; /* "10.0.0.1:2379", "[fd00::1]:2379", "etcd-0:2379" */
	char target[URL_TEXT_MAX];    /* what gRPC connects to; never equal to a call's peer */
	char host[URL_HOST_MAX + 1];  /* a name, or an address without brackets; "" for a path */
	uint16_t port;                /* 0 for a path */
	char path[URL_TEXT_MAX];      /* "" for a host */
	struct addr addr;             /* unset for a name or a path */
	bool loopback;                /* an address of, or a name or path for, this very machine */
};

/* 0, or -EINVAL. A missing port means 2379, etcd's registered one. */
int url_parse(const char *text, struct url *ret_url);
