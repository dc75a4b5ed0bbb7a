/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the machine kept from this process: for how long its threads were ready to run and did not,
 * since they began (proc(5), schedstat), and what the machine itself was kept from (proc(5), stat:
 * steal). The difference between two readings is what a test adds to "not later than". Where the
 * kernel does not count, it is 0, and tests are as strict as on a machine that is idle.
 */

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mono.h"

static inline int64_t stolen_from_thread_us(const char *tid)
{
	long long ran_ns, waited_ns = 0;
	char path[64];
	FILE *f;

	(void) snprintf(path, sizeof(path), "/proc/self/task/%.20s/schedstat", tid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	if (fscanf(f, "%lld %lld", &ran_ns, &waited_ns) != 2)
		waited_ns = 0;
	(void) fclose(f);
	return waited_ns / 1000;
}

static inline int64_t stolen_from_machine_us(void)
{
	FILE *f = fopen("/proc/stat", "re");
	long long ticks = 0;

	if (f == NULL)
		return 0;
	if (fscanf(f, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &ticks) != 1)
		ticks = 0;
	(void) fclose(f);
	return ticks * US_PER_S / sysconf(_SC_CLK_TCK);
}

static inline UNUSED int64_t stolen_us(void)
{
	int64_t us = stolen_from_machine_us();
	const struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");

	if (tasks == NULL)
		return us;
	for (entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
		if (entry->d_name[0] != '.')
			us += stolen_from_thread_us(entry->d_name);
	}
	(void) closedir(tasks);
	return us;
}

/*
 * For how long anything on the machine was ready to run and did not, or waited for a disk (PSI,
 * "some"): that may have been a server that the test started. 0 where the kernel does not count.
 */
static inline UNUSED int64_t pressure_us(void)
{
	static const char *const paths[] = {"/proc/pressure/cpu", "/proc/pressure/io"};
	int64_t us = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		FILE *f = fopen(paths[i], "re");
		long long total = 0;

		if (f == NULL)
			continue;
		if (fscanf(f, "some avg10=%*f avg60=%*f avg300=%*f total=%lld", &total) == 1)
			us += total;
		(void) fclose(f);
	}
	return us;
}

/* Since an earlier reading. (With a thread goes what it counted.) */
static inline UNUSED int64_t stolen_since_us(int64_t before_us)
{
	return MAX(stolen_us() - before_us, (int64_t) 0);
}
