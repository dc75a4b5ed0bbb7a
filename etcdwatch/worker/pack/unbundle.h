/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A bundle on its way back, as a stage: the snapshot goes to the next stage, the other files to an
 * `extract` if there is one, and everything is compared with the manifest, which comes last. The
 * next stage is finished only when all of it was right.
 */

#include "etcdwatch/worker/pack/extract.h"
#include "etcdwatch/worker/common/result.h"
#include "etcdwatch/worker/common/sink.h"

/* Takes `snapshot`; borrows `extract`, which may be NULL, and `problem`. */
struct sink *unbundle_new(struct sink *snapshot, struct extract *extract, struct problem *problem);
