/* SPDX-License-Identifier: Apache-2.0 */
/* What is repaired, what waits and how long, by a clock of the test: rows of a table, and an hour. */
#include "netconf/fight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"

static const struct config_fight rule = {.rewrites = 3, .window_us = 60 * US_PER_S};

/* Steps by a letter: eth0 has two addresses of a subnet (a, b), an IPv6 address (6), a route through
 * them (r) and one without a gateway (s); v0 is a VLAN on eth0 (V makes it), with an address (v);
 * eth1 is a port of br0 (B makes br0, p makes it a port), with an MTU (m). U sets eth0 up, M
 * its MTU. */
static void add_op(struct plan *plan, char step)
{
	static const char *const addresses[] = {
	    ['a'] = "10.0.0.1/24", ['b'] = "10.0.0.2/24", ['6'] = "fd00::1/64", ['v'] = "10.7.0.1/24"};
	static const char *const names[] = {['V'] = "v0",   ['B'] = "br0",  ['U'] = "eth0",
	                                    ['M'] = "eth0", ['m'] = "eth1", ['p'] = "eth1"};
	struct op *op = plan_add(plan);

	if (strchr("ab6v", step) != NULL) {
		op->kind = OP_ADDRESS_ADD;
		(void) strcpy(op->address.link, step == 'v' ? "v0" : "eth0");
		CHECK(prefix_parse(addresses[(int) step], &op->address.prefix) == 0);
	} else if (strchr("rs", step) != NULL) {
		op->kind = OP_ROUTE_ADD;
		(void) strcpy(op->route.link, "eth0");
		CHECK(prefix_parse(step == 'r' ? "10.50.0.0/16" : "10.60.0.0/16", &op->route.dst) == 0);
		if (step == 'r')
			CHECK(addr_parse("10.0.0.254", &op->route.gateway) == 0);
	} else {
		op->kind = strchr("VB", step) != NULL ? OP_LINK_CREATE : OP_LINK_SET;
		(void) strcpy(op->link.name, names[(int) step]);
		op->link.up = true;
		op->link.mtu = 1400;
		(void) strcpy(op->link.parent, step == 'V' ? "eth0" : "");
		(void) strcpy(op->link.master, step == 'p' ? "br0" : "");
		op->attributes = step == 'U'                  ? LINK_HAS_UP
		                 : strchr("Mm", step) != NULL ? LINK_HAS_MTU
		                 : step == 'p'                ? LINK_HAS_MASTER
		                                              : 0;
	}
}

static struct plan *make_plan(const char *steps)
{
	struct plan *plan = NEW0(struct plan);

	for (; *steps != '\0'; steps++)
		add_op(plan, *steps);
	return plan;
}

/* One look, as the daemon makes it. What is repaired, in letters. */
static const char *look(struct fight *fight, const char *lost, int64_t now_us, char buf[static 16])
{
	AUTO(model_free) struct model *have = model_new();
	AUTO(plan_free) struct plan *all = make_plan(lost), *plan = make_plan(lost);
	char one[OP_TEXT_MAX], other[OP_TEXT_MAX];
	size_t n = 0;

	fight_look(fight, all, rule.window_us, now_us);
	fight_count(fight, plan, have, &rule, now_us);
	for (size_t i = 0; i < all->n_ops; i++) {
		for (size_t k = 0; k < plan->n_ops; k++) {
			if (strcmp(op_format(&all->ops[i], one), op_format(&plan->ops[k], other)) == 0)
				buf[n++] = lost[i];
		}
	}
	buf[n] = '\0';
	return buf;
}

static bool tell_link(struct fight *fight, const char *name, int ifindex, bool carries,
                      int64_t now_us)
{
	struct kernel_news news = {
	    .kind = KERNEL_NEWS_LINK, .is_gone = ifindex == 0, .ifindex = ifindex, .carries = carries};

	(void) strcpy(news.link, name);
	return fight_on_news(fight, &news, now_us);
}

