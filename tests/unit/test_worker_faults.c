/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot is packed again and again, and each time another system call fails, or the process is
 * killed at it. Whatever happens: the snapshot is there, plain or packed; a packed file that has
 * its name is whole; and the next run brings all in order. Then the same with unpacking.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/pack/pack.h"
#include "etcdwatch/worker/pack/unpack.h"
#include "tests/fault/worker_calls.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define DB_BYTES 300000
#define TEMPORARY_MAX 64

static char plain_sha256[DIGEST_HEX_MAX];
static char recipient[AGE_KEY_MAX];
static const char *const identity_files[] = {"key"};

/* One way to pack, and what comes of it. */
struct way {
	const char *packed;
	int level;
	bool encrypt;
	bool bundle;
};

static const struct way ways[] = {
    {"x.db.zst", 1, false, false},
    {"x.db.tar.zst.age", 1, true, true},
};

static const char *extra_path[1];

static int pack(const struct way *way, struct problem *problem)
{
	const char *const names[] = {recipient};
	const struct pack_request request = {
	    .path = "x.db",
	    .level = way->level,
	    .recipients = {.names = names, .n_names = way->encrypt ? 1 : 0},
	    .extra = extra_path,
	    .n_extra = way->bundle ? 1 : 0,
	};
	struct pack_result result = {0};
	int r = pack_run(&request, problem, &result);

	free(result.path);
	return r;
}

static int unpack(const struct way *way, const char *to, struct problem *problem)
{
	const struct unpack_request request = {
	    .path = way->packed,
	    .to = to,
	    .keys = {.files = identity_files, .n_files = 1},
	    .plain_sha256 = plain_sha256,
	};
	struct unpack_result result = {0};
	int r = unpack_run(&request, problem, &result);

	free(result.path);
	return r;
}

/* --- one run with one fault --- */

struct fault {
	enum fault_call call;
	unsigned index;
	enum fault_action action;
	int error;
};

enum end {
	SUCCEEDED,
	FAILED,
	KILLED,
	NOT_REACHED, /* and succeeded: there is no such call any more */
};

typedef int (*work_fn)(const struct way *way, struct problem *problem);
typedef enum end (*one_fn)(work_fn work, const struct way *way, const struct fault *fault);

/* In a process of its own. A success that is not one, and an error without a sentence, abort. */
static enum end run(work_fn work, const struct way *way, const struct fault *fault)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		struct problem problem = {0};
		int r;

		fault_arm(fault->call, fault->index, fault->action, fault->error);
		r = work(way, &problem);
		if (r == 0 && problem.code[0] != '\0')
			abort();
		if (r < 0 && (problem.code[0] == '\0' || problem.reason[0] == '\0'))
			abort();
		if (r == 0 && !fault_was_reached())
			_exit(NOT_REACHED);
		_exit(r < 0 ? FAILED : SUCCEEDED);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (WIFSIGNALED(status)) {
		CHECK_EQ_INT(WTERMSIG(status), SIGKILL);
		return KILLED;
	}
	return (enum end) WEXITSTATUS(status);
}

/* How often each call is made when nothing fails. */
static void count(work_fn work, const struct way *way, unsigned counts[static FAULT_CALLS])
{
	struct problem problem = {0};

	fault_arm(FAULT_OPEN, 0, FAULT_NONE, 0);
	if (!CHECK_EQ_INT(work(way, &problem), 0))
		(void) fprintf(stderr, "  %s\n", problem.reason);
	for (int call = 0; call < FAULT_CALLS; call++)
		counts[call] = fault_count((enum fault_call) call);
}

static void say_fault(const char *what, const struct way *way, const struct fault *f)
{
	(void) fprintf(stderr, "  %s %s with %s %u, action %d, error %d\n", what, way->packed,
	               fault_name(f->call), f->index, (int) f->action, f->error);
}

/* What can happen to it. */
static bool applies(enum fault_call call, enum fault_action action, int error)
{
	bool transfers = call == FAULT_READ || call == FAULT_WRITE;
	bool changes = call == FAULT_OPEN || call == FAULT_WRITE || call == FAULT_FSYNC ||
	               call == FAULT_RENAME || call == FAULT_UNLINK;

	switch (action) {
	case FAULT_ERROR:
		/* Only what moves bytes or waits is ever interrupted. */
		return error != EINTR || transfers || call == FAULT_WAIT;
	case FAULT_SHORT:
		return transfers;
	case FAULT_KILL_BEFORE:
		return changes;
	case FAULT_KILL_AFTER:
		/* Before the next call is the same, but for the last ones. */
		return call == FAULT_RENAME || call == FAULT_UNLINK;
	case FAULT_NONE:
		break;
	}
	return false;
}

/* Every call of every kind, with every fault. */
static void each_fault(work_fn work, const struct way *way, one_fn one)
{
	static const struct {
		enum fault_action action;
		int error;
	} faults[] = {
	    {FAULT_ERROR, ENOSPC}, {FAULT_ERROR, EINTR}, {FAULT_KILL_BEFORE, 0},
	    {FAULT_KILL_AFTER, 0}, {FAULT_SHORT, 0},
	};
	unsigned counts[FAULT_CALLS];

	count(work, way, counts);
	for (int call = 0; call < FAULT_CALLS; call++) {
		unsigned n_failed = 0;

		CHECK(counts[call] > 0 || (!way->encrypt && call >= FAULT_PIPE) || call == FAULT_UNLINK);
		for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
			if (!applies((enum fault_call) call, faults[i].action, faults[i].error))
				continue;
			for (unsigned index = 0; index < counts[call]; index++) {
				const struct fault fault = {(enum fault_call) call, index, faults[i].action,
				                            faults[i].error};

				n_failed += one(work, way, &fault) == FAILED ? 1 : 0;
			}
		}
		/* There is no call whose errors do not count. */
		CHECK(n_failed > 0 || counts[call] == 0 || call == FAULT_UNLINK);
	}
}

