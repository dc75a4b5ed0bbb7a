/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keys that a configuration only names files for. Blocking, when a network is about to be planned.
 */

#include "netconf/model/wireguard.h"

typedef void (*wireguard_unread_fn)(const char *path, int error, void *userdata);

/* Each key with a file is read from it: 32 bytes in base64, as wg(8) has them. One that cannot be
 * read is told of, with its -errno (-EINVAL: it is no key), and the key, or all peers, are left as
 * they are on the link: `has` has it no more. */
void wireguard_read_keys(struct wireguard *wireguard, wireguard_unread_fn unread, void *userdata);
