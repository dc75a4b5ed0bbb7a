/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Range, put, delete, transactions and leases: the public structs become protobuf messages, and
 * answers become public structs. Requests borrow the caller's bytes, since they are packed at once.
 * What a transaction needs besides is in one allocation a kind, freed when it has been packed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/call.h"
#include "etcd/client.h"
#include "etcd/etcd.h"
#include "etcd/pool.h"
#include "etcd/proto/etcd.pb-c.h"

/* --- keys: the rules of etcd's ranges (rpc.proto, RangeRequest.range_end) --- */

ProtobufCBinaryData keys_bytes(struct etcd_bytes bytes)
{
	return (ProtobufCBinaryData){.len = bytes.len, .data = (uint8_t *) (uintptr_t) bytes.data};
}

/* The first key behind all that begin with `key`: the last byte that can be raised is, and what
 * follows it is cut off. 0: there is none, the range is open. */
static size_t successor_of_prefix(uint8_t *key, size_t len)
{
	for (; len > 0; len--) {
		if (key[len - 1] == 0xff)
			continue;
		key[len - 1]++;
		return len;
	}
	return 0;
}

void keys_fill(struct etcd_bytes key, bool prefix, ProtobufCBinaryData *ret_key,
               ProtobufCBinaryData *ret_range_end, uint8_t **ret_end)
{
	/* As a key, NUL is the least there is; as an end, it means "no end". */
	static const uint8_t nul[1];

	*ret_key = keys_bytes(key);
	*ret_range_end = (ProtobufCBinaryData){0};
	*ret_end = NULL;
	if (!prefix)
		return;
	if (key.len == 0)
		*ret_key = keys_bytes((struct etcd_bytes){nul, sizeof(nul)});
	*ret_end = xmemdup(key.data, key.len);
	ret_range_end->data = *ret_end;
	ret_range_end->len = successor_of_prefix(*ret_end, key.len);
	if (ret_range_end->len == 0)
		*ret_range_end = keys_bytes((struct etcd_bytes){nul, sizeof(nul)});
}

/* --- calls --- */

/* etcd's own default for --max-txn-ops. */
#define TXN_OPS_MAX 128

static struct etcd_kv to_kv(const Pb__KeyValue *kv)
{
	return (struct etcd_kv){
	    .key = {kv->key.data, kv->key.len},
	    .value = {kv->value.data, kv->value.len},
	    .create_revision = kv->create_revision,
	    .mod_revision = kv->mod_revision,
	    .version = kv->version,
	    .lease = kv->lease,
	};
}

/* ret_result->kvs is the caller's to free. */
static void to_range_result(const Pb__RangeResponse *answer, struct etcd_kv **ret_kvs,
                            struct etcd_range_result *ret_result)
{
	struct etcd_kv *kvs = xcalloc(answer->n_kvs, sizeof(*kvs));

	for (size_t i = 0; i < answer->n_kvs; i++)
		kvs[i] = to_kv(answer->kvs[i]);
	*ret_kvs = kvs;
	*ret_result = (struct etcd_range_result){
	    .kvs = kvs, .n_kvs = answer->n_kvs, .count = answer->count, .more = answer->more};
}

static void deliver_range(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                          call_user_fn fn, void *userdata)
{
	AUTO(free) struct etcd_kv *kvs = NULL;
	struct etcd_range_result result;

	if (response != NULL)
		to_range_result((const void *) response, &kvs, &result);
	((etcd_range_fn) fn)(outcome, response != NULL ? &result : NULL, userdata);
}

/* How long a call may take of which an answer is of use for so long. */
static int64_t timeout_of(const struct etcd *etcd, int64_t useful_us)
{
	return useful_us != 0 ? MIN(useful_us, etcd->call_timeout_us) : 0;
}

static void start_range(struct etcd *etcd, struct endpoint *endpoint, unsigned timeout_ms,
                        const struct etcd_range *range, etcd_range_fn fn, void *userdata,
                        struct etcd_call **ret_call)
{
	Pb__RangeRequest request = PB__RANGE_REQUEST__INIT;
	AUTO(free) uint8_t *end = NULL;
	struct call_spec spec = {
	    .method = "/etcdserverpb.KV/Range",
	    .request = &request.base,
	    .response = &pb__range_response__descriptor,
	    .flags = CALL_REPEATABLE | (range->serializable ? CALL_LOCAL : 0U),
	    .endpoint = endpoint,
	    .timeout_us = timeout_ms != 0 ? timeout_ms * US_PER_MS : timeout_of(etcd, range->useful_us),
	    .deliver = deliver_range,
	};

