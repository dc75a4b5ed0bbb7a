/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drill FILE --directory DIRECTORY [--catalog ENTRY.json] [--identity F]... [--encrypted] [--plain]
 *      [--trust KEY]...
 *      [--etcd PROGRAM] [--etcdutl PROGRAM] [--timeout S] [--reserve BYTES]
 * drill KEY --endpoint URL ... [--entry JSON], and the same: the object of that key (s3target.h)
 * drill --clear --directory DIRECTORY
 *
 * The work is done by a process of its own (drillrun.h), which this one watches over: whether it
 * finds an end, hangs, crashes or is killed, what it restored, with all secrets of the cluster in
 * it, is removed, and the last line is printed. Should this one be killed, the other one and its
 * etcd go with it, and the files go with the next drill, or with --clear.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/commands.h"
#include "etcdwatch/worker/drill/drillrun.h"
#include "etcdwatch/worker/common/lines.h"
#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/source/source.h"

#define TIMEOUT_S 600
#define TIMEOUT_S_MAX (24ul * 3600)
#define POLL_MS 200
#define REAP_US 5000

struct words {
	const char *directory;
	const char *catalog;
	const char *entry;
	const char *timeout;
	const char *reserve;
	bool clear;
	bool encrypted;
	bool plain;
	struct options_list trusted;
	struct s3target target;
	struct options_list identities;
	struct options_list rest;
};

struct watch {
	const struct drillrun_request *request;
	unsigned long timeout_s;
	pid_t pid;
	int said;     /* what it prints; -1: it has ended */
	json_t *last; /* its last line, or NULL */
	json_t *phase;
};

/* --- the process that works --- */

static int work(const struct drillrun_request *request)
{
	AUTO(drillreport_free) struct drillreport *report = drillreport_new();
	struct problem problem = {0};
	int r = drillrun(request, report, &problem);

	return r < 0 ? result_fail_with(&problem, drillreport_json(report))
	             : result_ok(drillreport_json(report));
}

static NORETURN void become_worker(const struct drillrun_request *request, int out, pid_t parent)
{
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(out, STDOUT_FILENO) < 0)
		_exit(EXIT_FAILURE);
	_exit(work(request));
}

static int start(struct watch *w, struct problem *problem)
{
	pid_t parent = getpid();
	int ends[2];

	/* Its etcd becomes ours should it be killed, so that we know when it is gone. */
	(void) prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return problem_set_errno(problem, -errno, "cannot make a pipe");
	w->pid = fork();
	if (w->pid == 0)
		become_worker(w->request, ends[1], parent);
	(void) close(ends[1]);
	w->said = ends[0];
	return w->pid < 0 ? problem_set_errno(problem, -errno, "cannot start a process") : 0;
}

/* --- watching over it --- */

/* Phases are told as they begin; the last line waits until all is removed. */
static void take_line(json_t *object, void *userdata)
{
	struct watch *w = userdata;
	json_t *phase = json_object_get(object, "phase");

	if (json_object_get(object, "ok") != NULL) {
		json_decref(w->last);
		w->last = json_incref(object);
		return;
	}
	/* Other lines say how far the phase has come. */
	if (phase != NULL) {
		json_decref(w->phase);
		w->phase = json_incref(phase);
	}
	result_line(json_incref(object));
}

static const char *phase_name(const struct watch *w)
{
	const char *name = json_string_value(w->phase);

	return name != NULL ? name : "begin";
}

/* Until it has closed its output. */
static int listen_to(struct watch *w, struct problem *problem)
{
	AUTO(lines_free) struct lines *lines = lines_new(take_line, w);
	struct pollfd fd = {.fd = w->said, .events = POLLIN};
	int r = 1;

	while (r > 0) {
		if (cancel_is_wanted())
			return problem_set(problem, -ECANCELED, "CANCELLED", "cancelled while at: %s",
			                   phase_name(w));
		if (mono_now_us() >= w->request->deadline_us)
			return problem_set(problem, -ETIMEDOUT, "TIMEOUT",
			                   "it took longer than %lu s, and was at: %s", w->timeout_s,
			                   phase_name(w));
		if (poll(&fd, 1, POLL_MS) > 0)
			r = lines_read(lines, w->said);
	}
	return r < 0 ? problem_set_errno(problem, r, "cannot read what it says") : 0;
}

/* Those that became ours as their parents are gone, and the one that we have started. */
static void kill_children(void)
{
	AUTO(fclose) FILE *f = fopen("/proc/thread-self/children", "re");
	int pid;

	while (f != NULL && fscanf(f, "%d", &pid) == 1)
		(void) kill(pid, SIGKILL);
}

/* It, and whatever it has started, be it by a script in between. Returns how it ended. */
static int end_all(struct watch *w)
{
	int status, its_status = 0;
	pid_t pid;

	if (w->pid > 0)
		(void) kill(w->pid, SIGKILL);
	do {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0 && pid == w->pid)
			its_status = status;
		if (pid != 0)
			continue;
		kill_children();
		(void) usleep(REAP_US);
	} while (pid >= 0 || errno == EINTR);
	return its_status;
}

static void explain_silence(const struct watch *w, int status, struct problem *problem)
{
	if (WIFSIGNALED(status))
		(void) problem_set(problem, -ECHILD, "SYSTEM", "it was killed by signal %d while at: %s",
		                   WTERMSIG(status), phase_name(w));
	else
		(void) problem_set(problem, -ECHILD, "SYSTEM", "it ended without a word while at: %s",
		                   phase_name(w));
}

static void watch_over(struct watch *w, struct problem *problem)
{
	int status, r;

	r = start(w, problem);
	if (r == 0)
		r = listen_to(w, problem);
	status = end_all(w);
	/* What it said at its end counts, also if just then its time was over. */
	if (w->last != NULL)
		*problem = (struct problem){0};
	else if (r == 0)
		explain_silence(w, status, problem);
}

