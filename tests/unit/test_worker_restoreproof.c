/* SPDX-License-Identifier: Apache-2.0 */
/* The proof that runs next to etcd's tool finds what the tool does not look for. */
#include "etcdwatch/worker/restore/restore.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "tests/unit/snapfile.h"

#define SOURCE "tests/bolt/etcd-3.5.db"
#define PAGE 4096

static struct snapfile source;

static void test_proof(void)
{
	static const struct {
		const char *what;
		off_t flipped; /* -1: none */
		bool is_cut;   /* it has no digest */
		bool may_lack_digest;
		const char *code; /* "": it is sound */
	} cases[] = {
	    {"sound", -1, false, false, ""},
	    {"a wrong byte", 3 * PAGE + 100, false, false, "DIGEST"},
	    {"a wrong byte, where a digest may be missing and is not", 3 * PAGE + 100, false, true,
	     "DIGEST"},
	    {"no digest", -1, true, false, "DIGEST"},
	    {"a database from a data directory", -1, true, true, ""},
	    {"that one with a page whose number is wrong", 2 * PAGE, true, true, "TREE"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd = memfd_create("snapshot", MFD_CLOEXEC);
		size_t len = source.len - (cases[i].is_cut ? SNAPSHOT_DIGEST_BYTES : 0);
		AUTO(restoreproof_free) struct restoreproof *proof = NULL;
		const struct snapshot_content *content = NULL;
		const struct dbinfo *info = NULL;
		struct problem problem = {0};
		char path[32];
		int r;

		CHECK_EQ_INT(write(fd, source.bytes, len), (ssize_t) len);
		if (cases[i].flipped >= 0) {
			char wrong = (char) (source.bytes[cases[i].flipped] ^ 0x40);

			CHECK_EQ_INT(pwrite(fd, &wrong, 1, cases[i].flipped), 1);
		}
		(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		proof = restoreproof_start(path, cases[i].may_lack_digest);
		r = restoreproof_wait(proof, &problem, &content, &info);
		if (!CHECK_EQ_STR(problem.code, cases[i].code) ||
		    !CHECK((r == 0) == (cases[i].code[0] == '\0')) ||
		    !CHECK(r < 0 || (content->hashkv.n_live > 0 && info->n_members > 0)))
			(void) fprintf(stderr, "  it was %s: %s\n", cases[i].what, problem.reason);
		(void) close(fd);
	}
}

int main(void)
{
	source = snapfile_load(SOURCE);
	test_proof();
	free(source.bytes);
	return check_result();
}
