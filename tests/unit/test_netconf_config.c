/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the goldens cannot show: that one set of files serves all daemons, several files, defaults,
 * that no key of a WireGuard link is ever printed, and that the tables have every key that Talos
 * has. Runs in the root of the source tree.
 */
#include "netconf/config/config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/config/config_priv.h"
#include "netconf/model/link.h"
#include "tests/unit/check.h"

#define KIND(kind) "---\napiVersion: v1alpha1\nkind: " kind "\n"
#define LINK KIND("LinkConfig")

static void append_message(const char *message, void *userdata)
{
	(void) fprintf(userdata, "%s\n", message);
}

/* NULL: refused, and said why. */
static struct config *load(const char *name, const char *text)
{
	struct config *config = NULL;

	(void) config_load_text(name, text, strlen(text), NULL, append_message, stderr, &config);
	CHECK(config != NULL);
	return config;
}

/* --- one set of files for all --- */

static unsigned load_folder(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	unsigned n = 0;

	if (!CHECK(directory != NULL))
		return 0;
	while ((entry = readdir(directory)) != NULL) {
		AUTO(free) char *name = xasprintf("%s/%s", path, entry->d_name);
		AUTO(free) char *text = NULL;
		const char *dot = strrchr(entry->d_name, '.');
		size_t len;

		if (dot == NULL || strcmp(dot, ".yaml") != 0)
			continue;
		if (CHECK(file_read(name, 1 << 20, &text, &len) >= 0))
			config_free(load(entry->d_name, text));
		n++;
	}
	(void) closedir(directory);
	return n;
}

static void test_files_of_others(void)
{
	CHECK(load_folder("tests/config/vipd/good") > 5);
	CHECK(load_folder("tests/config/prism/good") > 5);
	CHECK(load_folder("tests/config/etcdwatch/good") > 5);
}

/* A daemon that reads none of netconf's kinds passes over each. */
static void test_kinds_are_known(void)
{
	static const struct conf_kind none[] = {{0}};

	for (const struct conf_kind *k = config_kinds; k->kind != NULL; k++) {
		bool is_ours =
		    strcmp(k->kind, "NetworkPolicyConfig") == 0 || strcmp(k->kind, "NodeConfig") == 0;
		struct conf *conf = conf_new();
		AUTO(free)
		char *text = xasprintf("apiVersion: %s\nkind: %s\nanything: 5\n",
		                       is_ours ? CONF_API_FAIRLEAD : CONF_API_TALOS, k->kind);

		if (k->kind[0] != '\0')
			conf_add_text(conf, "t", text, strlen(text));
		conf_read(conf, none, NULL);
		CHECK_EQ_INT(conf_finish(conf, append_message, stderr, NULL), 0);
		conf_free(conf);
	}
}

/* --- tables --- */

static bool has_key(const struct conf_field *fields, const char *key)
{
	for (; fields->key != NULL; fields++) {
		if (strcmp(fields->key, key) == 0)
			return (fields->flags & CONF_REFUSED) == 0;
	}
	return false;
}