/* --- the command --- */

/* --clear stands alone, and everything else needs a file. */
static int check_words(const struct words *words, struct problem *problem)
{
	if (words->directory == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "%s", "--directory is missing");
	if (words->clear == (words->rest.n > 0))
		return problem_set(problem, -EINVAL, "USAGE", "%s", "either a file or --clear");
	if (words->catalog != NULL && words->entry != NULL)
		return problem_set(problem, -EINVAL, "USAGE", "%s", "either --catalog or --entry");
	return 0;
}

static int parse(int argc, char **argv, struct words *words, struct drillrun_request *q,
                 unsigned long *ret_timeout_s, struct problem *problem)
{
	const struct options_entry own[] = {
	    {.name = "--directory", .text = &words->directory},
	    {.name = "--catalog", .text = &words->catalog},
	    {.name = "--entry", .text = &words->entry},
	    {.name = "--identity", .list = &words->identities},
	    {.name = "--encrypted", .flag = &words->encrypted},
	    {.name = "--plain", .flag = &words->plain},
	    {.name = "--trust", .list = &words->trusted},
	    {.name = "--etcd", .text = &q->etcd},
	    {.name = "--etcdutl", .text = &q->etcdutl},
	    {.name = "--timeout", .text = &words->timeout},
	    {.name = "--reserve", .text = &words->reserve},
	    {.name = "--clear", .flag = &words->clear},
	};
	struct options_entry entries[S3TARGET_OPTIONS + ARRAY_SIZE(own)];
	unsigned long timeout_s = TIMEOUT_S, reserve_bytes = 0;
	int r;

	s3target_options(&words->target, entries);
	memcpy(entries + S3TARGET_OPTIONS, own, sizeof(own));
	r = options_parse(argc, argv, entries, ARRAY_SIZE(entries), 0, 1, &words->rest, problem);
	if (r == 0)
		r = check_words(words, problem);
	if (r == 0)
		r = sourcewords_check_keys(&words->trusted, problem);
	if (r == 0 && words->timeout != NULL)
		r = options_number("--timeout", words->timeout, 1, TIMEOUT_S_MAX, &timeout_s, problem);
	if (r == 0 && words->reserve != NULL)
		r = options_number("--reserve", words->reserve, 0, LONG_MAX, &reserve_bytes, problem);
	q->file = words->rest.values[0];
	q->target = s3target_is_named(&words->target) ? &words->target : NULL;
	q->identities = words->identities.values;
	q->n_identities = words->identities.n;
	q->only_encrypted = (words->encrypted || words->identities.n > 0) && !words->plain;
	q->trust = (struct trust){.keys = words->trusted.values,
	                          .n = words->trusted.n,
	                          .is_configured = words->trusted.n > 0};
	q->reserve_bytes = reserve_bytes;
	q->deadline_us = mono_now_us() + (int64_t) timeout_s * US_PER_S;
	*ret_timeout_s = timeout_s;
	return r;
}

static int read_entry(const struct words *words, struct problem *problem,
                      struct catalog_entry **ret_entry)
{
	char error[CATALOG_ERROR_MAX] = "";
	int r = 0;

	if (words->entry != NULL)
		r = catalog_parse(words->entry, strlen(words->entry), ret_entry, error);
	else if (words->catalog != NULL)
		r = catalog_read(words->catalog, ret_entry, error);
	if (r < 0 && error[0] != '\0')
		return problem_set(problem, r, "CATALOGUE", "%s", error);
	return r < 0 ? problem_set_errno(problem, r, "cannot read '%s'", words->catalog) : 0;
}

static int print_last(struct watch *w, const struct problem *problem)
{
	bool ok = json_is_true(json_object_get(w->last, "ok"));

	if (problem->code[0] != '\0')
		return result_fail(problem);
	if (ok)
		return result_ok(json_incref(w->last));
	result_line(json_incref(w->last));
	return EXIT_FAILURE;
}

static int drill(struct words *words, struct drillrun_request *q, unsigned long timeout_s)
{
	AUTO(catalog_entry_free) struct catalog_entry *entry = NULL;
	AUTO(workroom_free) struct workroom *room = NULL;
	struct watch w = {.request = q, .timeout_s = timeout_s, .said = -1};
	struct problem problem = {0};
	int r, code;

	r = read_entry(words, &problem, &entry);
	if (r == 0)
		r = workroom_open(words->directory, &problem, &room);
	if (r < 0)
		return result_fail(&problem);
	/* Programs in Go take as many threads as there are processors. These give way to others. */
	(void) setenv("GOMAXPROCS", "2", 0);
	/* Who asked for it is gone: nobody wants it any more. */
	(void) prctl(PR_SET_PDEATHSIG, SIGTERM);
	q->entry = entry;
	q->directory = workroom_path(room);
	watch_over(&w, &problem);
	workroom_free(TAKE_PTR(room));
	code = print_last(&w, &problem);
	if (w.said >= 0)
		(void) close(w.said);
	json_decref(w.last);
	json_decref(w.phase);
	return code;
}

int command_drill(int argc, char **argv)
{
	struct words words = {0};
	struct drillrun_request request = {0};
	struct problem problem = {0};
	unsigned long timeout_s = 0;
	int r;

	r = parse(argc, argv, &words, &request, &timeout_s, &problem);
	if (r == 0 && !words.clear)
		return drill(&words, &request, timeout_s);
	if (r == 0)
		r = workroom_clear(words.directory, &problem);
	return r < 0 ? result_fail(&problem) : result_ok(json_object());
}
