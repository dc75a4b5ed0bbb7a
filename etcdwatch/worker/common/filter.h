/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Another program as a stage: what is written goes to its stdin, what it prints on stdout goes to
 * the next stage. It is run directly, without a shell, in a session of its own so that it cannot
 * ask on a terminal, and dies with this process. A program that moves nothing for a while is
 * killed, and so is one that takes longer than it may. It succeeded when it exited with 0 after its
 * input was closed; else its first words on stderr, or its last, are part of the sentence.
 */

#include <stdbool.h>

#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"

#define FILTER_STALL_MS 60000

struct filter_program {
	const char *const *argv; /* ends with NULL; argv[0] is looked up in PATH */
	/* A descriptor that it gets as its descriptor 3, or -1. Borrowed. */
	int extra_fd;
	unsigned stall_ms; /* 0: FILTER_STALL_MS */
	unsigned limit_ms; /* for all of it; 0: none */
	bool last_words;   /* it logs as it goes, and why it failed is its last line */
	/* Called while it runs, twice a second at least: who wants to see how far it is. Or NULL. */
	void (*look)(void *userdata);
	void *userdata;
	/* Codes of a problem: of its own, and when the program is not there. */
	const char *code;
	const char *missing_code;
};

/* Takes `next` in any case, and borrows `problem`; copies nothing of `program` but its words. */
int filter_new(const struct filter_program *program, struct sink *next, struct problem *problem,
               struct sink **ret_sink);
