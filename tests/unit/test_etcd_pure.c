/* SPDX-License-Identifier: Apache-2.0 */
/* What needs no server: URLs, the ends of prefixes, verdicts, whole revisions, blobs. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "check.h"
#include "etcd/assembly.h"
#include "etcd/client.h"
#include "etcd/rpc.h"
#include "etcd/url.h"
#include "etcd/snapshot_message.h"

#define ASSEMBLY_MAX_BYTES ((size_t) 64 << 20)

static void test_urls(void)
{
	static const struct {
		const char *text;
		const char *canonical; /* NULL: refused */
		const char *authority;
		bool loopback;
	} cases[] = {
	    {"https://10.0.0.1:2379", "https://10.0.0.1:2379", "10.0.0.1:2379", false},
	    {"http://10.0.0.1", "http://10.0.0.1:2379", "10.0.0.1:2379", false},
	    {"HTTPS://10.0.0.1:1/", "https://10.0.0.1:1", "10.0.0.1:1", false},
	    {"https://[FD00:0::1]:2379", "https://[fd00::1]:2379", "[fd00::1]:2379", false},
	    {"https://[fd00::1]", "https://[fd00::1]:2379", "[fd00::1]:2379", false},
	    {"https://[::1]:5", "https://[::1]:5", "[::1]:5", true},
	    {"http://127.0.0.9:65535", "http://127.0.0.9:65535", "127.0.0.9:65535", true},
	    {"https://etcd-0.example.:2379", "https://etcd-0.example.:2379", "etcd-0.example.:2379",
	     false},
	    {"https://localhost", "https://localhost:2379", "localhost:2379", true},
	    {"unix:///run/etcd.sock", "unix:///run/etcd.sock", "localhost", true},
	    {"10.0.0.1:2379", NULL, NULL, false},
	    {"ftp://10.0.0.1", NULL, NULL, false},
	    {"https://", NULL, NULL, false},
	    {"https:///", NULL, NULL, false},
	    {"https://10.0.0.1:0", NULL, NULL, false},
	    {"https://10.0.0.1:65536", NULL, NULL, false},
	    {"https://10.0.0.1:2379x", NULL, NULL, false},
	    {"https://10.0.0.1:", NULL, NULL, false},
	    {"https://10.0.0.1:2379/v3", NULL, NULL, false},
	    {"https://user@10.0.0.1:2379", NULL, NULL, false},
	    {"https://fd00::1:2379", NULL, NULL, false},
	    {"https://[fd00::1", NULL, NULL, false},
	    {"https://[10.0.0.1]:1", NULL, NULL, false},
	    {"https://[::ffff:10.0.0.1]:1", NULL, NULL, false},
	    {"https://a b:1", NULL, NULL, false},
	    {"unix://relative", NULL, NULL, false},
	    {"", NULL, NULL, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct url url;
		int r = url_parse(cases[i].text, &url);

		if (!CHECK_EQ_INT(r, cases[i].canonical == NULL ? -EINVAL : 0))
			(void) fprintf(stderr, "%s\n", cases[i].text);
		if (r < 0 || cases[i].canonical == NULL)
			continue;
		CHECK_EQ_STR(url.text, cases[i].canonical);
		CHECK_EQ_STR(url.authority, cases[i].authority);
		CHECK_EQ_INT(url.loopback, cases[i].loopback);
	}
}

static void test_a_long_host_is_refused(void)
{
	char text[400] = "https://";
	struct url url;

	memset(text + strlen(text), 'a', 260);
	CHECK_EQ_INT(url_parse(text, &url), -EINVAL);
	memset(text, 0, sizeof(text));
	(void) snprintf(text, sizeof(text), "unix:///");
	memset(text + strlen(text), 'a', 360);
	CHECK_EQ_INT(url_parse(text, &url), -EINVAL);
}

