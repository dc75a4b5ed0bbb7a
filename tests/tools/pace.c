/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes down how slow the machine is for processes like its caller: twice a second it does a piece
 * of work of the kind that nodes do, some computing, system calls and new processes, and looks how
 * long it took.
 *
 *	pace
 *
 * A line each time, by the wall's clock:
 *
 *	SECONDS FACTOR
 *
 * FACTOR is 1.0 where the piece takes as long as on the machine of bench/RESULTS.md while nothing
 * else runs there. An emulated processor, one that is shared with others or a quota shows as a
 * greater one. Ends with its parent.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EACH_NS 500000000L
#define NS_PER_S 1000000000L
#define PIECE_US 1000.0 /* what it takes there */
#define WORDS 32768
#define ROUNDS 2
#define PASSES 300
#define CHILDREN 4

static double seconds(clockid_t clock)
{
	struct timespec ts;

	(void) clock_gettime(clock, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec / NS_PER_S;
}

/* What comes of it is kept, so that no compiler leaves it out. */
static volatile uint64_t result;

static void compute(void)
{
	static uint64_t words[WORDS];
	uint64_t sum = 88172645463325252;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < WORDS; i++) {
			sum ^= sum << 13;
			sum ^= sum >> 7;
			sum ^= sum << 17;
			words[i] += sum;
		}
	}
	result = words[sum % WORDS];
}

static int pass(const int ends[2])
{
	char byte = 0;

	for (int i = 0; i < PASSES; i++) {
		if (write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1)
			return -errno;
	}
	return 0;
}

static int breed(void)
{
	for (int i = 0; i < CHILDREN; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return -errno;
		if (pid == 0)
			_exit(0);
		(void) waitpid(pid, NULL, 0);
	}
	return 0;
}

int main(void)
{
	const struct timespec each = {.tv_nsec = EACH_NS};
	int ends[2];

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pipe(ends) < 0) {
		(void) fprintf(stderr, "pace: %s\n", strerror(errno));
		return 1;
	}
	for (;;) {
		double began = seconds(CLOCK_MONOTONIC);
		int r;

		compute();
		r = pass(ends);
		if (r == 0)
			r = breed();
		if (r < 0) {
			(void) fprintf(stderr, "pace: %s\n", strerror(-r));
			return 1;
		}
		(void) printf("%.6f %.2f\n", seconds(CLOCK_REALTIME),
		              (seconds(CLOCK_MONOTONIC) - began) * 1e6 / PIECE_US);
		(void) fflush(stdout);
		(void) nanosleep(&each, NULL);
	}
}
