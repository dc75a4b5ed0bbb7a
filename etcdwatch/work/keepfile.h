/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A small text file in which something is kept over restarts: read once, and written whenever it
 * changes, by a thread of its own, like all that waits for a disk. What is to be written while a
 * task is under way waits, and replaces what waits already; what the file has is not written again.
 */

#include <ev.h>
#include <stddef.h>

#include "base/cleanup.h"

struct keepfile;

struct keepfile_callbacks {
	/* What was read. 0; -ENOENT, and ""; or another -errno, and NULL. The text is good until
	 * keepfile_write(). The file must not be freed inside. */
	void (*read)(int r, const char *text, size_t len, void *userdata);
	/* Writing failed. */
	void (*failed)(int r, void *userdata);
};

/* Begins to read, at most bytes_max. path is copied; callbacks and userdata are borrowed. 0, or
 * -errno: the thread cannot be started. */
int keepfile_new(struct ev_loop *ev, const char *path, size_t bytes_max,
                 const struct keepfile_callbacks *callbacks, void *userdata,
                 struct keepfile **ret_file);
/* Waits for the disk, but not for what has not been begun. NULL is fine. */
void keepfile_free(struct keepfile *file);
DEFINE_AUTO(struct keepfile, keepfile_free);

/* Takes the text. */
void keepfile_write(struct keepfile *file, char *text);