static void test_bond_keys(void)
{
	static const char *const keys[] = {
	    "name",
	    "links",
	    "bondMode",
	    "miimon",
	    "updelay",
	    "downdelay",
	    "useCarrier",
	    "xmitHashPolicy",
	    "arpInterval",
	    "arpIpTargets",
	    "nsIp6Targets",
	    "arpValidate",
	    "arpAllTargets",
	    "lacpRate",
	    "failOverMac",
	    "adSelect",
	    "adActorSysPrio",
	    "adUserPortKey",
	    "adLACPActive",
	    "primary",
	    "primaryReselect",
	    "resendIGMP",
	    "minLinks",
	    "lpInterval",
	    "packetsPerSlave",
	    "numPeerNotif",
	    "tlbLogicalLb",
	    "allSlavesActive",
	    "peerNotifDelay",
	    "missedMax",
	    "hardwareAddr",
	    "up",
	    "mtu",
	    "multicast",
	    "addresses",
	    "routes",
	};
	static const char *const legacy[] = {
	    "interfaces",      "deviceSelectors", "mode",          "xmitHashPolicy",  "lacpRate",
	    "arpValidate",     "arpAllTargets",   "primary",       "primaryReselect", "failOverMac",
	    "adSelect",        "miimon",          "updelay",       "downdelay",       "arpInterval",
	    "resendIgmp",      "minLinks",        "lpInterval",    "packetsPerSlave", "numPeerNotif",
	    "tlbDynamicLb",    "allSlavesActive", "useCarrier",    "adActorSysPrio",  "adUserPortKey",
	    "peerNotifyDelay", "arpIPTarget",     "adActorSystem",
	};

	config_make_tables();
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (!CHECK(has_key(config_bond_fields, keys[i])))
			(void) fprintf(stderr, "  %s\n", keys[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(legacy); i++) {
		if (!CHECK(has_key(config_legacy_bond_fields, legacy[i])))
			(void) fprintf(stderr, "  %s\n", legacy[i]);
	}
	CHECK(!has_key(config_bond_fields, "mode") && !has_key(config_legacy_bond_fields, "links"));
}

/* --- several files --- */

static void write_file(const char *path, const char *text)
{
	CHECK(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE) >= 0);
}

static void test_files(void)
{
	static const char *const paths[] = {"one.yaml", "two.yaml"};
	char directory[] = "/tmp/fairlead-test-XXXXXX", text[MODEL_ORIGIN_TEXT_MAX];
	AUTO(free) char *back = getcwd(NULL, 0);
	AUTO(free) char *messages = NULL;
	struct config *config = NULL;
	size_t len;
	FILE *out = open_memstream(&messages, &len);

	if (!CHECK(mkdtemp(directory) != NULL) || !CHECK(chdir(directory) == 0))
		return;
	write_file("one.yaml", LINK "name: a\nroutes: [{destination: 10.0.0.0/8}]\n");
	write_file("two.yaml", LINK "name: a\nroutes: [{destination: 10.0.0.0/8}]\n");
	CHECK_EQ_INT(config_load(paths, 2, append_message, out, &config), -EINVAL);
	(void) fclose(out);
	CHECK_EQ_STR(
	    messages,
	    "two.yaml:2:1: LinkConfig: 'a' is described twice, first at one.yaml:2 (say all of "
	    "a link in one place)\n"
	    "two.yaml:5:10: LinkConfig.routes[0]: is the second route to 10.0.0.0/8 with "
	    "metric 1024 in table 254, first at one.yaml:5 (give one another metric)\n");
	write_file("two.yaml", LINK "name: b\n");
	CHECK_EQ_INT(config_load(paths, 2, NULL, NULL, &config), 0);
	if (CHECK(config != NULL && config->n_links == 2)) {
		CHECK_EQ_STR(model_format_origin(config->common, &config->links[1].want.origin, text),
		             "two.yaml:2");
		CHECK_EQ_STR(model_format_origin(config->common, &config->links[0].routes[0].origin, text),
		             "one.yaml:5");
		config_free(config);
	}
	CHECK(unlink("one.yaml") == 0 && unlink("two.yaml") == 0);
	CHECK(chdir(back) == 0 && rmdir(directory) == 0);
}

/* --- values --- */

static void test_defaults(void)
{
	AUTO(config_free)
	struct config *c = load(
	    "t", LINK "name: eth0\nroutes: [{gateway: 10.0.0.1}]\n" KIND(
	             "DHCPv4Config") "name: eth1\n" KIND("TCPProbeConfig") "name: p\nendpoint: h:1\n");

	CHECK_EQ_INT(c->links[0].want.has, LINK_HAS_UP);
	CHECK(c->links[0].want.up && !c->links[0].is_ignored);
	CHECK_EQ_INT(c->links[0].routes[0].metric, 1024);
	CHECK_EQ_INT(c->links[0].routes[0].table, RT_TABLE_MAIN);
	CHECK_EQ_INT(c->dhcps[0].metric, 1024);
	CHECK_EQ_INT(c->dhcps[0].client_id, CONFIG_CLIENT_ID_MAC);
	CHECK_EQ_INT(c->probes[0].interval_us, US_PER_S);
	CHECK_EQ_INT(c->probes[0].timeout_us, 10 * US_PER_S);
	CHECK_EQ_INT(c->policy.confirm_us, 120 * US_PER_S);
	CHECK(c->policy.adopt && !c->has_policy);
	CHECK_EQ_STR(c->policy.state_dir, "/var/lib/fairlead/netconf");
	CHECK_EQ_INT(c->common->host.has, 0);
}

