/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job is a child that runs the command for one node, in a process group that can be killed with
 * all it has started. It is over when the child has exited: what it wrote is in the pipe by then,
 * and a control master of ssh that stays behind may hold the pipe open.
 *
 *   WAITING --start--> RUNNING --exit--> OVER
 *                         |                ^
 *          deadline, too much, Ctrl-C     exit
 *                         v                |
 *                      ENDING (TERM) --> KILLED (KILL)
 */
#include "cli/nodes/remote.h"

#include <assert.h>
#include <errno.h>
#include <ev.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/spawn.h"
#include "cli/common/cli.h"
#include "cli/nodes/answer.h"
#include "cli/nodes/transport.h"

#define ERRORS_MAX 65536 /* bytes of standard error that are kept */
#define CHUNK 65536
#define END_WAIT_US US_PER_S /* from SIGTERM to SIGKILL, and from there until it is left behind */

struct remote {
	struct transport transport;
	bool is_text;
};

enum job_state { JOB_WAITING, JOB_RUNNING, JOB_ENDING, JOB_KILLED, JOB_OVER };

struct stream {
	ev_io io;
	int fd; /* -1: closed */
	char *text;
	size_t len;
};

struct run;

struct job {
	struct run *run;
	struct remote_answer *answer;
	enum job_state state;
	enum remote_outcome cut; /* why it is ended from here; REMOTE_DONE: it is not */
	struct stream in, out, err;
	size_t sent; /* of the input */
	ev_child child;
	ev_timer timer;
};

struct run {
	const struct remote *remote;
	const struct texts *words;
	struct ev_loop *loop;
	const char *input;
	size_t input_len;
	int64_t timeout_us;
	remote_answer_fn each;
	void *userdata;
	struct job *jobs;
	size_t n;
	size_t n_started, n_running;
	bool is_interrupted;
	ev_signal interrupt, terminate;
};

/* --- a remote --- */

const char *remote_outcome_name(enum remote_outcome outcome)
{
	static const char *const names[] = {
	    [REMOTE_DONE] = "done",
	    [REMOTE_UNREACHABLE] = "unreachable",
	    [REMOTE_TIMEOUT] = "timeout",
	    [REMOTE_DENIED] = "denied",
	    [REMOTE_NO_PROGRAM] = "no-program",
	    [REMOTE_GARBLED] = "garbled",
	    [REMOTE_TOO_MUCH] = "too-much",
	    [REMOTE_INTERRUPTED] = "interrupted",
	};

	return names[outcome];
}

int remote_new(const char *via, struct remote **ret_remote)
{
	AUTO(remote_free) struct remote *remote = NEW0(struct remote);
	AUTO(free) char *error = NULL;

	if (transport_init(&remote->transport, via, &error) < 0) {
		(void) fprintf(stderr, "fairlead: %s\n", error);
		return CLI_USAGE;
	}
	*ret_remote = TAKE_PTR(remote);
	return CLI_OK;
}

void remote_free(struct remote *remote)
{
	if (remote == NULL)
		return;
	transport_fini(&remote->transport);
	free(remote);
}

void remote_expect_text(struct remote *remote)
{
	remote->is_text = true;
}

void remote_answers_fini(struct remote_answer *answers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(answers[i].node);
		free(answers[i].error);
		json_decref(answers[i].objects);
		answers[i] = (struct remote_answer){0};
	}
}

/* --- the end of a job --- */

static void start_more(struct run *run);

static void stream_close(struct job *job, struct stream *stream)
{
	if (stream->fd < 0)
		return;
	ev_io_stop(job->run->loop, &stream->io);
	(void) close(TAKE_FD(stream->fd));
}

/* Without a child: the answer is known already. */
static void tell(struct job *job)
{
	job->state = JOB_OVER;
	if (job->run->each != NULL)
		job->run->each(job->answer, job->run->userdata);
}

static void fail(struct job *job, enum remote_outcome outcome, char *error)
{
	job->answer->outcome = outcome;
	job->answer->exit_code = -1;
	job->answer->objects = json_array();
	job->answer->error = error;
	tell(job);
}

/* status: of waitpid(2). */
static void finish(struct job *job, int status)
{
	struct run *run = job->run;
	const struct answer_output output = {
	    .out = job->out.text != NULL ? job->out.text : "",
	    .out_len = job->out.len,
	    .err = job->err.text != NULL ? job->err.text : "",
	    .err_len = job->err.len,
	    .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
	};

	ev_child_stop(run->loop, &job->child);
	ev_timer_stop(run->loop, &job->timer);
	stream_close(job, &job->in);
	stream_close(job, &job->out);
	stream_close(job, &job->err);
	answer_judge(job->answer, transport_kind(&run->remote->transport, job->answer->node),
	             run->remote->is_text, job->cut, run->timeout_us, &output);
	free(TAKE_PTR(job->out.text));
	free(TAKE_PTR(job->err.text));
	run->n_running--;
	tell(job);
	start_more(run);
}

