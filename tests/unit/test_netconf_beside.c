/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts and drivers together: one half's trouble is not the other's, what fails says so, and what
 * was changed is put back from JSON. A veth pair in a namespace of its own, files in a scratch
 * tree.
 */
#include <errno.h>

#include "netconf/change/beside.h"
#include "tests/unit/netns.h"
#include "tests/unit/scratch.h"

static bool services_refuse;

static int get_name(char ret_name[static HOST_KERNEL_NAME_MAX], void *userdata UNUSED)
{
	(void) snprintf(ret_name, HOST_KERNEL_NAME_MAX, "node");
	return 0;
}

static int set_name(const char *name UNUSED, void *userdata UNUSED)
{
	return -EPERM;
}

static struct host_unit timesyncd;

/* What is told to start is not active yet. */
static int command(enum host_service service, enum host_verb verb, char **ret_error UNUSED,
                   void *userdata UNUSED)
{
	CHECK_EQ_INT(service, HOST_SERVICE_TIMESYNCD);
	CHECK_EQ_INT(verb, HOST_VERB_START);
	return 0;
}

static int get_units(struct host_unit ret_units[static HOST_SERVICES], char **ret_error,
                     void *userdata UNUSED)
{
	memset(ret_units, 0, HOST_SERVICES * sizeof(*ret_units));
	ret_units[HOST_SERVICE_TIMESYNCD] = timesyncd;
	if (!services_refuse)
		return 0;
	*ret_error = xstrdup("no answer");
	return -EREMOTEIO;
}

static const struct host_ops ops = {
    .get_name = get_name, .set_name = set_name, .get_units = get_units, .command = command};
static struct host_machine machine = {.ops = &ops};

/* What is wanted: of v0 by ethtool, and of the host. */
static struct config_ethernet ethernet;
static struct resolved_ethernet resolved = {.link = "v0", .config = &ethernet};
static struct resolution resolution = {.ethernets = &resolved, .n_ethernets = 1};
static struct model *have;

static void begin(void)
{
	scratch_enter();
	machine.root = scratch_dir;
	(void) scratch_shell("mkdir etc; printf 'a b\n' >etc/hosts");
	ethernet_fini(&ethernet.ethernet);
	model_free(resolution.model);
	resolution.model = model_new();
	services_refuse = false;
}

static void want_entry(void)
{
	struct host *host = &resolution.model->host;
	struct addr addr;

	CHECK_EQ_INT(addr_parse("10.0.0.5", &addr), 0);
	host_add_text(&host_add_entry(host, &addr)->names, "x");
	host->has |= HOST_ENTRIES;
}

static struct beside *plan(void)
{
	struct beside *beside = NULL;
	char *error = NULL;

	CHECK_EQ_INT(beside_plan(&machine, &resolution, have, &beside, &error), 0);
	return beside;
}

static void check_steps(const struct beside *beside, const char *steps)
{
	char text[2048] = "", line[BESIDE_TEXT_MAX];
	enum op_class class;

	for (size_t i = 0; i < beside_count(beside); i++) {
		const char *op = beside_format(beside, i, line, &class);

		(void) snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s: %s\n",
		                op_class_name(class), op);
	}
	CHECK_EQ_STR(text, steps);
}

static void check_tso(const char *is)
{
	netns_run("ethtool -k v0 | grep -q 'tx-tcp-segmentation: %s'", is);
}

static void test_there_and_back(void)
{
	AUTO(beside_free) struct beside *beside = NULL;
	AUTO(beside_free) struct beside *again = NULL;
	char *error = NULL;
	json_t *json;

	begin();
	CHECK_EQ_INT(beside_count(NULL), 0);
	want_entry();
	ethernet_add_feature(&ethernet.ethernet, "tx-tcp-segmentation", false);
	beside = plan();
	check_steps(beside, "blip: set v0 features tx-tcp-segmentation off\n"
	                    "hitless: write /etc/hosts\n");
	json = beside_to_json(beside);
	CHECK_EQ_INT(beside_carry_out(beside, &error), 0);
	check_tso("off");
	(void) scratch_shell("grep -q '^10.0.0.5 x$' etc/hosts");
	again = plan();
	check_steps(again, "");

	/* A new kernel has forgotten what ethtool set; files stay. */
	CHECK_EQ_INT(beside_undo(&machine, json, false, &error), 0);
	check_tso("off");
	(void) scratch_shell("printf 'a b\n' | cmp - etc/hosts");
	CHECK_EQ_INT(beside_undo(&machine, json, true, &error), 0);
	check_tso("on");
	/* Once more there is nothing to do. */
	CHECK_EQ_INT(beside_undo(&machine, json, true, &error), 0);
	CHECK(error == NULL);
	json_decref(json);
	scratch_leave();
}

