/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prism as a whole, where it becomes another process: it does so only with all that the next one
 * needs. The program that follows is a shell's, which ends with a code of its own. Each case is a
 * process by itself.
 */
#include "prism/daemon.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"
#include "tests/unit/scratch.h"

#define FOLLOWED 42 /* how a case ends in which the next program was started */
#define STAYED 43

#define CONFIG_TEXT                                           \
	"apiVersion: fairlead/v1\n"                               \
	"kind: PrismConfig\n"                                     \
	"listen: [\"127.0.0.1:7445\"]\n"                          \
	"upstreams: {static: [\"127.0.0.1:6443\"], local: off}\n" \
	"healthCheck: {enabled: false}\n"

/* Of streams in memory. */
static enum memory { MEMORY_ENOUGH, MEMORY_NONE, MEMORY_FOR_A_PART } memory;

/* Stands before the library's. */
FILE *open_memstream(char **ret_text, size_t *ret_len)
{
	FILE *(*real)(char **, size_t *);

	if (memory == MEMORY_NONE) {
		errno = ENOMEM;
		return NULL;
	}
	if (memory == MEMORY_FOR_A_PART) {
		/* What is written to it has no room. */
		*ret_text = xstrdup("apiVersion: fairlead/v1\n");
		*ret_len = strlen(*ret_text);
		return fopen("/dev/full", "w");
	}
	*(void **) &real = dlsym(RTLD_NEXT, "open_memstream");
	return real(ret_text, ret_len);
}

static void reload(enum memory how)
{
	AUTO(free) char *self = xasprintf("%s/next", scratch_dir);
	char *argv[] = {self, NULL};
	struct service service = {.ops = &(const struct service_ops){.program = "prism"},
	                          .runtime_dir = scratch_dir,
	                          .helper = "/bin/true",
	                          .self = self,
	                          .argv = argv};
	struct config *config = NULL;
	struct daemon *daemon = NULL;
	struct report report;
	struct loop *loop;

	CHECK_EQ_INT(config_load_text("test", CONFIG_TEXT, strlen(CONFIG_TEXT), NULL,
	                              conf_message_print, NULL, &config),
	             0);
	CHECK_EQ_INT(loop_new(&loop), 0);
	service.loop = loop;
	service.metrics_port = metricsport_new(loop_ev(loop), daemon_metrics, NULL);
	CHECK_EQ_INT(daemon_new(&service, config, NULL, &daemon), 0);
	daemon_reload(daemon);
	CHECK_EQ_INT(loop_run(loop), EXIT_SUCCESS);
	CHECK(daemon_wants_exec(daemon));
	memory = how;
	daemon_exec(daemon);
	memory = MEMORY_ENOUGH;
	/* It goes on, and could be told once more. */
	CHECK(!daemon_wants_exec(daemon));
	daemon_report(daemon, &report);
	CHECK(report.n_listeners == 1 && report.listeners[0].open && report.accepting);
	daemon_reload(daemon);
	CHECK_EQ_INT(loop_run(loop), EXIT_SUCCESS);
	CHECK(daemon_wants_exec(daemon));
	control_free(service.control);
	daemon_free(daemon);
	metricsport_free(service.metrics_port);
	loop_free(loop);
	_exit(check_result() == 0 ? STAYED : 1);
}

static int outcome_of(enum memory how)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		reload(how);
	CHECK_EQ_INT(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int main(void)
{
	(void) netns_enter_new();
	netns_run("ip link set lo up");
	scratch_enter();
	CHECK(scratch_shell("printf '#!/bin/sh\\n[ \"$1\" = --check ] || exit %d\\n' >next && "
	                    "chmod 755 next",
	                    FOLLOWED));
	CHECK_EQ_INT(outcome_of(MEMORY_ENOUGH), FOLLOWED);
	CHECK_EQ_INT(outcome_of(MEMORY_NONE), STAYED);
	CHECK_EQ_INT(outcome_of(MEMORY_FOR_A_PART), STAYED);
	scratch_leave();
	return check_result();
}
