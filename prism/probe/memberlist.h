/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * etcd's member list as addresses of API servers: on a stacked control plane each member has one
 * beside it. Pure. A member counts with the addresses in its client URLs, or in its peer URLs if
 * those have none; host names are passed over.
 */

#include <jansson.h>

#include "prism/endpoints.h"

/* What `etcdctl member list -w json` prints. 0, or -EBADMSG with the reason, a constant, in
 * *ret_error. */
int memberlist_parse(const char *text, size_t len, uint16_t port, struct endpoints_list *ret_list,
                     const char **ret_error);

/* What a daemon answers to `etcd members`: JSON objects, one a line (docs/control.md), without the
 * status line. The same. */
int memberlist_parse_lines(const char *text, uint16_t port, struct endpoints_list *ret_list,
                           const char **ret_error);
