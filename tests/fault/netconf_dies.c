/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netconf that is killed in the middle of a change: linked into build/tests/fault/netconf-dies in
 * place of the call that carries out a step, and of that which begins to probe (ld --wrap). The
 * file that NETCONF_DIE names says before which step, counted from 1, or "probes", and is removed
 * then, so that nobody dies twice: "3" kills the process, "3 all" also the guard of the change, as
 * a loss of power does. And its patience is short: NETCONF_UNDO_S says for how many seconds it
 * tries to undo a change.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netconf/kernel/kernel.h"
#include "netconf/change/statedir.h"
#include "netconf/change/undo.h"
#include "netconf/probe/probe.h"

#define WORD_MAX 8

int __real_kernel_carry_out(struct kernel *kernel, const struct op *op);
int __wrap_kernel_carry_out(struct kernel *kernel, const struct op *op);

struct undo *__real_undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                               const struct undo_parts *parts, int64_t limit_us,
                               settle_done_fn tried, settle_done_fn done, void *userdata);
struct undo *__wrap_undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                               const struct undo_parts *parts, int64_t limit_us,
                               settle_done_fn tried, settle_done_fn done, void *userdata);

void __real_probes_judge(struct probes *probes, const struct model *have, probes_judged_fn judged,
                         void *userdata);
void __wrap_probes_judge(struct probes *probes, const struct model *have, probes_judged_fn judged,
                         void *userdata);

struct undo *__wrap_undo_start(struct ev_loop *ev, struct kernel *kernel, struct ledger *ledger,
                               const struct undo_parts *parts, int64_t limit_us,
                               settle_done_fn tried, settle_done_fn done, void *userdata)
{
	const char *seconds = getenv("NETCONF_UNDO_S");

	if (seconds != NULL)
		limit_us = atoi(seconds) * INT64_C(1000000);
	return __real_undo_start(ev, kernel, ledger, parts, limit_us, tried, done, userdata);
}

/* "" : nobody is to die. */
static void read_told(const char *path, char ret_at[static WORD_MAX], char ret_who[static WORD_MAX])
{
	FILE *file = path != NULL ? fopen(path, "re") : NULL;

	ret_at[0] = ret_who[0] = '\0';
	if (file == NULL)
		return;
	(void) !fscanf(file, "%7s %7s", ret_at, ret_who);
	(void) fclose(file);
}

static void die_if_told(const char *here)
{
	const char *path = getenv("NETCONF_DIE"), *guard_lock = getenv("NETCONF_GUARD_LOCK");
	char at[WORD_MAX], who[WORD_MAX];
	pid_t guard;

	read_told(path, at, who);
	if (strcmp(at, here) != 0 || unlink(path) < 0)
		return;
	guard = strcmp(who, "all") == 0 && guard_lock != NULL ? lockfile_holder(guard_lock) : 0;
	if (guard > 0)
		(void) kill(guard, SIGKILL);
	(void) kill(getpid(), SIGKILL);
}

int __wrap_kernel_carry_out(struct kernel *kernel, const struct op *op)
{
	static int step; /* since there is the file */
	const char *path = getenv("NETCONF_DIE");
	char text[WORD_MAX];

	if (path != NULL && access(path, F_OK) == 0) {
		(void) snprintf(text, sizeof(text), "%d", ++step % 1000);
		die_if_told(text);
	}
	return __real_kernel_carry_out(kernel, op);
}

void __wrap_probes_judge(struct probes *probes, const struct model *have, probes_judged_fn judged,
                         void *userdata)
{
	die_if_told("probes");
	__real_probes_judge(probes, have, judged, userdata);
}