/* Only what somebody wrote is asked of the kernel: zero where zero was written, nothing else. */
static void test_bond_values(void)
{
	AUTO(config_free)
	struct config *c = load("t", KIND("BondConfig") "name: b\nlinks: [a]\nbondMode: balance-tlb\n"
	                                                "numPeerNotif: 0\nresendIGMP: 0\n");
	const struct bond *bond = c->links[0].want.bond;

	CHECK_EQ_INT(bond->has,
	             BOND_BIT(BOND_MODE) | BOND_BIT(BOND_NUM_PEER_NOTIF) | BOND_BIT(BOND_RESEND_IGMP));
	CHECK_EQ_INT(bond_get(bond, BOND_NUM_PEER_NOTIF), 0);
	CHECK_EQ_INT(bond_get(bond, BOND_TLB_DYNAMIC_LB), 1);
}

/* As they are written in either style, and what the kernel is asked for: no two the same, so that
 * none can stand for another. `legacy` NULL: that style has no such key. */
static const struct {
	enum bond_option option;
	const char *mode, *key, *legacy;
	uint32_t value; /* of those that are numbers */
} bond_rows[] = {
    {BOND_MIIMON, "802.3ad", "miimon: 101", "miimon: 101", 101},
    {BOND_UPDELAY, "802.3ad", "updelay: 300", "updelay: 300", 300},
    {BOND_DOWNDELAY, "802.3ad", "downdelay: 400", "downdelay: 400", 400},
    {BOND_PEER_NOTIF_DELAY, "802.3ad", "peerNotifDelay: 500", "peerNotifyDelay: 500", 500},
    {BOND_USE_CARRIER, "802.3ad", "useCarrier: false", "useCarrier: false", 0},
    {BOND_ARP_INTERVAL, "active-backup", "arpInterval: 600", "arpInterval: 600", 600},
    {BOND_ARP_IP_TARGET, "active-backup", "arpIpTargets: [10.0.0.1, 10.0.0.2]",
     "arpIPTarget: [10.0.0.1, 10.0.0.2]", 0},
    {BOND_NS_IP6_TARGET, "active-backup", "nsIp6Targets: ['fd00::1', 'fd00::2']", NULL, 0},
    {BOND_ARP_VALIDATE, "active-backup", "arpValidate: all", "arpValidate: all", 3},
    {BOND_ARP_ALL_TARGETS, "active-backup", "arpAllTargets: all", "arpAllTargets: all", 1},
    {BOND_MISSED_MAX, "active-backup", "missedMax: 7", NULL, 7},
    {BOND_PRIMARY, "active-backup", "primary: eth1", "primary: eth1", 0},
    {BOND_PRIMARY_RESELECT, "active-backup", "primaryReselect: failure", "primaryReselect: failure",
     2},
    {BOND_FAIL_OVER_MAC, "active-backup", "failOverMac: active", "failOverMac: active", 1},
    {BOND_XMIT_HASH_POLICY, "802.3ad", "xmitHashPolicy: vlan+srcmac", "xmitHashPolicy: vlan+srcmac",
     5},
    {BOND_RESEND_IGMP, "active-backup", "resendIGMP: 8", "resendIgmp: 8", 8},
    {BOND_NUM_PEER_NOTIF, "active-backup", "numPeerNotif: 9", "numPeerNotif: 9", 9},
    {BOND_ALL_SLAVES_ACTIVE, "active-backup", "allSlavesActive: 1", "allSlavesActive: 1", 1},
    {BOND_MIN_LINKS, "802.3ad", "minLinks: 2", "minLinks: 2", 2},
    {BOND_LP_INTERVAL, "active-backup", "lpInterval: 11", "lpInterval: 11", 11},
    {BOND_PACKETS_PER_SLAVE, "balance-rr", "packetsPerSlave: 12", "packetsPerSlave: 12", 12},
    {BOND_LACP_RATE, "802.3ad", "lacpRate: fast", "lacpRate: fast", 1},
    {BOND_LACP_ACTIVE, "802.3ad", "adLACPActive: off", NULL, 0},
    {BOND_AD_SELECT, "802.3ad", "adSelect: count", "adSelect: count", 2},
    {BOND_AD_ACTOR_SYS_PRIO, "802.3ad", "adActorSysPrio: 13", "adActorSysPrio: 13", 13},
    {BOND_AD_USER_PORT_KEY, "802.3ad", "adUserPortKey: 14", "adUserPortKey: 14", 14},
    {BOND_AD_ACTOR_SYSTEM, "802.3ad", "adActorSystem: 02:00:00:00:00:09",
     "adActorSystem: 02:00:00:00:00:09", 0},
    {BOND_TLB_DYNAMIC_LB, "balance-tlb", "tlbLogicalLb: 0", "tlbDynamicLb: 0", 0},
};

