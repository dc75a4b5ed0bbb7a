/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proving, with members that are scripted and a worker that says what it is told to: who is asked,
 * in which order, and what is made of each answer.
 */
#include "etcdwatch/take/proof.h"

#include <errno.h>
#include <stdlib.h>

#include "etcdtest/server.h"
#include "etcdtest/sync.h"
#include "tests/unit/scratch.h"
#include "tests/unit/turn.h"

#define WAIT_MS 60000
#define N_MEMBERS 3
#define OURS 111
#define OTHER 222
/* As it would be in a member that was compacted since. */
#define COMPACTED 333
#define SOUND                                                                        \
	"{\"ok\":true,\"hash\":5,\"hashkv\":111,\"hashkv_revision\":40,\"revision\":40," \
	"\"compact_revision\":30,\"total_key\":9,\"live_keys\":7,\"db_bytes\":4096}"

static struct ev_loop *ev;
static struct server *servers[N_MEMBERS];
static struct etcd *etcd;
static struct proof *proof;

static struct {
	unsigned n;
	enum proof_verdict verdict;
	char reason[PROOF_TEXT_MAX], agreed[VIEW_NAME_MAX], disagreed[VIEW_NAME_MAX];
	char not_compared[PROOF_TEXT_MAX];
	struct proof_facts facts;
} got;

static void done_cb(const struct proof_result *result, void *userdata)
{
	CHECK(userdata == &got);
	proof = NULL;
	got.n++;
	got.verdict = result->verdict;
	got.facts = result->facts;
	(void) snprintf(got.reason, sizeof(got.reason), "%s", result->reason);
	(void) snprintf(got.agreed, sizeof(got.agreed), "%s", result->agreed);
	(void) snprintf(got.disagreed, sizeof(got.disagreed), "%s", result->disagreed);
	(void) snprintf(got.not_compared, sizeof(got.not_compared), "%s", result->not_compared);
}

/* --- members, and a worker --- */

/* Says what is in the file `claims`, if there is one, then what is in `said`, or `again` when it
 * reads for the second time, and how it was called. It does not end while there is a file `hold`.
 */
static void write_worker(void)
{
	CHECK(scratch_shell("cat >worker <<'END'\n"
	                    "#!/bin/sh\n"
	                    "cd %s && echo \"$*\" >>calls\n"
	                    "[ -e claims ] && cat claims\n"
	                    "while [ -e hold ]; do sleep 0.02; done\n"
	                    "case \"$*\" in *--compacted*) f=again ;; *) f=said ;; esac\n"
	                    "cat $f && grep -q '\"ok\":true' $f\n"
	                    "END\n"
	                    "chmod 755 worker && printf '%%s' '%s' >said",
	                    scratch_dir, SOUND));
}

static void begin(void)
{
	const char *urls[N_MEMBERS];
	struct etcd_options options = {.endpoints = urls, .n_endpoints = N_MEMBERS};
	char error[ETCD_ERROR_TEXT_MAX];

	memset(&got, 0, sizeof(got));
	scratch_enter();
	write_worker();
	for (unsigned i = 0; i < N_MEMBERS; i++) {
		servers[i] = server_new(ev, i, 0);
		urls[i] = server_url(servers[i]);
	}
	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
}

static void end(void)
{
	proof_free(TAKE_PTR(proof));
	etcd_free(TAKE_PTR(etcd));
	for (unsigned i = 0; i < N_MEMBERS; i++)
		server_free(TAKE_PTR(servers[i]));
	scratch_leave();
}

/* Its HashKV from now on. */
static void answer(unsigned member, uint32_t hash, int64_t compacted)
{
	Pb__HashKVResponse response = PB__HASH_KVRESPONSE__INIT;

	response.hash = hash;
	response.compact_revision = compacted;
	server_set_answer(servers[member], SERVER_HASHKV, &response.base);
}

/* m0, of which the file is; m1, which leads; m2. All answer. */
static struct view usual(void)
{
	struct view v = {.cluster_id = 1, .listed = true, .n_members = N_MEMBERS};

	for (unsigned i = 0; i < N_MEMBERS; i++) {
		v.members[i] =
		    (struct view_member){.id = SERVER_MEMBER_ID(i), .answers = true, .leader = i == 1};
		(void) snprintf(v.members[i].name, sizeof(v.members[i].name), "m%u", i);
		(void) snprintf(v.members[i].endpoint, sizeof(v.members[i].endpoint), "%s",
		                server_url(servers[i]));
	}
	return v;
}