	keys_fill(range->key, range->prefix, &request.key, &request.range_end, &end);
	request.limit = range->limit;
	request.revision = range->revision;
	request.serializable = range->serializable;
	request.keys_only = range->keys_only;
	request.count_only = range->count_only;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
}

int etcd_range(struct etcd *etcd, const struct etcd_range *range, etcd_range_fn fn, void *userdata,
               struct etcd_call **ret_call)
{
	start_range(etcd, NULL, 0, range, fn, userdata, ret_call);
	return 0;
}

int etcd_endpoint_range(struct etcd *etcd, const char *endpoint, const struct etcd_range *range,
                        unsigned timeout_ms, etcd_range_fn fn, void *userdata,
                        struct etcd_call **ret_call)
{
	struct endpoint *found = pool_find(etcd->pool, endpoint);

	if (found == NULL)
		return -ENOENT;
	start_range(etcd, found, timeout_ms, range, fn, userdata, ret_call);
	return 0;
}

int etcd_put(struct etcd *etcd, struct etcd_bytes key, struct etcd_bytes value, int64_t lease,
             etcd_done_fn fn, void *userdata, struct etcd_call **ret_call)
{
	Pb__PutRequest request = PB__PUT_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.KV/Put",
	    .request = &request.base,
	    .response = &pb__put_response__descriptor,
	    .flags = CALL_WRITE,
	    .deliver = call_deliver_done,
	};

	request.key = keys_bytes(key);
	request.value = keys_bytes(value);
	request.lease = lease;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

/* --- transactions --- */

/* One operation with room for whichever message it needs. */
struct txn_op {
	Pb__RequestOp op;
	union {
		Pb__RangeRequest range;
		Pb__PutRequest put;
		Pb__DeleteRangeRequest delete_range;
	};
	uint8_t *end;
};

struct txn_branch {
	struct txn_op *ops;
	Pb__RequestOp **list;
	size_t n;
};

static void fill_op(struct txn_op *to, const struct etcd_op *from)
{
	pb__request_op__init(&to->op);
	switch (from->kind) {
	case ETCD_OP_PUT:
		pb__put_request__init(&to->put);
		to->put.key = keys_bytes(from->key);
		to->put.value = keys_bytes(from->value);
		to->put.lease = from->lease;
		to->op.request_case = PB__REQUEST_OP__REQUEST_PUT;
		to->op.put = &to->put;
		return;
	case ETCD_OP_DELETE:
		pb__delete_range_request__init(&to->delete_range);
		keys_fill(from->key, from->prefix, &to->delete_range.key, &to->delete_range.range_end,
		          &to->end);
		to->op.request_case = PB__REQUEST_OP__REQUEST_DELETE_RANGE;
		to->op.delete_range = &to->delete_range;
		return;
	case ETCD_OP_RANGE:
		pb__range_request__init(&to->range);
		keys_fill(from->key, from->prefix, &to->range.key, &to->range.range_end, &to->end);
		to->range.revision = from->revision;
		to->op.request_case = PB__REQUEST_OP__REQUEST_RANGE;
		to->op.range = &to->range;
		return;
	}
}

static void fill_branch(struct txn_branch *to, const struct etcd_op *ops, size_t n)
{
	to->n = n;
	to->ops = xcalloc(n, sizeof(*to->ops));
	to->list = xcalloc(n, sizeof(Pb__RequestOp *));
	for (size_t i = 0; i < n; i++) {
		fill_op(&to->ops[i], &ops[i]);
		to->list[i] = &to->ops[i].op;
	}
}

static void clear_branch(struct txn_branch *branch)
{
	for (size_t i = 0; i < branch->n; i++)
		free(branch->ops[i].end);
	free(branch->list);
	free(branch->ops);
}

