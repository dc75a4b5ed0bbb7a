/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fsm.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "tests/unit/check.h"

enum { IDLE, BUSY, DONE, N_STATES };

static const struct fsm_state table[N_STATES] = {
    [IDLE] = {"idle", FSM_TO(BUSY)},
    [BUSY] = {"busy", FSM_TO(IDLE) | FSM_TO(DONE) | FSM_TO(BUSY)},
    [DONE] = {"done", 0},
};

static const struct {
	unsigned from, to;
	bool allowed;
} cases[] = {
    {IDLE, BUSY, true}, {IDLE, DONE, false}, {IDLE, IDLE, false},     {BUSY, IDLE, true},
    {BUSY, BUSY, true}, {BUSY, DONE, true},  {DONE, IDLE, false},     {DONE, DONE, false},
    {BUSY, 3, false},   {3, IDLE, false},    {BUSY, UINT_MAX, false}, {UINT_MAX, BUSY, false},
};

/* How a process that makes this move ends: 0, or the signal. Its log is not shown. */
static int end_of_move(unsigned from, unsigned to)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		const struct rlimit no_core = {0, 0};
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		(void) setrlimit(RLIMIT_CORE, &no_core);
		(void) dup2(null, STDERR_FILENO);
		(void) signal(SIGABRT, SIG_DFL);
		fsm_check(table, N_STATES, from, to);
		_exit(0);
	}
	CHECK_EQ_INT(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_EQ_INT(fsm_allows(table, N_STATES, cases[i].from, cases[i].to), cases[i].allowed);
		CHECK_EQ_INT(end_of_move(cases[i].from, cases[i].to), cases[i].allowed ? 0 : SIGABRT);
	}
	/* A state that the mask has and the table has not. */
	CHECK(!fsm_allows(table, N_STATES - 1, BUSY, DONE));
	return check_result();
}
