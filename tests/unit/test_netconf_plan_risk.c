/* SPDX-License-Identifier: Apache-2.0 */
/* Which changes may cut a node off, whatever their class says. */
#include "netconf/change/explain.h"

#include "check.h"
#include "plancase.h"

#define BASE "nic eth0\nnic eth1\naddress eth0 10.0.0.2/24\naddress eth1 10.1.0.2/24\n"
#define ROUTE "route 10.5.0.0/16 via 10.0.0.1 dev eth0\n"

static const struct {
	const char *name, *have, *want;
	bool is_disruptive;
} cases[] = {
    {"nothing", BASE, BASE, false},
    {"an address goes", BASE, "nic eth0\nnic eth1\naddress eth0 10.0.0.2/24\n", true},
    {"an address comes", BASE, BASE "address eth0 10.2.0.2/24\n", false},
    {"a link blinks", BASE "bond b mode 0 miimon 100\n", BASE "bond b mode 1 miimon 100\n", false},
    {"a route comes", BASE, BASE ROUTE, false},
    {"a default route comes", BASE, BASE "route 0.0.0.0/0 via 10.0.0.1 dev eth0\n", true},
    {"a route has another gateway", BASE ROUTE, BASE "route 10.5.0.0/16 via 10.0.0.9 dev eth0\n",
     true},
    {"a route has another link", BASE "route 10.5.0.0/16 dev eth0\n",
     BASE "route 10.5.0.0/16 dev eth1\n", true},
    {"a route has another source", BASE ROUTE,
     BASE "route 10.5.0.0/16 via 10.0.0.1 dev eth0 src 10.0.0.2\n", false},
    {"a rule comes", BASE, BASE "rule 100 from 10.5.0.0/16 table 5\n", true},
    {"a rule goes", BASE "rule 100 from 10.5.0.0/16 table 5\n", BASE, true},
    {"a tunnel changes", BASE "wireguard wg0 port 1\n", BASE "wireguard wg0 port 2\n", true},
};

int main(void)
{
	static const struct plan_options options = {.management_link = ""};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		AUTO(model_free) struct model *have = plancase_have(cases[i].have);
		AUTO(model_free) struct model *want = plancase_want(cases[i].want);
		AUTO(plan_free) struct plan *plan = plan_make(want, have, &options);

		if (!CHECK_EQ_INT(risk_is_disruptive(plan, have, NULL), cases[i].is_disruptive))
			(void) fprintf(stderr, "%s:\n%s", cases[i].name, plancase_text(plan));
	}
	return check_result();
}
