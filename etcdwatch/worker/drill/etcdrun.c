/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fork(2), exec(3), and the log. Nothing of our environment reaches it, where any ETCD_ variable
 * would be an option of its command line.
 */
#include "etcdwatch/worker/drill/etcdrun.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/drill/etcdlog.h"

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
