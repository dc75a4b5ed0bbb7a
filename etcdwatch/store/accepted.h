/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The operator's word that the data of a cluster may be as small as it has become (retain.h), for
 * all nodes: the keys <prefix>etcdwatch/<job>/accepted/<cluster id>-<timeline>, each {"revision",
 * "node", "at"}. An etcd that is restored forgets what was said after its snapshot, and is in
 * another timeline.
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcdwatch/catalog/retain.h"

#define ACCEPTED_MAX 64

struct accepted;

struct accepted_of {
	struct etcd *etcd;
	const char *prefix; /* of keys; ends in '/' */
	const char *job;
};

/* The handle is gone when this returns; the list is borrowed. n is 0 also when etcd does not
 * answer: then nothing is accepted. */
typedef void (*accepted_done_fn)(const struct retain_accepted *list, size_t n, void *userdata);
struct accepted *accepted_read(const struct accepted_of *of, accepted_done_fn done, void *userdata);

/* r 0, or -errno with what etcd said. */
typedef void (*accepted_written_fn)(int r, const char *reason, void *userdata);
struct accepted *accepted_write(const struct accepted_of *of, const struct retain_accepted *word,
                                const char *node, accepted_written_fn done, void *userdata);

void accepted_free(struct accepted *accepted); /* done is not called; NULL is fine */
DEFINE_AUTO(struct accepted, accepted_free);

/* The end of a key and its value; pure. False: it is none. */
bool accepted_parse(const char *name, size_t name_len, const char *value, size_t value_len,
                    struct retain_accepted *ret_word);
