/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slews the clock of the kernel that it runs on, as an NTP client does, and tells how fast it goes.
 *
 *	slewclock [--tick US] [--freq PPM] [--adjtime US]
 *
 * The length of a tick (10000 is right), a frequency, and what is still to be made up for at 500 us
 * a second (adjtime(3)). Then a line: CLOCK_BOOTTIME and CLOCK_MONOTONIC_RAW in microseconds, of
 * the same moment, and the tick and the frequency that are in force. Exits with 1 and the reason
 * where the kernel refuses.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "base/mono.h"

/* Reads both again until nothing came in between. */
#define BETWEEN_US 100
#define TRIES 1000

static struct mono_moment both_now(void)
{
	struct mono_moment now = {0};

	for (int i = 0; i < TRIES; i++) {
		int64_t before_us = mono_now_us();

		now = mono_moment_now();
		if (mono_now_us() - before_us < BETWEEN_US)
			break;
	}
	return now;
}

static int set(const char *option, const char *value)
{
	struct timex t = {0};

	if (strcmp(option, "--tick") == 0) {
		t.modes = ADJ_TICK;
		t.tick = strtol(value, NULL, 10);
	} else if (strcmp(option, "--freq") == 0) {
		t.modes = ADJ_FREQUENCY;
		t.freq = strtol(value, NULL, 10) * 65536;
	} else if (strcmp(option, "--adjtime") == 0) {
		t.modes = ADJ_OFFSET_SINGLESHOT;
		t.offset = strtol(value, NULL, 10);
	} else {
		return -EINVAL;
	}
	return adjtimex(&t) < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
	struct timex in_force = {0};
	struct mono_moment now;

	for (int i = 1; i + 1 < argc; i += 2) {
		int r = set(argv[i], argv[i + 1]);

		if (r < 0) {
			(void) fprintf(stderr, "%s %s: %s\n", argv[i], argv[i + 1], strerror(-r));
			return 1;
		}
	}
	(void) adjtimex(&in_force);
	now = both_now();
	printf("%lld %lld %ld %.0f\n", (long long) now.us, (long long) now.raw_us, in_force.tick,
	       (double) in_force.freq / 65536);
	return 0;
}