/* A link that is gone has nothing to be undone; one that is not there yet is waited for. */
static void test_links_come_and_go(void)
{
	AUTO(beside_free) struct beside *beside = NULL;
	char *error = NULL;
	json_t *json;

	begin();
	ethernet_add_feature(&ethernet.ethernet, "tx-tcp-segmentation", false);
	(void) snprintf(resolved.link, sizeof(resolved.link), "v9");
	beside = plan();
	check_steps(beside, "");
	CHECK_EQ_INT(beside_problems(beside)->n, 0);
	json = json_pack("{s:[{s:s, s:{s:{}, s:{s:b}, s:n}}], s:{}, s:{}}", "links", "name", "v9",
	                 "before", "settings", "features", "rx-gro", 1, "wake", "before", "after");
	CHECK_EQ_INT(beside_undo(&machine, json, true, &error), 0);
	json_decref(json);
	(void) snprintf(resolved.link, sizeof(resolved.link), "v0");
	scratch_leave();
}

static void test_halves(void)
{
	AUTO(beside_free) struct beside *drivers = NULL;
	AUTO(beside_free) struct beside *host = NULL;

	begin();
	want_entry();
	ethernet.ethernet.has_wake = true;
	ethernet.ethernet.wake = 1;
	ethernet_add_feature(&ethernet.ethernet, "tx-tcp-segmentation", false);
	host = plan();
	check_steps(host, "hitless: write /etc/hosts\n");
	CHECK_EQ_INT(beside_problems(host)->n, 1);
	CHECK_EQ_STR(beside_problems(host)->items[0], "v0: its driver has no Wake-on-LAN");

	ethernet_fini(&ethernet.ethernet);
	(void) snprintf(resolution.model->host.name, sizeof(resolution.model->host.name), "cp1");
	resolution.model->host.has |= HOST_NAME;
	ethernet_add_feature(&ethernet.ethernet, "tx-tcp-segmentation", false);
	(void) scratch_shell("rm etc/hosts; mkdir etc/hosts");
	drivers = plan();
	check_steps(drivers, "blip: set v0 features tx-tcp-segmentation off\n");
	CHECK_EQ_INT(beside_problems(drivers)->n, 1);
	CHECK_EQ_STR(beside_problems(drivers)->items[0], "/etc/hosts is no regular file");
	scratch_leave();
}

/* The first failure is the last step. */
static void test_stops(void)
{
	AUTO(beside_free) struct beside *beside = NULL;
	AUTO(free) char *error = NULL;
	struct addr addr;

	begin();
	want_entry();
	CHECK_EQ_INT(addr_parse("10.0.0.1", &addr), 0);
	host_add_resolver(&resolution.model->host, &addr);
	resolution.model->host.has |= HOST_RESOLVERS;
	beside = plan();
	check_steps(beside, "hitless: write /etc/hosts\nhitless: write /etc/resolv.conf\n");
	(void) scratch_shell("echo 'c d' >>etc/hosts");
	CHECK_EQ_INT(beside_carry_out(beside, &error), -ESTALE);
	CHECK_EQ_STR(error, "cannot write /etc/hosts: somebody has changed it in the meantime");
	CHECK(!scratch_exists("etc/resolv.conf"));
	scratch_leave();
}

/* A boot goes on, and so does nobody else. */
static void test_starts_later(void)
{
	AUTO(beside_free) struct beside *beside = NULL;
	char *error = NULL;

	begin();
	timesyncd = (struct host_unit){.known = true, .enabled = true};
	resolution.model->host.time_enabled = true;
	resolution.model->host.has |= HOST_TIME;
	machine.starts_later = true;
	beside = plan();
	check_steps(beside, "hitless: start systemd-timesyncd.service\n");
	CHECK_EQ_INT(beside_carry_out(beside, &error), 0);
	machine.starts_later = false;
	CHECK_EQ_INT(beside_carry_out(beside, &error), -EIO);
	CHECK_EQ_STR(error, "it was done and is not so: start systemd-timesyncd.service");
	free(error);
	timesyncd = (struct host_unit){0};
	scratch_leave();
}

