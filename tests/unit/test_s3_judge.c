/* SPDX-License-Identifier: Apache-2.0 */
/* What answers mean, which of them pass, and how long to wait: tables. */
#include "web/s3_priv.h"

#include <errno.h>

#include "base/macro.h"
#include "tests/unit/check.h"

static void test_status(void)
{
	static const struct {
		int status;
		const char *code;
		int64_t ahead_s;
		enum s3_failure failure;
		bool passes;
	} cases[] = {
	    {200, "", 0, S3_OK, false},
	    {204, "", 10000, S3_OK, false},
	    {206, "", 0, S3_OK, false},
	    {200, "InternalError", 0, S3_SERVER, true},
	    {200, "SlowDown", 0, S3_BUSY, true},
	    {301, "PermanentRedirect", 0, S3_REFUSED, false},
	    {307, "TemporaryRedirect", 0, S3_REFUSED, false},
	    {400, "InvalidPart", 0, S3_REFUSED, false},
	    {400, "RequestTimeout", 0, S3_REFUSED, true},
	    {400, "BadDigest", 0, S3_REFUSED, true},
	    {400, "XAmzContentSHA256Mismatch", 0, S3_REFUSED, true},
	    {400, "AuthorizationHeaderMalformed", 0, S3_REFUSED, false},
	    {409, "OperationAborted", 0, S3_REFUSED, true},
	    {409, "ConditionalRequestConflict", 0, S3_REFUSED, true},
	    {412, "PreconditionFailed", 0, S3_EXISTS, false},
	    {401, "", 0, S3_DENIED, false},
	    {403, "", 0, S3_DENIED, false},
	    {403, "SignatureDoesNotMatch", 900, S3_DENIED, false},
	    {403, "SignatureDoesNotMatch", 901, S3_CLOCK, false},
	    {403, "AccessDenied", -901, S3_CLOCK, false},
	    {403, "RequestTimeTooSkewed", 0, S3_CLOCK, false},
	    {400, "RequestExpired", 0, S3_CLOCK, false},
	    {404, "NoSuchKey", 5000, S3_NOT_FOUND, false},
	    {429, "", 0, S3_BUSY, true},
	    {500, "InternalError", 5000, S3_SERVER, true},
	    {501, "NotImplemented", 0, S3_REFUSED, false},
	    {502, "", 0, S3_SERVER, true},
	    {503, "SlowDown", 0, S3_BUSY, true},
	    {504, "", 0, S3_SERVER, true},
	    {600, "", 0, S3_PROTOCOL, false},
	    {100, "", 0, S3_PROTOCOL, false},
	    {0, "", 0, S3_PROTOCOL, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum s3_failure failure = s3_judge_status(cases[i].status, cases[i].code, cases[i].ahead_s);

		if (!CHECK_EQ_INT(failure, cases[i].failure) ||
		    !CHECK_EQ_INT(s3_judge_is_passing(failure, cases[i].code), cases[i].passes))
			(void) fprintf(stderr, "  %d %s\n", cases[i].status, cases[i].code);
	}
}

static void test_others(void)
{
	static const struct {
		enum s3_failure failure;
		bool passes;
		int r;
	} cases[] = {
	    {S3_UNREACHABLE, true, -EHOSTUNREACH},
	    {S3_TIMEOUT, true, -ETIMEDOUT},
	    {S3_CUT, true, -ECONNRESET},
	    {S3_TLS, false, -EKEYREJECTED},
	    {S3_PROTOCOL, false, -EPROTO},
	    {S3_CHANGED, false, -ESTALE},
	    {S3_CANCELLED, false, -ECANCELED},
	    {S3_NOT_FOUND, false, -ENOENT},
	    {S3_EXISTS, false, -EEXIST},
	    {S3_DENIED, false, -EACCES},
	    {S3_CLOCK, false, -EACCES},
	    {S3_BUSY, true, -EAGAIN},
	    {S3_SERVER, true, -EREMOTEIO},
	    {S3_REFUSED, false, -EINVAL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_EQ_INT(s3_judge_is_passing(cases[i].failure, ""), cases[i].passes);
		CHECK_EQ_INT(s3_judge_errno(cases[i].failure), cases[i].r);
		CHECK(strcmp(s3_failure_name(cases[i].failure), "unknown") != 0);
	}
	CHECK(!s3_judge_is_passing(S3_LOCAL, "") && !s3_judge_is_passing(S3_OK, ""));
}

static void test_delay(void)
{
	static const struct {
		unsigned failed, base_ms, after_s;
		unsigned least_ms, most_ms; /* as chance has it */
	} cases[] = {
	    {1, 500, 0, 250, 500},        {2, 500, 0, 500, 1000},      {3, 500, 0, 1000, 2000},
	    {7, 500, 0, 10000, 20000},    {200, 500, 0, 10000, 20000}, {1, 1, 0, 0, 1},
	    {1, 500, 3, 3000, 3000},      {6, 500, 3, 8000, 16000},    {1, 500, 3600, 60000, 60000},
	    {1, 100000, 0, 10000, 20000},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_EQ_INT(s3_judge_delay_ms(cases[i].failed, cases[i].base_ms, cases[i].after_s, 0),
		             cases[i].least_ms);
		CHECK_EQ_INT(
		    s3_judge_delay_ms(cases[i].failed, cases[i].base_ms, cases[i].after_s, UINT32_MAX),
		    cases[i].most_ms);
	}
}

int main(void)
{
	test_status();
	test_others();
	test_delay();
	return check_result();
}
