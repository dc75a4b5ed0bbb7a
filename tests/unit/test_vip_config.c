/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the goldens cannot show: defaults that depend on the machine, several files, and that the
 * documentation names every key of the tables. Runs in the root of the source tree.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "tests/unit/check.h"
#include "tests/unit/confdocs.h"
#include "vipd/config.h"
#include "vipd/config_priv.h"

#define HEALTHCHECK_CLIENT "/etc/kubernetes/pki/etcd/healthcheck-client"
#define APISERVER_CLIENT "/etc/kubernetes/pki/apiserver-etcd-client"
#define LAYER2 "---\napiVersion: v1alpha1\nkind: Layer2VIPConfig\nname: 10.0.0.5\nlink: eth0\n"
#define POLICY "---\napiVersion: fairlead/v1\nkind: VIPPolicyConfig\n"
#define ETCD "---\napiVersion: fairlead/v1\nkind: EtcdClientConfig\n"

static bool all_exist(const char *path UNUSED)
{
	return true;
}

static bool none_exist(const char *path UNUSED)
{
	return false;
}

static bool apiserver_exists(const char *path)
{
	return strstr(path, "apiserver-etcd-client") != NULL;
}

/* A certificate without its key is of no use. */
static bool half_exists(const char *path)
{
	return strcmp(path, HEALTHCHECK_CLIENT ".key") != 0;
}

static bool other_half_exists(const char *path)
{
	return strcmp(path, HEALTHCHECK_CLIENT ".crt") != 0;
}

static void keep_message(const char *message, void *userdata)
{
	char **last = userdata;

	free(*last);
	*last = xstrdup(message);
}

static struct config *load(const char *text, const char *hostname, bool (*exists)(const char *))
{
	struct config_env env = {.hostname = hostname, .file_exists = exists};
	struct config *config = NULL;
	AUTO(free) char *last = NULL;
	int r;

	r = config_load_text("test", text, strlen(text), &env, keep_message, &last, &config);
	if (!CHECK_EQ_INT(r, 0)) {
		(void) fprintf(stderr, "  %s\n", last);
		exit(1);
	}
	return config;
}

static void test_defaults(void)
{
	AUTO(config_free) struct config *c = load(LAYER2, "n1", all_exist);
	const struct config_policy *p = &c->vips[0].policy;

	CHECK_EQ_STR(c->node_name, "n1");
	CHECK_EQ_INT(c->n_vips, 1);
	CHECK_EQ_STR(c->vips[0].link, "eth0");
	CHECK_EQ_STR(c->vips[0].origin, "test:4");
	CHECK(c->etcd.is_default);
	CHECK_EQ_INT(c->etcd.n_endpoints, 1);
	CHECK_EQ_STR(c->etcd.endpoints[0], "https://127.0.0.1:2379");
	CHECK_EQ_STR(c->etcd.ca_file, "/etc/kubernetes/pki/etcd/ca.crt");
	CHECK_EQ_STR(c->etcd.cert_file, HEALTHCHECK_CLIENT ".crt");
	CHECK_EQ_STR(c->etcd.prefix, "fairlead/v1/");
	CHECK(c->etcd.discover_members && c->etcd.user == NULL);
	CHECK_EQ_INT(c->etcd.call_timeout_us, US_PER_S);
	CHECK_EQ_INT(c->etcd.hedge_us, 300 * US_PER_MS);
	CHECK_EQ_INT(c->lease_ttl_us, 10 * US_PER_S);
	CHECK_EQ_INT(p->fence_window_us, 0);
	CHECK_EQ_INT(p->fence, CONFIG_FENCE_AUTO);
	CHECK_EQ_INT(p->priority, 100);
	CHECK(!p->preempt && p->avoid_etcd_leader && p->destroy_sockets);
	CHECK_EQ_INT(p->hold_down_us, 30 * US_PER_S);
	CHECK(p->health.enabled);
	CHECK_EQ_STR(p->health.url, "https://127.0.0.1:6443/readyz");
	CHECK_EQ_STR(p->health.server_name, "kubernetes");
	CHECK_EQ_STR(p->health.ca_file, "/etc/kubernetes/pki/ca.crt");
	CHECK_EQ_INT(p->health.interval_us, US_PER_S);
	CHECK_EQ_INT(p->health.timeout_us, US_PER_S);
	CHECK_EQ_INT(p->health.rise, 2);
	CHECK_EQ_INT(p->health.fall, 3);
	CHECK_EQ_INT(p->announce_refresh_us, 60 * US_PER_S);
	CHECK_EQ_INT(p->announce_repeats, 5);
	CHECK_EQ_INT(c->notes.n, 0);
}

