/* SPDX-License-Identifier: Apache-2.0 */
/* fairlead: the operator's program. All of it is in the library, where the tests reach it. */
#include "cli/common/cli.h"

int main(int argc, char **argv)
{
	return cli_main(argc, argv);
}
