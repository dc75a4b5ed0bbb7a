/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Starts another program, with nothing of ours but what it is given: no descriptors, no blocked or
 * ignored signals. The caller reaps it (ev_child, waitpid(2)).
 */
#include <stdbool.h>
#include <sys/types.h>

/* Where `extra` is found by the program. */
#define SPAWN_EXTRA_FD 3

struct spawn {
	const char *const *argv; /* ends with NULL; argv[0] is its path, or its name with in_path */
	bool in_path;            /* looked up in PATH */
	bool own_group;          /* the head of a process group: kill(-pid) gets what it starts too */
	/* Descriptors, each with a bit in `given` that it is meant. */
	int in;    /* else /dev/null; none of 1 to 3 */
	int out;   /* else /dev/null */
	int err;   /* else our standard error */
	int extra; /* becomes SPAWN_EXTRA_FD */
	unsigned given;
};

#define SPAWN_OUT (1u << 0)
#define SPAWN_ERR (1u << 1)
#define SPAWN_EXTRA (1u << 2)
#define SPAWN_IN (1u << 3)

/* 0 or -errno: then nothing runs. Everything is borrowed for the call. */
int spawn_program(const struct spawn *spawn, pid_t *ret_pid);
