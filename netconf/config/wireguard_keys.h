/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keys that a configuration only names files for. Blocking, when a network is about to be planned.
 */

#include "netconf/model/wireguard.h"

typedef void (*wireguard_unread_fn)(const char *path, int error, void *userdata);

/* Each key with a file is read from it: 32 bytes in base64, as wg(8) has them. One that cannot be
 * read is told of, with its -errno (-EINVAL: it is no key). The private key is left as it is on the
 * link then: `has` has it no more. A peer has the preshared key that it has on the link (`have`;
 * NULL: there is none), and one that is not there is not made without. */
void wireguard_read_keys(struct wireguard *wireguard, const struct wireguard *have,
                         wireguard_unread_fn unread, void *userdata);
