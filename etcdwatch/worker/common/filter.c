/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop around poll(2) moves bytes in three directions, so that neither side can wait for the
 * other: while there is input to write, output is read. Should the program close its input early,
 * what it has to say is still read, and its exit code decides.
 */
#include "etcdwatch/worker/common/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/common/result.h"

#define BUFFER_BYTES (64 * 1024)
#define SAID_MAX 400
#define POLL_MS 500
#define EXTRA_FD 3

struct filter {
	struct sink sink;
	struct sink *next;
	struct problem *problem;
	char *name;
	const char *code;
	const char *missing_code;
	unsigned stall_ms;
	int64_t end_us; /* MONO_NEVER: no limit */
	bool last_words;
	void (*look)(void *userdata);
	void *userdata;
	pid_t pid; /* 0 once it was waited for */
	int in;    /* to its stdin, ...; -1 once closed */
	int out;
	int err;
	char *buffer;
	char said[SAID_MAX]; /* the beginning of its stderr, or the end */
	size_t said_len;
};

/* --- the program --- */

struct pipes {
	int in[2];
	int out[2];
	int err[2];
	int started[2]; /* closed by a successful exec; else gets the errno */
};

/* dup2() onto itself would leave it to be closed. */
static bool hand_over(int fd)
{
	if (fd == EXTRA_FD)
		return fcntl(fd, F_SETFD, 0) == 0;
	return fd < 0 || dup2(fd, EXTRA_FD) >= 0;
}

/* In the child. Only what may be called between fork and exec. */
static NORETURN void become(const struct filter_program *program, const struct pipes *pipes,
                            pid_t parent)
{
	int error;

	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	(void) setsid();
	(void) signal(SIGPIPE, SIG_DFL);
	/* The pipes' own descriptors are above 3, or dup2() would close one of them. */
	if (dup2(pipes->in[0], STDIN_FILENO) >= 0 && dup2(pipes->out[1], STDOUT_FILENO) >= 0 &&
	    dup2(pipes->err[1], STDERR_FILENO) >= 0 && hand_over(program->extra_fd)) {
		union {
			const char *const *in;
			char *const *out;
		} argv = {.in = program->argv}; /* execvp() has the const wrong */

		(void) execvp(argv.out[0], argv.out);
	}
	error = errno;
	if (write(pipes->started[1], &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static void close_pair(int pair[static 2])
{
	for (int i = 0; i < 2; i++) {
		if (pair[i] >= 0)
			(void) close(pair[i]);
	}
}

/* A pipe whose ends are above the descriptors that the child arranges. */
static int make_pipe(int ret_pair[static 2])
{
	int pair[2], r = 0;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		ret_pair[i] = fcntl(pair[i], F_DUPFD_CLOEXEC, EXTRA_FD + 1);
		if (ret_pair[i] < 0)
			r = -errno;
	}
	close_pair(pair);
	return r;
}

static int make_pipes(struct pipes *pipes)
{
	int *const all[] = {pipes->in, pipes->out, pipes->err, pipes->started};
	int r = 0;

	memset(pipes, -1, sizeof(*pipes));
	for (size_t i = 0; i < ARRAY_SIZE(all) && r == 0; i++)
		r = make_pipe(all[i]);
	return r;
}

/* What keeps the program from starting: 0, or its errno. */
static int wait_started(int fd)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t) sizeof(error) ? -error : 0;
}

static int start(struct filter *f, const struct filter_program *program)
{
	struct pipes pipes;
	pid_t parent = getpid();
	int r = make_pipes(&pipes);

	if (r == 0) {
		f->pid = fork();
		if (f->pid == 0)
			become(program, &pipes, parent);
		if (f->pid < 0) {
			f->pid = 0;
			r = -errno;
		}
	}
	if (r == 0) {
		f->in = TAKE_FD(pipes.in[1]);
		f->out = TAKE_FD(pipes.out[0]);
		f->err = TAKE_FD(pipes.err[0]);
		/* Ours must be closed, or there is never an end to read. */
		(void) close(TAKE_FD(pipes.started[1]));
		r = wait_started(pipes.started[0]);
	}
	close_pair(pipes.in);
	close_pair(pipes.out);
	close_pair(pipes.err);
	close_pair(pipes.started);
	return r;
}

