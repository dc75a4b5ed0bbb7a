/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy shares all that the program has open with it, and whoever is at the other end of that is
 * real. So a filter of its system calls kills it before it does anything but what an abort needs:
 * write to stderr, which is a pipe to here, and send itself a signal. It is no child that the
 * program could see: nobody is told of its end but who asks with __WCLONE.
 */
#include "tests/fault/nth_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fault/nth_call.h"

/* A lock that another thread had when the copy was made is never released in it. */
#define COPY_MAX_MS 5000
#define SAID_BYTES 4096

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define SKIP_UNLESS(value, n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)
#define ALLOW(call) SKIP_UNLESS(call, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static bool confine(int said)
{
	struct sock_filter filter[] = {
	    LOAD(nr),
	    ALLOW(SYS_rt_sigprocmask),
	    ALLOW(SYS_rt_sigaction),
	    ALLOW(SYS_getpid),
	    ALLOW(SYS_gettid),
	    ALLOW(SYS_tgkill),
	    ALLOW(SYS_futex),
	    ALLOW(SYS_sigaltstack), /* AddressSanitizer, before an abort */
	    SKIP_UNLESS(SYS_write, 3),
	    LOAD(args[0]),
	    ALLOW(STDERR_FILENO),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return dup2(said, STDERR_FILENO) == STDERR_FILENO && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The log's own line, or libev's; or that OpenSSL had none. */
static bool says_so(int said)
{
	char text[SAID_BYTES];
	ssize_t n = REAL(read)(said, text, sizeof(text) - 1);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, "event=out_of_memory") != NULL || strstr(text, "(libev)") != NULL ||
	       strstr(text, "event=openssl_failed") != NULL;
}

static bool ends_by(int pidfd, pid_t pid, int signo)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	int status = 0;

	if (poll(&ended, 1, COPY_MAX_MS) != 1)
		(void) syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (waitpid(pid, &status, (int) __WCLONE) < 0 && errno == EINTR)
		;
	return WIFSIGNALED(status) && WTERMSIG(status) == signo;
}

/* Not fork(): the copy's end is no SIGCHLD, and nobody's pthread_atfork() handlers are run. */
enum copy copy_without_memory(void)
{
	enum copy found = COPY_DID_OTHER;
	sigset_t all, before;
	int said[2], pidfd = -1;
	pid_t pid;

	if (REAL(pipe2)(said, O_CLOEXEC | O_NONBLOCK) < 0)
		return found;
	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	pid = (pid_t) syscall(SYS_clone, CLONE_PIDFD, NULL, &pidfd, NULL, NULL);
	if (pid == 0) {
		if (confine(said[1]))
			return COPY_IS_THIS;
		_exit(1);
	}
	(void) close(said[1]);
	if (pid > 0) {
		if (ends_by(pidfd, pid, SIGABRT) && says_so(said[0]))
			found = COPY_ABORTED;
		(void) close(pidfd);
	}
	(void) close(said[0]);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	return found;
}
