/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which cluster this is, to the stores that several may share: 128 random bits under the key
 * <prefix>etcdwatch/owner, which the first node makes, and which comes back with etcd's data when
 * it is restored. The state directory keeps a copy (`owner`), for while etcd does not answer and
 * for a snapshot that is older than the key. Sources of the rest: worker/storeowner.h.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcdwatch/config/config.h"

struct owner;

struct owner_options {
	struct ev_loop *ev;
	struct etcd *etcd;
	const char *prefix; /* of keys; ends in '/' */
	const char *node;   /* all of these are borrowed */
	const char *path;   /* of the copy; copied */
	/* It is known, or is another one than was known. From the loop; nothing may be freed. */
	void (*known)(void *userdata);
	void *userdata;
};

/* Reads the copy, and then asks etcd. */
struct owner *owner_new(const struct owner_options *options);
void owner_free(struct owner *owner);
DEFINE_AUTO(struct owner, owner_free);

/* For the targets; valid as long as the owner is. */
const struct config_owner *owner_get(const struct owner *owner);

/* 32 lower-case hexadecimal digits; pure. */
bool owner_id_is_good(const char *text, size_t len);