static void want_resolver(const char *text)
{
	struct host *host = &resolution.model->host;
	struct addr addr;

	CHECK_EQ_INT(addr_parse(text, &addr), 0);
	host->n_resolvers = 0;
	host_add_resolver(host, &addr);
	host->has |= HOST_RESOLVERS;
}

/* What a checkpoint says after a lease has changed and that was carried out. */
static json_t *follow(struct beside *beside, const char *steps)
{
	char *error = NULL;
	json_t *json;

	CHECK_EQ_INT(beside_plan_again(beside, &resolution, &error), 0);
	check_steps(beside, steps);
	json = beside_to_json(beside);
	CHECK_EQ_INT(beside_carry_out(beside, &error), 0);
	return json;
}

/* Leases come while a change is not over, before and after its daemon was another: all of it is
 * undone, and what others did is not. What no lease is about is left as it is then. */
static void test_leases(void)
{
	static const struct config_dhcp config = {.family = AF_INET};
	struct resolved_dhcp dhcp = {.link = "v0", .dhcp = &config};
	AUTO(beside_free) struct beside *beside = NULL;
	AUTO(beside_free) struct beside *later = NULL;
	char *error = NULL;
	json_t *json;

	begin();
	resolution.dhcps = &dhcp;
	resolution.n_dhcps = 1;
	resolution.leased = HOST_RESOLVERS;
	want_entry();
	ethernet_add_feature(&ethernet.ethernet, "tx-tcp-segmentation", false);
	beside = plan();
	check_steps(beside, "blip: set v0 features tx-tcp-segmentation off\n"
	                    "hitless: write /etc/hosts\n");
	CHECK_EQ_INT(beside_carry_out(beside, &error), 0);
	(void) scratch_shell("printf 'a b\n' >etc/hosts");
	want_resolver("10.0.0.1");
	json = follow(beside, "hitless: write /etc/resolv.conf\n");
	json_decref(json);
	json = follow(beside, "");

	(void) scratch_shell("echo 'c d' >>etc/hosts");
	CHECK_EQ_INT(beside_from_json(&machine, json, &later), 0);
	json_decref(json);
	want_resolver("10.0.0.2");
	json = follow(later, "hitless: write /etc/resolv.conf\n");
	(void) scratch_shell("grep -q '^nameserver 10.0.0.2$' etc/resolv.conf");
	check_tso("off");
	CHECK_EQ_INT(beside_undo(&machine, json, true, &error), 0);
	json_decref(json);
	check_tso("on");
	(void) scratch_shell("printf 'a b\nc d\n' | cmp - etc/hosts");
	CHECK(!scratch_exists("etc/resolv.conf"));
	CHECK_EQ_INT(beside_from_json(&machine, NULL, &later), -EBADMSG);
	resolution.n_dhcps = 0;
	resolution.leased = 0;
	scratch_leave();
}

static void test_failures(void)
{
	AUTO(beside_free) struct beside *beside = NULL;
	AUTO(free) char *error = NULL, *no_service = NULL, *bad = NULL;
	json_t *json = json_pack("{s:[{}], s:{s:i}, s:{}}", "links", "before", "x", 1, "after");
	struct host *host;

	begin();
	host = &resolution.model->host;
	(void) snprintf(host->name, sizeof(host->name), "cp1");
	host->has = HOST_NAME;
	beside = plan();
	check_steps(beside, "hitless: write /etc/hostname\nhitless: name the host cp1\n");
	CHECK_EQ_INT(beside_carry_out(beside, &error), -EPERM);
	CHECK_EQ_STR(error, "cannot name the host cp1: Operation not permitted");

	host->has = HOST_TIME;
	services_refuse = true;
	beside_free(TAKE_PTR(beside));
	CHECK_EQ_INT(beside_plan(&machine, &resolution, have, &beside, &no_service), -EREMOTEIO);
	CHECK_EQ_STR(no_service, "no answer");
	CHECK_EQ_INT(beside_undo(&machine, json, true, &bad), -EBADMSG);
	CHECK(bad != NULL);
	json_decref(json);
	scratch_leave();
}

int main(void)
{
	(void) netns_enter_new();
	netns_run("ip link add v0 type veth peer name v1");
	have = model_new();
	(void) model_add_link(have, "v0", LINK_VETH);
	model_normalise(have);
	test_there_and_back();
	test_links_come_and_go();
	test_halves();
	test_stops();
	test_starts_later();
	test_leases();
	test_failures();
	ethernet_fini(&ethernet.ethernet);
	model_free(resolution.model);
	model_free(have);
	return check_result();
}
