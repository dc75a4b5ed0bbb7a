/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The origin as an API server sees its probers: TLS on the same port, and every HTTP request is
 * answered as GET /readyz would be. Connections are kept, so that probers may keep theirs.
 */

#include <stdbool.h>

#include "bench/tools/common/reactor.h"

struct readyz;

/* cert_file, key_file: PEM. 0 or -errno; OpenSSL's own words go to standard error. */
int readyz_new(struct reactor *reactor, const char *cert_file, const char *key_file,
               struct readyz **ret_readyz);
void readyz_free(struct readyz *readyz);
DEFINE_AUTO(struct readyz, readyz_free);

/* Takes the connection, also on failure; nothing has been read from it yet. */
void readyz_serve(struct readyz *readyz, int fd);

/* 200, or 500 with the reason of an API server that lost its etcd. */
void readyz_set(struct readyz *readyz, bool ready);
