/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The step before a restore to a revision or a time: the worker makes a snapshot of that moment,
 * from one that was taken before and from what was recorded behind it. It is a file from then on,
 * which stays: the other nodes need the same one.
 */

#include <stdbool.h>
#include <stdio.h>

#include "cli/restore/restoreoptions.h"
#include "cli/common/snapshotsource.h"
#include "cli/common/worker.h"

bool restorerebuild_is_wanted(const struct restoreoptions *options);

/* CLI_OK with the worker's last line, whose "file" is the snapshot; or it was said what is wrong.
 */
int restorerebuild_run(const struct restoreoptions *options, const struct snapshotsource *base,
                       worker_line_fn line, void *userdata, json_t **ret_made);

/* For people: the histories of which one must be named. */
void restorerebuild_print_histories(FILE *out, const json_t *histories);

/* For people: what it was made from, and how far the record reaches. */
void restorerebuild_print(FILE *out, const json_t *made);
