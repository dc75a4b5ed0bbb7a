/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A tar archive, read as a stage: its entries and their data are told as they pass. */

#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"
#include "etcdwatch/worker/pack/tarfmt.h"

/* What is negative ends the reading. `end` is called behind the data of each entry, and `finish`
 * once, when the archive was whole. */
struct tarread_callbacks {
	int (*entry)(const struct tar_entry *entry, void *userdata);
	int (*data)(const void *data, size_t len, void *userdata);
	int (*end)(void *userdata);
	int (*finish)(void *userdata);
	void (*free)(void *userdata);
};

/* Takes `userdata`, by its free; borrows the rest. */
struct sink *tarread_new(const struct tarread_callbacks *callbacks, void *userdata,
                         struct problem *problem);
