/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of sentences come from other programs and servers: only visible ASCII is kept. */
#include "etcdwatch/worker/common/problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put_visible(char *text)
{
	for (char *p = text; *p != '\0'; p++) {
		if (*p < ' ' || *p >= 0x7f)
			*p = '?';
	}
}

const char *problem_code_of(int r)
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
	va_list ap;

	if (problem->code[0] != '\0')
		return;
	(void) snprintf(problem->code, sizeof(problem->code), "%s", code);
	va_start(ap, fmt);
	(void) vsnprintf(problem->reason, sizeof(problem->reason), fmt, ap);
	va_end(ap);
	put_visible(problem->reason);
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
