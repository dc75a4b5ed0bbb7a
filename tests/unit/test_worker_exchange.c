/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new data directory takes the place of an old one, and each rename on the way fails once, or the
 * process is killed behind it; with a file system that can exchange two names and with one that
 * cannot. Whatever happens, the old one is there, whole, under its own name or the one that it was
 * to get.
 */
#include "etcdwatch/worker/restore/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define ASIDE "etcd.before-restore-20261121T203000Z"
#define ASIDE_S INT64_C(1795293000)
#define RENAMES_MAX 6
#define KILLED 99

/* --- renames --- */

static unsigned n_renames, fail_at, kill_behind;
static bool cannot_exchange, sync_fails;
static const char *lock_at_exchange; /* etcd starts: somebody locks this file */
static int lock_fd = -1;
static unsigned lost_behind; /* the rename of that number, */
static const char *lost;     /* an operator moves this away */

int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
int __real_syncfs(int fd);
int __wrap_syncfs(int fd);

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
	int r;

	if (cannot_exchange && flags == RENAME_EXCHANGE) {
		errno = EINVAL;
		return -1;
	}
	if (++n_renames == fail_at) {
		errno = EIO;
		return -1;
	}
	if (lock_at_exchange != NULL && lock_fd < 0) {
		lock_fd = open(lock_at_exchange, O_RDWR | O_CLOEXEC);
		CHECK(lock_fd >= 0 && flock(lock_fd, LOCK_EX) == 0);
	}
	r = __real_renameat2(from_dir, from, to_dir, to, flags);
	if (n_renames == lost_behind)
		CHECK_EQ_INT(__real_renameat2(AT_FDCWD, lost, AT_FDCWD, "etcd-elsewhere", 0), 0);
	if (n_renames == kill_behind)
		_exit(KILLED);
	return r;
}

int __wrap_syncfs(int fd)
{
	if (!sync_fails)
		return __real_syncfs(fd);
	errno = EIO;
	return -1;
}

/* --- worlds --- */

/* Two files that belong together: a directory is whole when it has both. */
static void make_tree(const char *name, const char *text)
{
	(void) scratch_shell("mkdir -p %s/member/snap %s/member/wal && echo %s >%s/member/snap/db && "
	                     "echo %s >%s/member/wal/0.wal",
	                     name, name, text, name, text, name);
}

static bool holds(const char *name, const char *text)
{
	AUTO(free)
	char *command = xasprintf("[ \"$(cat %s/member/snap/db %s/member/wal/0.wal 2>/dev/null | tr "
	                          "-d '\\n')\" = %s%s ]",
	                          name, name, text, text);

	return system(command) == 0;
}

static void reset(void)
{
	(void) scratch_shell("rm -rf etcd*");
	n_renames = fail_at = kill_behind = lost_behind = 0;
	cannot_exchange = sync_fails = false;
	lock_at_exchange = NULL;
	if (lock_fd >= 0)
		(void) close(TAKE_FD(lock_fd));
}

/* As a restore does it. */
static int restore(struct problem *problem)
{
	AUTO(datadir_free) struct datadir *dir = NULL;
	AUTO(exchange_close) struct exchange *x = NULL;
	AUTO(free) char *aside = NULL;
	struct problem more = {0};
	uint64_t inode = 0;
	int r;

	*problem = (struct problem){0};
	if (!CHECK_EQ_INT(datadir_look("etcd", problem, &dir), 0) ||
	    !CHECK_EQ_INT(exchange_open(dir, problem, &x), 0) ||
	    !CHECK_EQ_INT(exchange_clear(x, false, problem), 0))
		return -EINVAL;
	make_tree(exchange_new_path(x), "new");
	aside = datadir_aside_name(dir, ASIDE_S);
	r = exchange_seal(x, problem, &inode);
	if (r == 0)
		r = exchange_commit(x, aside, problem);
	CHECK_EQ_INT(exchange_remove(x, &more), 0);
	return r;
}

/* --- tests --- */

static void test_good(void)
{
	char names[256];
	struct problem problem;

	for (int i = 0; i < 2; i++) {
		reset();
		cannot_exchange = i == 1;
		make_tree("etcd", "old");
		(void) scratch_shell("chmod 0750 etcd");
		if (geteuid() == 0)
			(void) scratch_shell("chown -R 4711:4712 etcd");
		CHECK_EQ_INT(restore(&problem), 0);
		CHECK(holds("etcd", "new") && holds(ASIDE, "old"));
		CHECK_EQ_STR(scratch_list(".", names, sizeof(names)), "etcd " ASIDE);
		(void) scratch_shell("[ $(stat -c %%a etcd) = 750 ]");
		if (geteuid() == 0)
			(void) scratch_shell("[ \"$(stat -c %%u:%%g etcd etcd/member etcd/member/snap/db | "
			                     "sort -u)\" = 4711:4712 ]");
		/* And again, in the same second. */
		CHECK_EQ_INT(restore(&problem), 0);
		CHECK(holds("etcd", "new") && holds(ASIDE, "old") && holds(ASIDE "-2", "new"));
	}
}

