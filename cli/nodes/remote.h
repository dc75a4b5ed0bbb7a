/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Runs `fairlead WORDS...` on many nodes at the same time, at most REMOTE_AT_ONCE of them, and
 * collects what it prints. Blocking. What a node prints is untrusted: it is bounded, parsed, and
 * never run.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "cli/common/texts.h"

#define REMOTE_AT_ONCE 8
#define REMOTE_OUTPUT_MAX (8 * 1024 * 1024) /* bytes that a node may print */
#define REMOTE_LINES_MAX 65536

enum remote_outcome {
	REMOTE_DONE, /* fairlead ran there, see exit_code */
	REMOTE_UNREACHABLE,
	REMOTE_TIMEOUT,
	REMOTE_DENIED, /* by ssh (key, host key) or by sudo */
	REMOTE_NO_PROGRAM,
	REMOTE_GARBLED, /* it printed what is no JSON object */
	REMOTE_TOO_MUCH,
	REMOTE_INTERRUPTED, /* by Ctrl-C, before it was over or before it began */
};

/* "unreachable", as it is printed. */
const char *remote_outcome_name(enum remote_outcome outcome);

struct remote_answer {
	char *node; /* as it was named */
	enum remote_outcome outcome;
	int exit_code;   /* of fairlead there; with REMOTE_DONE */
	json_t *objects; /* an array of what it printed, one a line; never NULL */
	char *error;     /* one printable sentence; NULL: none */
};

void remote_answers_fini(struct remote_answer *answers, size_t n);

/* How a node is reached: ssh, or a template. */
struct remote;

/* via: NULL or "": ssh. CLI_OK, or it says on standard error what is wrong and returns CLI_USAGE.
 */
int remote_new(const char *via, struct remote **ret_remote);
void remote_free(struct remote *remote);
DEFINE_AUTO(struct remote, remote_free);

/* From now on any line will do, not only JSON objects: `objects` has them as strings. */
void remote_expect_text(struct remote *remote);

/* Called as each answer comes; it is borrowed. */
typedef void (*remote_answer_fn)(const struct remote_answer *answer, void *userdata);

/*
 * The same words for all nodes. `input` (may be NULL) goes to the standard input of each. The
 * deadline of a node begins when its command is started. `each` may be NULL. Answers stand in the
 * order of the nodes; all are filled, and remote_answers_fini() frees them. A name that is
 * "localhost" or this host's runs this program here. 0, or -EINTR: Ctrl-C ended what was under
 * way.
 */
int remote_run(const struct remote *remote, const char *const *nodes, size_t n,
               const struct texts *words, const char *input, size_t input_len, int64_t timeout_us,
               remote_answer_fn each, void *userdata, struct remote_answer *ret_answers);
