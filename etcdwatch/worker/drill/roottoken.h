/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The token of etcd's user root, for an etcd that was started with a key of ours
 * (--auth-token=jwt). So a restored etcd with authentication can be asked without anybody's
 * password and without a change of what was restored. It is a JSON web token (RFC 7519), signed by
 * HMAC with SHA-256.
 */

#include <stdint.h>

/* etcd takes the bytes of the file as they are. */
#define ROOTTOKEN_KEY_CHARS 64

/* A key, for a file. */
void roottoken_draw_key(char ret_key[static ROOTTOKEN_KEY_CHARS + 1]);

/* etcd accepts it while the revision of its own store of users is auth_revision. The caller frees
 * it. Pure. */
char *roottoken_make(const char *key, uint64_t auth_revision, int64_t expires_s);