static void test_nothing_there(void)
{
	char names[256];
	struct problem problem;

	reset();
	CHECK_EQ_INT(restore(&problem), 0);
	CHECK(holds("etcd", "new"));
	CHECK_EQ_STR(scratch_list(".", names, sizeof(names)), "etcd");
	reset();
	fail_at = 1;
	CHECK(restore(&problem) < 0);
	CHECK_EQ_STR(scratch_list(".", names, sizeof(names)), "");
}

static void test_failing(void)
{
	char names[256];
	struct problem problem;

	for (unsigned i = 0; i < 2 * RENAMES_MAX; i++) {
		int r;

		reset();
		cannot_exchange = i % 2 == 1;
		fail_at = i / 2 + 1;
		make_tree("etcd", "old");
		r = restore(&problem);
		if (n_renames < fail_at) {
			CHECK_EQ_INT(r, 0);
			continue;
		}
		CHECK_EQ_INT(r, -EIO);
		CHECK_EQ_STR(problem.code, "IO");
		CHECK(holds("etcd", "old"));
		CHECK_EQ_STR(scratch_list(".", names, sizeof(names)), "etcd");
	}
	reset();
	sync_fails = true;
	make_tree("etcd", "old");
	CHECK_EQ_INT(restore(&problem), -EIO);
	CHECK(holds("etcd", "old"));
	CHECK_EQ_INT(n_renames, 0);
}

/* Then the next one brings all in order. */
static void test_killed(void)
{
	for (unsigned i = 0; i < 2 * RENAMES_MAX; i++) {
		int status = 0;
		struct problem problem;
		pid_t pid;

		reset();
		cannot_exchange = i % 2 == 1;
		make_tree("etcd", "old");
		kill_behind = i / 2 + 1;
		pid = fork();
		if (pid == 0)
			_exit(restore(&problem) == 0 ? 0 : 1);
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
		if (WEXITSTATUS(status) != KILLED) {
			CHECK_EQ_INT(WEXITSTATUS(status), 0);
			continue;
		}
		CHECK(holds("etcd", "old") || holds(ASIDE, "old"));
		/* Where names can be exchanged there is always one in its place. */
		CHECK(cannot_exchange || holds("etcd", "old") || holds("etcd", "new"));
		kill_behind = 0;
		CHECK_EQ_INT(restore(&problem), 0);
		CHECK(holds("etcd", "new") && !scratch_exists("etcd.restoring"));
		CHECK(holds(ASIDE, "old") || holds(ASIDE "-2", "old"));
	}
}

/* It opened the old database just before the exchange. */
static void test_etcd_starts(void)
{
	char names[256];
	struct problem problem;

	for (int i = 0; i < 2; i++) {
		reset();
		cannot_exchange = i == 1;
		make_tree("etcd", "old");
		lock_at_exchange = "etcd/member/snap/db";
		CHECK_EQ_INT(restore(&problem), -EBUSY);
		CHECK_EQ_STR(problem.code, "IN_USE");
		CHECK(holds("etcd", "old"));
		CHECK_EQ_STR(scratch_list(".", names, sizeof(names)), "etcd");
	}
}

static void test_two_at_once(void)
{
	AUTO(datadir_free) struct datadir *dir = NULL;
	AUTO(exchange_close) struct exchange *first = NULL;
	struct exchange *second = NULL;
	struct problem problem = {0};

	reset();
	CHECK_EQ_INT(datadir_look("etcd", &problem, &dir), 0);
	CHECK_EQ_INT(exchange_open(dir, &problem, &first), 0);
	CHECK_EQ_INT(exchange_open(dir, &problem, &second), -EBUSY);
	CHECK_EQ_STR(problem.code, "BUSY");
	CHECK(second == NULL);
}

static uint64_t old_inode; /* as prepare() found it */

