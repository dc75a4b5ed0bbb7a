/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is described is read back as what is there: the plan from it is empty. And what is whose is
 * told apart.
 */
#include "netconf/config/config.h"

#include <stdlib.h>
#include <string.h>

#include "netconf/config/resolve.h"
#include "netconf/plan/plan.h"
#include "plancase.h"
#include "planrandom.h"
#include "planwords.h"
#include "tests/unit/check.h"

#define SEEDS 100

static void on_error(const char *message, void *userdata)
{
	(void) fprintf(stderr, "%s: %s\n", (const char *) userdata, message);
}

/* The documents, to be freed. */
static char *describe(const struct model *have)
{
	struct conf_strings left_out = {0};
	AUTO(config_free) struct config *config = config_describe(have, &left_out);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	config_print_converted(config, out);
	for (size_t i = 0; i < left_out.n; i++)
		(void) fprintf(out, "# left out: %s\n", left_out.items[i]);
	(void) fclose(out);
	conf_strings_fini(&left_out);
	return text;
}

/* The text is read back as what is there. */
static bool check_text(const char *name, const char *text, const struct model *have)
{
	AUTO(config_free) struct config *config = NULL;
	AUTO(resolution_free) struct resolution *resolution = NULL;
	AUTO(plan_free) struct plan *plan = NULL;
	AUTO(free) char *case_name = strdup(name);

	if (!CHECK_EQ_INT(
	        config_load_text(name, text, strlen(text), NULL, on_error, case_name, &config), 0))
		return false;
	resolution = resolve(config, NULL, 0);
	plan = plan_make(resolution->model, have, NULL);
	return CHECK_EQ_STR(plancase_text(plan), "");
}

static void check_case(const char *name, const char *network, const char *const *holds,
                       const char *const *lacks)
{
	AUTO(model_free) struct model *have = plancase_have(network);
	AUTO(free) char *text = describe(have);
	bool good = true;

	for (size_t i = 0; holds[i] != NULL; i++)
		good = CHECK(strstr(text, holds[i]) != NULL) && good;
	for (size_t i = 0; lacks[i] != NULL; i++)
		good = CHECK(strstr(text, lacks[i]) == NULL) && good;
	if (!check_text(name, text, have) || !good)
		(void) fprintf(stderr, "  %s:\n%s", name, text);
}

/* From bare links it makes all that was wanted in the first place. */
static void check_again(const char *what, const char *text, const struct model *start,
                        const struct model *want)
{
	AUTO(fakekernel_free) struct fakekernel *kernel = fakekernel_new(start);
	AUTO(config_free) struct config *config = NULL;
	AUTO(resolution_free) struct resolution *resolution = NULL;
	AUTO(plan_free) struct plan *made = NULL, *rest = NULL;

	if (config_load_text(what, text, strlen(text), NULL, NULL, NULL, &config) < 0)
		return;
	resolution = resolve(config, NULL, 0);
	made = plancase_apply(kernel, resolution->model, NULL, what);
	rest = plan_make(want, fakekernel_observe(kernel), NULL);
	if (!CHECK_EQ_STR(plancase_text(rest), ""))
		(void) fprintf(stderr, "  %s:\n%s", what, text);
}

/* Networks by chance, as a kernel has them when they are made. Whether there was a word for all of
 * it. */
