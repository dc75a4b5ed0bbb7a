/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netconf that is killed in the middle of a change: linked into build/tests/fault/netconf-dies in
 * place of the call that carries out a step (ld --wrap). The file that NETCONF_DIE names says
 * before which step, counted from 1, and is removed then, so that nobody dies twice: "3" kills the
 * process, "3 all" also the guard of the change, as a loss of power does. And its patience is
 * short: NETCONF_UNDO_S says for how many seconds it tries to undo a change.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netconf/kernel/kernel.h"
#include "netconf/change/lockfile.h"
#include "netconf/change/undo.h"

int __real_kernel_carry_out(struct kernel *kernel, const struct op *op);
int __wrap_kernel_carry_out(struct kernel *kernel, const struct op *op);

struct undo *__real_undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                               const struct undo_parts *parts, int64_t limit_us,
                               settle_done_fn tried, settle_done_fn done, void *userdata);
struct undo *__wrap_undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                               const struct undo_parts *parts, int64_t limit_us,
                               settle_done_fn tried, settle_done_fn done, void *userdata);

struct undo *__wrap_undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                               const struct undo_parts *parts, int64_t limit_us,
                               settle_done_fn tried, settle_done_fn done, void *userdata)
{
	const char *seconds = getenv("NETCONF_UNDO_S");

	if (seconds != NULL)
		limit_us = atoi(seconds) * INT64_C(1000000);
	return __real_undo_start(ev, kernel, ledger, parts, limit_us, tried, done, userdata);
}

static void die_if_told(void)
{
	static int step; /* since there is the file */
	const char *path = getenv("NETCONF_DIE"), *guard_lock = getenv("NETCONF_GUARD_LOCK");
	FILE *file = path != NULL ? fopen(path, "re") : NULL;
	char all[8] = "";
	int at = 0;
	pid_t guard;

	if (file == NULL)
		return;
	step++;
	if (fscanf(file, "%d %7s", &at, all) < 1)
		at = 0;
	(void) fclose(file);
	if (at != step || unlink(path) < 0)
		return;
	guard = strcmp(all, "all") == 0 && guard_lock != NULL ? lockfile_holder(guard_lock) : 0;
	if (guard > 0)
		(void) kill(guard, SIGKILL);
	(void) kill(getpid(), SIGKILL);
}

int __wrap_kernel_carry_out(struct kernel *kernel, const struct op *op)
{
	die_if_told();
	return __real_kernel_carry_out(kernel, op);
}
