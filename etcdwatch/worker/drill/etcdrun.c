/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork(2), exec(3), and the log. Nothing of our environment reaches it, where any ETCD_ variable
 * would be an option of its command line.
 */
#include "etcdwatch/worker/drill/etcdrun.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"

/* --- enclave --- */

/* unshare(2), the identity map, and loopback up. */

#define MAP_MAX 64

/* Each of these has been seen to be the one. */
#define WHAT_TO_SET                                                                            \
	"allow it to: user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1 and "   \
	"kernel.apparmor_restrict_unprivileged_userns=0 where the kernel has them, and in a unit " \
	"of systemd RestrictNamespaces=user net pid; or run it as root"

static int refuse(struct problem *problem, int r, const char *what)
{
	return problem_set(problem, r, "NAMESPACE",
	                   "the kernel does not let this process have a network of its own (%s: %s): "
	                   "%s",
	                   what, strerror(-r), WHAT_TO_SET);
}

static int write_text(const char *path, const char *text)
{
	AUTO(close) int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	return n < 0 ? -errno : 0;
}

/* One's own ids to themselves, so that one's files stay one's own. */
static int map_ids(uid_t uid, gid_t gid, struct problem *problem)
{
	char uids[MAP_MAX], gids[MAP_MAX];
	int r;

	(void) snprintf(uids, sizeof(uids), "%u %u 1\n", uid, uid);
	(void) snprintf(gids, sizeof(gids), "%u %u 1\n", gid, gid);
	/* A group can be mapped without privilege only when groups cannot be dropped any more. */
	r = write_text("/proc/self/setgroups", "deny");
	if (r == 0)
		r = write_text("/proc/self/gid_map", gids);
	if (r == 0)
		r = write_text("/proc/self/uid_map", uids);
	return r < 0 ? refuse(problem, r, "mapping of ids") : 0;
}

static int raise_loopback(struct problem *problem)
{
	struct ifreq request = {.ifr_name = "lo"};
	AUTO(close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) < 0)
		return refuse(problem, -errno, "loopback");
	request.ifr_flags |= IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		return refuse(problem, -errno, "loopback");
	return 0;
}

int enclave_enter(struct problem *problem)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r = 0;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID) == 0) {
		r = map_ids(uid, gid, problem);
	} else {
		int error = errno;

		if (unshare(CLONE_NEWNET | CLONE_NEWPID) < 0)
			return refuse(problem, -error, "user namespace");
	}
	return r < 0 ? r : raise_loopback(problem);
}

/* --- etcdlog --- */

/*
 * zap writes a JSON object a line with "level", "msg" and mostly "error"; the Go runtime writes
 * "panic: ..." or "fatal error: ..." and then the stacks of all its threads, which tell nothing to
 * who reads this.
 */

static bool begins_with(const char *line, size_t len, const char *text)
{
	return len >= strlen(text) && memcmp(line, text, strlen(text)) == 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool is_fatal(const json_t *object)
{
	const char *level = text_of(object, "level");

	return level != NULL && (strcmp(level, "fatal") == 0 || strcmp(level, "panic") == 0);
}

static void tell(const char *line, size_t len, const json_t *object,
                 char words[static ETCDLOG_WORDS_MAX])
{
	const char *message = text_of(object, "msg");
	const char *error = text_of(object, "error");

	if (message == NULL)
		(void) snprintf(words, ETCDLOG_WORDS_MAX, "%.*s", (int) MIN(len, ETCDLOG_WORDS_MAX), line);
	else
		(void) snprintf(words, ETCDLOG_WORDS_MAX, "%s%s%s", message, error != NULL ? ": " : "",
		                error != NULL ? error : "");
}

/* Whether this is the line that says why. */
static bool judge(const char *line, size_t len, char words[static ETCDLOG_WORDS_MAX])
{
	json_t *object = json_loadb(line, len, 0, NULL);
	bool final = is_fatal(object) || begins_with(line, len, "panic: ") ||
	             begins_with(line, len, "fatal error: ");

	tell(line, len, object, words);
	json_decref(object);
	return final;
}

const char *etcdlog_last_words(const char *log, size_t len, char words[static ETCDLOG_WORDS_MAX])
{
	char last[ETCDLOG_WORDS_MAX] = "", line_words[ETCDLOG_WORDS_MAX];
	const char *end = log + len;

	words[0] = '\0';
	while (log < end) {
		const char *newline = memchr(log, '\n', (size_t) (end - log));
		const char *line_end = newline != NULL ? newline : end;
		size_t n = (size_t) (line_end - log);

		if (n > 0 && judge(log, n, line_words))
			(void) snprintf(words, ETCDLOG_WORDS_MAX, "%s", line_words);
		if (n > 0)
			(void) snprintf(last, sizeof(last), "%s", line_words);
		log = line_end + 1;
	}
	if (words[0] == '\0')
		(void) snprintf(words, ETCDLOG_WORDS_MAX, "%s", last[0] != '\0' ? last : "it said nothing");
	return words;
}

/* --- etcdrun --- */

#define CODE "START"
#define LOG_TAIL_BYTES (64 * 1024)
#define ARGS_MAX 32
/* It shares the machine with a production etcd: two threads that run Go code, whatever the number
 * of processors. */
#define GO_THREADS "GOMAXPROCS=2"

struct etcdrun {
	char *log;
	pid_t pid; /* 0 once it was waited for */
	int status;
};

/* --- starting --- */

/* etcd refuses to run on what is neither amd64 nor, of late, arm64, if it is not told to by the
 * name that Go has for it. */
static char *unsupported_arch(void)
{
	static const struct {
		const char *machine;
		const char *go;
	} names[] = {
	    {"aarch64", "arm64"},
	    {"armv7l", "arm"},
	    {"i686", "386"},
	};
	struct utsname name;
	const char *arch = "";

	if (uname(&name) == 0)
		arch = name.machine;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(arch, names[i].machine) == 0)
			return xasprintf("ETCD_UNSUPPORTED_ARCH=%s", names[i].go);
	}
	return xasprintf("ETCD_UNSUPPORTED_ARCH=%s", arch);
}

