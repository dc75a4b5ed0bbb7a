/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real etcdwatch takes snapshots of a real etcd again and again, and each time another call on a
 * file in its directory fails, or the process that makes it is killed at it: its own, and those of
 * its worker. Whatever happens: the snapshots from before are there and whole; what has an entry is
 * proven and whole; who was told that a snapshot is kept has it; and the next run brings all in
 * order.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mono.h"
#include "cli/common/client.h"
#include "etcdtest/cluster.h"
#include "etcdwatch/catalog/catalog.h"
#include "tests/fault/disk_calls.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define ANSWER_US (30 * US_PER_S)
#define KEEP 2 /* as in the configuration */

static struct cluster *cluster;
static struct disk_faults *faults;
static char *programs, *socket_path;
static pid_t daemon_pid;
static unsigned n_runs;

/* --- the daemon --- */

static void write_config(void)
{
	FILE *f = fopen("config.yaml", "we");

	CHECK(f != NULL);
	(void) fprintf(f,
	               "apiVersion: fairlead/v1\nkind: NodeConfig\nname: n1\n---\n"
	               "apiVersion: fairlead/v1\nkind: EtcdClientConfig\nendpoints: [%s]\n---\n"
	               "apiVersion: fairlead/v1\nkind: EtcdSnapshotConfig\nname: j\n"
	               "schedule: '0 0 1 1 *'\ncatchUp: false\ndirectory: %s/snapshots\n"
	               "reserve: 1MiB\nretention: {last: %d, daily: 0, weekly: 0}\n"
	               "compression: {algorithm: zstd}\n",
	               cluster_urls(cluster)[0], scratch_dir, KEEP);
	CHECK(fclose(f) == 0);
}

static void start(void)
{
	AUTO(free) char *program = xasprintf("%s/etcdwatch", programs);
	const char *argv[] = {program, "--config",          "config.yaml", "--runtime-dir",
	                      "run",   "--log-level=debug", NULL};

	daemon_pid = fork();
	if (daemon_pid == 0) {
		int log = open("log.txt", O_WRONLY | O_CREAT | O_APPEND, 0600);

		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) dup2(log, STDERR_FILENO);
		(void) execv(program, (char **) (uintptr_t) argv);
		_exit(127);
	}
}

/* It has ended by itself, and how; -1: it lives. */
static int ended(void)
{
	int status = 0;

	if (daemon_pid == 0 || waitpid(daemon_pid, &status, WNOHANG) != daemon_pid)
		return -1;
	daemon_pid = 0;
	return status;
}

static void stop(void)
{
	int status = 0;

	if (daemon_pid == 0)
		return;
	CHECK(kill(daemon_pid, SIGTERM) == 0);
	CHECK(waitpid(daemon_pid, &status, 0) == daemon_pid);
	CHECK_EQ_INT(status, 0);
	daemon_pid = 0;
}

static bool was_killed(int status)
{
	return faults->action == DISK_KILL && faults->reached && WIFSIGNALED(status) &&
	       WTERMSIG(status) == SIGKILL;
}

/* --- asking it --- */

enum saved {
	SAVED,
	REFUSED, /* with a reason */
	KILLED,  /* and killed it was, by the fault */
};

static void nap(void)
{
	const struct timespec t = {.tv_nsec = 2000000};

	(void) nanosleep(&t, NULL);
}

/* Until it listens, and is done with what it is at, and has answered. */
static int ask(const char *what, struct client_answer **ret_answer)
{
	const char *const words[] = {"etcd", "snapshot", what};
	int64_t until_us = mono_now_us() + ANSWER_US;

	for (;;) {
		AUTO(client_answer_free) struct client_answer *answer = NULL;
		int r = client_ask(socket_path, words, ARRAY_SIZE(words), ANSWER_US, &answer);
		bool busy = r == 0 && answer->error != NULL && strcmp(answer->error, "busy") == 0;

		if ((busy || r == -ENOENT || r == -ECONNREFUSED) && mono_now_us() < until_us) {
			int status = ended();

			if (status >= 0) {
				CHECK(was_killed(status));
				return -ECHILD;
			}
			nap();
			continue;
		}
		*ret_answer = TAKE_PTR(answer);
		return r;
	}
}