/* The new directory and the old one, by their inodes. */
static int put_or_back(bool is_put, uint64_t inode)
{
	AUTO(datadir_free) struct datadir *dir = NULL;
	AUTO(exchange_close) struct exchange *x = NULL;
	struct problem problem = {0};
	AUTO(free) char *aside = xasprintf("%s/" ASIDE, scratch_dir);
	int r = datadir_look("etcd", &problem, &dir);

	if (r == 0)
		r = exchange_open(dir, &problem, &x);
	if (r == 0)
		r = is_put ? exchange_put(x, inode, aside, &problem)
		           : exchange_back(x, inode, old_inode, aside, &problem);
	return r;
}

static uint64_t prepare(void)
{
	AUTO(datadir_free) struct datadir *dir = NULL;
	AUTO(exchange_close) struct exchange *x = NULL;
	struct problem problem = {0};
	uint64_t inode = 0;

	CHECK_EQ_INT(datadir_look("etcd", &problem, &dir), 0);
	CHECK_EQ_INT(exchange_open(dir, &problem, &x), 0);
	old_inode = dir->inode;
	make_tree(exchange_new_path(x), "new");
	CHECK_EQ_INT(exchange_seal(x, &problem, &inode), 0);
	return inode;
}

/* In a process that is killed behind the rename of that number; 0: in none. */
static void put_or_back_killed(bool is_put, uint64_t inode, unsigned at)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		n_renames = 0;
		kill_behind = at;
		_exit(put_or_back(is_put, inode) == 0 ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == KILLED);
}

/* Killed anywhere on the way there and on the way back, both can be repeated, in any order. */
static void test_there_and_back(void)
{
	for (unsigned i = 0; i < 4 * RENAMES_MAX * RENAMES_MAX; i++) {
		bool has_old = i % 4 < 2;
		unsigned at_put = i / 4 % RENAMES_MAX, at_back = i / 4 / RENAMES_MAX;
		uint64_t inode;

		reset();
		cannot_exchange = i % 2 == 1;
		if (has_old)
			make_tree("etcd", "old");
		inode = prepare();
		put_or_back_killed(true, inode, at_put);
		CHECK(!has_old || holds("etcd", "old") || holds(ASIDE, "old"));
		put_or_back_killed(false, inode, at_back);
		CHECK(!has_old || holds("etcd", "old") || holds(ASIDE, "old"));
		CHECK_EQ_INT(put_or_back(false, inode), 0);
		CHECK(has_old ? holds("etcd", "old") : !scratch_exists("etcd"));
		CHECK(!scratch_exists(ASIDE) && holds("etcd.restoring/new", "new"));
		put_or_back_killed(true, inode, at_put);
		CHECK_EQ_INT(put_or_back(true, inode), 0);
		CHECK_EQ_INT(put_or_back(true, inode), 0);
		CHECK(holds("etcd", "new") && (has_old ? holds(ASIDE, "old") : !scratch_exists(ASIDE)));
	}
	reset();
	make_tree("etcd", "old");
	(void) prepare();
	CHECK_EQ_INT(put_or_back(true, 1), -ENOENT);
	CHECK(holds("etcd", "old"));
}

/* Success means that the old one is in place; else nothing is moved. */
static void test_back_without_old(void)
{
	uint64_t inode;

	reset();
	make_tree("etcd", "old");
	inode = prepare();
	CHECK_EQ_INT(put_or_back(true, inode), 0);
	(void) scratch_shell("mv " ASIDE " etcd-elsewhere");
	CHECK_EQ_INT(put_or_back(false, inode), -ENOENT);
	CHECK(holds("etcd", "new") && !scratch_exists("etcd.restoring/new"));
	/* Another directory of that name. */
	(void) scratch_shell("mkdir " ASIDE);
	CHECK_EQ_INT(put_or_back(false, inode), -ENOENT);
	CHECK(holds("etcd", "new"));
	(void) scratch_shell("rmdir " ASIDE " && mv etcd-elsewhere " ASIDE);
	CHECK_EQ_INT(put_or_back(false, inode), 0);
	CHECK(holds("etcd", "old"));
	/* Its file system is not mounted: there is an empty directory. */
	(void) scratch_shell("mv etcd etcd-elsewhere && mkdir etcd");
	CHECK_EQ_INT(put_or_back(false, inode), -ENOENT);
	reset();
	inode = prepare();
	(void) scratch_shell("mkdir etcd");
	CHECK_EQ_INT(put_or_back(false, inode), -ENOENT);
}

