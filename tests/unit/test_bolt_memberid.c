/* SPDX-License-Identifier: Apache-2.0 */
/* Ids that real etcd gave, 3.4.23 and 3.5.16: those of a lone member, and of three. */
#include "bolt/newcluster.h"

#include "base/macro.h"
#include "tests/unit/aborts.h"
#include "tests/unit/check.h"

static void test_one(void)
{
	static const struct {
		const char *url;
		const char *token;
		uint64_t member;
		uint64_t cluster;
	} cases[] = {
	    {"http://localhost:2380", "etcd-cluster", 0x8e9e05c52164694d, 0xcdf818194e3a8c32},
	    {"http://127.0.0.1:32380", "tok2", 0xbbebe0c20c25dd7d, 0xb461198ba5fb3540},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t id = memberid_of_member(&cases[i].url, 1, cases[i].token);

		CHECK_EQ_INT(id, cases[i].member);
		CHECK_EQ_INT(memberid_of_cluster(&id, 1), cases[i].cluster);
	}
}

static void test_three(void)
{
	static const char *const urls[] = {"http://127.0.0.1:32380", "http://127.0.0.1:42380",
	                                   "http://127.0.0.1:52380"};
	static const uint64_t want[] = {0xca7a34e16cff9c1b, 0x30cf319feadb6b70, 0x4fdaeffbb51329c5};
	uint64_t ids[3], turned[3];

	for (size_t i = 0; i < ARRAY_SIZE(urls); i++) {
		ids[i] = memberid_of_member(&urls[i], 1, "tok");
		turned[2 - i] = ids[i];
		CHECK_EQ_INT(ids[i], want[i]);
	}
	CHECK_EQ_INT(memberid_of_cluster(ids, 3), 0x6ddcbf196e0e887a);
	CHECK_EQ_INT(memberid_of_cluster(turned, 3), 0x6ddcbf196e0e887a);
}

static void test_several_urls(void)
{
	static const char *const urls[] = {"http://127.0.0.1:32380", "http://127.0.0.2:32380"};
	static const char *const turned[] = {"http://127.0.0.2:32380", "http://127.0.0.1:32380"};

	CHECK_EQ_INT(memberid_of_member(urls, 2, "tok"), 0xeaf8148a2a12e8bb);
	CHECK_EQ_INT(memberid_of_member(turned, 2, "tok"), 0xeaf8148a2a12e8bb);
}

static void make_id(void)
{
	static const char *const url = "http://localhost:2380";

	(void) memberid_of_member(&url, 1, "etcd-cluster");
}

int main(void)
{
	test_one();
	test_three();
	test_several_urls();
	aborts_without_openssl(make_id, "<3>event=openssl_failed call=EVP_Digest ");
	return check_result();
}
