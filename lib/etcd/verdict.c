/* SPDX-License-Identifier: Apache-2.0 */
/* One table of etcd's own sentences, one of gRPC's codes. Sentences go first: the codes are shared
 * by errors that have nothing in common, and differ between versions. */
#include "etcd/verdict.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/macro.h"

static const struct {
	const char *part; /* of the text */
	enum verdict_kind kind;
	int r;
	bool maybe_done;
} sentences[] = {
    /* Refused by the interceptor, before anything was proposed. */
    {"etcdserver: no leader", VERDICT_AGAIN, -EHOSTUNREACH, false},
    {"not supported for learner", VERDICT_AGAIN, -EHOSTUNREACH, false},
    /* The members are not connected for 5 s yet, or too few are: refused before it is proposed. */
    {"etcdserver: unhealthy cluster", VERDICT_FINAL, -EPROTO, false},
    {"lease already exists", VERDICT_FINAL, -EEXIST, false},
    /* The put that first exceeds the quota is applied, and answered so: quotaApplierV3. */
    {"database space exceeded", VERDICT_FINAL, -ENOSPC, true},
    {"corrupt cluster", VERDICT_FINAL, -EUCLEAN, false},
    {"too many requests", VERDICT_FINAL, -EBUSY, false},
    {"has been compacted", VERDICT_FINAL, -ESTALE, false},
    {"is a future revision", VERDICT_FINAL, -EAGAIN, false},
    {"invalid auth token", VERDICT_NO_AUTH, -EACCES, false},
    {"revision of auth store is old", VERDICT_NO_AUTH, -EACCES, false},
    {"user name is empty", VERDICT_NO_AUTH, -EACCES, false},
    {"invalid user ID or password", VERDICT_FINAL, -EACCES, false},
    {"user name not found", VERDICT_FINAL, -EACCES, false},
    /* As 3.4's maintenance service says it, under the code UNKNOWN. */
    {"auth: permission denied", VERDICT_FINAL, -EACCES, false},
    /* The name in a client's certificate counts as a user's. */
    {"auth: user not found", VERDICT_FINAL, -EACCES, false},
};

static struct verdict verdict_of_code(grpc_status_code code, bool sent)
{
	switch (code) {
	case GRPC_STATUS_OK:
		return (struct verdict){.kind = VERDICT_OK};
	/* A dead connection shows as any of these, and so does a server that stops or loses its leader
	 * while it works on the request. */
	case GRPC_STATUS_UNAVAILABLE:
	case GRPC_STATUS_INTERNAL:
	case GRPC_STATUS_CANCELLED:
	case GRPC_STATUS_ABORTED:
		return (struct verdict){VERDICT_AGAIN, -EHOSTUNREACH, sent, !sent};
	case GRPC_STATUS_DEADLINE_EXCEEDED:
		return (struct verdict){VERDICT_AGAIN, -ETIMEDOUT, sent, !sent};
	case GRPC_STATUS_UNKNOWN:
		return (struct verdict){VERDICT_AGAIN, -EPROTO, sent, !sent};
	case GRPC_STATUS_NOT_FOUND:
		return (struct verdict){.kind = VERDICT_FINAL, .r = -ENOENT};
	case GRPC_STATUS_PERMISSION_DENIED:
		return (struct verdict){.kind = VERDICT_FINAL, .r = -EACCES};
	case GRPC_STATUS_UNAUTHENTICATED:
		return (struct verdict){.kind = VERDICT_NO_AUTH, .r = -EACCES};
	/* gRPC's own limit on the size of an answer: the work was done. */
	case GRPC_STATUS_RESOURCE_EXHAUSTED:
		return (struct verdict){.kind = VERDICT_FINAL, .r = -EPROTO, .maybe_done = sent};
	case GRPC_STATUS_INVALID_ARGUMENT:
	case GRPC_STATUS_ALREADY_EXISTS:
	case GRPC_STATUS_FAILED_PRECONDITION:
	case GRPC_STATUS_OUT_OF_RANGE:
	case GRPC_STATUS_UNIMPLEMENTED:
	case GRPC_STATUS_DATA_LOSS:
	case GRPC_STATUS__DO_NOT_USE:
		break;
	}
	return (struct verdict){.kind = VERDICT_FINAL, .r = -EPROTO};
}

struct verdict verdict_of(grpc_status_code code, const char *text, bool sent)
{
	for (size_t i = 0; code != GRPC_STATUS_OK && i < ARRAY_SIZE(sentences); i++) {
		if (strstr(text, sentences[i].part) != NULL)
			return (struct verdict){.kind = sentences[i].kind,
			                        .r = sentences[i].r,
			                        .maybe_done = sentences[i].maybe_done};
	}
	return verdict_of_code(code, sent);
}
