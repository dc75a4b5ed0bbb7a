/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats one logfmt line into a fixed buffer and writes it with a single write(2), so that lines
 * of several threads (gRPC's own logger) never mix. Holds nothing but the level.
 */
#include "base/log.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/printable.h"

#define LINE_MAX_BYTES 2048
/* Formats are ours, and short. */
#define FORMAT_MAX_BYTES 1024

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

static void mark_quotes(char marked[static FORMAT_MAX_BYTES], const char *fmt, char mark)
{
	assert(strlen(fmt) < FORMAT_MAX_BYTES);
	(void) strcpy(marked, fmt);
	for (char *p = marked; *p != '\0'; p++)
		*p = *p == '"' ? mark : *p;
}

/*
 * A value that came from outside must not be able to end its quotes and go on with fields of its
 * own: a quote in it becomes an apostrophe. Which quotes are the format's is seen by formatting
 * twice, with one mark in their place and with another: what differs is theirs.
 */
static size_t PRINTF_LIKE(3, 0) format_fields(char *text, size_t limit, const char *fmt, va_list ap)
{
	char marked[FORMAT_MAX_BYTES], other[LINE_MAX_BYTES];
	va_list again;
	size_t len;
	int n;

	assert(limit <= sizeof(other));
	va_copy(again, ap);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	mark_quotes(marked, fmt, '\1');
	n = vsnprintf(text, limit, marked, ap);
	mark_quotes(marked, fmt, '\2');
	(void) vsnprintf(other, limit, marked, again);
#pragma GCC diagnostic pop
	va_end(again);
	len = MIN((size_t) MAX(n, 0), limit - 1);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			text[i] = '\'';
		else if (text[i] != other[i])
			text[i] = '"';
	}
	return len;
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
	len += format_fields(line + len, limit - len, fmt, ap);
	if (err != 0) {
		n = snprintf(line + len, limit - len, " err=\"%s\"", strerror(err));
		len = MIN(len + (size_t) MAX(n, 0), limit - 1);
	}
	printable_blank(line, len);
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
