/* SPDX-License-Identifier: Apache-2.0 */
/* When the local member is looked for and asked: etcd, its endpoints and the addresses are fakes. */
#include "vipd/localmember.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/turn.h"

static unsigned dumps, looks, questions, doubts;
static bool connected;
static int outcome_r;
static etcd_status_fn answer;
static void *answer_userdata;

size_t __wrap_etcd_endpoints(const struct etcd *etcd, const char *const **ret_endpoints);
int __wrap_rtnl_addr_list(struct rtnl *rtnl, rtnl_addr_fn fn, void *userdata);
bool __wrap_etcd_endpoint_is_connected(const struct etcd *etcd, const char *endpoint);
int __wrap_etcd_endpoint_status(struct etcd *etcd, const char *endpoint, etcd_status_fn fn,
                                void *userdata, struct etcd_call **ret_call);
void __wrap_etcd_call_cancel(struct etcd_call *call);
uint64_t __wrap_clusterid_get(const struct clusterid *cluster);

size_t __wrap_etcd_endpoints(const struct etcd *etcd UNUSED, const char *const **ret_endpoints)
{
	static const char *const endpoints[] = {"http://10.0.0.1:2379", "http://10.0.0.2:2379"};

	*ret_endpoints = endpoints;
	return ARRAY_SIZE(endpoints);
}

int __wrap_rtnl_addr_list(struct rtnl *rtnl UNUSED, rtnl_addr_fn fn, void *userdata)
{
	const struct rtnl_addr addr = {.prefix.addr = {AF_INET, {10, 0, 0, 2}},
	                               .valid_s = RTNL_LIFETIME_FOREVER};

	dumps++;
	fn(&addr, userdata);
	return 0;
}

bool __wrap_etcd_endpoint_is_connected(const struct etcd *etcd UNUSED, const char *endpoint)
{
	CHECK_EQ_STR(endpoint, "http://10.0.0.2:2379");
	looks++;
	return connected;
}

int __wrap_etcd_endpoint_status(struct etcd *etcd UNUSED, const char *endpoint, etcd_status_fn fn,
                                void *userdata, struct etcd_call **ret_call)
{
	CHECK_EQ_STR(endpoint, "http://10.0.0.2:2379");
	questions++;
	answer = fn;
	answer_userdata = userdata;
	*ret_call = (struct etcd_call *) &questions;
	return 0;
}

void __wrap_etcd_call_cancel(struct etcd_call *call UNUSED)
{
}

uint64_t __wrap_clusterid_get(const struct clusterid *cluster UNUSED)
{
	return 0;
}

static void changed_cb(bool leads UNUSED, bool is_silent UNUSED, bool in_doubt,
                       void *userdata UNUSED)
{
	doubts += in_doubt;
}

static bool give_answer(void)
{
	const struct etcd_outcome outcome = {.r = outcome_r, .member_id = 1, .text = ""};
	const struct etcd_status status = {.leader = 2};

	if (answer != NULL)
		TAKE_PTR(answer)(&outcome, &status, answer_userdata);
	return true;
}

int main(void)
{
	struct ev_loop *ev = ev_default_loop(EVFLAG_AUTO);
	struct localmember *m;
	unsigned asked, seen;

	connected = true;
	m = localmember_new(ev, NULL, NULL, NULL, changed_cb, NULL);
	CHECK(TURN_UNTIL(ev, questions == 1));
	/* Looks cost no dump: one for each endpoint that is tried, and each question. */
	CHECK(TURN_UNTIL(ev, give_answer() && looks >= 4));
	CHECK_EQ_INT(dumps, 2 * questions);
	CHECK_EQ_INT(doubts, 0);
	/* Where the connection breaks, the member is asked in the same turn, and once. */
	asked = questions;
	seen = looks;
	connected = false;
	CHECK(TURN_UNTIL(ev, looks > seen));
	CHECK(TURN_UNTIL(ev, questions == asked + 1));
	CHECK_EQ_INT(looks, seen + 1);
	outcome_r = -EHOSTUNREACH;
	(void) give_answer();
	CHECK_EQ_INT(doubts, 1);
	CHECK_EQ_INT(dumps, 2 * questions);
	localmember_free(m);
	return check_result();
}
