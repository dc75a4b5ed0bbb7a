/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Undoes a change of which only the files are left: its daemon is gone. Reads the checkpoint, says
 * on the disk that it is being undone, undoes it, writes down how that ended, and removes the files
 * if nothing was left. For the guard, when it has the lock of the state directory.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "netconf/host/hoststate.h"
#include "netconf/kernel/kernel.h"

struct rescue;

/* left: what could not be undone, for which the way back is kept; "" */
typedef void (*rescue_done_fn)(const char *left, void *userdata);

/* 0, -EALREADY: it is over, and nothing is undone, or -errno: the checkpoint cannot be read; with
 * -EBADMSG and -ENOENT it never will be. `done` is called once, never before this returns, and the
 * handle is gone then. */
int rescue_start(struct ev_loop *ev, struct kernel *kernel, const char *state_dir,
                 const char *reason, rescue_done_fn done, void *userdata,
                 struct rescue **ret_rescue);
void rescue_free(struct rescue *rescue);
DEFINE_AUTO(struct rescue, rescue_free);

/* It cannot be undone: says so on the disk, and to the log. The files stay. */
void rescue_give_up(const char *state_dir, const char *left);

/* Of a change that the kernel has forgotten: the files that it wrote are as they were before. 0, or
 * the first -errno with a sentence that the caller frees: to be tried again, so that the way back
 * must stay. */
int rescue_files(const struct host_machine *machine, const char *state_dir, char **ret_error);