/* Another revision, so that snapshots differ: by etcd's gateway for HTTP, without a program. */
static void put(void)
{
	static const char request[] = "POST /v3/kv/put HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\n"
	                              "Content-Length: 29\r\n\r\n{\"key\":\"eA==\",\"value\":\"eA==\"}";
	const struct sockaddr_in sin = {.sin_family = AF_INET,
	                                .sin_port = htons((uint16_t) cluster_port(cluster, 0)),
	                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	AUTO(close) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char answer[512] = "";

	CHECK(connect(fd, (const struct sockaddr *) &sin, sizeof(sin)) == 0);
	CHECK(write(fd, request, sizeof(request) - 1) == sizeof(request) - 1);
	CHECK(read(fd, answer, sizeof(answer) - 1) > 0 && strstr(answer, " 200 ") != NULL);
}

/* revision: of the snapshot that it says it has. */
static enum saved save(int64_t *revision)
{
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	int r, status = 0;

	put();
	*revision = 0;
	r = ask("save", &answer);
	if (r < 0) {
		if (daemon_pid != 0) {
			CHECK(waitpid(daemon_pid, &status, 0) == daemon_pid);
			CHECK(was_killed(status));
			daemon_pid = 0;
		}
		return KILLED;
	}
	if (answer->error != NULL) {
		CHECK(answer->sentence[0] != '\0');
		return REFUSED;
	}
	*revision = json_integer_value(json_object_get(json_array_get(answer->objects, 0), "revision"));
	CHECK(*revision > 0);
	return SAVED;
}

static bool is_resting(void)
{
	static const char *const words[] = {"etcd", "snapshot", "jobs"};
	AUTO(client_answer_free) struct client_answer *answer = NULL;
	const char *state = NULL;

	if (client_ask(socket_path, words, ARRAY_SIZE(words), ANSWER_US, &answer) == 0)
		state = json_string_value(json_object_get(json_array_get(answer->objects, 0), "state"));
	return state != NULL && strcmp(state, "idle") == 0;
}

/* Until it has pruned, too, or was killed at that. */
static bool settles(void)
{
	int64_t until_us = mono_now_us() + ANSWER_US;

	while (daemon_pid != 0 && mono_now_us() < until_us) {
		int status = ended();

		if (status >= 0)
			return CHECK(was_killed(status));
		if (is_resting())
			return true;
		nap();
	}
	return CHECK(daemon_pid == 0);
}

/* --- the directory --- */

/* What is in it: whole snapshots, by their entries; and whatever else. */
struct seen {
	int64_t revisions[16];
	size_t n;
	size_t n_promised; /* entries that do not count */
	size_t n_half;     /* files half taken, entries half written */
	size_t n_unknown;  /* files without an entry that is there */
};

/* How many are of this revision or a newer one. */
static size_t n_from(const struct seen *seen, int64_t revision)
{
	size_t n = 0;

	for (size_t i = 0; i < seen->n; i++)
		n += seen->revisions[i] >= revision;
	return n;
}

static bool has(const struct seen *seen, int64_t revision)
{
	return n_from(seen, revision) > n_from(seen, revision + 1);
}

/* Whatever has an entry is as its entry says, and proven. */
static void look_at_entry(const char *name, struct seen *seen, size_t *n_files)
{
	AUTO(free) char *path = xasprintf("snapshots/%s", name), *file = NULL;
	AUTO(catalog_entry_free) struct catalog_entry *e = NULL;
	char error[CATALOG_ERROR_MAX], hex[DIGEST_HEX_MAX];

	if (!CHECK_EQ_INT(catalog_read(path, &e, error), 0)) {
		(void) fprintf(stderr, "  %s\n", error);
		return;
	}
	CHECK(catalog_is_good(e) && e->hashkv_verified != NULL);
	file = xasprintf("snapshots/%s", e->file);
	CHECK_EQ_STR(scratch_sha256(file, hex), e->file_sha256);
	if (CHECK(seen->n < ARRAY_SIZE(seen->revisions)))
		seen->revisions[seen->n++] = e->revision;
	*n_files += 1;
}

static struct seen look(void)
{
	struct seen seen = {0};
	size_t n_entries = 0, n_files = 0;
	DIR *dir = opendir("snapshots");
	const struct dirent *entry;

	if (!CHECK(dir != NULL))
		return seen;
	while ((entry = readdir(dir)) != NULL) {
		size_t len = strlen(entry->d_name);

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		    strcmp(entry->d_name, "rejected") == 0)
			continue;
		if (entry->d_name[0] == '.' && isdigit((unsigned char) entry->d_name[1]) &&
		    strstr(entry->d_name, ".new.") == NULL)
			seen.n_promised++;
		else if (entry->d_name[0] == '.' || strstr(entry->d_name, ".new.") != NULL)
			seen.n_half++;
		else if (len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0)
			look_at_entry(entry->d_name, &seen, &n_entries);
		else
			n_files++;
	}
	(void) closedir(dir);
	CHECK(n_files >= n_entries);
	seen.n_unknown = n_files - n_entries;
	return seen;
}

