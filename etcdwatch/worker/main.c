/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcdwatch-worker: what is heavy or waits long, done in a process of its own that is started for
 * one task and ends with it. It is started by etcdwatch and by the CLI, may block as it likes, and
 * tells its caller in JSON lines (result.h) what it did. It gives way to everything else on the
 * machine: nothing here is as urgent as etcd's disk, but for a restore, which etcd waits for, and
 * for telling what is wrong with it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/commands.h"
#include "etcdwatch/worker/source/prove.h"

#define NICE 10
/* ioprio_set(2): this process, best effort, last. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_BEST_EFFORT_LAST (2 << 13 | 7)

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	bool is_urgent; /* somebody waits for etcd itself, or is to hear what is wrong with it */
} commands[] = {
    {"prove", command_prove, false},   {"pack", command_pack, false},
    {"unpack", command_unpack, false}, {"open", command_open, true},
    {"newest", command_newest, true},  {"s3", command_s3, false},
    {"drill", command_drill, false},   {"restore", command_restore, true},
    {"notify", command_notify, true},  {"rebuild", command_rebuild, true},
    {"health", command_health, true},  {"record", command_record, false},
};

static void give_way(void)
{
	/* Without it, the work is the same. */
	(void) setpriority(PRIO_PROCESS, 0, NICE);
	(void) syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_BEST_EFFORT_LAST);
}

int main(int argc, char **argv)
{
	struct problem problem = {0};

	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		(void) puts("etcdwatch-worker " FAIRLEAD_VERSION);
		return EXIT_SUCCESS;
	}
	cancel_watch();
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		if (!commands[i].is_urgent)
			give_way();
		return commands[i].run(argc - 1, argv + 1);
	}
	(void) problem_set(&problem, -EINVAL, "USAGE", "%s",
	                   "etcdwatch-worker is started by etcdwatch(8) and fairlead(1) with one of: "
	                   "prove, pack, unpack, open, newest, s3, drill, restore, notify, rebuild, "
	                   "health, record");
	return result_fail(&problem);
}
