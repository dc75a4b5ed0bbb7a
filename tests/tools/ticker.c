/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes down how long processes were kept from a processor: one on each that wants to wake up
 * every 5 ms and looks how much too late that was.
 *
 *	ticker [--ahead]	with --ahead before all else that runs, so that only the machine
 *				itself can hold it up; else as its caller, like what that starts
 *
 * A line for each time that was late by more than LATE_MS:
 *
 *	SECONDS LATE_MS cpuN BOOT_SECONDS
 *
 * when it woke up by the wall's clock and by that of the boot. The first line, late by 0, says that
 * it has begun. Ends with its parent.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 5000000L
#define LATE_MS 20
#define NS_PER_S 1000000000L

static double seconds(clockid_t clock)
{
	struct timespec ts;

	(void) clock_gettime(clock, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec / NS_PER_S;
}

/* One write a line: several processes write to the same file. */
static void tell(double late_ms, int cpu)
{
	char line[96];
	int n = snprintf(line, sizeof(line), "%.6f %.0f cpu%d %.2f\n", seconds(CLOCK_REALTIME), late_ms,
	                 cpu, seconds(CLOCK_BOOTTIME));

	if (write(STDOUT_FILENO, line, (size_t) n) != n)
		_exit(1);
}

static void go_ahead(void)
{
	const struct sched_param param = {.sched_priority = 10};

	if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
		(void) setpriority(PRIO_PROCESS, 0, -20);
}

static void tick(int cpu)
{
	double before = seconds(CLOCK_MONOTONIC);

	for (;;) {
		const struct timespec tick_time = {.tv_nsec = TICK_NS};
		double now, late_ms;

		(void) nanosleep(&tick_time, NULL);
		now = seconds(CLOCK_MONOTONIC);
		late_ms = (now - before) * 1e3 - (double) TICK_NS / 1e6;
		before = now;
		if (late_ms > LATE_MS)
			tell(late_ms, cpu);
	}
}

static void start(int cpu)
{
	cpu_set_t one;

	if (fork() != 0)
		return;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	CPU_SET((size_t) cpu, &one);
	(void) sched_setaffinity(0, sizeof(one), &one);
	tick(cpu);
}

int main(int argc, char **argv)
{
	cpu_set_t all;

	if (argc > 2 || (argc == 2 && strcmp(argv[1], "--ahead") != 0)) {
		(void) fprintf(stderr, "usage: ticker [--ahead]\n");
		return 2;
	}
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_getaffinity(0, sizeof(all), &all) < 0) {
		(void) fprintf(stderr, "ticker: %s\n", strerror(errno));
		return 1;
	}
	if (argc == 2)
		go_ahead();
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET((size_t) cpu, &all))
			start(cpu);
	}
	tell(0, 0);
	for (;;)
		(void) pause();
}
