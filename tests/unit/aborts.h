/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What ends a process on purpose, in a process of its own: that it aborts, and what it says before.
 * OpenSSL is told there that nothing but FIPS will do, for which this machine has no provider: so
 * each digest fails, as on a machine whose policy or installation does not have it.
 */

#include <openssl/evp.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

#define ABORTS_SAID_MAX 512

static inline void aborts_without_openssl(void (*what)(void), const char *wanted)
{
	static const struct rlimit no_core;
	char said[ABORTS_SAID_MAX] = "";
	int fds[2], status = 0;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	if (!CHECK_EQ_INT(pipe(fds), 0))
		return;
	pid = fork();
	if (pid == 0) {
		(void) setrlimit(RLIMIT_CORE, &no_core);
		if (EVP_set_default_properties(NULL, "fips=yes") != 1 ||
		    dup2(fds[1], STDERR_FILENO) != STDERR_FILENO)
			_exit(2);
		what();
		_exit(0);
	}
	(void) close(fds[1]);
	while (len < sizeof(said) - 1 && (n = read(fds[0], said + len, sizeof(said) - 1 - len)) > 0)
		len += (size_t) n;
	(void) close(fds[0]);
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	if (!CHECK(strstr(said, wanted) != NULL && strstr(said, "reason=\"error:") != NULL))
		(void) fprintf(stderr, "  said: '%s'\n", said);
}
