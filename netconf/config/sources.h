/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The files of a configuration as one text, so that what was applied can be kept as it was,
 * whatever becomes of the files. Comments and secrets are in it.
 */

#include "base/conf.h"

/* Each file a part of the stream of documents, with its name in a comment. The caller frees it. 0,
 * -EFBIG: more than one file may have; or -errno. */
int sources_read(const struct conf_strings *files, char **ret_text);
