/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lets one chosen call on files below one directory fail, in whichever of the processes of a test
 * makes it: etcdwatch and etcdwatch-worker are linked once more with this in place of the calls (ld
 * --wrap), so that they themselves have no switch for it, and sanitizers are not in the way. All of
 * them count in one piece of shared memory, by which the test chooses. What libraries call is not
 * touched.
 *
 * Apart from that, a disk that hangs: nothing is written or synced below the directory that the
 * environment names while DIRECTORY.hang is there.
 */

#include <stdatomic.h>
#include <stdbool.h>

#define DISK_FAULTS_ENV "FAIRLEAD_TEST_FAULTS" /* path of the file that is shared */
#define DISK_HANG_ENV "FAIRLEAD_TEST_HANG"
#define DISK_PATH_MAX 256
#define DISK_CALLS_MAX 2048

enum disk_call {
	DISK_OPEN,   /* of what is there */
	DISK_CREATE, /* open with O_CREAT */
	DISK_OPENDIR,
	DISK_READDIR,
	DISK_READ,
	DISK_STAT, /* stat, access, statvfs */
	DISK_CLOSE,
	DISK_MKDIR, /* from here on: what changes something */
	DISK_WRITE,
	DISK_FSYNC,
	DISK_FCHMOD,
	DISK_RENAME,
	DISK_UNLINK,
};

enum disk_action {
	DISK_COUNT, /* nothing happens to it */
	DISK_FAIL,  /* with the errno; a close has closed all the same */
	DISK_SHORT, /* half of it is read or written */
	DISK_KILL,  /* the process is killed instead */
};

struct disk_faults {
	char directory[DISK_PATH_MAX];
	unsigned at; /* which call, from 0 on */
	enum disk_action action;
	int error;
	atomic_uint n_calls;
	atomic_bool reached;
	struct {
		enum disk_call call;
		char name[DISK_PATH_MAX]; /* for people */
	} calls[DISK_CALLS_MAX];
};