static void check_bond_row(size_t row, const struct bond *bond, uint32_t value)
{
	static const struct mac system = {{2, 0, 0, 0, 0, 9}};
	enum bond_option option = bond_rows[row].option;
	char text[ADDR_TEXT_MAX];

	CHECK(bond_has(bond, BOND_MODE) && bond_has(bond, option));
	if (option == BOND_ARP_IP_TARGET) {
		CHECK_EQ_INT(bond->n_arp_targets, 2);
		CHECK_EQ_STR(addr_format(&bond->arp_targets[1], text), "10.0.0.2");
	} else if (option == BOND_NS_IP6_TARGET) {
		CHECK_EQ_INT(bond->n_ns_targets, 2);
		CHECK_EQ_STR(addr_format(&bond->ns_targets[1], text), "fd00::2");
	} else if (option == BOND_PRIMARY) {
		CHECK_EQ_STR(bond->primary, "eth1");
	} else if (option == BOND_AD_ACTOR_SYSTEM) {
		CHECK(mac_equal(&bond->ad_actor_system, &system));
	} else {
		CHECK_EQ_INT(bond->values[option], value);
	}
}

/* Without which it would be refused. */
static const char *beside(size_t row, bool is_legacy)
{
	enum bond_option option = bond_rows[row].option;

	if (option == BOND_ARP_INTERVAL)
		return is_legacy ? "arpIPTarget: [10.0.0.9]" : "arpIpTargets: [10.0.0.9]";
	if (option == BOND_MIIMON)
		return "";
	return bond_options[option].needs_miimon || strcmp(bond_rows[row].mode, "802.3ad") == 0
	           ? "miimon: 100"
	           : "";
}

static void test_bond_options(void)
{
	uint64_t seen = BOND_BIT(BOND_MODE) | BOND_BIT(BOND_ACTIVE_SLAVE);

	for (size_t i = 0; i < ARRAY_SIZE(bond_rows); i++) {
		const char *legacy = bond_rows[i].legacy;
		AUTO(free)
		char *text = xasprintf(KIND("BondConfig") "name: b\nlinks: [eth0, eth1]\nbondMode: %s\n"
		                                          "%s\n%s\n",
		                       bond_rows[i].mode, beside(i, false), bond_rows[i].key);
		AUTO(free)
		char *old = xasprintf("machine:\n  network:\n    interfaces:\n      - interface: b\n"
		                      "        bond:\n          interfaces: [eth0, eth1]\n"
		                      "          mode: %s\n          %s\n          %s\n",
		                      bond_rows[i].mode, beside(i, true), legacy != NULL ? legacy : "");
		AUTO(config_free) struct config *multi = load("multi", text);
		AUTO(config_free) struct config *single = load("legacy", old);

		seen |= BOND_BIT(bond_rows[i].option);
		if (multi != NULL)
			check_bond_row(i, multi->links[0].want.bond, bond_rows[i].value);
		if (single != NULL && legacy != NULL)
			check_bond_row(i, single->links[0].want.bond, bond_rows[i].value);
		CHECK((legacy == NULL) == (bond_options[bond_rows[i].option].legacy_key == NULL));
	}
	CHECK(seen == BOND_BIT(BOND_OPTIONS) - 1);
}

