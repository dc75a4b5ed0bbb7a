/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the commands share that read a snapshot of etcd: opening it, saying what is wrong with it,
 * and printing what it holds, which may be any bytes.
 */

#include <stdio.h>

#include "bolt/bytes.h"
#include "bolt/snapshot.h"
#include "cli/common/progress.h"

struct etcd_file {
	const char *path; /* borrowed; for sentences */
	char *owned_path; /* is `path` then; or NULL */
	char *id;         /* in the catalogue; NULL: it has none */
	struct bolt_fault fault;
	struct snapshot *snapshot;
	struct progress *progress; /* NULL: none is shown */
};

/* By its name or its first bytes: compressed, encrypted or a bundle. */
bool etcd_file_is_packed(const char *path);

/* A plain file: CLI_OK, or what etcd_file_explain() returns. `file` must stay where it is until
 * etcd_file_fini(). */
int etcd_file_open(struct etcd_file *file, const char *path);
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