/* --- one run with one fault --- */

static void arm(unsigned at, enum disk_action action, int error)
{
	faults->at = at;
	faults->action = action;
	faults->error = error;
	atomic_store(&faults->reached, false);
	atomic_store(&faults->n_calls, 0);
}

static void disarm(void)
{
	faults->action = DISK_COUNT;
}

/* The newest of before stays, whatever happens; of the others one may go. */
static bool check_after_fault(const struct seen *before, int64_t newest, enum saved end,
                              int64_t saved)
{
	bool ok = settles();
	struct seen seen = look();

	ok &= CHECK(has(&seen, newest));
	ok &= CHECK(end != SAVED || has(&seen, saved));
	ok &= CHECK(seen.n + 1 >= before->n);
	/* A file without an entry is there only where somebody was killed between the two. */
	ok &= CHECK(seen.n_unknown == 0 || faults->action == DISK_KILL);
	return ok;
}

/* All is in order again, and as many are there as are to be: the newest. */
static bool check_recovery(int64_t newest, int64_t *ret_saved)
{
	struct seen seen;
	bool ok;

	disarm();
	if (daemon_pid == 0)
		start();
	ok = CHECK_EQ_INT(save(ret_saved), SAVED);
	ok &= settles();
	seen = look();
	ok &= CHECK(has(&seen, *ret_saved));
	ok &= CHECK_EQ_INT(seen.n, KEEP);
	ok &= CHECK_EQ_INT(n_from(&seen, newest), KEEP);
	ok &= CHECK_EQ_INT(seen.n_unknown, 0);
	ok &= CHECK_EQ_INT(seen.n_half, 0);
	if (seen.n_promised > 0) {
		/* One that could not be removed is, by the next start. */
		stop();
		start();
		ok &= CHECK(settles());
		seen = look();
		ok &= CHECK_EQ_INT(seen.n_promised, 0);
	}
	ok &= CHECK(access("snapshots/rejected", F_OK) < 0);
	return ok;
}

/* What moves bytes may be cut short and interrupted. */
static bool is_harmless(enum disk_action action, int error)
{
	enum disk_call call = faults->calls[faults->at].call;

	return (call == DISK_READ || call == DISK_WRITE) && (action == DISK_SHORT || error == EINTR);
}

static void say_fault(unsigned at, enum disk_action action, int error)
{
	(void) fprintf(stderr, "  call %u: %u of '%s', action %d, %s\n", at,
	               (unsigned) faults->calls[at].call, faults->calls[at].name, (int) action,
	               strerror(error));
}

/* newest: the snapshot that was kept last; in the end the one that is then. */
static void run(unsigned at, enum disk_action action, int error, int64_t *newest)
{
	struct seen before = look();
	int64_t saved;
	enum saved end;
	bool ok, harmless;

	n_runs++;
	arm(at, action, error);
	end = save(&saved);
	harmless = is_harmless(action, error);
	ok = check_after_fault(&before, *newest, end, saved);
	ok &= CHECK(end == SAVED || faults->reached);
	ok &= CHECK(end != REFUSED || !harmless);
	if (end == SAVED)
		*newest = saved;
	if (end != SAVED || daemon_pid == 0 || look().n != KEEP)
		ok &= check_recovery(*newest, newest);
	if (!ok)
		say_fault(at, action, error);
}

