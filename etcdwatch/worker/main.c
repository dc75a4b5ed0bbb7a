/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcdwatch-worker: what is heavy or waits long, done in a process of its own that is started for
 * one task and ends with it. It is started by etcdwatch and by the CLI, may block as it likes, and
 * tells its caller in JSON lines (result.h) what it did. It gives way to everything else on the
 * machine: nothing here is as urgent as etcd's disk, but for a restore, which etcd waits for, and
 * for telling what is wrong with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "etcdwatch/worker/commands.h"
#include "etcdwatch/worker/common/result.h"

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void) puts("etcdwatch-worker " FAIRLEAD_VERSION);
		return EXIT_SUCCESS;
	}
	cancel_watch();
	return commands_run(argc, argv);
}
