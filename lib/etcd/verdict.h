/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the end of one attempt means: a pure function of gRPC's status code, etcd's words and
 * whether the request ever left. Sources: etcd's api/v3rpc/rpctypes/error.go (3.4 to 3.6) and the
 * codes that gRPC gives dead connections.
 */

#include <grpc/status.h>
#include <stdbool.h>

enum verdict_kind {
	VERDICT_OK,
	VERDICT_FINAL,   /* the server has spoken: another endpoint would say the same */
	VERDICT_AGAIN,   /* nothing was decided: another endpoint, or a later attempt, may do better */
	VERDICT_NO_AUTH, /* the token is not, or no longer, good */
};

struct verdict {
	enum verdict_kind kind;
	int r;           /* as in struct etcd_outcome; 0 for VERDICT_OK */
	bool maybe_done; /* a write may have been carried out */
	bool not_sent;   /* there was no connection */
};

struct verdict verdict_of(grpc_status_code code, const char *text, bool sent);