static int start(const struct view *view, bool compare)
{
	AUTO(free) char *worker = xasprintf("%s/worker", scratch_dir);
	const struct proof_options options = {
	    .worker = worker,
	    .path = "file.db",
	    .source = SERVER_MEMBER_ID(0),
	    .view = view,
	    .compare = compare,
	    .limit_us = 30 * US_PER_S,
	};

	return proof_start(ev, etcd, &options, done_cb, &got, &proof);
}

static bool prove(const struct view *view, bool compare)
{
	CHECK_EQ_INT(start(view, compare), 0);
	CHECK_EQ_INT(got.n, 0);
	return CHECK(sync_run(ev, WAIT_MS, &got.n, 1));
}

static unsigned n_asked(unsigned member)
{
	return server_calls(servers[member], SERVER_HASHKV);
}

static bool is_asked(unsigned member)
{
	int64_t until_us = mono_now_us() + WAIT_MS * US_PER_MS;

	while (n_asked(member) == 0 && mono_now_us() < until_us)
		turn_once(ev);
	return n_asked(member) > 0;
}

static void check_good(const char *agreed, const char *disagreed, const char *not_compared)
{
	CHECK_EQ_INT(got.verdict, PROOF_GOOD);
	CHECK_EQ_STR(got.reason, "");
	CHECK_EQ_STR(got.agreed, agreed);
	CHECK_EQ_STR(got.disagreed, disagreed);
	CHECK_EQ_STR(got.not_compared, not_compared);
}

/* --- the members' words --- */

static void test_agrees(void)
{
	struct view v;

	begin();
	v = usual();
	answer(2, OURS, 30);
	(void) prove(&v, true);
	check_good("m2", "", "");
	CHECK_EQ_INT(got.facts.hash, 5);
	CHECK_EQ_INT(got.facts.hashkv, OURS);
	CHECK_EQ_INT(got.facts.hashkv_revision, 40);
	CHECK_EQ_INT(got.facts.revision, 40);
	CHECK_EQ_INT(got.facts.compact_revision, 30);
	CHECK_EQ_INT((long long) got.facts.total_key, 9);
	CHECK_EQ_INT((long long) got.facts.live_keys, 7);
	CHECK_EQ_INT((long long) got.facts.db_bytes, 4096);
	/* One is enough, and not the leader, nor the one that it is of. */
	CHECK_EQ_INT(n_asked(0), 0);
	CHECK_EQ_INT(n_asked(1), 0);
	CHECK_EQ_INT(n_asked(2), 1);
	end();
}

/* One that disagrees does not decide, unless nobody agrees. */
static void test_disagrees(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct view v;

		begin();
		v = usual();
		answer(2, OTHER, 30);
		answer(1, i == 0 ? OURS : OTHER, 30);
		(void) prove(&v, true);
		if (i == 0) {
			check_good("m1", "m2", "");
		} else {
			CHECK_EQ_INT(got.verdict, PROOF_BAD);
			CHECK_EQ_STR(got.reason, "member 'm1' has another HashKV at revision 40, and no "
			                         "member has this one");
			CHECK_EQ_INT(got.facts.hashkv, OURS);
		}
		CHECK_EQ_INT(n_asked(2), 1);
		CHECK_EQ_INT(n_asked(1), 1);
		end();
	}
}

/* One that disagrees, and one that cannot be asked: that is no agreement. */
static void test_disagrees_alone(void)
{
	struct view v;

	begin();
	v = usual();
	answer(2, OTHER, 30);
	server_set(servers[1], SERVER_HASHKV,
	           (struct server_rule){.code = GRPC_STATUS_INTERNAL, .text = "broken"});
	(void) prove(&v, true);
	CHECK_EQ_INT(got.verdict, PROOF_BAD);
	CHECK_EQ_STR(got.reason,
	             "member 'm2' has another HashKV at revision 40, and no member has this one");
	end();
}

/* Others than m0 say nothing of themselves, so many times (0: for ever), and nobody lists them. */
static void silence_others(unsigned times)
{
	for (unsigned i = 0; i < N_MEMBERS; i++) {
		struct server_rule rule = {.code = GRPC_STATUS_INTERNAL, .text = "busy"};

		server_set(servers[i], SERVER_MEMBERS, rule);
		rule.times = times;
		if (i > 0)
			server_set(servers[i], SERVER_STATUS, rule);
	}
}

