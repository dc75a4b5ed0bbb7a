/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Requests about links, for encode.c; as encode_op(). */

#include "netconf/kernel/encode.h"

int encode_link_create(const struct link *link, const struct encode_names *names, struct message *m,
                       const char **ret_missing);
int encode_link_delete(const struct link *link, const struct encode_names *names, struct message *m,
                       const char **ret_missing);
int encode_link_set(const struct link *link, unsigned attributes, const struct encode_names *names,
                    struct message *m, const char **ret_missing);
int encode_bond_set(const struct link *link, uint64_t options, const struct encode_names *names,
                    struct message *m, const char **ret_missing);

/* The number of a link; 0, or -ENODEV with the name in *ret_missing. "" is number 0. */
int encode_ifindex(const struct encode_names *names, const char *name, uint32_t *ret_ifindex,
                   const char **ret_missing);
