/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Another process, by a descriptor that stands for just that one (pidfd_open(2)): to hear at once
 * of its end, whether or not it is our child. */

#include <ev.h>
#include <sys/types.h>

#include "base/cleanup.h"

struct process;

typedef void (*process_gone_fn)(void *userdata);

/* `gone` is called once, from the loop; the handle stays. 0, -ESRCH: it is gone already, or
 * -errno. */
int process_watch(struct ev_loop *ev, pid_t pid, process_gone_fn gone, void *userdata,
                  struct process **ret_process);
pid_t process_pid(const struct process *process);
void process_kill(const struct process *process); /* SIGKILL */
void process_free(struct process *process);
DEFINE_AUTO(struct process, process_free);
