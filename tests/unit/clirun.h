/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The whole `fairlead` in a child of a test: its exit code and what it prints. A test makes the
 * folder with clirun_begin() first, and removes it with clirun_end().
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/words.h"
#include "cli/common/cli.h"
#include "tests/unit/check.h"

static char clirun_dir[] = "/tmp/fairlead-cli-XXXXXX";

static inline UNUSED char *clirun_contents(const char *name)
{
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);
	char *text = NULL;
	size_t len;

	return file_read(path, 65536, &text, &len) < 0 ? xstrdup("<nothing>") : text;
}

/* In a child, as the program leaves its options parsed. Output goes to the files of these names. */
static inline UNUSED NORETURN void clirun_become(const char *line, const char *out_name,
                                                 const char *err_name)
{
	AUTO(free) char *words = xasprintf("fairlead %s", line);
	AUTO(free) char *out = xasprintf("%s/%s", clirun_dir, out_name);
	AUTO(free) char *err = xasprintf("%s/%s", clirun_dir, err_name);
	char *argv[16];
	int argc = words_split(words, argv, ARRAY_SIZE(argv) - 1);

	argv[argc] = NULL;
	(void) !freopen(out, "w", stdout);
	(void) !freopen(err, "w", stderr);
	/* A reopened one has a buffer, which standard error never has. */
	(void) setvbuf(stderr, NULL, _IONBF, 0);
	exit(cli_main(argc, argv));
}

static inline UNUSED int clirun(const char *line, char **ret_out, char **ret_err)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		clirun_become(line, "out", "err");
	(void) waitpid(pid, &status, 0);
	*ret_out = clirun_contents("out");
	*ret_err = clirun_contents("err");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline UNUSED void clirun_check(const char *line, int want_code, const char *want_out,
                                       const char *want_err)
{
	AUTO(free) char *out = NULL;
	AUTO(free) char *err = NULL;
	int code = clirun(line, &out, &err);

	/* What is wanted may be the beginning. */
	if (!CHECK_EQ_INT(code, want_code) || !CHECK(strncmp(out, want_out, strlen(want_out)) == 0) ||
	    !CHECK(strncmp(err, want_err, strlen(want_err)) == 0) ||
	    !CHECK((out[0] == '\0') == (want_out[0] == '\0')) ||
	    !CHECK((err[0] == '\0') == (want_err[0] == '\0')))
		(void) fprintf(stderr, "  fairlead %s\n%s%s", line, out, err);
}

/* That -o yaml says what -o json says. */
static inline UNUSED void clirun_check_yaml(const char *line)
{
	AUTO(free) char *json_line = xasprintf("%s -o json", line);
	AUTO(free) char *yaml_line = xasprintf("%s -o yaml", line);
	AUTO(free) char *out = NULL;
	AUTO(free) char *err = NULL;
	AUTO(free) char *got = NULL;
	AUTO(free) char *got_err = NULL;
	AUTO(free) char *want = NULL;
	int code = clirun(json_line, &out, &err);
	size_t len, n = 0;
	FILE *f = open_memstream(&want, &len);

	for (const char *p = out; *p != '\0'; p += strcspn(p, "\n") + 1, n++) {
		json_t *object = json_loadb(p, strcspn(p, "\n"), 0, NULL);

		CHECK(object != NULL);
		yaml_print(f, object);
		json_decref(object);
	}
	(void) fclose(f);
	if (!CHECK(n > 0) || !CHECK_EQ_INT(clirun(yaml_line, &got, &got_err), code) ||
	    !CHECK_EQ_STR(got, want) || !CHECK_EQ_STR(got_err, err))
		(void) fprintf(stderr, "  fairlead %s\n", line);
}

static inline UNUSED void clirun_begin(void)
{
	CHECK(mkdtemp(clirun_dir) != NULL);
}

static inline UNUSED void clirun_end(void)
{
	AUTO(free) char *clean_up = xasprintf("rm -rf %s", clirun_dir);

	CHECK_EQ_INT(system(clean_up), 0);
}
