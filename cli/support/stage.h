/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is collected, on its way into the archive: a directory for root alone, and the archive that
 * is made of it in the end. What is added is only what may be shown (show.h).
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "cli/common/texts.h"

#define STAGE_FILE_BYTES_MAX (16u << 20)
#define STAGE_ALL_BYTES_MAX (96u << 20)

struct stage;

/* `name` is that of the directory in the archive. It is made beside `archive`, where there has to
 * be room anyway. 0 or -errno. */
int stage_new(const char *archive, const char *name, struct stage **ret_stage);
/* Removes the directory. */
void stage_free(struct stage *stage);
DEFINE_AUTO(struct stage, stage_free);

/* A file of it, "network/addresses.json". What is too much is left out, and noted. */
void stage_add(struct stage *stage, const char *path, const char *text);

/* Why something is missing or cut. */
void stage_note(struct stage *stage, const char *fmt, ...) PRINTF_LIKE(2, 3);

const struct texts *stage_files(const struct stage *stage);
const struct texts *stage_notes(const struct stage *stage);

/* Makes the archive, for the user alone, beside the files: 0 or -errno; -EIO: tar has failed and
 * *ret_error, to be freed, says why. */
int stage_pack(struct stage *stage, char **ret_error);
/* Then gives it its name, as a whole or not at all: 0 or -errno. */
int stage_publish(struct stage *stage);