/* Before a look at that second: '-' and '+' eth0 loses its carrier and gets it, 'n' it is made
 * again, 'x' it goes, 'e' eth1 is, 'V' v0 is, '!' messages were lost. */
static void tell_news(struct fight *fight, const char *news, int64_t now_us)
{
	static int ifindex = 100;

	for (; *news != '\0'; news++) {
		if (*news == '-' || *news == '+')
			(void) tell_link(fight, "eth0", 2, *news == '+', now_us);
		else if (*news == '!')
			(void) fight_on_news(fight, &(struct kernel_news){.kind = KERNEL_NEWS_LOST}, now_us);
		else if (*news == 'x')
			(void) tell_link(fight, "eth0", 0, false, now_us);
		else
			(void) tell_link(fight,
			                 *news == 'n'   ? "eth0"
			                 : *news == 'e' ? "eth1"
			                                : "v0",
			                 ++ifindex, true, now_us);
	}
}

struct row {
	const char *what; /* of the first row of a case */
	int at_s;
	const char *news, *lost, *repaired;
};

static const struct row rows[] = {
    {"three repairs within the window, then it waits, and another object does not", 100, "", "s",
     "s"},
    {NULL, 110, "", "s", "s"},
    {NULL, 120, "", "s", "s"},
    {NULL, 121, "", "s", ""},
    {NULL, 122, "", "as", "a"},
    {NULL, 130, "", "s", ""},
    {NULL, 131, "", "s", "s"}, /* the first pause is over, */
    {NULL, 132, "", "s", ""},  /* and the second is twice as long */
    {NULL, 151, "", "s", ""},
    {NULL, 152, "", "s", "s"},
    {NULL, 153, "", "s", ""},
    {NULL, 192, "", "s", ""},
    {NULL, 193, "", "s", "s"}, /* it stands for the window: */
    {NULL, 254, "", "s", "s"}, /* it begins at 0 */
    {NULL, 255, "", "s", "s"},
    {NULL, 256, "", "s", "s"},
    {NULL, 257, "", "s", ""},
    {NULL, 266, "", "s", ""},
    {NULL, 267, "", "s", "s"},
    {"any window, not one that begins with a repair", 100, "", "s", "s"},
    {NULL, 140, "", "s", "s"},
    {NULL, 158, "", "s", "s"},
    {NULL, 161, "", "s", "s"},
    {NULL, 162, "", "s", ""},
    {"a link that goes down and up takes its objects along", 100, "-+", "6s", "6s"},
    {NULL, 101, "-+", "6s", "6s"},
    {NULL, 102, "-+", "6s", "6s"},
    {NULL, 103, "-+", "6s", "6s"},
    {NULL, 104, "-+", "6s", "6s"},
    {NULL, 105, "", "s", "s"}, /* now another process */
    {NULL, 106, "", "s", "s"},
    {NULL, 107, "", "s", "s"},
    {NULL, 108, "", "s", ""},
    {NULL, 109, "-+", "6s", "6"}, /* what is left alone stays so */
    {"that it goes down is no excuse for an attribute, and its objects wait for it", 30, "+", "",
     ""},
    {NULL, 100, "-", "Us", "Us"},
    {NULL, 101, "-", "Us", "Us"},
    {NULL, 102, "-", "Us", "Us"},
    {NULL, 103, "-", "UMs", "M"},
    {NULL, 104, "+", "s", "s"},
    {NULL, 105, "", "s", "s"},
    {NULL, 106, "", "s", "s"}, /* the first that is counted was not before 105 */
    {"a device that is made again", 100, "e", "pm", "pm"},
    {NULL, 101, "e", "pm", "pm"},
    {NULL, 102, "e", "pm", "pm"},
    {NULL, 103, "e", "pm", "pm"},
    {NULL, 104, "", "m", "m"},
    {NULL, 105, "", "m", "m"},
    {NULL, 106, "", "m", "m"},
    {NULL, 107, "", "m", ""},
    {"our own VLAN that is deleted: it is fought, what is on it is not", 100, "V", "Vv", "Vv"},
    {NULL, 101, "V", "Vv", "Vv"},
    {NULL, 102, "V", "Vv", "Vv"},
    {NULL, 103, "V", "Vvs", "s"},
    {NULL, 113, "", "Vv", "Vv"},
    {"it went with its parent", 100, "nV", "Vv", "Vv"},
    {NULL, 101, "nV", "Vv", "Vv"},
    {NULL, 102, "nV", "Vv", "Vv"},
    {NULL, 103, "nV", "Vv", "Vv"},
    {"a bridge that is deleted: its port waits with it, and comes with it", 100, "", "Bp", "Bp"},
    {NULL, 101, "", "Bp", "Bp"},
    {NULL, 102, "", "Bp", "Bp"},
    {NULL, 103, "", "Bpm", "m"},
    {NULL, 113, "", "Bp", "Bp"},
    {"a primary address that is deleted takes the secondary and the route along", 100, "", "abr",
     "abr"},
    {NULL, 101, "", "abr", "abr"},
    {NULL, 102, "", "abr", "abr"},
    {NULL, 103, "", "abr", "b"}, /* without either address the route is not tried */
    {NULL, 104, "", "ar", ""},
    {NULL, 105, "", "r", "r"}, /* the address is back */
    {"a device that goes, and comes back with its name and number", 100, "x+", "Ms", "Ms"},
    {NULL, 101, "x+", "Ms", "Ms"},
    {NULL, 102, "x+", "Ms", "Ms"},
    {NULL, 103, "x+", "Ms", "Ms"},
    {"messages were lost: anything may have happened", 100, "!", "s", "s"},
    {NULL, 101, "!", "s", "s"},
    {NULL, 102, "!", "s", "s"},
    {NULL, 103, "!", "s", "s"},
};

