/* SPDX-License-Identifier: Apache-2.0 */
/* A child process, its end, and a time limit for it. */
#include "prism/reload.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/spawn.h"

struct reload_check {
	struct ev_loop *ev;
	reload_checked_fn checked;
	void *userdata;
	ev_child child;
	ev_timer limit;
};

static void child_cb(struct ev_loop *ev, ev_child *w, int revents UNUSED)
{
	struct reload_check *c = CONTAINER_OF(w, struct reload_check, child);

	ev_child_stop(ev, w);
	ev_timer_stop(ev, &c->limit);
	c->checked(WIFEXITED(w->rstatus) && WEXITSTATUS(w->rstatus) == 0, c->userdata);
}

static void limit_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	/* Its end is a bad one, and is told as such. */
	(void) kill(CONTAINER_OF(w, struct reload_check, limit)->child.pid, SIGKILL);
}

static int spawn(const char *program, char *const *argv, pid_t *ret_pid)
{
	AUTO(free) const char **args = NULL;
	size_t n = 0;

	while (argv[n] != NULL)
		n++;
	args = xcalloc(n + 2, sizeof(args[0]));
	args[0] = program;
	for (size_t i = 1; i < n; i++)
		args[i] = argv[i];
	args[n] = "--check";
	return spawn_program(&(struct spawn){.argv = args}, ret_pid);
}

int reload_check_new(struct ev_loop *ev, const char *program, char *const *argv,
                     reload_checked_fn checked, void *userdata, struct reload_check **ret_check)
{
	struct reload_check *c;
	pid_t pid;
	int r;

	r = spawn(program, argv, &pid);
	if (r < 0)
		return r;
	c = NEW0(struct reload_check);
	c->ev = ev;
	c->checked = checked;
	c->userdata = userdata;
	ev_child_init(&c->child, child_cb, pid, 0);
	ev_child_start(ev, &c->child);
	ev_timer_init(&c->limit, limit_cb, RELOAD_CHECK_S, 0.);
	ev_timer_start(ev, &c->limit);
	*ret_check = c;
	return 0;
}

void reload_check_free(struct reload_check *c)
{
	if (c == NULL)
		return;
	if (ev_is_active(&c->child)) {
		ev_child_stop(c->ev, &c->child);
		(void) kill(c->child.pid, SIGKILL);
		(void) waitpid(c->child.pid, NULL, 0);
	}
	ev_timer_stop(c->ev, &c->limit);
	free(c);
}
