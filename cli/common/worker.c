/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One child and a pipe. An interrupt from the terminal reaches both of us: the child ends in good
 * order and says so, and we wait for it. If we are killed, it is told to end.
 */
#include "cli/common/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/common/cli.h"
#include "cli/common/progress.h"
#include "cli/common/table.h"

#define WORKER "etcdwatch-worker"

/* --- the program --- */

/* To be freed; NULL: it is not installed. */
static char *look_for(const char *name)
{
	static const char *const places[] = {"", "../sbin/"};
	AUTO(free) char *self = realpath("/proc/self/exe", NULL);
	const char *slash = self != NULL ? strrchr(self, '/') : NULL;

	for (size_t i = 0; slash != NULL && i < ARRAY_SIZE(places); i++) {
		AUTO(free)
		char *path = xasprintf("%.*s%s%s", (int) (slash + 1 - self), self, places[i], name);

		if (access(path, X_OK) == 0)
			return TAKE_PTR(path);
	}
	return NULL;
}

bool worker_is_installed(const char *program)
{
	AUTO(free) char *path = look_for(program);

	return path != NULL;
}

char *worker_find(const char *name)
{
	char *path = look_for(name);

	if (path == NULL)
		(void) fprintf(stderr, "fairlead: the program '%s' is not installed beside this one\n",
		               name);
	return path;
}

/* err: -1: as ours. */
static NORETURN void become(const char *path, const struct texts *words, int out, int err,
                            pid_t parent)
{
	struct texts argv = {0};

	(void) prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	(void) signal(SIGINT, SIG_DFL);
	texts_add(&argv, "%s", path);
	for (size_t i = 0; i < words->n; i++)
		texts_add(&argv, "%s", words->items[i]);
	if (dup2(out, STDOUT_FILENO) >= 0 && (err < 0 || dup2(err, STDERR_FILENO) >= 0))
		(void) execv(path, argv.items);
	(void) fprintf(stderr, "fairlead: cannot run '%s': %s\n", path, strerror(errno));
	_exit(EXIT_FAILURE);
}

struct running {
	pid_t pid;
	FILE *out;
	struct sigaction interrupt; /* as it was */
};

static int start(const char *program, const struct texts *words, bool with_errors,
                 struct running *ret)
{
	const struct sigaction ignore = {.sa_handler = SIG_IGN};
	AUTO(free) char *path = worker_find(program);
	pid_t parent = getpid();
	int pair[2];

	if (path == NULL)
		return CLI_FAILED;
	(void) fflush(stdout);
	if (pipe2(pair, O_CLOEXEC) < 0) {
		(void) fprintf(stderr, "fairlead: cannot run '%s': %s\n", program, strerror(errno));
		return CLI_FAILED;
	}
	(void) sigaction(SIGINT, &ignore, &ret->interrupt);
	ret->pid = fork();
	if (ret->pid == 0)
		become(path, words, pair[1], with_errors ? pair[1] : -1, parent);
	(void) close(pair[1]);
	ret->out = fdopen(pair[0], "r");
	if (ret->pid > 0 && ret->out != NULL)
		return CLI_OK;
	(void) fprintf(stderr, "fairlead: cannot run '%s': %s\n", program, strerror(errno));
	return CLI_FAILED;
}