static void fill_compare(Pb__Compare *to, const struct etcd_compare *from)
{
	static const Pb__Compare__Result results[] = {
	    [ETCD_EQUAL] = PB__COMPARE__RESULT__EQUAL,
	    [ETCD_GREATER] = PB__COMPARE__RESULT__GREATER,
	    [ETCD_LESS] = PB__COMPARE__RESULT__LESS,
	    [ETCD_NOT_EQUAL] = PB__COMPARE__RESULT__NOT_EQUAL,
	};

	pb__compare__init(to);
	to->key = keys_bytes(from->key);
	to->result = results[from->result];
	switch (from->target) {
	case ETCD_COMPARE_VERSION:
		to->target = PB__COMPARE__TARGET__VERSION;
		to->operand_case = PB__COMPARE__OPERAND_VERSION;
		to->version = from->number;
		return;
	case ETCD_COMPARE_CREATE:
		to->target = PB__COMPARE__TARGET__CREATE;
		to->operand_case = PB__COMPARE__OPERAND_CREATE_REVISION;
		to->create_revision = from->number;
		return;
	case ETCD_COMPARE_MOD:
		to->target = PB__COMPARE__TARGET__MOD;
		to->operand_case = PB__COMPARE__OPERAND_MOD_REVISION;
		to->mod_revision = from->number;
		return;
	case ETCD_COMPARE_VALUE:
		to->target = PB__COMPARE__TARGET__VALUE;
		to->operand_case = PB__COMPARE__OPERAND_VALUE;
		to->value = keys_bytes(from->value);
		return;
	case ETCD_COMPARE_LEASE:
		to->target = PB__COMPARE__TARGET__LEASE;
		to->operand_case = PB__COMPARE__OPERAND_LEASE;
		to->lease = from->number;
		return;
	}
}

static void to_op_result(const Pb__ResponseOp *from, struct etcd_op_result *to,
                         struct etcd_kv **kvs)
{
	switch (from->response_case) {
	case PB__RESPONSE_OP__RESPONSE_RANGE:
		to->kind = ETCD_OP_RANGE;
		to_range_result(from->range, kvs, &to->range);
		return;
	case PB__RESPONSE_OP__RESPONSE_DELETE_RANGE:
		to->kind = ETCD_OP_DELETE;
		to->deleted = from->delete_range->deleted;
		return;
	case PB__RESPONSE_OP__RESPONSE_PUT:
	case PB__RESPONSE_OP__RESPONSE__NOT_SET:
	case _PB__RESPONSE_OP__RESPONSE__CASE_IS_INT_SIZE:
		to->kind = ETCD_OP_PUT;
		return;
	}
}

static void deliver_txn(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                        call_user_fn fn, void *userdata)
{
	const Pb__TxnResponse *answer = (const void *) response;
	struct etcd_op_result *results;
	struct etcd_kv **kvs;
	struct etcd_txn_result result;

	if (answer == NULL) {
		((etcd_txn_fn) fn)(outcome, NULL, userdata);
		return;
	}
	results = xcalloc(answer->n_responses, sizeof(*results));
	kvs = xcalloc(answer->n_responses, sizeof(*kvs));
	for (size_t i = 0; i < answer->n_responses; i++)
		to_op_result(answer->responses[i], &results[i], &kvs[i]);
	result = (struct etcd_txn_result){
	    .succeeded = answer->succeeded, .results = results, .n_results = answer->n_responses};
	((etcd_txn_fn) fn)(outcome, &result, userdata);
	for (size_t i = 0; i < result.n_results; i++)
		free(kvs[i]);
	free(kvs);
	free(results);
}

static bool only_reads(const struct etcd_op *ops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ops[i].kind != ETCD_OP_RANGE)
			return false;
	}
	return true;
}

static unsigned txn_flags(const struct etcd_txn *txn)
{
	if (only_reads(txn->success, txn->n_success) && only_reads(txn->failure, txn->n_failure))
		return CALL_REPEATABLE;
	return CALL_WRITE | (txn->hedge ? CALL_REPEATABLE : 0U);
}

int etcd_txn(struct etcd *etcd, const struct etcd_txn *txn, etcd_txn_fn fn, void *userdata,
             struct etcd_call **ret_call)
{
	Pb__TxnRequest request = PB__TXN_REQUEST__INIT;
	struct txn_branch success;
	struct txn_branch failure;
	AUTO(free) Pb__Compare *compares = NULL;
	AUTO(free) Pb__Compare **compare_list = NULL;
	struct call_spec spec = {
	    .method = "/etcdserverpb.KV/Txn",
	    .request = &request.base,
	    .response = &pb__txn_response__descriptor,
	    .flags = txn_flags(txn),
	    .timeout_us = timeout_of(etcd, txn->useful_us),
	    .deliver = deliver_txn,
	};

