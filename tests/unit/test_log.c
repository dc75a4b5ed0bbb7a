/* SPDX-License-Identifier: Apache-2.0 */
/* What log lines look like on a real stderr: a pipe in its place. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/check.h"

static int pipe_fds[2];
static int real_stderr;

static void capture_begin(void)
{
	(void) fflush(stderr);
	(void) dup2(pipe_fds[1], STDERR_FILENO);
}

/* What was written since; valid until the next call. */
static const char *capture_end(void)
{
	static char text[8192];
	ssize_t n;

	(void) dup2(real_stderr, STDERR_FILENO);
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void test_lines(void)
{
	capture_begin();
	log_notice("vip_state", "vip=%s old=%s", "10.0.0.5", "standby");
	CHECK_EQ_STR(capture_end(), "<5>event=vip_state vip=10.0.0.5 old=standby\n");

	capture_begin();
	CHECK_EQ_INT(log_error_errno(-ENOENT, "open_failed", "path=%s", "/x"), -ENOENT);
	CHECK_EQ_STR(capture_end(), "<3>event=open_failed path=/x err=\"No such file or directory\"\n");

	/* One call is one line, whatever is in the values. */
	capture_begin();
	log_warning("evil", "value=\"%s\"", "a\n<0>event=forged\tb\x7f\x1b[31m");
	CHECK_EQ_STR(capture_end(), "<4>event=evil value=\"a <0>event=forged b  [31m\"\n");

	/* C1 in two bytes; a letter that begins or goes on like one stays. */
	capture_begin();
	log_warning("evil", "value=\"%s\"",
	            "a\xc2\x9b"
	            "31m\xc2\x80\xc2\x9f\xc2\xa0\xc3\x9b\xc2");
	CHECK_EQ_STR(capture_end(), "<4>event=evil value=\"a  31m    \xc2\xa0\xc3\x9b\xc2\"\n");

	/* A value stays in its quotes, whatever is in it: those of the format alone are quotes. */
	capture_begin();
	log_warning("evil", "text=\"%s\" n=%d of=\"%s\"", "x\" lease=1 y=\"\1\2\\\"", 7, "\"");
	CHECK_EQ_STR(capture_end(), "<4>event=evil text=\"x' lease=1 y='  \\'\" n=7 of=\"'\"\n");
	capture_begin();
	(void) log_error_errno(-ENOENT, "evil", "text=\"%s\"", "\"");
	CHECK_EQ_STR(capture_end(), "<3>event=evil text=\"'\" err=\"No such file or directory\"\n");
}

static void test_levels(void)
{
	static const struct {
		const char *word;
		enum log_level level;
	} levels[] = {
	    {"error", LOG_LEVEL_ERROR}, {"warning", LOG_LEVEL_WARNING}, {"notice", LOG_LEVEL_NOTICE},
	    {"info", LOG_LEVEL_INFO},   {"debug", LOG_LEVEL_DEBUG},
	};
	enum log_level got = LOG_LEVEL_ERROR;

	CHECK_EQ_INT(log_level_parse("loud", &got), -EINVAL);
	CHECK_EQ_INT(log_level_parse("", &got), -EINVAL);
	CHECK(log_is_enabled(LOG_LEVEL_INFO) && !log_is_enabled(LOG_LEVEL_DEBUG));
	for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
		CHECK_EQ_INT(log_level_parse(levels[i].word, &got), 0);
		CHECK_EQ_INT(got, levels[i].level);
		log_set_level(got);
		for (size_t k = 0; k < ARRAY_SIZE(levels); k++) {
			capture_begin();
			log_line(levels[k].level, "e", "x=%d", 1);
			CHECK_EQ_INT(capture_end()[0] != '\0', levels[k].level <= got);
			capture_begin();
			CHECK_EQ_INT(log_line_errno(levels[k].level, -EIO, "e", "x=%d", 1), -EIO);
			CHECK_EQ_INT(capture_end()[0] != '\0', levels[k].level <= got);
		}
	}
	/* What is off costs nothing: not even its arguments are looked at. */
	log_set_level(LOG_LEVEL_INFO);
	{
		int evaluated = 0;

		log_debug("e", "x=%d", ++evaluated);
		CHECK_EQ_INT(evaluated, 0);
	}
}

/* Too long is cut, and still ends its line. */
static void test_long(void)
{
	char value[5000];
	const char *line;

	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	capture_begin();
	log_info("long", "value=%s", value);
	line = capture_end();
	CHECK_EQ_INT(strlen(line), 2047);
	CHECK_EQ_INT(strncmp(line, "<6>event=long value=xxx", 23), 0);
	CHECK(strchr(line, '\n') == line + strlen(line) - 1);
	capture_begin();
	(void) log_error_errno(-EIO, "long", "value=%s", value);
	line = capture_end();
	CHECK(strchr(line, '\n') == line + strlen(line) - 1);
}

static void test_ratelimit(void)
{
	struct log_ratelimit rl = {.interval_us = 1000, .burst = 2};
	static const struct {
		int64_t now_us;
		bool allow;
		unsigned suppressed;
	} steps[] = {
	    {5000, true, 0}, {5001, true, 0}, {5002, false, 0}, {5999, false, 0},
	    {6000, true, 2}, {6001, true, 0}, {6002, false, 0}, {9000, true, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		unsigned suppressed = 0;

		CHECK_EQ_INT(log_ratelimit_allow(&rl, steps[i].now_us, &suppressed), steps[i].allow);
		CHECK_EQ_INT(suppressed, steps[i].suppressed);
	}
}

int main(void)
{
	real_stderr = dup(STDERR_FILENO);
	if (real_stderr < 0 || pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC) < 0)
		return 1;
	test_lines();
	test_levels();
	test_long();
	test_ratelimit();
	return check_result();
}
