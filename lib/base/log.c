/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats one logfmt line into a fixed buffer and writes it with a single write(2), so that lines
 * of several threads (gRPC's own logger) never mix. Holds nothing but the level.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 2048

static enum log_level current_level = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	current_level = level;
}

bool log_is_enabled(enum log_level level)
{
	return level <= current_level;
}

int log_level_parse(const char *word, enum log_level *ret_level)
{
	static const struct {
		const char *word;
		enum log_level level;
	} levels[] = {
	    {"error", LOG_LEVEL_ERROR}, {"warning", LOG_LEVEL_WARNING}, {"notice", LOG_LEVEL_NOTICE},
	    {"info", LOG_LEVEL_INFO},   {"debug", LOG_LEVEL_DEBUG},
	};

	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		if (strcmp(word, levels[i].word) == 0) {
			*ret_level = levels[i].level;
			return 0;
		}
	}
	return -EINVAL;
}

/* A value that came from outside must not be able to begin a line of its own. */
static void blank_control_characters(char *line, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char) line[i] < 0x20 || line[i] == 0x7f)
			line[i] = ' ';
	}
}

static void PRINTF_LIKE(3, 0)
    emit(enum log_level level, const char *event, const char *fmt, va_list ap, int err)
{
	char line[LINE_MAX_BYTES];
	/* One byte stays free for the newline; snprintf tells how much it wanted, not what it wrote. */
	const size_t limit = sizeof(line) - 1;
	size_t len;
	int n;

	n = snprintf(line, limit, "<%d>event=%s ", (int) level, event);
	len = MIN((size_t) MAX(n, 0), limit - 1);
	n = vsnprintf(line + len, limit - len, fmt, ap);
	len = MIN(len + (size_t) MAX(n, 0), limit - 1);
	if (err != 0) {
		n = snprintf(line + len, limit - len, " err=\"%s\"", strerror(err));
		len = MIN(len + (size_t) MAX(n, 0), limit - 1);
	}
	blank_control_characters(line, len);
	line[len++] = '\n';
	(void) !write(STDERR_FILENO, line, len);
}

void log_line(enum log_level level, const char *event, const char *fmt, ...)
{
	va_list ap;

	if (!log_is_enabled(level))
		return;
	va_start(ap, fmt);
	emit(level, event, fmt, ap, 0);
	va_end(ap);
}

int log_line_errno(enum log_level level, int r, const char *event, const char *fmt, ...)
{
	va_list ap;

	if (log_is_enabled(level)) {
		va_start(ap, fmt);
		emit(level, event, fmt, ap, r < 0 ? -r : r);
		va_end(ap);
	}
	return r;
}

bool log_ratelimit_allow(struct log_ratelimit *rl, int64_t now_us, unsigned *ret_suppressed)
{
	if (rl->window_start_us == 0 || now_us - rl->window_start_us >= rl->interval_us) {
		rl->window_start_us = now_us;
		rl->used = 0;
	}
	if (rl->used >= rl->burst) {
		rl->suppressed++;
		return false;
	}
	rl->used++;
	*ret_suppressed = rl->suppressed;
	rl->suppressed = 0;
	return true;
}
