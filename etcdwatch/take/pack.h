/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A proven snapshot is compressed, encrypted and bundled as its job says, by the worker
 * (etcdwatch/worker/pack/pack.h). The plain file is gone only when the packed one has been read
 * back and is durable.
 */

#include <ev.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/work/child.h"

struct pack;

struct pack_result {
	int r;              /* 0, or -errno; then the plain file is as it was */
	const char *reason; /* "" if r is 0 */
	const char *path;   /* of the packed file, beside the plain one */
	uint64_t bytes;
	const char *sha256;
	bool zstd, age;
	unsigned recipients;
};

/* The handle is gone when this returns; the result is borrowed. */
typedef void (*pack_done_fn)(const struct pack_result *result, void *userdata);

bool pack_is_wanted(const struct config_job *job);

struct pack_options {
	const char *worker;           /* the program */
	const struct config_job *job; /* borrowed until the end; the rest is copied */
	const char *path;
	const char *id;     /* names the database in a bundle */
	const char *sha256; /* of the file when it was proven; another file is not packed */
	int64_t limit_us;
};

/* 0, or -errno: the worker cannot be started. */
int pack_start(struct ev_loop *ev, const struct pack_options *options, pack_done_fn done,
               void *userdata, struct pack **ret_pack);
/* What the worker says that it is at; valid until the loop goes on. */
const struct doing *pack_doing(const struct pack *pack);
void pack_free(struct pack *pack); /* done is not called */
DEFINE_AUTO(struct pack, pack_free);