static bool test_any(unsigned number)
{
	unsigned seed = number;
	AUTO(model_free) struct model *start = model_new();
	AUTO(model_free) struct model *want = planrandom_model(&seed);
	AUTO(fakekernel_free) struct fakekernel *kernel = NULL;
	AUTO(plan_free) struct plan *made = NULL;
	AUTO(free) char *text = NULL;
	char what[32];

	(void) snprintf(what, sizeof(what), "seed %u", number);
	for (unsigned i = 0; i < 4; i++)
		nic(start, (const char *[]){"eth0", "eth1", "eth2", "eth3"}[i], "");
	model_normalise(start);
	model_normalise(want);
	kernel = fakekernel_new(start);
	made = plancase_apply(kernel, want, NULL, what);
	text = describe(fakekernel_observe(kernel));
	if (strstr(text, "# left out") != NULL)
		return false;
	if (!check_text(what, text, fakekernel_observe(kernel)))
		(void) fprintf(stderr, "  %s:\n%s", what, text);
	/* All that was made by hand is in it: it makes the same of bare links. */
	check_again(what, text, start, want);
	return true;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

int main(void)
{
	unsigned n_whole = 0;

	check_case("one NIC",
	           "nic eth0 up\naddress eth0 10.0.0.2/24\naddress eth0 fd00::2/64\n"
	           "route 0.0.0.0/0 via 10.0.0.1 dev eth0 metric 0 proto 3\n"
	           "route 10.9.0.0/16 via 10.0.0.7 dev eth0 metric 50 table 100 proto 4\n"
	           "route ::/0 via fd00::1 dev eth0 proto 3\n"
	           "rule 100 from 10.9.0.0/16 table 100 proto 0\n",
	           LIST("kind: LinkConfig\nname: eth0", "10.0.0.2/24", "fd00::2/64", "metric: 50",
	                "kind: RoutingRuleConfig"),
	           LIST("left out"));
	check_case("a bond with a VLAN and a bridge on it",
	           "nic eth0 up mtu 9000 master bond0\nnic eth1 up mtu 9000 master bond0\n"
	           "bond bond0 mode 1 miimon 100 primary eth1 up mtu 9000\n"
	           "vlan bond0.7 parent bond0 id 7 up master br0\nbridge br0 up\n"
	           "address bond0 10.0.0.2/24\naddress br0 10.7.0.2/24\n"
	           "route 0.0.0.0/0 via 10.0.0.1 dev bond0 proto 3\n",
	           LIST("kind: BondConfig", "links:\n  - eth0\n  - eth1\n", "vlanID: 7", "mtu: 9000",
	                "kind: BridgeConfig"),
	           LIST("left out"));
	check_case("others' things",
	           "nic eth0 up\nbridge docker0 up foreign\nbridge cni0 up foreign\nnic eth9\n"
	           "bridge br-0123456789ab up foreign\nbridge br-mgmt up\naddress br-mgmt 10.3.0.2/24\n"
	           "dummy kube-ipvs0 foreign\naddress kube-ipvs0 10.96.0.1/32 proto 99\n"
	           "address docker0 172.17.0.1/16 proto 99\naddress eth0 10.0.0.2/24 proto 99\n"
	           "address eth0 10.0.0.5/32 proto 241\n"
	           "route 10.244.1.0/24 via 10.0.0.3 dev eth0 proto 12\n",
	           LIST("10.0.0.2/24", "left out: 10.0.0.5/32 dev eth0", "name: br-mgmt"),
	           LIST("docker0", "br-0123456789ab", "cni0", "kube-ipvs0", "eth9", "10.244.1.0"));
	check_case(
	    "addresses that are nobody's for sure",
	    "nic eth0 up\nnic eth1 up\ndummy vip0 up foreign\naddress eth0 10.0.0.2/24 proto 99\n"
	    "address eth1 169.254.7.7/16 proto 99\naddress vip0 192.0.2.10/32 proto 99\n"
	    "address eth1 fe80::1/64 proto 99\n",
	    LIST("left out: 169.254.7.7/16 dev eth1: is link-local",
	         "left out: 192.0.2.10/32 dev vip0: may be a VIP"),
	    LIST("name: vip0", "name: eth1", "fe80::1"));
	for (unsigned i = 0; i < SEEDS && check_failures == 0; i++)
		n_whole += test_any(i) ? 1 : 0;
	CHECK(n_whole > SEEDS / 4);
	return check_result();
}
