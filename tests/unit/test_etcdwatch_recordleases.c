/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the leases of a record are asked for, and what is told of them. The clock and etcd are the
 * test's own.
 */
#include "etcdwatch/record/recordleases.h"

#include <errno.h>

#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"

int64_t __wrap_mono_now_us(void);
void __wrap_ev_timer_start(struct ev_loop *ev, ev_timer *w);
int __wrap_etcd_lease_ttl(struct etcd *etcd, int64_t id, etcd_lease_fn cb, void *userdata,
                          struct etcd_call **ret_call);
void __wrap_etcd_call_cancel(struct etcd_call *call);

static struct ev_loop *ev;
static struct recordleases *leases;
static ev_timer *tick;
static int64_t now_us;

/* The lease of the test, as etcd has it: the TTL that it was granted; 0: it is gone, -1: nobody can
 * say. It is kept alive. */
#define ID 7
static int64_t granted_s;
static unsigned n_asked;

static unsigned n_told;
static int64_t told_s;

/* Many leases, of which nobody can say anything. */
#define MANY 200
static bool has_many;
static bool was_asked[MANY];
static etcd_lease_fn many_cb;
static void *many_userdata[MANY];
static size_t n_many;

/* A call that is under way. */
static etcd_lease_fn asked_cb;
static void *asked_userdata;
static char asked_call;

int64_t __wrap_mono_now_us(void)
{
	return now_us;
}

void __wrap_ev_timer_start(struct ev_loop *unused UNUSED, ev_timer *w)
{
	tick = w;
}

int __wrap_etcd_lease_ttl(struct etcd *etcd UNUSED, int64_t id, etcd_lease_fn cb, void *userdata,
                          struct etcd_call **ret_call)
{
	if (has_many) {
		was_asked[id] = true;
		many_cb = cb;
		many_userdata[n_many++] = userdata;
		*ret_call = (struct etcd_call *) (void *) &asked_call;
		return 0;
	}
	CHECK_EQ_INT(id, ID);
	CHECK(asked_cb == NULL);
	n_asked++;
	asked_cb = cb;
	asked_userdata = userdata;
	*ret_call = (struct etcd_call *) (void *) &asked_call;
	return 0;
}

void __wrap_etcd_call_cancel(struct etcd_call *call)
{
	if (call != NULL)
		asked_cb = NULL;
}

static void told_cb(int64_t id, int64_t ttl_s, void *userdata UNUSED)
{
	CHECK_EQ_INT(id, ID);
	n_told++;
	told_s = ttl_s;
}

static void ask(void)
{
	now_us += US_PER_S;
	ev_invoke(ev, tick, EV_TIMER);
}

/* To what was asked, if anything was. */
static void answer(void)
{
	const struct etcd_outcome outcome = {.r = granted_s == 0  ? -ENOENT
	                                          : granted_s < 0 ? -ETIMEDOUT
	                                                          : 0};
	const struct etcd_lease_result result = {
	    .id = ID, .ttl_s = granted_s, .granted_ttl_s = granted_s};
	etcd_lease_fn cb = asked_cb;

	asked_cb = NULL;
	if (cb != NULL)
		cb(&outcome, &result, asked_userdata);
}

/* So many seconds. */
static void pass(unsigned seconds)
{
	for (unsigned i = 0; i < seconds; i++) {
		ask();
		answer();
	}
}

/* Nothing is known of any lease. */
static void begin_empty(void)
{
	leases = recordleases_new(ev, NULL, told_cb, NULL);
	n_asked = n_told = 0;
}

static void begin(int64_t ttl_s)
{
	begin_empty();
	granted_s = ttl_s;
	recordleases_see(leases, ID);
	pass(1);
}

static void end(void)
{
	recordleases_free(TAKE_PTR(leases));
}

