/* SPDX-License-Identifier: Apache-2.0 */
/* The corpus of tests/config/netconf; goldens.h says how it is read. */
#include "netconf/config/config.h"

#include "tests/unit/goldens.h"

int main(int argc, char **argv)
{
	return goldens_main(argc, argv, "tests/config/netconf", NULL, 60);
}
