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
#include "etcdwatch/worker/commands.h"

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
#include "base/mono.h"
#include "etcdwatch/worker/drill/drillrun.h"
#include "etcdwatch/worker/common/lines.h"

#define TIMEOUT_S 600
#define TIMEOUT_S_MAX (24 * 3600)
#define POLL_MS 200
#define REAP_US 5000

struct drill_words {
	struct words common;
	const char *directory;
	const char *catalog;
	const char *entry;
	int64_t timeout_s;
	int64_t reserve_bytes;
	bool clear;
	bool encrypted;
	bool plain;
	struct options_list trusted;
	struct options_list identities;
	struct drillrun_request request;
};

static const struct options_entry options[] = {
    OPTION("--directory", TEXT, struct drill_words, directory),
    OPTION("--catalog", TEXT, struct drill_words, catalog),
    OPTION("--entry", TEXT, struct drill_words, entry),
    OPTION("--identity", LIST, struct drill_words, identities),
    OPTION("--encrypted", FLAG, struct drill_words, encrypted),
    OPTION("--plain", FLAG, struct drill_words, plain),
    OPTION("--trust", LIST, struct drill_words, trusted),
    OPTION("--etcd", TEXT, struct drill_words, request.etcd),
    OPTION("--etcdutl", TEXT, struct drill_words, request.etcdutl),
    OPTION_NUMBER("--timeout", struct drill_words, timeout_s, 1, TIMEOUT_S_MAX, TIMEOUT_S),
    OPTION_NUMBER("--reserve", struct drill_words, reserve_bytes, 0, LONG_MAX, 0),
    OPTION("--clear", FLAG, struct drill_words, clear),
};

struct watch {
	const struct drillrun_request *request;
	int64_t timeout_s;
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
			                   "it took longer than %lld s, and was at: %s",
			                   (long long) w->timeout_s, phase_name(w));
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
static int check_words(const struct drill_words *w, struct problem *problem)
{
	if (w->directory == NULL)
		return problem_set(problem, -EINVAL, "USAGE", "%s", "--directory is missing");
	if (w->clear == (w->common.rest.n > 0))
		return problem_set(problem, -EINVAL, "USAGE", "%s", "either a file or --clear");
	if (w->catalog != NULL && w->entry != NULL)
		return problem_set(problem, -EINVAL, "USAGE", "%s", "either --catalog or --entry");
	return sourcewords_check_keys(&w->trusted, problem);
}

static void fill_request(struct drill_words *w)
{
	struct drillrun_request *q = &w->request;

	q->file = w->common.rest.values[0];
	q->target = s3target_is_named(&w->common.target) ? &w->common.target : NULL;
	q->identities = w->identities.values;
	q->n_identities = w->identities.n;
	q->only_encrypted = (w->encrypted || w->identities.n > 0) && !w->plain;
	q->trust = (struct trust){
	    .keys = w->trusted.values, .n = w->trusted.n, .is_configured = w->trusted.n > 0};
	q->reserve_bytes = (uint64_t) w->reserve_bytes;
	q->deadline_us = mono_now_us() + w->timeout_s * US_PER_S;
}

static int read_entry(const struct drill_words *w, struct problem *problem,
                      struct catalog_entry **ret_entry)
{
	char error[CATALOG_ERROR_MAX] = "";
	int r = 0;

	if (w->entry != NULL)
		r = catalog_parse(w->entry, strlen(w->entry), ret_entry, error);
	else if (w->catalog != NULL)
		r = catalog_read(w->catalog, ret_entry, error);
	if (r < 0 && error[0] != '\0')
		return problem_set(problem, r, "CATALOGUE", "%s", error);
	return r < 0 ? problem_set_errno(problem, r, "cannot read '%s'", w->catalog) : 0;
}

/* Its last line becomes ours. */
static int take_last(struct watch *w, struct problem *problem, json_t **ret_fields)
{
	if (problem->code[0] == '\0' && !json_is_true(json_object_get(w->last, "ok")))
		(void) problem_set(problem, -ECHILD, "SYSTEM", "it failed");
	*ret_fields = w->last;
	return problem->code[0] != '\0' ? -ECHILD : 0;
}

static int drill(struct drill_words *w, struct problem *problem, json_t **ret_fields)
{
	AUTO(catalog_entry_free) struct catalog_entry *entry = NULL;
	AUTO(workroom_free) struct workroom *room = NULL;
	struct watch watch = {.request = &w->request, .timeout_s = w->timeout_s, .said = -1};
	int r;

	r = read_entry(w, problem, &entry);
	if (r == 0)
		r = workroom_open(w->directory, problem, &room);
	if (r < 0)
		return r;
	/* Programs in Go take as many threads as there are processors. These give way to others. */
	(void) setenv("GOMAXPROCS", "2", 0);
	/* Who asked for it is gone: nobody wants it any more. */
	(void) prctl(PR_SET_PDEATHSIG, SIGTERM);
	w->request.entry = entry;
	w->request.directory = workroom_path(room);
	watch_over(&watch, problem);
	workroom_free(TAKE_PTR(room));
	if (watch.said >= 0)
		(void) close(watch.said);
	json_decref(watch.phase);
	return take_last(&watch, problem, ret_fields);
}

static int run_drill(void *words, struct problem *problem, json_t **ret_fields)
{
	struct drill_words *w = words;
	int r = check_words(w, problem);

	if (r < 0)
		return r;
	if (w->clear)
		return workroom_clear(w->directory, problem);
	fill_request(w);
	return drill(w, problem, ret_fields);
}

const struct command drill_commands[] = {
    {"drill", COMMAND_TARGET, 0, 1, sizeof(struct drill_words), COMMAND_OPTIONS(options),
     .run = run_drill},
    {.name = NULL},
};
