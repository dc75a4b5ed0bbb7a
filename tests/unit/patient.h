/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For what holds only while the process runs when it wants to: each test in a process of its own,
 * and once more when it failed while the machine kept the processor from it, or from a server that
 * it started. What is wrong itself fails every time.
 */

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "tests/unit/stolen.h"

#define PATIENT_TRIES 6
/* Held up for longer than this, a test may fail for no other reason. */
#define PATIENT_HELD_UP_US (10 * US_PER_MS)

typedef void (*patient_fn)(void);

struct patient {
	patient_fn prepare; /* in that process, before the test; NULL: nothing */
	patient_fn test;
	patient_fn finish; /* and behind it */
	pid_t pid;
};

#define PATIENT_HELD_UP 77 /* the exit code of what may be tried again */

static inline UNUSED void patient_begin(struct patient *p)
{
	int64_t stolen_before_us;
	int64_t pressure_before_us;
	bool held_up;

	p->pid = fork();
	if (p->pid != 0)
		return;
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	check_failures = 0; /* of others that went before */
	if (p->prepare != NULL)
		p->prepare();
	stolen_before_us = stolen_us();
	pressure_before_us = pressure_us();
	p->test();
	if (p->finish != NULL)
		p->finish();
	if (check_failures == 0)
		exit(0);
	held_up = stolen_since_us(stolen_before_us) >= PATIENT_HELD_UP_US ||
	          pressure_us() - pressure_before_us >= PATIENT_HELD_UP_US;
	check_exit(held_up ? PATIENT_HELD_UP : 1);
}

/* Waits for its end, and begins it anew where it deserves that. */
static inline UNUSED void patient_end(struct patient *p)
{
	for (int tries = 1;; tries++) {
		int status = -1;

		CHECK_EQ_INT(waitpid(p->pid, &status, 0), p->pid);
		if (tries == PATIENT_TRIES || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != PATIENT_HELD_UP) {
			CHECK_EQ_INT(status, 0);
			return;
		}
		(void) fprintf(stderr, "it was held up: once more\n");
		patient_begin(p);
	}
}

#define PATIENT_BESIDE_MAX 8

/* All of them, so many at a time: most tests of what takes time wait. `like` says what comes before
 * and behind each. */
static inline UNUSED void patiently(const struct patient *like, size_t beside,
                                    const patient_fn *tests, size_t n)
{
	struct patient running[PATIENT_BESIDE_MAX];
	size_t begun = 0;

	for (size_t ended = 0; ended < n; ended++) {
		for (; begun < n && begun - ended < beside; begun++) {
			struct patient *p = &running[begun % PATIENT_BESIDE_MAX];

			*p = *like;
			p->test = tests[begun];
			patient_begin(p);
		}
		patient_end(&running[ended % PATIENT_BESIDE_MAX]);
	}
}
