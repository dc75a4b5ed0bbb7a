/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A store that programs of the operator reach, in the place of an S3 server (web/s3.h). There is a
 * program for each verb:
 *
 *  - upload: stores its standard input, or the file {file}, as {key}.
 *  - download: prints the object {key}.
 *  - list: prints a line for each object whose key begins with {prefix}: its size in bytes, then a
 *    tab, a space or a ';', then its key. Other keys are passed over.
 *  - delete: removes the object {key}.
 *
 * Programs run without a shell. They succeed when they exit with 0; else the last line of their
 * standard error is the reason. Whether an object is there is told by the list alone.
 */

#include "etcdwatch/worker/common/result.h"
#include "web/s3.h"

/* Of S3, so that what holds there holds here. */
#define STOREPROGRAM_KEY_MAX 1024

/* `text`: a JSON object of four lists of words, by the names of the verbs. */
int storeprogram_open(const char *text, struct problem *problem, struct s3 **ret_s3);

/* Pure. No key of ours is otherwise, and one that a list has may become a file's name: no empty
 * part, no "." or "..", no control characters; it does not begin with '-'. */
bool storeprogram_key_is_good(const char *key);
