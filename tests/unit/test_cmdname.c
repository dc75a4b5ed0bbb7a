/* SPDX-License-Identifier: Apache-2.0 */

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/words.h"
#include "tests/unit/check.h"

int main(void)
{
	static const char *const names[] = {"vip", "vip status", "etcd snapshot save", "metrics"};
	static const struct {
		const char *line;
		int match[ARRAY_SIZE(names)];
		const char *nearest;
	} cases[] = {
	    {"vip", {1, 0, 0, 0}, "vip"},
	    {"vip status", {1, 2, 0, 0}, "vip status"},
	    {"vip status 10.0.0.5 x", {1, 2, 0, 0}, "vip status"},
	    {"etcd snapshot save f", {0, 0, 3, 0}, "etcd snapshot save"},
	    {"etcd snapshot", {0, 0, 0, 0}, NULL},
	    {"etcd snapshto svae f", {0, 0, 0, 0}, "etcd snapshot save"},
	    {"vipstatus", {0, 0, 0, 0}, "vip status"},
	    {"vip statusx", {1, 0, 0, 0}, "vip status"},
	    {"metric vipd", {0, 0, 0, 0}, "metrics"},
	    {"a-word-that-is-far-longer-than-any-name-of-a-command-could-ever-be-made", {0}, NULL},
	};
	char buf[CMDNAME_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *line = xstrdup(cases[i].line);
		char *argv[8];
		int argc = words_split(line, argv, ARRAY_SIZE(argv));

		for (size_t n = 0; n < ARRAY_SIZE(names); n++)
			CHECK_EQ_INT(cmdname_match(names[n], argc, argv), cases[i].match[n]);
		CHECK_EQ_STR(cmdname_nearest(argc, argv, names, ARRAY_SIZE(names)), cases[i].nearest);
		(void) cmdname_typed(argc, argv, buf);
		CHECK(strncmp(buf, cases[i].line, strlen(buf)) == 0);
	}
	CHECK_EQ_STR(cmdname_typed(0, NULL, buf), "");
	return check_result();
}