/* No rename fails, and still the old one is not in its place. */
static void test_back_lost_meanwhile(void)
{
	for (int i = 0; i < 2; i++) {
		uint64_t inode;

		reset();
		cannot_exchange = i == 1;
		make_tree("etcd", "old");
		inode = prepare();
		CHECK_EQ_INT(put_or_back(true, inode), 0);
		n_renames = 0;
		lost_behind = 1;
		lost = cannot_exchange ? ASIDE : "etcd";
		CHECK_EQ_INT(put_or_back(false, inode), -ENOENT);
		CHECK(holds("etcd-elsewhere", "old"));
		lost_behind = 0;
		(void) scratch_shell("mv etcd-elsewhere etcd");
		CHECK_EQ_INT(put_or_back(false, inode), 0);
		CHECK(holds("etcd", "old"));
	}
}

/* What a killed process left; the snapshot may be wanted. */
static void test_clear(void)
{
	AUTO(datadir_free) struct datadir *dir = NULL;
	AUTO(exchange_close) struct exchange *x = NULL;
	struct problem problem = {0};
	char names[256];

	reset();
	(void) scratch_shell("mkdir -p etcd.restoring/new/member && touch etcd.restoring/snapshot.db "
	                     "etcd.restoring/.snapshot.db.new etcd.restoring/1.db.zst");
	CHECK_EQ_INT(datadir_look("etcd", &problem, &dir), 0);
	CHECK_EQ_INT(exchange_open(dir, &problem, &x), 0);
	CHECK_EQ_INT(exchange_clear(x, true, &problem), 0);
	CHECK_EQ_STR(scratch_list("etcd.restoring", names, sizeof(names)), "snapshot.db");
	CHECK_EQ_INT(exchange_clear(x, false, &problem), 0);
	CHECK_EQ_STR(scratch_list("etcd.restoring", names, sizeof(names)), "");
}

/* --- what is found --- */

static void test_look(void)
{
	AUTO(datadir_free) struct datadir *dir = NULL, *none = NULL, *outer = NULL;
	struct datadir *bad = NULL;
	struct problem problem = {0};
	AUTO(free) char *want = NULL;

	reset();
	make_tree("etcd-1", "old");
	(void) scratch_shell("ln -s etcd-1 etcd && mkdir etcd-1.before-restore-20260101T000000Z "
	                     "etcd-1.before-restore-20260201T000000Z");
	want = xasprintf("%s/etcd-1", scratch_dir);
	CHECK_EQ_INT(datadir_look("etcd/", &problem, &dir), 0);
	if (dir == NULL)
		return;
	CHECK_EQ_STR(dir->path, want);
	CHECK_EQ_STR(dir->unit, want);
	CHECK(dir->exists && dir->has_unit && dir->has_db && dir->has_wal && !dir->in_use);
	CHECK(dir->inner == NULL && dir->free_bytes > 0 && dir->db_bytes == 4);
	CHECK(dir->set_aside != NULL && strstr(dir->set_aside, "20260201") != NULL);
	CHECK_EQ_INT(datadir_look("none//", &problem, &none), 0);
	CHECK(none != NULL && !none->exists && !none->has_unit && none->set_aside == NULL);
	/* One level too high. */
	(void) scratch_shell("mkdir etcd-2 && cp -r etcd-1 etcd-2/default");
	CHECK_EQ_INT(datadir_look("etcd-2", &problem, &outer), 0);
	CHECK(outer != NULL && !outer->has_db && outer->inner != NULL &&
	      strstr(outer->inner, "/etcd-2/default") != NULL);
	CHECK_EQ_INT(datadir_look("no/such/place", &problem, &bad), -ENOENT);
	problem = (struct problem){0};
	CHECK_EQ_INT(datadir_look("/", &problem, &bad), -EINVAL);
	problem = (struct problem){0};
	CHECK_EQ_INT(datadir_look("etcd-1/member/snap/db", &problem, &bad), -ENOTDIR);
	CHECK(bad == NULL);
}

static void test_in_use(void)
{
	AUTO(close) int fd = -1;
	struct problem problem = {0};
	AUTO(datadir_free) struct datadir *dir = NULL;

	reset();
	make_tree("etcd", "old");
	fd = open("etcd/member/snap/db", O_RDWR | O_CLOEXEC);
	CHECK(fd >= 0 && flock(fd, LOCK_EX) == 0);
	CHECK_EQ_INT(datadir_look("etcd", &problem, &dir), 0);
	CHECK(dir != NULL && dir->in_use);
}

int main(void)
{
	scratch_enter();
	test_good();
	test_nothing_there();
	test_failing();
	test_killed();
	test_etcd_starts();
	test_two_at_once();
	test_there_and_back();
	test_back_without_old();
	test_back_lost_meanwhile();
	test_clear();
	test_look();
	test_in_use();
	reset();
	scratch_leave();
	return check_result();
}
