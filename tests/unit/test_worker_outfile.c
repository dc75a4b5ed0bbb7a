/* SPDX-License-Identifier: Apache-2.0 */
/* Going on with a file that an earlier process left, and never with one that somebody else made. */
#include "etcdwatch/worker/common/file.h"

#include <errno.h>

#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

static void test_behind(void)
{
	static const struct {
		const char *made; /* as .f.new, with 3 bytes */
		bool kept;
		bool root_only;
	} cases[] = {
	    {"printf abc >.f.new; chmod 600 .f.new", true, false},
	    {"true", false, false},
	    {"printf abc >.f.new; chmod 644 .f.new", false, false},
	    {"printf abc >other; chmod 600 other; ln other .f.new", false, false},
	    {"printf abc >other; chmod 600 other; ln -s other .f.new", false, false},
	    {"mkfifo -m 600 .f.new", false, false},
	    {"printf abc >.f.new; chmod 600 .f.new; chown 1234 .f.new", false, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(digest_free) struct digest *digest = digest_new(DIGEST_SHA256);
		struct problem problem = {0};
		struct outfile *file = NULL;
		uint64_t n_bytes = 99;
		struct stat st;

		if (cases[i].root_only && geteuid() != 0)
			continue;
		(void) scratch_shell("rm -f other .f.new");
		(void) scratch_shell("%s", cases[i].made);
		if (!CHECK_EQ_INT(outfile_new_behind("f", 0600, digest, &problem, &file, &n_bytes), 0) ||
		    !CHECK_EQ_INT(n_bytes, cases[i].kept ? 3 : 0))
			(void) fprintf(stderr, "  case %zu: %s\n", i, problem.reason);
		if (file == NULL)
			continue;
		/* What is written to is what has the name, and is ours. */
		CHECK_EQ_INT(sink_write(outfile_sink(file), "de", 2), 0);
		CHECK_EQ_INT(lstat(".f.new", &st), 0);
		CHECK(S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1);
		CHECK_EQ_INT(st.st_mode & 07777, 0600);
		CHECK_EQ_INT(st.st_size, cases[i].kept ? 5 : 2);
		outfile_free(file);
		if (scratch_exists("other"))
			(void) scratch_shell("test \"$(cat other)\" = abc");
	}
}

int main(void)
{
	scratch_enter();
	test_behind();
	scratch_leave();
	return check_result();
}