/* Nobody answered in the picture; in a later one somebody does. */
static void test_looks_again(void)
{
	struct view v;

	begin();
	v = usual();
	v.members[1].answers = v.members[2].answers = false;
	silence_others(2);
	answer(1, OURS, 30);
	answer(2, OURS, 30);
	(void) prove(&v, true);
	CHECK_EQ_INT(got.verdict, PROOF_GOOD);
	CHECK(strcmp(got.agreed, server_url(servers[1])) == 0 ||
	      strcmp(got.agreed, server_url(servers[2])) == 0);
	CHECK_EQ_STR(got.not_compared, "");
	CHECK_EQ_INT(n_asked(0), 0);
	CHECK_EQ_INT(n_asked(1) + n_asked(2), 1);
	CHECK_EQ_INT(server_calls(servers[1], SERVER_STATUS), 3);
	end();
}

static void test_nobody(void)
{
	struct view v;

	begin();
	v = usual();
	v.members[1].answers = false;
	v.members[2].learner = true;
	silence_others(0);
	(void) prove(&v, true);
	check_good("", "", "no other member answers");
	end();

	begin();
	v = usual();
	(void) prove(&v, false);
	check_good("", "", "verifyHashKV is off");
	end();

	begin();
	v = usual();
	for (unsigned i = 1; i < N_MEMBERS; i++)
		server_set(servers[i], SERVER_HASHKV,
		           (struct server_rule){.code = GRPC_STATUS_INTERNAL, .text = "broken"});
	(void) prove(&v, true);
	check_good("", "", "m1: broken");
	end();

	begin();
	v = usual();
	v.n_members = 2;
	(void) snprintf(v.members[1].endpoint, sizeof(v.members[1].endpoint), "http://127.0.0.1:1");
	(void) prove(&v, true);
	check_good("", "", "m1: it is not among the endpoints any more");
	end();
	for (unsigned i = 0; i < N_MEMBERS; i++)
		CHECK(servers[i] == NULL);
}

/* A cluster of one confirms itself; what is not listed may be one of many. */
static void test_alone(void)
{
	for (unsigned i = 0; i < 2; i++) {
		struct view v;

		begin();
		v = usual();
		v.n_members = 1;
		v.listed = i == 0;
		silence_others(0);
		answer(0, OURS, 30);
		(void) prove(&v, true);
		if (i == 0)
			check_good("m0", "", "");
		else
			check_good("", "", "no other member answers");
		CHECK_EQ_INT(n_asked(0), 1 - i);
		end();
	}
}

/* --- members that are elsewhere --- */

/* A little behind: not there yet, or not compacted yet. It is asked again. */
static void test_behind(void)
{
	struct view v;

	begin();
	v = usual();
	answer(2, OURS, 30);
	server_set(servers[2], SERVER_HASHKV,
	           (struct server_rule){
	               .code = GRPC_STATUS_OUT_OF_RANGE,
	               .text = "etcdserver: mvcc: required revision is a future revision",
	               .times = 1,
	           });
	(void) prove(&v, true);
	check_good("m2", "", "");
	CHECK_EQ_INT(n_asked(2), 2);
	end();

	begin();
	v = usual();
	answer(2, OTHER, 20);
	CHECK_EQ_INT(start(&v, true), 0);
	CHECK(!sync_run(ev, 500, &got.n, 1));
	answer(2, OURS, 30);
	CHECK(sync_run(ev, WAIT_MS, &got.n, 1));
	check_good("m2", "", "");
	end();
}

