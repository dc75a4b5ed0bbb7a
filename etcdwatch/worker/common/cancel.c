/* SPDX-License-Identifier: Apache-2.0 */
/* A flag. System calls that wait are interrupted, as the handlers ask for no restart. */
#include "etcdwatch/worker/common/cancel.h"

#include <signal.h>

#include "base/macro.h"

static volatile sig_atomic_t wanted;

static void on_signal(int signal UNUSED)
{
	wanted = 1;
}

void cancel_watch(void)
{
	const struct sigaction action = {.sa_handler = on_signal};

	(void) sigaction(SIGTERM, &action, NULL);
	(void) sigaction(SIGINT, &action, NULL);
	(void) signal(SIGPIPE, SIG_IGN);
}

bool cancel_is_wanted(void)
{
	return wanted != 0;
}
