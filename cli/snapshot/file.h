/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the commands share that read a snapshot of etcd: opening it, saying what is wrong with it,
 * and printing what it holds, which may be any bytes.
 */

#include <stdio.h>

#include "bolt/bytes.h"
#include "bolt/snapshot.h"
#include "cli/common/cli.h"
#include "cli/common/progress.h"

struct etcd_file {
	const char *path; /* borrowed; for sentences */
	char *owned_path; /* is `path` then; or NULL */
	char *id;         /* in the catalogue; NULL: it has none */
	struct bolt_fault fault;
	struct snapshot *snapshot;
	struct progress *progress; /* NULL: none is shown */
};

void etcd_file_fini(struct etcd_file *file);

/* Shows how far what reads it has come, on a terminal, until progress_clear(). */
void etcd_file_show_progress(struct etcd_file *file);

/* Says on standard error what is wrong with the file after a call failed with r; the exit code. */
int etcd_file_explain(const struct etcd_file *file, int r);

/* With control characters as '?', so that it is one line and drives no terminal. */
void etcd_print_safe(FILE *out, struct bytes text);

/* In base64 (RFC 4648), to be freed. */
char *etcd_base64(struct bytes data);

/* CLI_OK if all that was printed has got out, else it says that it has not. */
int etcd_flush(void);

/*
 * The snapshot that a command reads, named as for `fairlead etcd restore`: a file, packed or not,
 * an id, "latest" or s3:TARGET/ID. The command's options are cli_etcd_snapshot_options.
 */

/* CLI_OK; or it has said what is wrong, and the fault's text is set if that is about the snapshot.
 * `ret_file` must stay where it is until etcd_file_fini(), which is to be called in either case. */
int etcd_file_find(const struct cli *cli, const char *name, struct etcd_file *ret_file);
