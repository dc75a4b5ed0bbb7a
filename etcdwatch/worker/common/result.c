/* SPDX-License-Identifier: Apache-2.0 */
/* Each line is flushed, so that the caller sees it when it is printed. */
#include "etcdwatch/worker/common/result.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/jsonval.h"
#include "base/mono.h"
#include "base/printable.h"

/* --- problem --- */

static const char *problem_code_of(int r)
{
	switch (-r) {
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return "NO_SPACE";
	case EIO:
		return "IO";
	case EACCES:
	case EPERM:
	case EROFS:
		return "PERMISSION";
	case ENOENT:
	case ENOTDIR:
		return "NOT_FOUND";
	case EEXIST:
	case ENOTEMPTY:
		return "EXISTS";
	case ECANCELED:
		return "CANCELLED";
	default:
		return "SYSTEM";
	}
}

void problem_note(struct problem *problem, const char *code, const char *fmt, ...)
{
	/* A bundle is read in a thread (pack/unbundle.c), which shares its problem with the others. */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	va_list ap;

	(void) pthread_mutex_lock(&lock);
	if (problem->code[0] == '\0') {
		(void) snprintf(problem->code, sizeof(problem->code), "%s", code);
		va_start(ap, fmt);
		(void) vsnprintf(problem->reason, sizeof(problem->reason), fmt, ap);
		va_end(ap);
		/* Parts of it come from other programs and servers. */
		printable_ascii(problem->reason);
	}
	(void) pthread_mutex_unlock(&lock);
}

void problem_note_errno(struct problem *problem, int r, const char *fmt, ...)
{
	char what[PROBLEM_REASON_MAX - 128];
	va_list ap;

	va_start(ap, fmt);
	(void) vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	problem_note(problem, problem_code_of(r), "%s: %s", what, strerror(-r));
}

/* --- cancel --- */

/* A flag. System calls that wait are interrupted, as the handlers ask for no restart. */

static volatile sig_atomic_t wanted;

static void on_signal(int signal UNUSED)
{
	wanted = 1;
}

void cancel_watch(void)
{
	const struct sigaction action = {.sa_handler = on_signal};

	(void) sigaction(SIGTERM, &action, NULL);
	(void) sigaction(SIGINT, &action, NULL);
	(void) signal(SIGPIPE, SIG_IGN);
}

bool cancel_is_wanted(void)
{
	return wanted != 0;
}

/* --- result --- */

static bool print(json_t *object)
{
	bool ok = object != NULL && json_dumpf(object, stdout, JSON_COMPACT) == 0 &&
	          putchar('\n') != EOF && fflush(stdout) == 0;

	json_decref(object);
	return ok;
}

void result_line(json_t *object)
{
	(void) print(object);
}

void result_doing(const char *step, const char *name)
{
	result_line(json_pack("{s:s, s:o}", "doing", step, "name", jsonval_text(name)));
}

int result_ok(json_t *fields)
{
	json_t *object = json_pack("{s:b}", "ok", 1);

	assert(fields != NULL);
	(void) json_object_update(object, fields);
	json_decref(fields);
	return print(object) ? EXIT_SUCCESS : EXIT_FAILURE;
}

int result_fail(const struct problem *problem)
{
	return result_fail_with(problem, NULL);
}

int result_fail_with(const struct problem *problem, json_t *fields)
{
	json_t *object = json_pack("{s:b, s:s, s:o}", "ok", 0, "error", problem->code, "reason",
	                           jsonval_text(problem->reason));

	if (fields != NULL)
		(void) json_object_update(object, fields);
	json_decref(fields);
	(void) print(object);
	return EXIT_FAILURE;
}

/* --- pace --- */

/* A clock between the lines. */

#define EVERY_US (200 * US_PER_MS)

void pace_begin(struct pace *pace, const char *step, uint64_t of_bytes)
{
	*pace = (struct pace){.step = step, .of_bytes = of_bytes, .told_us = mono_now_us()};
}

void pace_tell(struct pace *pace, uint64_t bytes)
{
	int64_t now_us = mono_now_us();

	if (now_us - pace->told_us < EVERY_US)
		return;
	pace->told_us = now_us;
	pace->most_bytes = bytes;
	result_line(json_pack("{s:s, s:I, s:I}", "doing", pace->step, "bytes", (json_int_t) bytes,
	                      "of_bytes", (json_int_t) pace->of_bytes));
}

void pace_pass_cb(const char *pass, uint64_t bytes, uint64_t of_bytes, void *userdata)
{
	struct pace *pace = userdata;

	if (bytes == 0)
		pace_begin(pace, pass, of_bytes);
	else
		pace_tell(pace, bytes);
}

void pace_sent_cb(uint64_t bytes, void *userdata)
{
	struct pace *pace = userdata;

	if (pace->before_bytes + bytes > pace->most_bytes)
		pace_tell(pace, pace->before_bytes + bytes);
}