/* --- moving bytes --- */

static void close_one(int *fd)
{
	if (*fd >= 0)
		(void) close(TAKE_FD(*fd));
}

/* 1: something came; 0: it was the end, and the descriptor is closed. */
static int read_output(struct filter *f)
{
	ssize_t n = read(f->out, f->buffer, BUFFER_BYTES);
	int r;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN
		           ? 1
		           : problem_set_errno(f->problem, -errno, "cannot read from %s", f->name);
	if (n == 0) {
		close_one(&f->out);
		return 0;
	}
	r = sink_write(f->next, f->buffer, (size_t) n);
	return r < 0 ? r : 1;
}

/* Forgets as much of the beginning as this needs. */
static void make_room(struct filter *f, size_t len)
{
	size_t room = sizeof(f->said) - 1 - f->said_len;
	size_t gone = len > room ? len - room : 0;

	memmove(f->said, f->said + gone, f->said_len - gone);
	f->said_len -= gone;
}

static void read_words(struct filter *f)
{
	char text[SAID_MAX / 2];
	ssize_t n = read(f->err, text, sizeof(text));
	size_t kept;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		close_one(&f->err);
		return;
	}
	if (f->last_words)
		make_room(f, (size_t) n);
	kept = MIN((size_t) n, sizeof(f->said) - 1 - f->said_len);
	memcpy(f->said + f->said_len, text, kept);
	f->said_len += kept;
	f->said[f->said_len] = '\0';
}

static void write_input(struct filter *f, const char **data, size_t *len)
{
	ssize_t n = write(f->in, *data, *len);

	if (n >= 0) {
		*data += n;
		*len -= (size_t) n;
	} else if (errno != EINTR && errno != EAGAIN) {
		/* It closed its end: what it has printed and how it exits tells why. */
		close_one(&f->in);
	}
}

/* Waits until one of the descriptors is ready, and serves those that are. */
static int serve(struct filter *f, const char **data, size_t *len)
{
	struct pollfd fds[] = {
	    {.fd = *len > 0 ? f->in : -1, .events = POLLOUT},
	    {.fd = f->out, .events = POLLIN},
	    {.fd = f->err, .events = POLLIN},
	};
	int64_t end_us = mono_now_us() + f->stall_ms * US_PER_MS;
	int n, r = 0;

	do {
		if (cancel_is_wanted())
			return problem_set(f->problem, -ECANCELED, "CANCELLED", "cancelled");
		if (mono_now_us() >= end_us)
			return problem_set(f->problem, -ETIMEDOUT, f->code, "%s stood still for %u s", f->name,
			                   f->stall_ms / 1000);
		if (mono_now_us() >= f->end_us)
			return problem_set(f->problem, -ETIMEDOUT, f->code, "%s took too long", f->name);
		if (f->look != NULL)
			f->look(f->userdata);
		n = poll(fds, ARRAY_SIZE(fds), POLL_MS);
	} while (n == 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return problem_set_errno(f->problem, -errno, "cannot wait for %s", f->name);
	if (fds[1].revents != 0)
		r = read_output(f);
	if (r >= 0 && fds[2].revents != 0)
		read_words(f);
	if (r >= 0 && fds[0].revents != 0)
		write_input(f, data, len);
	return r < 0 ? r : 0;
}

/* --- the end --- */

/* Its first line or its last, without the line's end. */
static const char *its_words(struct filter *f)
{
	const char *words = f->said;

	if (f->last_words) {
		while (f->said_len > 0 && strchr("\r\n", f->said[f->said_len - 1]) != NULL)
			f->said[--f->said_len] = '\0';
		words = strrchr(f->said, '\n');
		words = words != NULL ? words + 1 : f->said;
	}
	f->said[strcspn(f->said, "\r\n")] = '\0';
	return words[0] != '\0' ? words : "it did not say why";
}

static int judge_exit(struct filter *f, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFSIGNALED(status))
		return problem_set(f->problem, -EPIPE, f->code, "%s was killed by signal %d", f->name,
		                   WTERMSIG(status));
	return problem_set(f->problem, -EPIPE, f->code, "%s failed: %s", f->name, its_words(f));
}

