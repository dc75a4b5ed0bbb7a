/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The link-local address that DHCPv6 asks from. dhcpcd forbids the kernel to make it
 * (addr_gen_mode), and makes none itself when it is to configure nothing: started where there is
 * none yet, or on a link that went down and took it along, it waits for ever.
 */

#include <stdbool.h>

/* Allows the kernel to make it again, as it did before: mode is what it was then, 0 at first, and
 * is kept by the caller. Whether it is there, and the link has its carrier; else it may come. */
bool linklocal_make(const char *link, int *mode);
