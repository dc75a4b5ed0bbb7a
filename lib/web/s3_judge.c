/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes are those of S3's list of error responses. Where a status says enough, the code is not
 * looked at: servers differ in their codes more than in their statuses.
 */
#include "web/s3_judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

static bool is_one_of(const char *code, const char *const *codes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(code, codes[i]) == 0)
			return true;
	}
	return false;
}

static bool is_clock(int status, const char *code, int64_t clock_ahead_s)
{
	static const char *const codes[] = {"RequestTimeTooSkewed", "RequestExpired"};

	if (is_one_of(code, codes, ARRAY_SIZE(codes)))
		return true;
	/* So far off, nothing that we sign can be right. */
	return (status == 400 || status == 401 || status == 403) &&
	       llabs(clock_ahead_s) > S3_CLOCK_LIMIT_S;
}

enum s3_failure s3_judge_status(int status, const char *code, int64_t clock_ahead_s)
{
	static const char *const busy[] = {"SlowDown", "ServiceUnavailable", "Throttling",
	                                   "TooManyRequests"};

	if (is_one_of(code, busy, ARRAY_SIZE(busy)) || status == 429 || status == 503)
		return S3_BUSY;
	/* In the body of an answer whose status had to be sent before anything was known. */
	if (status >= 200 && status < 300)
		return code[0] != '\0' ? S3_SERVER : S3_OK;
	/* What it does not implement, it will not implement in a minute. */
	if (status >= 500 && status < 600 && status != 501)
		return S3_SERVER;
	if (is_clock(status, code, clock_ahead_s))
		return S3_CLOCK;
	if (status == 401 || status == 403)
		return S3_DENIED;
	if (status == 404)
		return S3_NOT_FOUND;
	if (status == 412)
		return S3_EXISTS;
	return status == 501 || (status >= 300 && status < 500) ? S3_REFUSED : S3_PROTOCOL;
}

bool s3_judge_is_passing(enum s3_failure failure, const char *code)
{
	/* Damaged or cut on its way to the server, or in the way of another request. */
	static const char *const codes[] = {"RequestTimeout",   "IncompleteBody",
	                                    "BadDigest",        "XAmzContentSHA256Mismatch",
	                                    "OperationAborted", "ConditionalRequestConflict"};

	switch (failure) {
	case S3_UNREACHABLE:
	case S3_TIMEOUT:
	case S3_CUT:
	case S3_BUSY:
	case S3_SERVER:
		return true;
	case S3_REFUSED:
		return is_one_of(code, codes, ARRAY_SIZE(codes));
	case S3_OK:
	case S3_TLS:
	case S3_DENIED:
	case S3_CLOCK:
	case S3_NOT_FOUND:
	case S3_EXISTS:
	case S3_PROTOCOL:
	case S3_CHANGED:
	case S3_PROGRAM:
	case S3_LOCAL:
	case S3_CANCELLED:
		break;
	}
	return false;
}

unsigned s3_judge_delay_ms(unsigned n_failed, unsigned base_ms, unsigned retry_after_s,
                           uint32_t random)
{
	uint64_t full = base_ms;

	for (unsigned i = 1; i < n_failed && full < S3_DELAY_MAX_MS; i++)
		full *= 2;
	full = MIN(full, (uint64_t) S3_DELAY_MAX_MS);
	full = full / 2 + (full - full / 2) * random / UINT32_MAX;
	return (unsigned) MAX(full, MIN(retry_after_s, S3_RETRY_AFTER_MAX_S) * UINT64_C(1000));
}

int s3_judge_errno(enum s3_failure failure)
{
	switch (failure) {
	case S3_UNREACHABLE:
		return -EHOSTUNREACH;
	case S3_TIMEOUT:
		return -ETIMEDOUT;
	case S3_TLS:
		return -EKEYREJECTED;
	case S3_CUT:
		return -ECONNRESET;
	case S3_DENIED:
	case S3_CLOCK:
		return -EACCES;
	case S3_NOT_FOUND:
		return -ENOENT;
	case S3_EXISTS:
		return -EEXIST;
	case S3_BUSY:
		return -EAGAIN;
	case S3_REFUSED:
		return -EINVAL;
	case S3_PROTOCOL:
		return -EPROTO;
	case S3_CHANGED:
		return -ESTALE;
	case S3_CANCELLED:
		return -ECANCELED;
	case S3_OK:
	case S3_SERVER:
	case S3_PROGRAM:
	case S3_LOCAL:
		break;
	}
	return -EREMOTEIO;
}

const char *s3_failure_name(enum s3_failure failure)
{
	switch (failure) {
	case S3_OK:
		return "ok";
	case S3_UNREACHABLE:
		return "unreachable";
	case S3_TIMEOUT:
		return "timeout";
	case S3_TLS:
		return "tls";
	case S3_CUT:
		return "cut";
	case S3_DENIED:
		return "denied";
	case S3_CLOCK:
		return "clock";
	case S3_NOT_FOUND:
		return "not-found";
	case S3_EXISTS:
		return "exists";
	case S3_BUSY:
		return "busy";
	case S3_SERVER:
		return "server";
	case S3_REFUSED:
		return "refused";
	case S3_PROTOCOL:
		return "protocol";
	case S3_CHANGED:
		return "changed";
	case S3_PROGRAM:
		return "program";
	case S3_LOCAL:
		return "local";
	case S3_CANCELLED:
		return "cancelled";
	}
	return "unknown";
}
