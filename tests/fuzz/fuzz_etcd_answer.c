/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for what etcd answers, without gRPC: the first byte says to which call,
 * the rest is the answer. Whatever it is, it is refused or each part of it that the caller is given
 * can be read to its end. A sentence of a refusal and a member's URL are tried with the same bytes.
 * Linked with call_start() and pool_find() being those below.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "etcd/call.h"
#include "etcd/client.h"
#include "etcd/etcd.h"
#include "etcd/url.h"
#include "etcd/rpc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __wrap_call_start(struct etcd *etcd, const struct call_spec *spec, call_user_fn fn,
                       void *userdata, struct etcd_call **ret_call);
struct endpoint *__wrap_pool_find(const struct pool *pool, const char *url);

/* Small, so that it runs out now and then. */
#define BUDGET_BYTES 16384

static const uint8_t *bytes;
static size_t n_bytes;
static volatile unsigned sum; /* of all that was read, so that reading is not left out */

/* As call.c does with an answer that has come. */
void __wrap_call_start(struct etcd *etcd UNUSED, const struct call_spec *spec, call_user_fn fn,
                       void *userdata, struct etcd_call **ret_call UNUSED)
{
	ProtobufCMessage *response = unpack_message(spec->response, bytes, n_bytes, BUDGET_BYTES);
	struct etcd_outcome outcome = {.r = response != NULL ? 0 : -1, .text = "", .endpoint = ""};

	spec->deliver(&outcome, response, fn, userdata);
	if (response != NULL)
		protobuf_c_message_free_unpacked(response, NULL);
}

struct endpoint *__wrap_pool_find(const struct pool *pool UNUSED, const char *url UNUSED)
{
	static char endpoint[1];

	return (void *) endpoint;
}

static void read_bytes(const void *data, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += ((const uint8_t *) data)[i];
}

static void read_text(const char *text)
{
	read_bytes(text, strlen(text));
}

static void read_range(const struct etcd_range_result *result)
{
	for (size_t i = 0; i < result->n_kvs; i++) {
		read_bytes(result->kvs[i].key.data, result->kvs[i].key.len);
		read_bytes(result->kvs[i].value.data, result->kvs[i].value.len);
	}
}

static void on_range(const struct etcd_outcome *outcome UNUSED,
                     const struct etcd_range_result *result, void *userdata UNUSED)
{
	if (result != NULL)
		read_range(result);
}

static void on_txn(const struct etcd_outcome *outcome UNUSED, const struct etcd_txn_result *result,
                   void *userdata UNUSED)
{
	for (size_t i = 0; result != NULL && i < result->n_results; i++) {
		if (result->results[i].kind == ETCD_OP_RANGE)
			read_range(&result->results[i].range);
	}
}

static void on_done(const struct etcd_outcome *outcome, void *userdata UNUSED)
{
	read_text(outcome->text);
}

static void on_lease(const struct etcd_outcome *outcome, const struct etcd_lease_result *result,
                     void *userdata UNUSED)
{
	read_text(outcome->text);
	if ((outcome->r == 0) != (result != NULL))
		abort();
}

static void on_members(const struct etcd_outcome *outcome UNUSED, const struct etcd_member *members,
                       size_t n, void *userdata UNUSED)
{
	for (size_t i = 0; i < n; i++) {
		read_text(members[i].name);
		for (size_t k = 0; k < members[i].n_client_urls; k++)
			read_text(members[i].client_urls[k]);
		for (size_t k = 0; k < members[i].n_peer_urls; k++)
			read_text(members[i].peer_urls[k]);
	}
}

static void on_alarms(const struct etcd_outcome *outcome UNUSED, const struct etcd_alarm *alarms,
                      size_t n, void *userdata UNUSED)
{
	for (size_t i = 0; i < n; i++)
		sum += (unsigned) alarms[i].member_id;
}

static void on_status(const struct etcd_outcome *outcome UNUSED, const struct etcd_status *status,
                      void *userdata UNUSED)
{
	if (status == NULL)
		return;
	read_text(status->version);
	read_text(status->storage_version);
	for (size_t i = 0; i < status->n_errors; i++)
		read_text(status->errors[i]);
}

static void on_hashkv(const struct etcd_outcome *outcome UNUSED, const struct etcd_hashkv *hashkv,
                      void *userdata UNUSED)
{
	sum += hashkv != NULL ? hashkv->hash : 0;
}

static void ask(struct etcd *etcd, unsigned which)
{
	static const struct etcd_op op = {.kind = ETCD_OP_RANGE, .key = {"k", 1}};
	const struct etcd_range range = {.key = {"k", 1}};
	const struct etcd_txn txn = {.success = &op, .n_success = 1};

	switch (which) {
	case 0:
		(void) etcd_range(etcd, &range, on_range, NULL, NULL);
		break;
	case 1:
		(void) etcd_txn(etcd, &txn, on_txn, NULL, NULL);
		break;
	case 2:
		(void) etcd_put(etcd, range.key, range.key, 0, on_done, NULL, NULL);
		break;
	case 3:
		(void) etcd_lease_grant(etcd, 0, 10, on_lease, NULL, NULL);
		break;
	case 4:
		(void) etcd_lease_keepalive(etcd, 1, on_lease, NULL, NULL);
		break;
	case 5:
		(void) etcd_lease_ttl(etcd, 1, on_lease, NULL, NULL);
		break;
	case 6:
		(void) etcd_member_list(etcd, on_members, NULL, NULL);
		break;
	case 7:
		(void) etcd_alarm_list(etcd, on_alarms, NULL, NULL);
		break;
	case 8:
		(void) etcd_endpoint_status(etcd, "", on_status, NULL, NULL);
		break;
	case 9:
		(void) etcd_endpoint_hashkv(etcd, "", 0, 1000, on_hashkv, NULL, NULL);
		break;
	}
}

/* A member says where clients reach it, and a status says what is wrong. */
static void try_texts(const char *text)
{
	struct verdict verdict = verdict_of((grpc_status_code) (strlen(text) % 17), text, true);
	struct url url, again;

	if ((verdict.kind == VERDICT_OK) != (verdict.r == 0))
		abort();
	if (url_parse(text, &url) < 0)
		return;
	if (url_parse(url.text, &again) < 0 || strcmp(url.text, again.text) != 0 ||
	    strcmp(url.target, again.target) != 0 || url.loopback != again.loopback)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) uint8_t *copy = NULL;
	AUTO(free) char *text = NULL;
	struct etcd etcd = {0};

	if (size == 0)
		return 0;
	copy = xmemdup(data + 1, size - 1);
	bytes = copy;
	n_bytes = size - 1;
	ask(&etcd, data[0] % 10);
	text = xstrndup((const char *) data + 1, size - 1);
	try_texts(text);
	return 0;
}
