/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Daemons that a test makes up: a child that listens at control sockets and answers every line with
 * the text of its row, or never.
 */

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/unixsock.h"
#include "tests/unit/check.h"

struct scripted_row {
	const char *daemon;
	const char *line;   /* the words, without their newline; NULL: whatever is left */
	const char *answer; /* NULL: it hangs */
};

#define SCRIPTED_MAX 8

static inline void scripted_answer(int fd, const char *daemon, const struct scripted_row *rows,
                                   size_t n_rows)
{
	char line[4096];
	ssize_t n = read(fd, line, sizeof(line) - 1);

	line[MAX(n, 0)] = '\0';
	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < n_rows; i++) {
		if (strcmp(rows[i].daemon, daemon) != 0 ||
		    (rows[i].line != NULL && strcmp(rows[i].line, line) != 0))
			continue;
		if (rows[i].answer == NULL)
			return; /* its end stays open */
		(void) !write(fd, rows[i].answer, strlen(rows[i].answer));
		break;
	}
	(void) close(fd);
}

static inline NORETURN void scripted_serve(const int *listeners, const char *const *daemons,
                                           size_t n, const struct scripted_row *rows, size_t n_rows)
{
	struct pollfd polled[SCRIPTED_MAX];

	for (size_t i = 0; i < n; i++)
		polled[i] = (struct pollfd){.fd = listeners[i], .events = POLLIN};
	while (poll(polled, n, -1) >= 0) {
		for (size_t i = 0; i < n; i++) {
			int fd = polled[i].revents != 0 ? accept(listeners[i], NULL, NULL) : -1;

			if (fd >= 0)
				scripted_answer(fd, daemons[i], rows, n_rows);
		}
	}
	_exit(1);
}

/* They listen when this returns. The child goes with scripted_stop(), or with the test. */
static inline UNUSED pid_t scripted_start(const char *dir, const struct scripted_row *rows,
                                          size_t n_rows)
{
	const char *daemons[SCRIPTED_MAX];
	int listeners[SCRIPTED_MAX];
	size_t n = 0;
	pid_t pid;

	for (size_t i = 0; i < n_rows; i++) {
		AUTO(free) char *path = xasprintf("%s/%s.sock", dir, rows[i].daemon);
		bool is_known = false;

		for (size_t k = 0; k < n; k++)
			is_known |= strcmp(daemons[k], rows[i].daemon) == 0;
		if (is_known)
			continue;
		listeners[n] = unixsock_listen(path, "fairlead", 32);
		CHECK(listeners[n] >= 0);
		daemons[n++] = rows[i].daemon;
	}
	pid = fork();
	if (pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		scripted_serve(listeners, daemons, n, rows, n_rows);
	}
	for (size_t i = 0; i < n; i++)
		(void) close(listeners[i]);
	return pid;
}

/* Their sockets stay, and nobody listens at them. */
static inline UNUSED void scripted_stop(pid_t pid)
{
	(void) kill(pid, SIGKILL);
	(void) waitpid(pid, NULL, 0);
}
