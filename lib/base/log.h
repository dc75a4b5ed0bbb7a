/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One logfmt line on stderr per call, prefixed with the <N> priority that journald understands
 * (sd-daemon(3)):  <5>event=vip_state vip=10.0.0.5 old=standby new=taking reason="owner silent"
 *
 * `event` is a constant word, and the same key means the same thing everywhere: vip, ifname,
 * upstream, member, node, lease, rev, err, dur_ms. Free text goes in double quotes in the format.
 * Control characters in the values are escaped, so one call is always one line.
 *
 * Levels: error = gave up; warning = goes on, but look; notice = ownership changed; info = rare;
 * debug = anything, off by default. Code in lib/ logs at debug only.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

enum log_level {
	LOG_LEVEL_ERROR = 3,
	LOG_LEVEL_WARNING = 4,
	LOG_LEVEL_NOTICE = 5,
	LOG_LEVEL_INFO = 6,
	LOG_LEVEL_DEBUG = 7,
};

/* Lines above this level are dropped. Default: LOG_LEVEL_INFO. */
void log_set_level(enum log_level level);
bool log_is_enabled(enum log_level level);

/* "error" ... "debug"; -EINVAL for any other word. */
int log_level_parse(const char *word, enum log_level *ret_level);

void log_line(enum log_level level, const char *event, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* The same with ` err="<strerror(-r)>"` appended; returns r, so that a caller can end with it. */
int log_line_errno(enum log_level level, int r, const char *event, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

#define log_error(event, ...) log_line(LOG_LEVEL_ERROR, event, __VA_ARGS__)
#define log_warning(event, ...) log_line(LOG_LEVEL_WARNING, event, __VA_ARGS__)
#define log_notice(event, ...) log_line(LOG_LEVEL_NOTICE, event, __VA_ARGS__)
#define log_info(event, ...) log_line(LOG_LEVEL_INFO, event, __VA_ARGS__)
#define log_debug(event, ...)                              \
	do {                                                   \
		if (log_is_enabled(LOG_LEVEL_DEBUG))               \
			log_line(LOG_LEVEL_DEBUG, event, __VA_ARGS__); \
	} while (0)
#define log_error_errno(r, event, ...) log_line_errno(LOG_LEVEL_ERROR, r, event, __VA_ARGS__)
#define log_warning_errno(r, event, ...) log_line_errno(LOG_LEVEL_WARNING, r, event, __VA_ARGS__)

/*
 * Repeats: at most `burst` lines in `interval_us`. log_ratelimit_allow() answers whether to log now
 * and stores in *ret_suppressed how many were held back since the last one that was let through.
 */
struct log_ratelimit {
	int64_t interval_us;
	unsigned burst;
	int64_t window_start_us;
	unsigned used;
	unsigned suppressed;
};

bool log_ratelimit_allow(struct log_ratelimit *rl, int64_t now_us, unsigned *ret_suppressed);