static const struct {
	enum disk_action action;
	int error;
} actions[] = {
    {DISK_FAIL, EIO},   {DISK_FAIL, ENOSPC}, {DISK_FAIL, EACCES}, {DISK_FAIL, EINVAL},
    {DISK_FAIL, EINTR}, {DISK_SHORT, 0},     {DISK_KILL, 0},
};

/* What can happen to which call. */
static bool applies(enum disk_call call, enum disk_action action, int error)
{
	bool transfers = call == DISK_READ || call == DISK_WRITE;
	bool changes = call >= DISK_MKDIR || call == DISK_CREATE;

	if (action == DISK_SHORT || error == EINTR)
		return transfers;
	if (action == DISK_KILL)
		return changes;
	switch (error) {
	case ENOSPC:
		return call == DISK_CREATE || call == DISK_WRITE || call == DISK_FSYNC ||
		       call == DISK_RENAME;
	case EACCES:
		return call == DISK_CREATE || call == DISK_OPENDIR || call == DISK_UNLINK;
	case EINVAL:
		/* As a file system says that cannot rename without replacing. */
		return call == DISK_RENAME;
	default:
		return true;
	}
}

/* What calls there are when nothing fails. Of a row of the same calls on the same file, such as
 * those that read a directory name by name, the first and the last stand for all. */
struct plan {
	enum disk_call calls[DISK_CALLS_MAX];
	bool counts[DISK_CALLS_MAX];
	unsigned n;
};

static bool is_same_call(unsigned a, unsigned b)
{
	return faults->calls[a].call == faults->calls[b].call &&
	       strcmp(faults->calls[a].name, faults->calls[b].name) == 0;
}

static void make_plan(struct plan *plan)
{
	unsigned n = faults->n_calls;

	CHECK(n > 0 && n < DISK_CALLS_MAX);
	for (unsigned i = 0; i < n; i++) {
		plan->calls[i] = faults->calls[i].call;
		plan->counts[i] =
		    i == 0 || i + 1 == n || !is_same_call(i, i - 1) || !is_same_call(i, i + 1);
	}
	plan->n = n;
}

static void each_fault(void)
{
	static struct plan plan;
	int64_t newest = 0;

	(void) scratch_shell("mkdir run");
	write_config();
	start();
	/* As many as there are to be, so that each run has one to remove. */
	for (unsigned i = 0; i < KEEP; i++)
		CHECK_EQ_INT(save(&newest), SAVED);
	arm(0, DISK_COUNT, 0);
	CHECK_EQ_INT(save(&newest), SAVED);
	CHECK(settles());
	make_plan(&plan);
	for (unsigned at = 0; at < plan.n; at++) {
		for (size_t i = 0; i < ARRAY_SIZE(actions) && plan.counts[at]; i++) {
			if (applies(plan.calls[at], actions[i].action, actions[i].error))
				run(at, actions[i].action, actions[i].error, &newest);
		}
	}
	stop();
	(void) fprintf(stderr, "%u calls, %u faults\n", plan.n, n_runs);
}

/* --- the whole --- */

static void share_faults(void)
{
	AUTO(free) char *path = xasprintf("%s/faults", scratch_dir);
	AUTO(close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && ftruncate(fd, sizeof(*faults)) == 0);
	faults = mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (faults == MAP_FAILED)
		abort();
	(void) snprintf(faults->directory, sizeof(faults->directory), "%s/snapshots", scratch_dir);
	CHECK(setenv(DISK_FAULTS_ENV, path, 1) == 0);
}

static void find_programs(void)
{
	char self[PATH_MAX] = "";

	CHECK(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	*strstr(self, "/unit/") = '\0';
	programs = xasprintf("%s/fault", self);
}

int main(void)
{
	cluster = cluster_new(1, CLUSTER_FAST);
	find_programs();
	scratch_enter();
	share_faults();
	socket_path = xasprintf("%s/run/etcdwatch.sock", scratch_dir);
	/* More than one buffer of the stream. */
	CHECK(cluster_run(cluster, "head -c 450000 /dev/urandom | base64 -w 0 >value"));
	CHECK(cluster_ctl(cluster, "put big <value"));
	CHECK(cluster_ctl(cluster, "put small x"));
	each_fault();
	cluster_free(cluster);
	if (check_failures == 0)
		scratch_leave();
	else
		(void) fprintf(stderr, "see %s\n", scratch_dir);
	return check_result();
}
