/* SPDX-License-Identifier: Apache-2.0 */
/* A pidfd is readable when its process has ended. */
#include "netconf/change/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/macro.h"
#include "base/mem.h"

struct process {
	struct ev_loop *ev;
	ev_io end;
	int fd;
	pid_t pid;
	process_gone_fn gone;
	void *userdata;
};

static void end_cb(struct ev_loop *ev, ev_io *io, int revents)
{
	struct process *process = CONTAINER_OF(io, struct process, end);

	loop_expect_watched(revents);
	ev_io_stop(ev, io);
	process->gone(process->userdata);
}

int process_watch(struct ev_loop *ev, pid_t pid, process_gone_fn gone, void *userdata,
                  struct process **ret_process)
{
	struct process *process;
	int fd = (int) syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return -errno;
	process = NEW0(struct process);
	process->ev = ev;
	process->fd = fd;
	process->pid = pid;
	process->gone = gone;
	process->userdata = userdata;
	ev_io_init(&process->end, end_cb, fd, EV_READ);
	ev_io_start(ev, &process->end);
	*ret_process = process;
	return 0;
}

pid_t process_pid(const struct process *process)
{
	return process->pid;
}

void process_kill(const struct process *process)
{
	(void) syscall(SYS_pidfd_send_signal, process->fd, SIGKILL, NULL, 0);
}

void process_free(struct process *process)
{
	if (process == NULL)
		return;
	ev_io_stop(process->ev, &process->end);
	(void) close(process->fd);
	free(process);
}