static void test_client_certificate(void)
{
	static const struct {
		bool (*exists)(const char *path);
		const char *cert;
	} cases[] = {
	    {all_exist, HEALTHCHECK_CLIENT ".crt"},  {apiserver_exists, APISERVER_CLIENT ".crt"},
	    {half_exists, APISERVER_CLIENT ".crt"},  {other_half_exists, APISERVER_CLIENT ".crt"},
	    {none_exist, HEALTHCHECK_CLIENT ".crt"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(config_free) struct config *c = load("", "n1", cases[i].exists);

		CHECK_EQ_STR(c->etcd.cert_file, cases[i].cert);
	}
}

/* It waits for the CA only where no document asks for it, and says so. */
static void test_health_gate(void)
{
	static const struct {
		const char *text;
		bool (*exists)(const char *path);
		bool enabled;
		bool awaits_ca;
		size_t n_notes;
	} cases[] = {
	    {LAYER2, none_exist, true, true, 1},
	    {LAYER2, all_exist, true, false, 0},
	    {LAYER2 POLICY "priority: 5\n", none_exist, true, true, 1},
	    {LAYER2 POLICY "healthCheck: {rise: 1}\n", none_exist, true, false, 0},
	    {LAYER2 POLICY "healthCheck: {enabled: false}\n", all_exist, false, false, 0},
	    {LAYER2 POLICY "healthCheck: {enabled: false}\n", none_exist, false, false, 0},
	    {LAYER2 POLICY "name: 10.0.0.5\nhealthCheck: {rise: 1}\n", none_exist, true, false, 1},
	    {LAYER2 POLICY "name: 10.0.0.5\npriority: 1\n", none_exist, true, true, 1},
	    /* Off by choice stays off in a policy that says something else of it. */
	    {LAYER2 POLICY "healthCheck: {enabled: false}\n" POLICY
	                   "name: 10.0.0.5\nhealthCheck: {rise: 1}\n",
	     all_exist, false, false, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(config_free) struct config *c = load(cases[i].text, "n1", cases[i].exists);

		if (!CHECK_EQ_INT(c->vips[0].policy.health.enabled, cases[i].enabled) ||
		    !CHECK_EQ_INT(c->vips[0].policy.health.awaits_ca, cases[i].awaits_ca) ||
		    !CHECK_EQ_INT(c->notes.n, cases[i].n_notes))
			(void) fprintf(stderr, "  for %s\n", cases[i].text);
	}
}

/* A policy that differs in one key from that of all VIPs is a difference, so that it is printed. */
static void test_policy_difference(void)
{
	static const char *const keys[] = {
	    "fenceWindow: 4s",
	    "fence: nftables",
	    "priority: 99",
	    "preempt: true",
	    "avoidEtcdLeader: false",
	    "holdDown: 31s",
	    "healthCheck: {enabled: false}",
	    "healthCheck: {url: 'https://127.0.0.1:6443/livez'}",
	    "healthCheck: {serverName: api}",
	    "healthCheck: {caFile: /ca}",
	    "healthCheck: {clientCertFile: /c, clientKeyFile: /k}",
	    "healthCheck: {interval: 2s}",
	    "healthCheck: {timeout: 2s}",
	    "healthCheck: {rise: 9}",
	    "healthCheck: {fall: 9}",
	    "announce: {refresh: 2m}",
	    "announce: {repeats: 6}",
	    "destroySockets: false",
	    "outsideCheck: false",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		AUTO(free) char *text = xasprintf(LAYER2 POLICY "name: 10.0.0.5\n%s\n", keys[i]);
		AUTO(config_free) struct config *c = load(text, "n1", all_exist);

		if (!CHECK(!config_policy_equal(&c->vips[0].policy, &c->policy)))
			(void) fprintf(stderr, "  for %s\n", keys[i]);
	}
}

static void test_node_name(void)
{
	static const struct {
		const char *text, *hostname, *name;
	} cases[] = {
	    {"", "Node-1.Example.COM", "node-1.example.com"},
	    {"machine: {network: {hostname: CP1}}\n", "other", "cp1"},
	    {"machine: {network: {hostname: cp1}}\n---\napiVersion: fairlead/v1\nkind: NodeConfig\n"
	     "name: named\n",
	     "other", "named"},
	    /* A host name that cannot be one does not matter where another is given. */
	    {"apiVersion: fairlead/v1\nkind: NodeConfig\nname: n1\n", "bad_name", "n1"},
	};
	struct config_env env = {.hostname = "bad_name", .file_exists = all_exist};
	struct config *config = NULL;
	AUTO(free) char *last = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(config_free) struct config *c = load(cases[i].text, cases[i].hostname, all_exist);

		CHECK_EQ_STR(c->node_name, cases[i].name);
	}
	CHECK_EQ_INT(config_load_text("test", "", 0, &env, keep_message, &last, &config), -EINVAL);
	CHECK_EQ_STR(last,
	             "the host's name 'bad_name' is not a node name (give it one with NodeConfig)");
	CHECK(config == NULL);
}

static void test_own_etcd(void)
{
	static const struct {
		const char *text;
		bool is_default;
	} cases[] = {
	    {ETCD "callTimeout: 2s\n", true},
	    {ETCD "endpoints: ['https://127.0.0.1:2379']\ncaFile: /ca\n", false},
	    {ETCD "caFile: /ca\n", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(config_free) struct config *c = load(cases[i].text, "n1", all_exist);

		CHECK_EQ_INT(c->etcd.is_default, cases[i].is_default);
		CHECK_EQ_INT(c->etcd.cert_file != NULL, cases[i].is_default);
		CHECK_EQ_INT(c->etcd.n_endpoints, 1);
	}
}

static void test_limit_of_vips(void)
{
	for (unsigned n = CONFIG_VIPS_MAX; n <= CONFIG_VIPS_MAX + 1; n++) {
		struct config_env env = {.hostname = "n1", .file_exists = all_exist};
		AUTO(config_free) struct config *config = NULL;
		AUTO(free) char *last = NULL;
		AUTO(free) char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		for (unsigned i = 0; i < n; i++)
			(void) fprintf(out,
			               "---\napiVersion: v1alpha1\nkind: Layer2VIPConfig\n"
			               "name: 10.0.1.%u\nlink: eth0\n",
			               i);
		(void) fclose(out);
		CHECK_EQ_INT(config_load_text("test", text, len, &env, keep_message, &last, &config),
		             n <= CONFIG_VIPS_MAX ? 0 : -EINVAL);
	}
}

/* --- several files --- */

static void write_file(const char *path, const char *text)
{
	CHECK(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE) >= 0);
}

static void append_message(const char *message, void *userdata)
{
	(void) fprintf(userdata, "%s\n", message);
}

/* Errors of all files, in the order of the files, with those that only the whole shows. */
static void test_files(void)
{
	static const char *const paths[] = {"one.yaml", "two.yaml"};
	struct config_env env = {.hostname = "n1", .file_exists = all_exist};
	char directory[] = "/tmp/fairlead-test-XXXXXX";
	AUTO(free) char *back = getcwd(NULL, 0);
	AUTO(free) char *messages = NULL;
	struct config *config = NULL;
	size_t len;
	FILE *out = open_memstream(&messages, &len);

	if (!CHECK(mkdtemp(directory) != NULL) || !CHECK(chdir(directory) == 0))
		return;
	write_file("one.yaml", LAYER2 POLICY "name: 10.0.0.9\n" LAYER2);
	write_file("two.yaml", LAYER2 POLICY "priority: x\n");
	CHECK_EQ_INT(config_load_env(paths, 2, &env, append_message, out, &config), -EINVAL);
	(void) fclose(out);
	CHECK_EQ_STR(
	    messages,
	    "one.yaml:9:7: VIPPolicyConfig.name: is the address of no configured VIP: '10.0.0.9' "
	    "(give it a Layer2VIPConfig, or remove this policy)\n"
	    "one.yaml:13:7: Layer2VIPConfig.name: this VIP is configured twice, first at "
	    "one.yaml:4: '10.0.0.5'\n"
	    "two.yaml:4:7: Layer2VIPConfig.name: this VIP is configured twice, first at "
	    "one.yaml:4: '10.0.0.5'\n"
	    "two.yaml:9:11: VIPPolicyConfig.priority: is not a whole number: 'x' (digits only, "
	    "without a leading zero)\n");
	CHECK(unlink("one.yaml") == 0 && unlink("two.yaml") == 0);
	CHECK(chdir(back) == 0 && rmdir(directory) == 0);
}

int main(void)
{
	test_defaults();
	test_client_certificate();
	test_health_gate();
	test_policy_difference();
	test_node_name();
	test_own_etcd();
	test_limit_of_vips();
	test_files();
	confdocs_check(config_kinds, 40);
	return check_result();
}
