/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead completion SHELL`: the script that completes this program's command line. */
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "cli/shells.h"

int cli_completion(const struct cli *cli UNUSED, int argc UNUSED, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(FILE *out);
	} shells[] = {{"bash", shells_bash}, {"zsh", shells_zsh}};

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(argv[0], shells[i].name) != 0)
			continue;
		shells[i].print(stdout);
		return fflush(stdout) == 0 ? CLI_OK : CLI_FAILED;
	}
	(void) fprintf(stderr, "fairlead: no script for the shell '%s': there are 'bash' and 'zsh'\n",
	               argv[0]);
	return CLI_USAGE;
}
