/* SPDX-License-Identifier: Apache-2.0 */
/* Which cluster this is: by etcd, which one node tells first, and by the copy while etcd does not
 * answer or has lost the key. etcd is a variable here. */
#include "etcdwatch/owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

#define A "00112233445566778899aabbccddeeff"
#define B "ffeeddccbbaa99887766554433221100"
#define TURNS_MAX 2000

static struct {
	char value[64]; /* of the key; "": there is none */
	bool is_down;
	unsigned n_asked;
} world;

static unsigned n_known;

/* --- in the place of lib/etcd --- */

static ev_timer answer;
static etcd_txn_fn answer_fn;
static void *answer_userdata;
static char proposed[64];

static void answer_cb(struct ev_loop *ev UNUSED, ev_timer *w UNUSED, int revents UNUSED)
{
	struct etcd_outcome outcome = {.r = world.is_down ? -EHOSTUNREACH : 0, .text = "down"};
	struct etcd_kv kv = {.value = {.data = world.value, .len = strlen(world.value)}};
	struct etcd_op_result got = {.kind = ETCD_OP_RANGE, .range = {.kvs = &kv, .n_kvs = 1}};
	struct etcd_txn_result result = {.results = &got, .n_results = 1};

	world.n_asked++;
	if (!world.is_down && world.value[0] == '\0') {
		(void) snprintf(world.value, sizeof(world.value), "%s", proposed);
		result.succeeded = true;
	}
	answer_fn(&outcome, world.is_down ? NULL : &result, answer_userdata);
}

int etcd_txn(struct etcd *etcd UNUSED, const struct etcd_txn *txn, etcd_txn_fn fn, void *userdata,
             struct etcd_call **ret_call)
{
	CHECK_EQ_INT((long) txn->n_compares, 1);
	CHECK(txn->compares[0].target == ETCD_COMPARE_CREATE && txn->compares[0].result == ETCD_EQUAL &&
	      txn->compares[0].number == 0);
	CHECK_EQ_INT(memcmp(txn->success[0].key.data, "p/etcdwatch/owner", 17), 0);
	(void) snprintf(proposed, sizeof(proposed), "%.*s", (int) txn->success[0].value.len,
	                (const char *) txn->success[0].value.data);
	answer_fn = fn;
	answer_userdata = userdata;
	*ret_call = NULL;
	ev_timer_init(&answer, answer_cb, 0., 0.);
	ev_timer_start(EV_DEFAULT, &answer);
	return 0;
}

void etcd_call_cancel(struct etcd_call *call UNUSED)
{
	ev_timer_stop(EV_DEFAULT, &answer);
}

/* --- a node --- */

static void known_cb(void *userdata UNUSED)
{
	n_known++;
}

static void set_copy(const char *text)
{
	CHECK_EQ_INT(file_write_atomic("owner", text, strlen(text), 0600, FILE_VOLATILE), 0);
}

static const char *copy(void)
{
	static char text[64];
	AUTO(free) char *read = NULL;
	size_t len;

	text[0] = '\0';
	if (file_read("owner", sizeof(text) - 1, &read, &len) == 0)
		(void) snprintf(text, sizeof(text), "%s", read);
	return text;
}

/* A node starts, asks etcd once, and writes its copy. */
static void run(char ret_id[static 33])
{
	const struct owner_options options = {
	    .ev = EV_DEFAULT, .prefix = "p/", .node = "n1", .path = "owner", .known = known_cb};
	struct owner *owner = owner_new(&options);
	unsigned before = world.n_asked;

	n_known = 0;
	for (int i = 0; i < TURNS_MAX && world.n_asked == before; i++)
		(void) ev_run(EV_DEFAULT, EVRUN_ONCE);
	CHECK(world.n_asked > before);
	for (int i = 0; i < TURNS_MAX && owner_get(owner)->id[0] != '\0' &&
	                strncmp(copy(), owner_get(owner)->id, 32) != 0;
	     i++) {
		(void) ev_run(EV_DEFAULT, EVRUN_NOWAIT);
		(void) usleep(1000);
	}
	CHECK_EQ_STR(owner_get(owner)->node, "n1");
	(void) snprintf(ret_id, 33, "%s", owner_get(owner)->id);
	owner_free(owner);
}

static void expect_copy(const char *id)
{
	AUTO(free) char *line = xasprintf("%s\n", id);

	CHECK_EQ_STR(copy(), line);
}

static void test_made_once(void)
{
	char first[33], second[33], other[33];

	run(first);
	CHECK(owner_id_is_good(first, strlen(first)));
	CHECK_EQ_INT(n_known, 1);
	CHECK_EQ_STR(world.value, first);
	expect_copy(first);
	/* Another node has no copy. */
	(void) unlink("owner");
	run(second);
	CHECK_EQ_STR(second, first);
	/* Another cluster. */
	(void) unlink("owner");
	world.value[0] = '\0';
	run(other);
	CHECK(strcmp(other, first) != 0);
}

static void test_copy(void)
{
	char id[33];

	set_copy(A "\n");
	world.is_down = true;
	run(id);
	CHECK_EQ_STR(id, A);
	CHECK_EQ_INT(n_known, 1);
	world.is_down = false;
	/* etcd was restored from a snapshot that is older than the key. */
	world.value[0] = '\0';
	run(id);
	CHECK_EQ_STR(id, A);
	CHECK_EQ_STR(world.value, A);
	/* What etcd says holds. */
	(void) snprintf(world.value, sizeof(world.value), B);
	run(id);
	CHECK_EQ_STR(id, B);
	CHECK_EQ_INT(n_known, 2);
	expect_copy(B);
}

static void test_odd(void)
{
	static const char *const texts[] = {"nonsense", "", A, A "0\n", A A "\n"};
	char id[33];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		set_copy(texts[i]);
		(void) snprintf(world.value, sizeof(world.value), B);
		run(id);
		CHECK_EQ_STR(id, B);
	}
	set_copy(A "\n");
	(void) snprintf(world.value, sizeof(world.value), "no id of a cluster, but 32 bytes");
	run(id);
	CHECK_EQ_STR(id, A);
	world.is_down = true;
	(void) unlink("owner");
	run(id);
	CHECK_EQ_STR(id, "");
	CHECK_EQ_INT(n_known, 0);
}

int main(void)
{
	scratch_enter();
	test_made_once();
	test_copy();
	test_odd();
	scratch_leave();
	return check_result();
}
