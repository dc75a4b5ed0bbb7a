/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the output and the exit code of a command on a node mean. Pure. */

#include "cli/nodes/remote.h"
#include "cli/nodes/transport.h"

struct answer_output {
	const char *out;
	size_t out_len;
	const char *err;
	size_t err_len;
	int exit_code; /* 128 + the signal that killed it */
};

/*
 * Fills all but `node`. `cut` is why the command was ended from here, else REMOTE_DONE; the whole
 * lines that came before are kept then.
 */
void answer_judge(struct remote_answer *answer, enum transport_kind kind, bool is_text,
                  enum remote_outcome cut, int64_t timeout_us, const struct answer_output *output);