static void test_rows(void)
{
	AUTO(fight_free) struct fight *fight = NULL;
	const char *what = "";
	char buf[16];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		if (row->what != NULL) {
			fight_free(fight);
			fight = fight_new();
			what = row->what;
		}
		tell_news(fight, row->news, row->at_s * US_PER_S);
		if (strcmp(look(fight, row->lost, row->at_s * US_PER_S + 1, buf), row->repaired) != 0) {
			(void) fprintf(stderr, "%s, at %d: repaired '%s', expected '%s'\n", what, row->at_s,
			               buf, row->repaired);
			CHECK(false);
		}
	}
}

/* A cable that flaps each 2 s for an hour: each time all of it is repaired. */
static void test_hour(void)
{
	AUTO(fight_free) struct fight *fight = fight_new();
	char buf[16];

	for (int64_t s = 0; s < 3600; s += 2) {
		CHECK(tell_link(fight, "eth0", 2, false, s * US_PER_S));
		CHECK(tell_link(fight, "eth0", 2, true, s * US_PER_S + US_PER_S));
		CHECK_EQ_STR(look(fight, "6rs", s * US_PER_S + US_PER_S + 1, buf), "6rs");
	}
}

/* Another process that deletes it an hour long, each second. */
static void test_pauses(void)
{
	static const int64_t pauses_s[] = {10, 20, 40, 80, 160, 300, 300, 300};
	AUTO(fight_free) struct fight *fight = fight_new();
	struct kernel_news news = {.kind = KERNEL_NEWS_ROUTE, .is_gone = true, .by = "pid 7 (other)"};
	struct fight_left left;
	size_t n = 0;
	char buf[16];

	CHECK(prefix_parse("10.60.0.0/16", &news.prefix) == 0);
	for (int64_t s = 1; s < 1200; s++) {
		(void) fight_on_news(fight, &news, s * US_PER_S - 1);
		(void) look(fight, "s", s * US_PER_S, buf);
		if (!fight_get(fight, 0, s * US_PER_S, &left) || left.from_us != s * US_PER_S)
			continue;
		CHECK(!fight_get(fight, 1, s * US_PER_S, &left) &&
		      fight_get(fight, 0, s * US_PER_S, &left));
		CHECK_EQ_INT(left.until_us - left.from_us, pauses_s[n++] * US_PER_S);
		CHECK_EQ_INT(left.since_us, 4 * US_PER_S);
		CHECK_EQ_STR(left.by, "pid 7 (other)");
		CHECK_EQ_INT(fight_next_us(fight, s * US_PER_S), left.until_us);
	}
	CHECK_EQ_INT(n, 8);
	(void) look(fight, "", 1200 * US_PER_S, buf);
	CHECK(!fight_get(fight, 0, 1200 * US_PER_S, &left));
}

