/* SPDX-License-Identifier: Apache-2.0 */
/* Which uploads are so old that nobody goes on with them. */
#include "etcdwatch/worker/store/s3put.h"

#include "base/macro.h"
#include "tests/unit/check.h"

#define NOON INT64_C(1795262400) /* 2026-11-21T12:00:00Z */

int main(void)
{
	static const struct {
		const char *initiated;
		int64_t older_s;
		bool old;
	} cases[] = {
	    {"2026-11-21T11:00:00.000Z", 3600, true},
	    {"2026-11-21T11:00:01.000Z", 3600, false},
	    {"2026-11-21T12:30:00+01:00", 1, true},
	    {"2026-11-21T12:00:05Z", 1, false},
	    {"2027-01-01T00:00:00.000Z", 0, true},
	    {"1970-01-01T00:00:00Z", 86400, true},
	    {"yesterday", 1, false},
	    {"", 1, false},
	    {"", 0, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		bool old = s3sweep_is_old(cases[i].initiated, NOON, cases[i].older_s);

		if (!CHECK(old == cases[i].old))
			(void) fprintf(stderr, "  '%s', older than %lld s\n", cases[i].initiated,
			               (long long) cases[i].older_s);
	}
	return check_result();
}
