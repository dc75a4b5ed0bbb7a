/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* For a test program that has gRPC look up "localhost": c-ares 1.18 (Debian 12) loses ten bytes
 * each time, which is not what the leak checker is to find. Included once. */

const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libcares.so\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}