static void refuse(struct fight *fight, const char *steps, int64_t now_us)
{
	AUTO(plan_free) struct plan *plan = make_plan(steps);

	fight_refused(fight, plan, now_us);
}

/* What the kernel refuses waits, uncounted, until its time or until a link or address changes. */
static void test_refused(void)
{
	AUTO(fight_free) struct fight *fight = fight_new();
	struct kernel_news address = {.kind = KERNEL_NEWS_ADDRESS};
	struct fight_left left;
	char buf[16];

	for (int64_t s = 10; s < 100; s += 10) {
		CHECK_EQ_STR(look(fight, "s", s * US_PER_S, buf), "s");
		refuse(fight, "s", s * US_PER_S);
		CHECK_EQ_STR(look(fight, "s", (s + 9) * US_PER_S, buf), "");
		CHECK(!fight_get(fight, 0, (s + 9) * US_PER_S, &left));
	}
	CHECK(fight_on_news(fight, &(struct kernel_news){.kind = KERNEL_NEWS_LOST}, 101 * US_PER_S));
	CHECK_EQ_STR(look(fight, "s", 101 * US_PER_S, buf), "s");
	refuse(fight, "s", 101 * US_PER_S + 1);
	CHECK(!fight_on_news(fight, &address, 102 * US_PER_S));
	CHECK_EQ_STR(look(fight, "s", 102 * US_PER_S, buf), "s");
	/* It has changed while it was carried out. */
	CHECK(tell_link(fight, "eth0", 2, true, 102 * US_PER_S + 1));
	refuse(fight, "s", 102 * US_PER_S + 2);
	CHECK_EQ_STR(look(fight, "s", 103 * US_PER_S, buf), "s");
	CHECK(!tell_link(fight, "eth0", 2, true, 104 * US_PER_S));
}

/* Another address that is there reaches the gateway, too: the route does not wait. */
static void test_reached(void)
{
	AUTO(fight_free) struct fight *fight = fight_new();
	AUTO(model_free) struct model *have = model_new();
	AUTO(plan_free) struct plan *plan = make_plan("ar"), *there = make_plan("b");
	char buf[16];

	for (int64_t s = 1; s < 5; s++)
		(void) look(fight, "a", s * US_PER_S, buf);
	have->addresses = &there->ops[0].address;
	have->n_addresses = 1;
	fight_hold(fight, plan, have, 5 * US_PER_S);
	CHECK_EQ_INT(plan->n_ops, 1);
	CHECK_EQ_INT(plan->ops[0].kind, OP_ROUTE_ADD);
	have->addresses = NULL;
	have->n_addresses = 0;
}

/* Steps of the host have no link. */
static void test_host(void)
{
	AUTO(fight_free) struct fight *fight = fight_new();

	for (int64_t s = 1; s < 5; s++) {
		tell_news(fight, "n", s * US_PER_S);
		CHECK_EQ_INT(fight_may_step(fight, "set hostname n1", &rule, s * US_PER_S), s < 4);
	}
	CHECK(fight_may_step(fight, "set hostname n1", &rule, 14 * US_PER_S));
}

int main(void)
{
	test_rows();
	test_hour();
	test_pauses();
	test_refused();
	test_reached();
	test_host();
	return check_result();
}
