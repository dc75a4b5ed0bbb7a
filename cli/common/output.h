/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What another program prints, bounded in time and size. A program that does not end in time is
 * killed with all that it has started; one that cannot even be killed (it waits for a disk) is left
 * behind.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output {
	char *text; /* never NULL after output_run(); a NUL behind it; may hold others */
	size_t len;
	bool is_cut;   /* there was more */
	int exit_code; /* 128 + the signal, as a shell says it; -1: it has not ended */
};

void output_fini(struct output *output);

/*
 * Runs `words` (in PATH; ends with NULL) with standard output and error to one place. 0, whatever
 * it exits with; -ENOENT: it is not installed; -ETIMEDOUT: then `ret` has what it printed until
 * then; or -errno. *ret is always filled.
 */
int output_run(const char *const *words, int64_t timeout_us, size_t max_bytes, struct output *ret);
