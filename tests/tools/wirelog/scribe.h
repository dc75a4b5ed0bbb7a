/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes a log of the wire (its format: tests/tools/observer.c): lines that begin with a time in
 * microseconds of CLOCK_BOOTTIME, and the marks that a story sends on standard input. Used by
 * observer and tcpwatch. Errors that leave no log end the program.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/macro.h"

struct scribe {
	FILE *log;
	char input[256]; /* an unfinished line of standard input */
	size_t input_len;
	bool input_ended;
};

void scribe_open(struct scribe *s, const char *path);
void scribe_close(struct scribe *s);

void scribe_note(struct scribe *s, int64_t at_us, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* Reads what standard input has: lines "SECONDS.MICROSECONDS TEXT" of the wall clock, as bash's
 * $EPOCHREALTIME gives it, become marks. */
void scribe_read_marks(struct scribe *s);

/* When a frame arrived: the kernel's stamp (SO_TIMESTAMPNS), else now. */
int64_t scribe_frame_time(struct msghdr *msg);

/* A packet socket for `protocol` on the link of this index (0: each), with stamps. */
int scribe_packet_socket(int type, uint16_t protocol, int ifindex);

/* Prints what failed with errno, and exits. */
NORETURN void scribe_die(const char *what);
