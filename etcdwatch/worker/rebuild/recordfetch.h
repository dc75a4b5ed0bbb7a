/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fetches from a target what the record has behind a snapshot, of the node from whose record the
 * rebuild can be made: each piece is verified against its manifest, decrypted and decompressed, and
 * the segments are put together byte for byte, as files of a record in a directory. Where one
 * node's pieces are damaged, another node's are fetched.
 *
 * A piece must be signed as a snapshot that is chosen must be (source.h), also behind one that is
 * named.
 *
 * Codes: UNREACHABLE, no node's record leads there; UNTRUSTED, a piece's signature; PLAIN, a piece
 * is not encrypted where snapshots are; MISMATCH and CORRUPT, a piece is not what its manifest
 * says; MANIFEST; NO_SPACE.
 */

#include "etcdwatch/worker/rebuild/rebuild.h"

/* Which snapshots the rebuild may begin with is as the request's `base` says; `room` is a directory
 * that is there. */
int recordfetch_run(const struct rebuild_request *request, const char *room,
                    struct problem *problem, struct recordfetched *ret_fetched);