/* Compacted since: the file's hash is computed as it would be then. */
static void test_compacted_since(void)
{
	static const struct {
		const char *again;
		uint32_t theirs;
		enum proof_verdict verdict;
		const char *agreed, *not_compared;
	} cases[] = {
	    {"{\"ok\":true,\"hashkv\":333}", COMPACTED, PROOF_GOOD, "m2", ""},
	    {"{\"ok\":true,\"hashkv\":334}", COMPACTED, PROOF_BAD, "", ""},
	    /* The first reading's hash says nothing of it. */
	    {"{\"ok\":true,\"hashkv\":333}", OURS, PROOF_BAD, "", ""},
	    {"{\"ok\":false,\"error\":\"READ\",\"reason\":\"no\"}", COMPACTED, PROOF_GOOD, "",
	     "m2: no"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct view v;

		begin();
		v = usual();
		v.members[1].answers = false;
		CHECK(scratch_shell("printf '%%s' '%s' >again", cases[i].again));
		answer(2, cases[i].theirs, 35);
		(void) prove(&v, true);
		CHECK_EQ_INT(got.verdict, cases[i].verdict);
		CHECK_EQ_STR(got.agreed, cases[i].agreed);
		if (cases[i].verdict == PROOF_GOOD)
			CHECK_EQ_STR(got.not_compared, cases[i].not_compared);
		CHECK(scratch_shell("tail -n 1 calls | "
		                    "grep -qx 'prove file.db --revision 40 --compacted 35'"));
		end();
	}
}

/* With no key alive it cannot be computed. */
static void test_compacted_and_empty(void)
{
	struct view v;

	begin();
	v = usual();
	v.members[1].answers = false;
	CHECK(scratch_shell("sed -i 's/\"live_keys\":7/\"live_keys\":0/' said"));
	answer(2, OTHER, 35);
	(void) prove(&v, true);
	check_good("", "", "m2: it has been compacted since, and no key is alive");
	end();
}

/* --- the worker --- */

static void test_worker(void)
{
	static const struct {
		const char *said;
		enum proof_verdict verdict;
		const char *reason;
	} cases[] = {
	    {"{\"ok\":false,\"error\":\"DIGEST\",\"reason\":\"bits\"}", PROOF_BAD, "bits"},
	    {"{\"ok\":false,\"error\":\"TREE\",\"reason\":\"pages\"}", PROOF_BAD, "pages"},
	    {"{\"ok\":false,\"error\":\"READ\",\"reason\":\"I/O\"}", PROOF_NOT_MADE, "I/O"},
	    {"", PROOF_NOT_MADE, "it ended with code 1 and said nothing"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct view v;

		begin();
		v = usual();
		CHECK(scratch_shell("printf '%%s' '%s' >said", cases[i].said));
		(void) prove(&v, true);
		CHECK_EQ_INT(got.verdict, cases[i].verdict);
		CHECK_EQ_STR(got.reason, cases[i].reason);
		CHECK_EQ_INT(n_asked(1) + n_asked(2), 0);
		end();
	}
}

/* The first witness is asked while the file is read, about the revision that it claims. */
static void test_asked_meanwhile(void)
{
	static const struct {
		int claims;
		bool fails; /* the member, at first */
		unsigned n_asked;
	} cases[] = {{40, false, 1}, {39, false, 2}, {40, true, 2}};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct view v;

		begin();
		v = usual();
		CHECK(scratch_shell("touch hold && echo '{\"claims_revision\":%d}' >claims",
		                    cases[i].claims));
		if (cases[i].fails)
			server_set(servers[2], SERVER_HASHKV,
			           (struct server_rule){.code = GRPC_STATUS_UNAVAILABLE, .times = 1});
		answer(2, OURS, 30);
		CHECK_EQ_INT(start(&v, true), 0);
		CHECK(is_asked(2));
		(void) sync_run(ev, 30, NULL, 0);
		CHECK_EQ_INT(got.n, 0);
		CHECK(scratch_shell("rm hold"));
		CHECK(sync_run(ev, WAIT_MS, &got.n, 1));
		check_good("m2", "", "");
		CHECK_EQ_INT(n_asked(2), cases[i].n_asked);
		end();
	}
}

static void test_no_worker(void)
{
	struct view v;

	begin();
	v = usual();
	CHECK(scratch_shell("rm worker"));
	CHECK_EQ_INT(start(&v, true), -ENOENT);
	CHECK(proof == NULL);
	end();
}

/* In each state: nobody is told, and nobody is asked any more. */
static void test_free(void)
{
	static const char *const at[] = {"reading", "asking", "pausing", "reading again"};

	for (unsigned i = 0; i < ARRAY_SIZE(at); i++) {
		struct view v;
		unsigned n;

		begin();
		v = usual();
		if (i == 0)
			CHECK(scratch_shell("touch hold"));
		server_set(servers[2], SERVER_HASHKV, (struct server_rule){.silent = i == 1});
		answer(2, OTHER, i == 2 ? 20 : 35);
		CHECK_EQ_INT(start(&v, true), 0);
		if (i > 0) {
			CHECK(is_asked(2));
			if (i == 3)
				CHECK(scratch_shell("touch hold"));
		}
		(void) sync_run(ev, 30, NULL, 0);
		n = n_asked(2);
		proof_free(TAKE_PTR(proof));
		(void) sync_run(ev, i == 2 ? 1200 : 50, NULL, 0);
		CHECK_EQ_INT(n_asked(2), n);
		CHECK_EQ_INT(got.n, 0);
		end();
	}
	proof_free(NULL);
}

int main(void)
{
	ev = ev_default_loop(0);
	test_agrees();
	test_disagrees();
	test_disagrees_alone();
	test_looks_again();
	test_nobody();
	test_alone();
	test_behind();
	test_compacted_since();
	test_compacted_and_empty();
	test_worker();
	test_asked_meanwhile();
	test_no_worker();
	test_free();
	return check_result();
}
