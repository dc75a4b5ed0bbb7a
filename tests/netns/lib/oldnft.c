/* SPDX-License-Identifier: Apache-2.0 */
/* For a program that runs it preloaded, nftables is as before kernel 6.9. */
#include "tests/unit/oldnft.h"

__attribute__((constructor)) static void begin(void)
{
	oldnft = true;
}