struct child {
	int log;
	int started; /* closed by a successful exec; else gets the errno */
	char *const *argv;
	char *const *envp;
};

/* Only what may be called between fork and exec. */
static NORETURN void become(const struct child *c)
{
	struct pollfd reader = {.fd = c->started};
	int null = open("/dev/null", O_RDONLY);
	int error;

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Whoever reads there is our parent, whose number means nothing in a space of our own. */
	if (poll(&reader, 1, 0) != 0)
		_exit(127);
	(void) signal(SIGPIPE, SIG_DFL);
	(void) signal(SIGTERM, SIG_DFL);
	(void) signal(SIGINT, SIG_DFL);
	if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(c->log, STDOUT_FILENO) >= 0 &&
	    dup2(c->log, STDERR_FILENO) >= 0)
		(void) execve(c->argv[0], c->argv, c->envp);
	error = errno;
	if (write(c->started, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static int spawn(struct etcdrun *run, char *const *argv, char *const *envp)
{
	AUTO(close) int log = open(run->log, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	AUTO(close) int ours = -1;
	struct child child = {log, -1, argv, envp};
	int ends[2], error = 0;
	ssize_t n;

	if (log < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ours = ends[0];
	child.started = ends[1];
	run->pid = fork();
	if (run->pid == 0) {
		(void) close(TAKE_FD(ours));
		become(&child);
	}
	error = run->pid < 0 ? errno : 0;
	(void) close(ends[1]);
	if (error != 0) {
		run->pid = 0;
		return -error;
	}
	do
		n = read(ours, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == sizeof(error) ? -error : 0;
}

int etcdrun_start(const struct etcdrun_options *options, struct problem *problem,
                  struct etcdrun **ret_run)
{
	AUTO(etcdrun_free) struct etcdrun *run = NEW0(struct etcdrun);
	AUTO(free) char *arch = unsupported_arch();
	AUTO(free) char *token = NULL;
	const char *envp[] = {"PATH=/usr/bin:/bin", GO_THREADS, arch, NULL};
	const char *argv[ARGS_MAX] = {
	    options->etcd,
	    "--name=" ETCDRUN_NAME,
	    "--listen-client-urls=" ETCDRUN_CLIENT_URL,
	    "--advertise-client-urls=" ETCDRUN_CLIENT_URL,
	    "--listen-peer-urls=" ETCDRUN_PEER_URL,
	    "--initial-advertise-peer-urls=" ETCDRUN_PEER_URL,
	    "--initial-cluster=" ETCDRUN_CLUSTER,
	    "--logger=zap",
	    "--log-level=warn",
	    "--data-dir",
	    options->data_dir,
	};
	union {
		const char **in;
		char **out;
	} args = {argv}, env = {envp}; /* execve() has the const wrong */
	int r;

	run->log = xstrdup(options->log);
	if (options->token_key != NULL) {
		token = xasprintf("--auth-token=jwt,sign-method=HS256,priv-key=%s", options->token_key);
		argv[11] = token;
	}
	r = spawn(run, args.out, env.out);
	if (r < 0)
		return problem_set(problem, r, CODE, "cannot run '%s': %s", options->etcd, strerror(-r));
	*ret_run = TAKE_PTR(run);
	return 0;
}

/* --- the end --- */

static pid_t wait_for(struct etcdrun *run, int options)
{
	pid_t pid;

	do
		pid = waitpid(run->pid, &run->status, options);
	while (pid < 0 && errno == EINTR);
	if (pid != 0)
		run->pid = 0;
	return pid;
}

void etcdrun_free(struct etcdrun *run)
{
	if (run == NULL)
		return;
	if (run->pid > 0) {
		(void) kill(run->pid, SIGKILL);
		(void) wait_for(run, 0);
	}
	free(run->log);
	free(run);
}

int etcdrun_blame(const struct etcdrun *run, int r, const char *what, struct problem *problem)
{
	AUTO(close) int fd = open(run->log, O_RDONLY | O_CLOEXEC);
	AUTO(free) char *tail = xcalloc(1, LOG_TAIL_BYTES);
	char words[ETCDLOG_WORDS_MAX];
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	ssize_t n = 0;

	if (end > 0)
		n = pread(fd, tail, LOG_TAIL_BYTES, MAX(end - LOG_TAIL_BYTES, 0));
	return problem_set(problem, r, CODE, "%s: %s", what,
	                   etcdlog_last_words(tail, (size_t) MAX(n, 0), words));
}

int etcdrun_check(struct etcdrun *run, struct problem *problem)
{
	char what[64];

	if (run->pid > 0 && wait_for(run, WNOHANG) == 0)
		return 0;
	if (WIFSIGNALED(run->status))
		(void) snprintf(what, sizeof(what), "etcd was killed by signal %d", WTERMSIG(run->status));
	else
		(void) snprintf(what, sizeof(what), "etcd ended with code %d", WEXITSTATUS(run->status));
	return etcdrun_blame(run, -ECHILD, what, problem);
}
