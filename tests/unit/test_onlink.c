/* SPDX-License-Identifier: Apache-2.0 */
/* What a real kernel's links and addresses say of a VIP. */
#include "vipd/onlink.h"

#include <errno.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"
#include "vipd/fence.h"

static struct rtnl *rtnl;

static const struct {
	const char *name;
	const char *setup; /* "" or commands; v0 has 10.9.0.2/24 and fd09::2/64, v1 nothing */
	uint8_t mark;      /* with this one it is put on v0; 0: it is not */
	const char *vip;
	bool is_own, is_put;
	const char *ifname;
	uint8_t subnet_len;
	bool outside;
} cases[] = {
    {"free", "", 0, "10.9.0.5", false, false, "", 24, false},
    {"free, IPv6", "", 0, "fd09::5", false, false, "", 64, false},
    {"the node's own", "", 0, "10.9.0.2", true, false, "v0", 24, false},
    {"the node's own, IPv6", "", 0, "fd09::2", true, false, "v0", 64, false},
    {"on another link, as a subnet", "ip address add 10.9.0.5/24 dev v1", 0, "10.9.0.5", true,
     false, "v1", 24, false},
    {"on another link, alone", "ip address add 10.9.0.5/32 dev v1", 0, "10.9.0.5", true, false,
     "v1", 24, false},
    {"beside the node's own", "ip address add 10.9.0.5/32 dev v0", 0, "10.9.0.5", false, true, "v0",
     24, false},
    {"on loopback", "ip address add 10.9.0.5/32 dev lo", 0, "10.9.0.5", false, true, "lo", 24,
     false},
    {"on loopback, IPv6", "ip address add fd09::5/128 dev lo", 0, "fd09::5", false, true, "lo", 64,
     false},
    {"vipd's", "", FENCE_ADDR_PROTO, "10.9.0.5", false, false, "", 24, false},
    {"vipd's before kernel 5.18", "ip address add 10.9.0.5/32 dev v1 valid_lft 4 preferred_lft 4",
     0, "10.9.0.5", false, false, "", 24, false},
    {"a lease", "ip address add 10.9.0.5/32 dev v1 valid_lft 600 preferred_lft 600", 0, "10.9.0.5",
     true, false, "v1", 24, false},
    {"another program's mark", "", 66, "10.9.0.5", false, true, "v0", 24, false},
    {"the longest subnet", "ip address add 10.9.0.130/25 dev v0", 0, "10.9.0.131", false, false, "",
     25, false},
    {"outside", "", 0, "10.9.1.5", false, false, "", 0, true},
    {"outside, IPv6", "", 0, "fd08::5", false, false, "", 0, true},
    {"a link without any subnet", "ip address flush dev v0", 0, "10.9.1.5", false, false, "", 0,
     false},
};

static void test_look(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config_vip vip = {.link = "v0"};
		char text[ONLINK_TEXT_MAX];
		struct onlink o;
		bool ok;

		CHECK_EQ_INT(addr_parse(cases[i].vip, &vip.addr), 0);
		netns_run("ip address flush dev v0; ip address flush dev v1; "
		          "ip address del 10.9.0.5/32 dev lo 2>/dev/null; "
		          "ip address del fd09::5/128 dev lo 2>/dev/null; "
		          "ip address add 10.9.0.2/24 dev v0 && ip address add fd09::2/64 dev v0 nodad && "
		          "true %s%s",
		          cases[i].setup[0] != '\0' ? "&& " : "", cases[i].setup);
		if (cases[i].mark != 0) {
			const struct rtnl_addr marked = {
			    .prefix = {vip.addr, 32},
			    .ifindex = (int) if_nametoindex("v0"),
			    .proto = cases[i].mark,
			    .valid_s = RTNL_LIFETIME_FOREVER,
			    .preferred_s = RTNL_LIFETIME_FOREVER,
			};

			CHECK_EQ_INT(rtnl_addr_add(rtnl, &marked), 0);
		}
		ok = CHECK_EQ_INT(onlink_look(rtnl, &vip, &o), 0);
		ok = CHECK_EQ_INT(o.is_own, cases[i].is_own) && ok;
		ok = CHECK_EQ_INT(o.is_put, cases[i].is_put) && ok;
		ok = CHECK_EQ_STR(o.ifname, cases[i].ifname) && ok;
		ok = CHECK_EQ_INT(o.subnet_len, cases[i].subnet_len) && ok;
		ok = CHECK_EQ_INT(onlink_outside(&o, &vip, text) != NULL, cases[i].outside) && ok;
		vip.policy.announce = CONFIG_ANNOUNCE_BGP;
		ok = CHECK(onlink_outside(&o, &vip, text) == NULL) && ok;
		if (!ok)
			(void) fprintf(stderr, "case: %s\n", cases[i].name);
	}
}

static char said[512];

static void error_cb(const char *message, void *userdata UNUSED)
{
	(void) snprintf(said, sizeof(said), "%s", message);
}

static int check_vip(const char *vip, const char *link, char **ret_note)
{
	AUTO(free)
	char *text = xasprintf("apiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: \"%s\"\nlink: %s\n",
	                       vip, link);
	AUTO(config_free) struct config *config = NULL;
	size_t before;
	int r;

	said[0] = '\0';
	CHECK_EQ_INT(config_load_text("c.yaml", text, strlen(text), NULL, error_cb, NULL, &config), 0);
	before = config->notes.n;
	r = onlink_check(config, error_cb, NULL);
	CHECK(config->notes.n <= before + 1);
	*ret_note = config->notes.n > before ? xstrdup(config->notes.items[before]) : xstrdup("");
	return r;
}

static void test_check(void)
{
	static const struct {
		const char *vip, *link, *error, *note;
		int r;
	} checks[] = {
	    {"10.9.0.5", "v0", "", "", 0},
	    {"10.9.0.2", "v0",
	     "c.yaml:3: VIP 10.9.0.2: is this node's own address, on v0 (10.9.0.2/24): vipd would "
	     "silence it; choose one that no host has",
	     "", -EADDRINUSE},
	    {"10.9.1.5", "v0", "",
	     "c.yaml:3: VIP 10.9.1.5: no subnet of v0 contains 10.9.1.5 (10.9.0.2/24)", 0},
	    {"10.9.0.5", "v9", "", "c.yaml:3: VIP 10.9.0.5: link v9 does not exist", 0},
	};

	netns_run("ip address flush dev v0; ip address add 10.9.0.2/24 dev v0");
	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		AUTO(free) char *note = NULL;

		CHECK_EQ_INT(check_vip(checks[i].vip, checks[i].link, &note), checks[i].r);
		CHECK_EQ_STR(said, checks[i].error);
		CHECK_EQ_STR(note, checks[i].note);
	}
}

int main(void)
{
	static const struct rtnl_events unheard = {0};
	struct ev_loop *ev = ev_default_loop(EVFLAG_AUTO);

	(void) netns_enter_new();
	netns_run("ip link add v0 type veth peer name v1 && ip link set v0 up && ip link set v1 up");
	CHECK_EQ_INT(rtnl_new(ev, &unheard, NULL, &rtnl), 0);
	test_look();
	test_check();
	rtnl_free(rtnl);
	return check_result();
}