static void set_timer(struct job *job, int64_t wait_us)
{
	ev_timer_stop(job->run->loop, &job->timer);
	ev_timer_set(&job->timer, mono_to_ev(wait_us), 0);
	ev_timer_start(job->run->loop, &job->timer);
}

static void end(struct job *job, enum remote_outcome why)
{
	if (job->state != JOB_RUNNING)
		return;
	job->state = JOB_ENDING;
	job->cut = why;
	(void) kill(-job->child.pid, SIGTERM);
	set_timer(job, END_WAIT_US);
}

static void timer_cb(struct ev_loop *loop UNUSED, ev_timer *timer, int events UNUSED)
{
	struct job *job = CONTAINER_OF(timer, struct job, timer);

	switch (job->state) {
	case JOB_RUNNING:
		end(job, REMOTE_TIMEOUT);
		break;
	case JOB_ENDING:
		job->state = JOB_KILLED;
		(void) kill(-job->child.pid, SIGKILL);
		set_timer(job, END_WAIT_US);
		break;
	case JOB_KILLED:
		/* The kernel cannot let it go. */
		finish(job, SIGKILL);
		break;
	case JOB_WAITING:
	case JOB_OVER:
		assert(false);
	}
}

/* --- its streams --- */

static void keep(struct job *job, struct stream *stream, const char *chunk, size_t len)
{
	size_t room = (stream == &job->out ? REMOTE_OUTPUT_MAX : ERRORS_MAX) - stream->len;

	if (len > room && stream == &job->out)
		end(job, REMOTE_TOO_MUCH);
	len = MIN(len, room);
	stream->text = xreallocarray(stream->text, stream->len + len + 1, 1);
	memcpy(stream->text + stream->len, chunk, len);
	stream->len += len;
	stream->text[stream->len] = '\0';
}

/* False when there is no more for now, or ever. */
static bool read_some(struct job *job, struct stream *stream)
{
	char chunk[CHUNK];
	ssize_t n;

	if (stream->fd < 0)
		return false;
	n = read(stream->fd, chunk, sizeof(chunk));
	if (n > 0) {
		keep(job, stream, chunk, (size_t) n);
		return true;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		stream_close(job, stream);
	return n < 0 && errno == EINTR;
}

static void out_cb(struct ev_loop *loop UNUSED, ev_io *io, int events UNUSED)
{
	struct job *job = CONTAINER_OF(io, struct job, out.io);

	(void) read_some(job, &job->out);
}

static void err_cb(struct ev_loop *loop UNUSED, ev_io *io, int events UNUSED)
{
	struct job *job = CONTAINER_OF(io, struct job, err.io);

	(void) read_some(job, &job->err);
}

static void in_cb(struct ev_loop *loop UNUSED, ev_io *io, int events UNUSED)
{
	struct job *job = CONTAINER_OF(io, struct job, in.io);
	ssize_t n = write(job->in.fd, job->run->input + job->sent, job->run->input_len - job->sent);

	if (n > 0)
		job->sent += (size_t) n;
	if (job->sent == job->run->input_len || (n < 0 && errno != EAGAIN && errno != EINTR))
		stream_close(job, &job->in);
}

/* A process that the child left behind may write for ever, so no more is read than may be kept. */
static void drain(struct job *job, struct stream *stream, size_t max)
{
	while (stream->len < max && read_some(job, stream))
		continue;
}

static void child_cb(struct ev_loop *loop UNUSED, ev_child *child, int events UNUSED)
{
	struct job *job = CONTAINER_OF(child, struct job, child);

	drain(job, &job->out, REMOTE_OUTPUT_MAX);
	drain(job, &job->err, ERRORS_MAX);
	/* What it started may not have ended with it. */
	if (job->cut != REMOTE_DONE)
		(void) kill(-child->pid, SIGKILL);
	finish(job, child->rstatus);
}

/* --- its start --- */

/* ours: which end stays here, without blocking. */
static int open_pipe(struct stream *stream, int ours, int *ret_theirs)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	(void) fcntl(pair[ours], F_SETFL, O_NONBLOCK);
	stream->fd = pair[ours];
	*ret_theirs = pair[1 - ours];
	return 0;
}

static int spawn(struct job *job, const struct texts *command, pid_t *ret_pid)
{
	struct spawn spawn = {
	    .argv = (const char *const *) command->items,
	    .in_path = true,
	    .own_group = true,
	    .given = SPAWN_OUT | SPAWN_ERR,
	};
	AUTO(close) int in = -1;
	AUTO(close) int out = -1;
	AUTO(close) int err = -1;
	int r;

	r = open_pipe(&job->out, 0, &out);
	if (r == 0)
		r = open_pipe(&job->err, 0, &err);
	if (r == 0 && job->run->input != NULL) {
		r = open_pipe(&job->in, 1, &in);
		spawn.given |= SPAWN_IN;
	}
	spawn.in = in;
	spawn.out = out;
	spawn.err = err;
	if (r == 0)
		r = spawn_program(&spawn, ret_pid);
	return r;
}