static bool ends_by_itself(struct filter *f)
{
	AUTO(close) int fd = pidfd_open(f->pid, 0);
	struct pollfd end = {.fd = fd, .events = POLLIN};

	return fd >= 0 && poll(&end, 1, (int) f->stall_ms) > 0;
}

/* Its output is read to the end, or of no interest. */
static int reap(struct filter *f, bool kill_it)
{
	int status = 0;
	pid_t pid;

	if (kill_it || !ends_by_itself(f))
		(void) kill(f->pid, SIGKILL);
	do
		pid = waitpid(f->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	f->pid = 0;
	return pid < 0 ? problem_set_errno(f->problem, -errno, "cannot wait for %s", f->name)
	               : judge_exit(f, status);
}

/* Ends it where it stands and says what it says: it does not take what it is given. */
static int fail_early(struct filter *f)
{
	const char *none = NULL;
	size_t zero = 0;
	int r = 0;

	while (r == 0 && (f->out >= 0 || f->err >= 0))
		r = serve(f, &none, &zero);
	if (r < 0)
		return r;
	r = reap(f, false);
	return r < 0
	           ? r
	           : problem_set(f->problem, -EPIPE, f->code, "%s ended before its input did", f->name);
}

static int filter_write(struct sink *sink, const void *data, size_t len)
{
	struct filter *f = CONTAINER_OF(sink, struct filter, sink);
	const char *p = data;

	while (len > 0) {
		int r;

		if (f->in < 0)
			return fail_early(f);
		r = serve(f, &p, &len);
		if (r < 0)
			return r;
	}
	return 0;
}

static int filter_finish(struct sink *sink)
{
	struct filter *f = CONTAINER_OF(sink, struct filter, sink);
	const char *none = NULL;
	size_t zero = 0;
	int r = 0;

	close_one(&f->in);
	while (r == 0 && (f->out >= 0 || f->err >= 0))
		r = serve(f, &none, &zero);
	if (r == 0)
		r = reap(f, false);
	return r < 0 ? r : sink_finish(f->next);
}

static void filter_free(struct sink *sink)
{
	struct filter *f = CONTAINER_OF(sink, struct filter, sink);

	close_one(&f->in);
	close_one(&f->out);
	close_one(&f->err);
	if (f->pid > 0)
		(void) reap(f, true);
	sink_free(f->next);
	free(f->name);
	free(f->buffer);
	free(f);
}

int filter_new(const struct filter_program *program, struct sink *next, struct problem *problem,
               struct sink **ret_sink)
{
	struct filter *f = NEW0(struct filter);
	int r;

	f->sink = (struct sink){filter_write, filter_finish, filter_free};
	f->next = next;
	f->problem = problem;
	f->name = xstrdup(program->argv[0]);
	f->code = program->code;
	f->missing_code = program->missing_code;
	f->stall_ms = program->stall_ms > 0 ? program->stall_ms : FILTER_STALL_MS;
	f->end_us = program->limit_ms > 0 ? mono_now_us() + program->limit_ms * US_PER_MS : MONO_NEVER;
	f->last_words = program->last_words;
	f->look = program->look;
	f->userdata = program->userdata;
	f->in = f->out = f->err = -1;
	f->buffer = xcalloc(1, BUFFER_BYTES);
	r = start(f, program);
	if (r == 0 && fcntl(f->in, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r < 0) {
		(void) problem_set(problem, r, r == -ENOENT ? f->missing_code : f->code,
		                   "cannot run the program '%s': %s", f->name, strerror(-r));
		filter_free(&f->sink);
		return r;
	}
	*ret_sink = &f->sink;
	return 0;
}