	if (txn->n_compares > TXN_OPS_MAX || txn->n_success > TXN_OPS_MAX ||
	    txn->n_failure > TXN_OPS_MAX)
		return -E2BIG;
	compares = xcalloc(txn->n_compares, sizeof(*compares));
	compare_list = xcalloc(txn->n_compares, sizeof(Pb__Compare *));
	for (size_t i = 0; i < txn->n_compares; i++) {
		fill_compare(&compares[i], &txn->compares[i]);
		compare_list[i] = &compares[i];
	}
	fill_branch(&success, txn->success, txn->n_success);
	fill_branch(&failure, txn->failure, txn->n_failure);
	request.n_compare = txn->n_compares;
	request.compare = compare_list;
	request.n_success = success.n;
	request.success = success.list;
	request.n_failure = failure.n;
	request.failure = failure.list;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	clear_branch(&success);
	clear_branch(&failure);
	return 0;
}

/* --- leases --- */

/*
 * A keepalive is a stream in etcd's API; here it is one message each way on a fresh one, so
 * that it is a call like any other: with a deadline, and hedged. That costs a few hundred bytes
 * more than a standing stream, and cannot hang with it.
 */

static void deliver_grant(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                          call_user_fn fn, void *userdata)
{
	const Pb__LeaseGrantResponse *answer = (const void *) response;
	struct etcd_outcome refused = *outcome;
	struct etcd_lease_result result;

	if (answer == NULL) {
		((etcd_lease_fn) fn)(outcome, NULL, userdata);
		return;
	}
	if (answer->error[0] != '\0') {
		refused.r = -EPROTO;
		refused.text = answer->error;
		((etcd_lease_fn) fn)(&refused, NULL, userdata);
		return;
	}
	result = (struct etcd_lease_result){.id = answer->id, .ttl_s = answer->ttl};
	((etcd_lease_fn) fn)(outcome, &result, userdata);
}

int etcd_lease_grant(struct etcd *etcd, int64_t id, int64_t ttl_s, etcd_lease_fn fn, void *userdata,
                     struct etcd_call **ret_call)
{
	Pb__LeaseGrantRequest request = PB__LEASE_GRANT_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Lease/LeaseGrant",
	    .request = &request.base,
	    .response = &pb__lease_grant_response__descriptor,
	    .flags = CALL_WRITE,
	    .deliver = deliver_grant,
	};

	request.id = id;
	request.ttl = ttl_s;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

static void deliver_keepalive(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                              call_user_fn fn, void *userdata)
{
	const Pb__LeaseKeepAliveResponse *answer = (const void *) response;
	struct etcd_lease_result result;

	if (answer != NULL)
		result = (struct etcd_lease_result){.id = answer->id, .ttl_s = answer->ttl};
	((etcd_lease_fn) fn)(outcome, answer != NULL ? &result : NULL, userdata);
}

int etcd_lease_keepalive(struct etcd *etcd, int64_t id, etcd_lease_fn fn, void *userdata,
                         struct etcd_call **ret_call)
{
	Pb__LeaseKeepAliveRequest request = PB__LEASE_KEEP_ALIVE_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Lease/LeaseKeepAlive",
	    .request = &request.base,
	    .response = &pb__lease_keep_alive_response__descriptor,
	    .flags = CALL_REPEATABLE,
	    .deliver = deliver_keepalive,
	};

	request.id = id;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

static void deliver_ttl(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                        call_user_fn fn, void *userdata)
{
	const Pb__LeaseTimeToLiveResponse *answer = (const void *) response;
	struct etcd_lease_result result;

	if (answer != NULL)
		result = (struct etcd_lease_result){
		    .id = answer->id, .ttl_s = answer->ttl, .granted_ttl_s = answer->granted_ttl};
	((etcd_lease_fn) fn)(outcome, answer != NULL ? &result : NULL, userdata);
}

int etcd_lease_ttl(struct etcd *etcd, int64_t id, etcd_lease_fn fn, void *userdata,
                   struct etcd_call **ret_call)
{
	Pb__LeaseTimeToLiveRequest request = PB__LEASE_TIME_TO_LIVE_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Lease/LeaseTimeToLive",
	    .request = &request.base,
	    .response = &pb__lease_time_to_live_response__descriptor,
	    .flags = CALL_REPEATABLE,
	    .deliver = deliver_ttl,
	};

	request.id = id;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}

int etcd_lease_revoke(struct etcd *etcd, int64_t id, etcd_done_fn fn, void *userdata,
                      struct etcd_call **ret_call)
{
	Pb__LeaseRevokeRequest request = PB__LEASE_REVOKE_REQUEST__INIT;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Lease/LeaseRevoke",
	    .request = &request.base,
	    .response = &pb__lease_revoke_response__descriptor,
	    .flags = CALL_WRITE,
	    .deliver = call_deliver_done,
	};

	request.id = id;
	call_start(etcd, &spec, (call_user_fn) fn, userdata, ret_call);
	return 0;
}