/* --- packing --- */

static void make_plain(void)
{
	scratch_make("x.db", DB_BYTES, 7);
}

static int pack_work(const struct way *way, struct problem *problem)
{
	return pack(way, problem);
}

static bool plain_is_whole(void)
{
	char hex[DIGEST_HEX_MAX];

	return strcmp(scratch_sha256("x.db", hex), plain_sha256) == 0;
}

/* By our own way back, with the true owner's key. */
static bool packed_is_whole(const struct way *way)
{
	struct problem problem = {0};
	bool whole;

	fault_arm(FAULT_OPEN, 0, FAULT_NONE, 0);
	whole = unpack(way, "back", &problem) == 0;
	if (!whole)
		(void) fprintf(stderr, "  %s\n", problem.reason);
	(void) unlink("back");
	return whole;
}

static bool temporary_is_left(const struct way *way)
{
	char name[TEMPORARY_MAX];

	(void) snprintf(name, sizeof(name), ".%s.new", way->packed);
	return scratch_exists(name);
}

static enum end one_pack(work_fn work, const struct way *way, const struct fault *fault)
{
	struct problem problem = {0};
	bool has_plain, has_packed, ok;
	enum end end;

	make_plain();
	(void) unlink(way->packed);
	end = run(work, way, fault);
	has_plain = scratch_exists("x.db");
	has_packed = scratch_exists(way->packed);
	ok = CHECK(has_plain || has_packed);
	ok &= CHECK(!has_plain || plain_is_whole());
	ok &= CHECK(!has_packed || packed_is_whole(way));
	ok &= CHECK(end != SUCCEEDED || has_packed);
	ok &= CHECK(end == KILLED ||
	            (fault->action != FAULT_KILL_BEFORE && fault->action != FAULT_KILL_AFTER) ||
	            end == NOT_REACHED);
	/* A failure leaves the plain file, and nothing that nobody wants. */
	ok &= CHECK(end != FAILED || has_plain);
	ok &= CHECK(end == KILLED || fault->call == FAULT_UNLINK || !temporary_is_left(way));
	/* Calls that are cut short are no failures at all. */
	ok &= CHECK((fault->action != FAULT_SHORT && fault->error != EINTR) || end != FAILED);
	if (has_plain) {
		fault_arm(FAULT_OPEN, 0, FAULT_NONE, 0);
		ok &= CHECK_EQ_INT(pack(way, &problem), 0);
	}
	ok &= CHECK(!scratch_exists("x.db") && packed_is_whole(way) && !temporary_is_left(way));
	if (!ok)
		say_fault("packing", way, fault);
	return end;
}

/* What is durable comes first, what is given up for it comes after. */
static void test_order(const struct way *way)
{
	struct problem problem = {0};

	make_plain();
	(void) unlink(way->packed);
	fault_arm(FAULT_OPEN, 0, FAULT_NONE, 0);
	CHECK_EQ_INT(pack(way, &problem), 0);
	CHECK_EQ_STR(fault_order(), "fsync file\nrename\nfsync directory\nunlink\nfsync directory\n");
}

/* --- unpacking --- */

static int unpack_work(const struct way *way, struct problem *problem)
{
	return unpack(way, "y.db", problem);
}

static enum end one_unpack(work_fn work, const struct way *way, const struct fault *fault)
{
	struct problem problem = {0};
	char hex[DIGEST_HEX_MAX];
	enum end end;
	bool ok;

	(void) unlink("y.db");
	end = run(work, way, fault);
	ok = CHECK(!scratch_exists("y.db") || strcmp(scratch_sha256("y.db", hex), plain_sha256) == 0);
	ok &= CHECK(end != SUCCEEDED || scratch_exists("y.db"));
	ok &= CHECK(end == KILLED || fault->call == FAULT_UNLINK || !scratch_exists(".y.db.new"));
	ok &= CHECK((fault->action != FAULT_SHORT && fault->error != EINTR) || end != FAILED);
	(void) unlink("y.db");
	fault_arm(FAULT_OPEN, 0, FAULT_NONE, 0);
	ok &= CHECK_EQ_INT(unpack(way, "y.db", &problem), 0);
	ok &= CHECK(!scratch_exists(".y.db.new"));
	(void) unlink("y.db");
	if (!ok)
		say_fault("unpacking", way, fault);
	return end;
}

static int count_unpack(const struct way *way, struct problem *problem)
{
	(void) unlink("y.db");
	return unpack_work(way, problem);
}

int main(void)
{
	cancel_watch();
	scratch_enter();
	(void) scratch_shell("umask 077; age-keygen -o key 2>recipient");
	(void) scratch_shell("sed -i 's/^Public key: //' recipient; mkdir pki; echo cert >pki/ca.crt");
	{
		FILE *f = fopen("recipient", "re");

		CHECK(f != NULL && fgets(recipient, sizeof(recipient), f) != NULL);
		recipient[strcspn(recipient, "\n")] = '\0';
		(void) fclose(f);
	}
	extra_path[0] = xasprintf("%s/pki", scratch_dir);
	make_plain();
	(void) scratch_sha256("x.db", plain_sha256);
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		test_order(&ways[i]);
		make_plain();
		each_fault(pack_work, &ways[i], one_pack);
		each_fault(count_unpack, &ways[i], one_unpack);
	}
	scratch_leave();
	return check_result();
}
