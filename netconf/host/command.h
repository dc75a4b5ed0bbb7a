/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs a program to its end and takes what it says. Blocking, with a time limit, for the few short
 * questions and orders to the service manager that a transaction needs.
 */

#include <stddef.h>
#include <stdint.h>

#define COMMAND_OUTPUT_MAX 16384

/*
 * argv[0] is looked up in PATH; the array ends with NULL. Its output and errors, together and cut
 * at COMMAND_OUTPUT_MAX, are the caller's to free. 0: it ended with status 0; -EREMOTEIO: it ended
 * otherwise; -ETIMEDOUT: it was killed when limit_us was over; or another -errno with no output.
 */
int command_run(const char *const *argv, int64_t limit_us, char **ret_output);
