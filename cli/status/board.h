/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a node's answers come to: a line for each thing that is there, and what wants attention with
 * what to do about it. Pure; the board copies all text.
 *
 * A board for people, and as JSON. Pure.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "cli/common/cli.h"
#include "cli/status/node.h"

/* From good to bad. */
enum board_level {
	BOARD_ABSENT, /* nothing of it is on this node */
	BOARD_OK,
	BOARD_WARNED,
	BOARD_FAILED,
};

struct board_line {
	enum board_level level;
	const char *part; /* "vip", "etcd"; static */
	char *text;
};

struct board_matter {
	enum board_level level;
	const char *part; /* static */
	char *what;
	char *to_do;
};

struct board {
	char *node; /* this node's name; NULL: nobody told */
	struct board_line *lines;
	size_t n_lines;
	struct board_matter *matters;
	size_t n_matters;
	bool is_denied;   /* some daemon is not for this user */
	size_t n_running; /* daemons that answered, or should have */
};

void board_fini(struct board *board);

/* Of all replies; the worst lines and matters first. */
void board_fill(struct board *board, const struct node_reply replies[static NODE_QUESTIONS],
                int64_t wall_us);

/* The worst of all lines. */
enum board_level board_worst(const struct board *board);
/* "failed" */
const char *board_level_name(enum board_level level);
/* What it is worth as an exit code. */
int board_exit(const struct board *board);

/* --- for those who fill it --- */

/* A new line, of which all is well; the following are about the last one. */
void board_begin(struct board *board, const char *part);
/* More text for it; a semicolon stands between. */
void board_say(struct board *board, const char *fmt, ...) PRINTF_LIKE(2, 3);
void board_raise(struct board *board, enum board_level level);
/* Something that wants attention; it raises the line's level. to_do may be "". */
void board_matter(struct board *board, enum board_level level, const char *to_do, const char *fmt,
                  ...) PRINTF_LIKE(4, 5);

void board_vip(struct board *board, const json_t *objects);
void board_prism(struct board *board, const json_t *objects);
/* Each but the health may be NULL. */
void board_etcd(struct board *board, const json_t *health, const json_t *members,
                const json_t *alarms, int64_t wall_us);
void board_snapshots(struct board *board, const json_t *jobs, const json_t *health);
void board_record(struct board *board, const json_t *objects);
void board_net(struct board *board, const json_t *objects);
void board_ports(struct board *board, const struct node_reply replies[static NODE_QUESTIONS]);

/* No line is longer than `width`, unless a word is. At the end what wants attention, the worst
 * first, and what to do. */
void board_print(FILE *out, const struct board *board, size_t width);

/* One object: fairlead(1) has its keys. The caller owns it. */
json_t *board_json(const struct board *board);