static void test_rules_of_both_families(void)
{
	AUTO(config_free)
	struct config *c = load("t", KIND("RoutingRuleConfig") "name: 7\nfwMark: 0x10\ntable: 9\n" KIND(
	                                 "RoutingRuleConfig") "name: 8\nsrc: fd00::/8\ntable: 9\n");

	if (!CHECK_EQ_INT(c->common->n_rules, 3))
		return;
	CHECK(c->common->rules[0].family == AF_INET && c->common->rules[1].family == AF_INET6);
	CHECK_EQ_INT(c->common->rules[0].fwmark, 16);
	CHECK_EQ_INT(c->common->rules[2].family, AF_INET6);
}

static void test_vlan_names(void)
{
	static const struct {
		const char *base;
		unsigned id;
		const char *name;
	} cases[] = {
	    {"bond0", 1, "bond0.1"},
	    {"ten-letter", 4094, "ten-letter.4094"},
	    {"eleven-char", 5, "elev1befc9.5"},
	    {"enp0s31f6long", 4094, "enp0f6195f.4094"},
	    {"enp0s31f6long", 7, "enp0f6195f.7"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[IFNAMSIZ];

		vlanname_form(cases[i].base, cases[i].id, name);
		CHECK_EQ_STR(name, cases[i].name);
	}
}

/* --- secrets --- */

#define PRIVATE "OJ34O6J1z4ZZB+t16c+vYrzIrKddxyU3Z2eLhwYzqE8="
#define PRESHARED "UpH8htYK7yJBPg5+q4M/Tx0o5ipHbeSZtI/h/mHxOeU="
#define PUBLIC "TDd25Cwq6tMZANIKUaqred+Zt+09HtCqwFeOLtKQ9Cs="

static void test_secrets(void)
{
	static const char text[] =
	    KIND("WireguardConfig") "name: wg0\nprivateKey: " PRIVATE "\n"
	                            "peers: [{publicKey: " PUBLIC ", presharedKey: " PRESHARED "}]\n";
	AUTO(config_free) struct config *c = load("t", text);
	AUTO(free) char *printed = NULL;
	size_t len;
	FILE *out = open_memstream(&printed, &len);
	struct wireguard *wireguard = c->links[0].want.wireguard;
	struct wireguard_key key;

	config_print_converted(c, out);
	(void) fclose(out);
	CHECK(strstr(printed, PUBLIC) != NULL && strstr(printed, "<hidden>") != NULL);
	CHECK(strstr(printed, "OJ34") == NULL && strstr(printed, "UpH8") == NULL);
	CHECK_EQ_INT(wireguard_key_parse(PRIVATE, &key), 0);
	CHECK(memcmp(&key, &wireguard->private_key, sizeof(key)) == 0);
	CHECK_EQ_INT(wireguard->has, WIREGUARD_PRIVATE_KEY | WIREGUARD_PEERS);
	CHECK(!c->links[0].has_hidden_keys);

	config_free(c);
	c = load("t", printed);
	if (CHECK(c != NULL && c->n_links == 1)) {
		CHECK(c->links[0].has_hidden_keys);
		CHECK_EQ_INT(c->links[0].want.wireguard->has, WIREGUARD_PEERS);
	}
}

int main(void)
{
	test_files_of_others();
	test_kinds_are_known();
	test_bond_keys();
	test_files();
	test_defaults();
	test_bond_values();
	test_bond_options();
	test_rules_of_both_families();
	test_vlan_names();
	test_secrets();
	return check_result();
}
