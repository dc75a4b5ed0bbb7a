/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What goes into the archive besides its summary, and the files that it comes from. Each source is
 * bounded in time; one that gives nothing is noted in the stage.
 */

#include <stdbool.h>

#include "cli/status/node.h"
#include "cli/support/show.h"
#include "cli/support/stage.h"

/* Told before each source; for a terminal. */
typedef void (*collect_progress_fn)(const char *what);

struct collect {
	struct stage *stage;
	size_t *n_hidden; /* counted here */
	const char *runtime_dir;
	const char *since; /* for journalctl(1) */
	bool with_logs;
	collect_progress_fn progress; /* may be NULL */
	bool (*is_stopped)(void);     /* then no further source is begun */
};

/* The answers that a summary is made of are put into `replies` too, and hold only what may be shown. */
void collect_daemons(const struct collect *collect,
                     struct node_reply replies[static NODE_QUESTIONS]);
void collect_commands(const struct collect *collect);

/* The files of the configuration: those given, or the default places. */
void collect_find_config(const struct texts *paths, struct texts *ret_files);
void collect_config(const struct collect *collect, const struct texts *files);

/* Units of fairlead as systemctl(1) lists them, to be freed; NULL: there is no systemd. */
char *collect_units(size_t *n_hidden);