/* Its exit code, or -1. */
static int finish(struct running *running)
{
	int status = 0;
	pid_t pid;

	(void) fclose(running->out);
	do
		pid = waitpid(running->pid, &status, 0);
	while (pid < 0 && errno == EINTR);
	(void) sigaction(SIGINT, &running->interrupt, NULL);
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* --- what it prints --- */

/* The next object; NULL at the end, and for what is none. */
static json_t *read_line(FILE *f)
{
	AUTO(free) char *line = NULL;
	size_t size = 0;
	ssize_t len = getline(&line, &size, f);

	return len > 0 ? json_loadb(line, (size_t) len, 0, NULL) : NULL;
}

static int explain(const json_t *last)
{
	static const struct {
		const char *code;
		int exit_code;
	} codes[] = {{"USAGE", CLI_USAGE}, {"PERMISSION", CLI_DENIED}};
	const char *code = json_string_value(json_object_get(last, "error"));
	const char *reason = json_string_value(json_object_get(last, "reason"));

	(void) fputs("fairlead: ", stderr);
	table_print_safe(stderr, reason != NULL ? reason : WORKER " was killed");
	(void) fputc('\n', stderr);
	for (size_t i = 0; code != NULL && i < ARRAY_SIZE(codes); i++) {
		if (strcmp(code, codes[i].code) == 0)
			return codes[i].exit_code;
	}
	return CLI_FAILED;
}

/* To its end; ret_last may become NULL. CLI_OK if it said that it went well. */
static int run(const struct texts *words, worker_line_fn line, void *userdata, json_t **ret_last)
{
	struct running running;
	json_t *object, *last = NULL;
	int code = start(WORKER, words, false, &running);

	*ret_last = NULL;
	if (code != CLI_OK)
		return code;
	while ((object = read_line(running.out)) != NULL) {
		if (json_object_get(object, "ok") != NULL) {
			json_decref(last);
			last = object;
			continue;
		}
		if (line != NULL)
			line(object, userdata);
		json_decref(object);
	}
	*ret_last = last;
	progress_clear();
	if (finish(&running) == 0 && json_is_true(json_object_get(last, "ok")))
		return CLI_OK;
	return explain(last);
}

int worker_run(const struct texts *words, worker_line_fn line, void *userdata, json_t **ret_last)
{
	json_t *last;
	int code = run(words, line, userdata, &last);

	if (code == CLI_OK)
		*ret_last = last;
	else
		json_decref(last);
	return code;
}

int worker_run_telling(const struct texts *words, worker_line_fn line, void *userdata)
{
	json_t *last;
	int code = run(words, line, userdata, &last);

	if (last != NULL)
		line(last, userdata);
	json_decref(last);
	return code;
}

int worker_tell(const char *program, const struct texts *words, worker_line_fn line, void *userdata)
{
	struct running running;
	json_t *object;
	int code = start(program, words, false, &running);

	if (code != CLI_OK)
		return code;
	while ((object = read_line(running.out)) != NULL) {
		line(object, userdata);
		json_decref(object);
	}
	code = finish(&running);
	return code >= 0 ? code : CLI_FAILED;
}

static void collect(const json_t *object, void *userdata)
{
	(void) json_array_append(userdata, (json_t *) (uintptr_t) object);
}

int worker_lines(const char *program, const struct texts *words, json_t **ret_lines)
{
	json_t *lines = json_array();

	/* It has said itself what is wrong. */
	if (worker_tell(program, words, collect, lines) != CLI_OK) {
		json_decref(lines);
		return CLI_FAILED;
	}
	*ret_lines = lines;
	return CLI_OK;
}

int worker_text(const char *program, const struct texts *words, bool with_errors, char **ret_text,
                int *ret_exit)
{
	struct running running;
	char *text = NULL;
	size_t size = 0;
	int code = start(program, words, with_errors, &running);

	if (code != CLI_OK)
		return code;
	/* There are no NULs in it, so this is all of it. */
	if (getdelim(&text, &size, '\0', running.out) < 0) {
		free(text);
		text = xstrdup("");
	}
	*ret_exit = finish(&running);
	*ret_text = text;
	return CLI_OK;
}

int worker_become(const char *program, const struct texts *words)
{
	AUTO(free) char *path = worker_find(program);
	struct texts argv = {0};

	if (path == NULL)
		return CLI_FAILED;
	texts_add(&argv, "%s", path);
	for (size_t i = 0; i < words->n; i++)
		texts_add(&argv, "%s", words->items[i]);
	(void) fflush(stdout);
	(void) execv(path, argv.items);
	(void) fprintf(stderr, "fairlead: cannot run '%s': %s\n", path, strerror(errno));
	texts_fini(&argv);
	return CLI_FAILED;
}
