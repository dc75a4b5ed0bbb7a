/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Why an etcd ended, from the end of its log: the last line that says so, else the last line. Of
 * the lines that etcd writes in JSON, only what they say is told. Pure.
 */

#include <stddef.h>

#define ETCDLOG_WORDS_MAX 320

/* Returns `words`; "it said nothing" when there is nothing. */
const char *etcdlog_last_words(const char *log, size_t len, char words[static ETCDLOG_WORDS_MAX]);