static void test_prefixes(void)
{
	static const struct {
		struct etcd_bytes key;
		struct etcd_bytes want_key;
		struct etcd_bytes want_end;
	} cases[] = {
	    {{"a", 1}, {"a", 1}, {"b", 1}},         {{"a/", 2}, {"a/", 2}, {"a0", 2}},
	    {{"a\xff", 2}, {"a\xff", 2}, {"b", 1}}, {{"\xff\xff", 2}, {"\xff\xff", 2}, {"\0", 1}},
	    {{"", 0}, {"\0", 1}, {"\0", 1}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ProtobufCBinaryData key;
		ProtobufCBinaryData end;
		uint8_t *owned = NULL;

		keys_fill(cases[i].key, true, &key, &end, &owned);
		CHECK_EQ_INT(key.len, cases[i].want_key.len);
		CHECK(memcmp(key.data, cases[i].want_key.data, key.len) == 0);
		CHECK_EQ_INT(end.len, cases[i].want_end.len);
		CHECK(memcmp(end.data, cases[i].want_end.data, end.len) == 0);
		free(owned);
		keys_fill(cases[i].key, false, &key, &end, &owned);
		CHECK_EQ_INT(end.len, 0);
		CHECK(owned == NULL);
	}
}

static void test_texts(void)
{
	static const struct {
		const char *said, *text;
	} cases[] = {
	    {"failed to connect to all addresses; last error: UNKNOWN: ipv4:10.87.0.12:2379: Failed to "
	     "connect to remote host: Connection refused",
	     "10.87.0.12:2379: Connection refused"},
	    {"failed to connect to all addresses; last error: DEADLINE_EXCEEDED: ipv6:%5B::1%5D:2379: "
	     "connect timed out",
	     "[::1]:2379: no answer to a connection attempt"},
	    {"ipv6:%5Bfe80::1%25eth0%5D:2379: Socket closed; ipv6:%5Bfd00::2%5D:2379: %5B%25 as it is",
	     "ipv6:[fe80::1%eth0]:2379: the connection was closed; ipv6:[fd00::2]:2379: %5B%25 as it "
	     "is"},
	    {"Deadline Exceeded", "no answer in time"},
	    {"UNAVAILABLE: Socket closed", "the connection was closed"},
	    {"Received RST_STREAM with error code 2",
	     "the member broke off the request, HTTP/2 code 2"},
	    {"rpc error: code = DeadlineExceeded desc = context deadline exceeded",
	     "no answer in time"},
	    {"etcdserver: request timed out", "etcdserver: request timed out"},
	    {"ipv6:%5Bfd00::2 %5D, %5Bx%5D", "ipv6:[fd00::2 %5D, %5Bx%5D"},
	    {"at the end: ipv6:%5B", "at the end: ipv6:["},
	    {"at the end: ipv6:%5", "at the end: ipv6:%5"},
	    {"failed to connect to all addresses; last error: odd", "odd"},
	    {"failed to connect to all addresses; last error: ", ""},
	    /* As older ones say it; and what others say. */
	    {"failed to connect to all addresses", "failed to connect to all addresses"},
	    {"etcdserver: Failed to connect to remote host: x",
	     "etcdserver: Failed to connect to remote host: x"},
	    {"", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		grpc_slice slice = grpc_slice_from_static_string(cases[i].said);
		char text[256], small[8];

		rpc_copy_text(slice, text, sizeof(text));
		CHECK_EQ_STR(text, cases[i].text);
		rpc_copy_text(slice, small, sizeof(small));
		CHECK(strlen(small) < sizeof(small));
	}
}

static void test_verdicts(void)
{
	static const struct {
		grpc_status_code code;
		const char *text;
		bool sent;
		struct verdict want;
	} cases[] = {
	    {GRPC_STATUS_OK, "", true, {VERDICT_OK, 0, false, false}},
	    {GRPC_STATUS_UNAVAILABLE,
	     "failed to connect to all addresses",
	     false,
	     {VERDICT_AGAIN, -EHOSTUNREACH, false, true}},
	    {GRPC_STATUS_UNAVAILABLE,
	     "Socket closed",
	     true,
	     {VERDICT_AGAIN, -EHOSTUNREACH, true, false}},
	    {GRPC_STATUS_UNAVAILABLE,
	     "etcdserver: no leader",
	     true,
	     {VERDICT_AGAIN, -EHOSTUNREACH, false, false}},
	    {GRPC_STATUS_UNAVAILABLE,
	     "etcdserver: unhealthy cluster",
	     true,
	     {VERDICT_FINAL, -EPROTO, false, false}},
	    {GRPC_STATUS_UNAVAILABLE,
	     "etcdserver: leader changed",
	     true,
	     {VERDICT_AGAIN, -EHOSTUNREACH, true, false}},
	    {GRPC_STATUS_UNAVAILABLE,
	     "etcdserver: request timed out",
	     true,
	     {VERDICT_AGAIN, -EHOSTUNREACH, true, false}},
	    {GRPC_STATUS_FAILED_PRECONDITION,
	     "etcdserver: rpc not supported for learner",
	     true,
	     {VERDICT_AGAIN, -EHOSTUNREACH, false, false}},
	    {GRPC_STATUS_INTERNAL,
	     "RST_STREAM with error code 0",
	     true,
	     {VERDICT_AGAIN, -EHOSTUNREACH, true, false}},
	    {GRPC_STATUS_DEADLINE_EXCEEDED,
	     "Deadline Exceeded",
	     true,
	     {VERDICT_AGAIN, -ETIMEDOUT, true, false}},
	    {GRPC_STATUS_UNKNOWN, "x", true, {VERDICT_AGAIN, -EPROTO, true, false}},
	    {GRPC_STATUS_RESOURCE_EXHAUSTED,
	     "Received message larger than max",
	     true,
	     {VERDICT_FINAL, -EPROTO, true, false}},
	    {GRPC_STATUS_RESOURCE_EXHAUSTED,
	     "etcdserver: mvcc: database space exceeded",
	     true,
	     {VERDICT_FINAL, -ENOSPC, true, false}},
	    {GRPC_STATUS_DATA_LOSS,
	     "etcdserver: corrupt cluster",
	     true,
	     {VERDICT_FINAL, -EUCLEAN, false, false}},
	    {GRPC_STATUS_OUT_OF_RANGE,
	     "etcdserver: mvcc: required revision is a future revision",
	     true,
	     {VERDICT_FINAL, -EAGAIN, false, false}},
	    {GRPC_STATUS_OUT_OF_RANGE,
	     "etcdserver: mvcc: required revision has been compacted",
	     true,
	     {VERDICT_FINAL, -ESTALE, false, false}},
	    {GRPC_STATUS_UNAUTHENTICATED,
	     "etcdserver: invalid auth token",
	     true,
	     {VERDICT_NO_AUTH, -EACCES, false, false}},
	    {GRPC_STATUS_INVALID_ARGUMENT,
	     "etcdserver: user name is empty",
	     true,
	     {VERDICT_NO_AUTH, -EACCES, false, false}},
	    {GRPC_STATUS_INVALID_ARGUMENT,
	     "etcdserver: authentication failed, invalid user ID or password",
	     true,
	     {VERDICT_FINAL, -EACCES, false, false}},
	    {GRPC_STATUS_UNKNOWN,
	     "auth: permission denied",
	     true,
	     {VERDICT_FINAL, -EACCES, false, false}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verdict got = verdict_of(cases[i].code, cases[i].text, cases[i].sent);
		struct verdict want = cases[i].want;

		if (!CHECK_EQ_INT(got.kind, want.kind) || !CHECK_EQ_INT(got.r, want.r) ||
		    !CHECK_EQ_INT(got.maybe_done, want.maybe_done) ||
		    !CHECK_EQ_INT(got.not_sent, want.not_sent))
			(void) fprintf(stderr, "case %zu: %s\n", i, cases[i].text);
	}
}

/* A message with one event of that revision and size, as the wire would give it. */
static Pb__WatchResponse *message_new(int64_t revision, size_t value_bytes, bool fragment)
{
	Pb__WatchResponse *message = NEW0(Pb__WatchResponse);
	Pb__Event *event = NEW0(Pb__Event);

	pb__watch_response__init(message);
	pb__event__init(event);
	message->fragment = fragment;
	message->events = xcalloc(1, sizeof(Pb__Event *));
	message->n_events = 1;
	message->events[0] = event;
	event->kv = NEW0(Pb__KeyValue);
	pb__key_value__init(event->kv);
	event->kv->mod_revision = revision;
	event->kv->value.data = xcalloc(1, value_bytes);
	event->kv->value.len = value_bytes;
	return message;
}

/* Revisions that are whole go out however many there are; one that never ends is given up. */
static void test_assembly_is_limited(void)
{
	const size_t chunk = 8UL * 1024 * 1024;
	struct assembly assembly;
	int r = 0;
	int n = 0;

	assembly_init(&assembly, 1, ASSEMBLY_MAX_BYTES);
	for (int64_t revision = 1; revision <= 12; revision++) {
		Pb__WatchResponse *message = message_new(revision, chunk, true);

		CHECK_EQ_INT(assembly_add(&assembly, message), 0);
		CHECK_EQ_INT(assembly.n_complete, revision > 1);
		assembly_drop_complete(&assembly);
		pb__watch_response__free_unpacked(message, NULL);
	}
	for (; r == 0 && n < 12; n++) {
		Pb__WatchResponse *message = message_new(12, chunk, true);

		r = assembly_add(&assembly, message);
		pb__watch_response__free_unpacked(message, NULL);
	}
	CHECK_EQ_INT(r, -E2BIG);
	CHECK_EQ_INT(n, 7);
	CHECK_EQ_INT(assembly.next_revision, 12);
	assembly_fini(&assembly);
}

static void test_an_event_without_a_key_is_refused(void)
{
	Pb__WatchResponse *message = message_new(1, 1, false);
	struct assembly assembly;

	assembly_init(&assembly, 1, ASSEMBLY_MAX_BYTES);
	pb__key_value__free_unpacked(TAKE_PTR(message->events[0]->kv), NULL);
	CHECK_EQ_INT(assembly_add(&assembly, message), -EPROTO);
	pb__watch_response__free_unpacked(message, NULL);
	assembly_fini(&assembly);
}

/* What protobuf-c writes is read in place; what it would refuse is refused. */
static void test_snapshot_messages(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		int r;
		uint64_t remaining;
		size_t blob_at; /* in bytes */
		size_t blob_len;
	} cases[] = {
#define BYTES(s) (s), sizeof(s) - 1
	    {BYTES(""), 0, 0, 0, 0},
	    {BYTES("\x10\x05\x1a\x03"
	           "abc"),
	     0, 5, 4, 3},
	    {BYTES("\x1a\x03"
	           "abc\x10\x05"),
	     0, 5, 2, 3},
	    {BYTES("\x1a\x00"), 0, 0, 2, 0},
	    /* The last one counts. */
	    {BYTES("\x10\x05\x1a\x01z\x10\x06\x1a\x02zz"), 0, 6, 9, 2},
	    /* The header, and fields of a later version, of each kind. */
	    {BYTES("\x0a\x02\x08\x01\x10\x05\x28\x96\x01\x31"
	           "12345678\x3a\x02zz\x45"
	           "1234\x1a\x01"
	           "a"),
	     0, 5, 29, 1},
	    {BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0, UINT64_MAX, 0, 0},
	    /* Cut, longer than what is there, longer than anything. */
	    {BYTES("\x10"), -EPROTO, 0, 0, 0},
	    {BYTES("\x10\x85"), -EPROTO, 0, 0, 0},
	    {BYTES("\x1a"), -EPROTO, 0, 0, 0},
	    {BYTES("\x1a\x03\x61\x62"), -EPROTO, 0, 0, 0},
	    {BYTES("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -EPROTO, 0, 0, 0},
	    {BYTES("\x31\x31\x32"), -EPROTO, 0, 0, 0},
	    {BYTES("\x45\x31\x32"), -EPROTO, 0, 0, 0},
	    {BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), -EPROTO, 0, 0, 0},
	    /* No field, a group, and ours of another kind. */
	    {BYTES("\x00\x01"), -EPROTO, 0, 0, 0},
	    {BYTES("\x2b\x2c"), -EPROTO, 0, 0, 0},
	    {BYTES("\x12\x01\x61"), -EPROTO, 0, 0, 0},
	    {BYTES("\x18\x01"), -EPROTO, 0, 0, 0},
	    {BYTES("\x20\x01"), -EPROTO, 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* On the heap and no longer than that, so that a look behind the end is seen. */
		AUTO(free) uint8_t *bytes = xmemdup(cases[i].bytes, cases[i].len);
		struct snapshot_message m = {.remaining_bytes = 4711};
		int r = snapshot_message_parse(bytes, cases[i].len, &m);

		if (!CHECK_EQ_INT(r, cases[i].r))
			(void) fprintf(stderr, "case %zu\n", i);
		if (r < 0) {
			CHECK_EQ_INT(m.remaining_bytes, 4711);
			continue;
		}
		CHECK(m.remaining_bytes == cases[i].remaining);
		if (!CHECK_EQ_INT(m.blob_len, cases[i].blob_len) ||
		    !CHECK(cases[i].blob_at == 0 || m.blob == bytes + cases[i].blob_at))
			(void) fprintf(stderr, "case %zu\n", i);
	}
}

static void test_snapshot_message_of_protobuf(void)
{
	Pb__SnapshotResponse response;
	Pb__ResponseHeader header = PB__RESPONSE_HEADER__INIT;
	uint8_t blob[300] = {1, 2, 3};
	uint8_t packed[512];
	struct snapshot_message m;
	size_t len;

	pb__snapshot_response__init(&response);
	header.cluster_id = UINT64_MAX;
	response.header = &header;
	response.remaining_bytes = UINT64_C(1) << 40;
	response.blob.data = blob;
	response.blob.len = sizeof(blob);
	response.version = (char *) (uintptr_t) "3.6.0";
	len = pb__snapshot_response__pack(&response, packed);
	CHECK_EQ_INT(snapshot_message_parse(packed, len, &m), 0);
	CHECK(m.remaining_bytes == UINT64_C(1) << 40);
	CHECK_EQ_INT(m.blob_len, sizeof(blob));
	CHECK(memcmp(m.blob, blob, sizeof(blob)) == 0);
	CHECK_EQ_INT(m.version_len, 5);
	CHECK(memcmp(m.version, "3.6.0", 5) == 0);
}

int main(void)
{
	test_snapshot_messages();
	test_snapshot_message_of_protobuf();
	test_assembly_is_limited();
	test_an_event_without_a_key_is_refused();
	test_urls();
	test_a_long_host_is_refused();
	test_prefixes();
	test_texts();
	test_verdicts();
	return check_result();
}