static void watch(struct job *job, pid_t pid)
{
	struct ev_loop *loop = job->run->loop;

	ev_io_init(&job->out.io, out_cb, job->out.fd, EV_READ);
	ev_io_start(loop, &job->out.io);
	ev_io_init(&job->err.io, err_cb, job->err.fd, EV_READ);
	ev_io_start(loop, &job->err.io);
	if (job->in.fd >= 0) {
		ev_io_init(&job->in.io, in_cb, job->in.fd, EV_WRITE);
		ev_io_start(loop, &job->in.io);
	}
	ev_child_init(&job->child, child_cb, pid, 0);
	ev_child_start(loop, &job->child);
	ev_init(&job->timer, timer_cb);
	set_timer(job, job->run->timeout_us);
}

static void start(struct job *job)
{
	const struct transport *transport = &job->run->remote->transport;
	const char *node = job->answer->node;
	struct texts command = {0};
	pid_t pid = 0;
	int r;

	if (!transport_name_is_good(node, true)) {
		fail(job, REMOTE_UNREACHABLE,
		     xstrdup("this is no name of a node: letters, digits and ._:%- make one, with USER@ "
		             "before it or not"));
		return;
	}
	transport_command(transport, node, job->run->words, job->run->timeout_us, &command);
	r = spawn(job, &command, &pid);
	if (r < 0) {
		stream_close(job, &job->in);
		stream_close(job, &job->out);
		stream_close(job, &job->err);
		fail(job, REMOTE_UNREACHABLE,
		     xasprintf("cannot run '%s' here: %s", command.items[0], strerror(-r)));
	} else {
		job->state = JOB_RUNNING;
		job->run->n_running++;
		watch(job, pid);
	}
	texts_fini(&command);
}

static void start_more(struct run *run)
{
	while (run->n_started < run->n && run->n_running < REMOTE_AT_ONCE) {
		struct job *job = &run->jobs[run->n_started++];

		if (run->is_interrupted)
			fail(job, REMOTE_INTERRUPTED, xstrdup("interrupted before it began"));
		else
			start(job);
	}
	if (run->n_started == run->n && run->n_running == 0)
		ev_break(run->loop, EVBREAK_ALL);
}

/* --- all of them --- */

static void interrupt_cb(struct ev_loop *loop UNUSED, ev_signal *signal, int events UNUSED)
{
	struct run *run = signal->data;

	run->is_interrupted = true;
	for (size_t i = 0; i < run->n_started; i++)
		end(&run->jobs[i], REMOTE_INTERRUPTED);
}

static void run_all(struct run *run)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction pipe;

	/* A node that does not read its input breaks the pipe. */
	(void) sigaction(SIGPIPE, &ignore, &pipe);
	run->loop = mem_expect(ev_default_loop(EVFLAG_AUTO));
	ev_signal_init(&run->interrupt, interrupt_cb, SIGINT);
	ev_signal_init(&run->terminate, interrupt_cb, SIGTERM);
	run->interrupt.data = run->terminate.data = run;
	ev_signal_start(run->loop, &run->interrupt);
	ev_signal_start(run->loop, &run->terminate);
	start_more(run);
	if (run->n_running > 0)
		(void) ev_run(run->loop, 0);
	ev_signal_stop(run->loop, &run->interrupt);
	ev_signal_stop(run->loop, &run->terminate);
	(void) sigaction(SIGPIPE, &pipe, NULL);
}

static int run_nodes(struct run *run, const char *const *nodes, struct remote_answer *ret_answers)
{
	AUTO(free) struct job *jobs = xcalloc(run->n + 1, sizeof(*jobs));

	run->jobs = jobs;
	for (size_t i = 0; i < run->n; i++) {
		ret_answers[i] = (struct remote_answer){.node = xstrdup(nodes[i])};
		jobs[i] = (struct job){
		    .run = run,
		    .answer = &ret_answers[i],
		    .in.fd = -1,
		    .out.fd = -1,
		    .err.fd = -1,
		};
	}
	(void) fflush(stdout);
	run_all(run);
	return run->is_interrupted ? -EINTR : 0;
}

int remote_run(const struct remote *remote, const char *const *nodes, size_t n,
               const struct texts *words, const char *input, size_t input_len, int64_t timeout_us,
               remote_answer_fn each, void *userdata, struct remote_answer *ret_answers)
{
	struct run run = {
	    .remote = remote,
	    .words = words,
	    .input = input,
	    .input_len = input_len,
	    .timeout_us = timeout_us,
	    .each = each,
	    .userdata = userdata,
	    .n = n,
	};

	return run_nodes(&run, nodes, ret_answers);
}
