/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ends the TCP connections that are bound to a local address that this node has just lost, so that
 * clients hear a reset and reconnect to the new owner at once instead of waiting for a timeout.
 * The reset leaves only while the address is still configured (the kernel finds no route from an
 * address that it does not have), so: shut the gate, which lets resets pass, then this, then remove
 * the address.
 * By NETLINK_SOCK_DIAG, SOCK_DESTROY (sock_diag(7); CONFIG_INET_DIAG_DESTROY; CAP_NET_ADMIN).
 */

#include "base/addr.h"

/*
 * Destroys every connected TCP socket of this network namespace whose local address is addr;
 * listeners stay. Returns the number destroyed, or -errno; -EOPNOTSUPP where the kernel cannot.
 */
int sockdestroy_by_local_addr(const struct addr *addr);