/* Told once, asked again when it could be over, and told to be gone. */
static void test_life(void)
{
	begin(60);
	CHECK_EQ_INT(n_told, 1);
	CHECK_EQ_INT(told_s, 60);
	pass(60);
	CHECK_EQ_INT(n_asked, 1);
	pass(60);
	CHECK_EQ_INT(n_asked, 2);
	CHECK_EQ_INT(n_told, 1);
	granted_s = 0;
	pass(70);
	CHECK_EQ_INT(n_told, 2);
	CHECK_EQ_INT(told_s, 0);
	CHECK_EQ_INT(recordleases_count(leases), 0);
	end();
}

/* It is revoked, granted with another TTL, and a key is put on it. */
static void test_granted_anew(void)
{
	begin(3600);
	CHECK_EQ_INT(told_s, 3600);
	granted_s = 20;
	recordleases_see(leases, ID);
	pass(31);
	CHECK_EQ_INT(n_told, 2);
	CHECK_EQ_INT(told_s, 20);
	end();
}

/* It is revoked, which is answered only when it was granted anew and has a key. */
static void test_granted_anew_meanwhile(void)
{
	begin_empty();
	recordleases_see(leases, ID);
	ask();
	recordleases_see(leases, ID);
	granted_s = 0;
	answer();
	CHECK_EQ_INT(n_told, 0);
	granted_s = 20;
	pass(1);
	CHECK_EQ_INT(n_told, 1);
	CHECK_EQ_INT(told_s, 20);
	end();
}

/* The same of one that was there: how long the one that is there now lives is asked for soon. */
static void test_other_granted_meanwhile(void)
{
	begin_empty();
	recordleases_see(leases, ID);
	ask();
	recordleases_see(leases, ID);
	granted_s = 3600;
	answer();
	CHECK_EQ_INT(told_s, 3600);
	granted_s = 20;
	pass(31);
	CHECK_EQ_INT(told_s, 20);
	end();
}

/* An answer takes longer than a pause: nothing else is asked meanwhile, since what is answered
 * first would be of before. */
static void test_slow_answer(void)
{
	begin_empty();
	recordleases_see(leases, ID);
	ask();
	recordleases_see(leases, ID);
	for (unsigned i = 0; i < 10; i++)
		ask();
	CHECK_EQ_INT(n_asked, 1);
	granted_s = 0;
	answer();
	CHECK_EQ_INT(n_told, 0);
	granted_s = 20;
	pass(1);
	CHECK_EQ_INT(n_asked, 2);
	CHECK_EQ_INT(told_s, 20);
	end();
}

/* However often keys are put on it. */
static void test_asked_seldom(void)
{
	begin(3600);
	for (unsigned i = 0; i < 300; i++) {
		recordleases_see(leases, ID);
		pass(1);
	}
	CHECK_EQ_INT(n_asked, 11);
	CHECK_EQ_INT(n_told, 1);
	end();
}

static void test_nobody_can_say(void)
{
	begin(-1);
	pass(20);
	CHECK_EQ_INT(n_told, 0);
	granted_s = 60;
	pass(6);
	CHECK_EQ_INT(n_told, 1);
	CHECK_EQ_INT(told_s, 60);
	end();
}

/* Each has its turn, though the first are due again before the last. */
static void test_many(void)
{
	const struct etcd_outcome outcome = {.r = -ETIMEDOUT};

	has_many = true;
	leases = recordleases_new(ev, NULL, told_cb, NULL);
	for (int64_t id = 0; id < MANY; id++)
		recordleases_see(leases, id);
	for (unsigned i = 0; i < MANY / 16 + 1; i++) {
		now_us += US_PER_S;
		ev_invoke(ev, tick, EV_TIMER);
		for (; n_many > 0; n_many--)
			many_cb(&outcome, NULL, many_userdata[n_many - 1]);
	}
	for (size_t id = 0; id < MANY; id++)
		CHECK(was_asked[id]);
	end();
	has_many = false;
}

int main(void)
{
	ev = ev_default_loop(0);
	test_life();
	test_granted_anew();
	test_granted_anew_meanwhile();
	test_other_granted_meanwhile();
	test_slow_answer();
	test_asked_seldom();
	test_nobody_can_say();
	test_many();
	return check_result();
}
