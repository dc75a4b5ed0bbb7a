/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tells when a file may have changed, however that is done: written in place, replaced by
 * rename(2), removed, created late, or behind a symlink that now points elsewhere (as kubelet
 * updates the files of a ConfigMap). Its directory is watched by inotify(7), and the directory that
 * the path leads to; a look every few seconds catches what they do not show (a directory that comes
 * later, a network file system, no inotify instance left). Changes that come together are told
 * once, when the file has been quiet for a moment.
 */

#include <ev.h>

#include "base/cleanup.h"

struct filewatch;

/* The file is another one than at the last call, or than at filewatch_new(). May free the watch. */
typedef void (*filewatch_changed_fn)(void *userdata);

/* The file need not exist. path is copied. Without inotify it goes on, logged, and only looks. */
struct filewatch *filewatch_new(struct ev_loop *ev, const char *path, filewatch_changed_fn changed,
                                void *userdata);
void filewatch_free(struct filewatch *watch);
DEFINE_AUTO(struct filewatch, filewatch_free);
