/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the goldens cannot show: values that are not printed as they are, defaults that depend on
 * the machine, several files, and that the documentation names every key of the tables. Runs in the
 * root of the source tree.
 */
#include "prism/config.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/checker.h"
#include "prism/config_priv.h"
#include "tests/unit/check.h"
#include "tests/unit/confdocs.h"

#define CA "/etc/kubernetes/pki/ca.crt"
#define API_CERT "/etc/kubernetes/pki/apiserver.crt"
#define PRISM "---\napiVersion: fairlead/v1\nkind: PrismConfig\n"
#define KUBEPRISM "---\napiVersion: v1alpha1\nkind: KubePrismConfig\n"
#define UPSTREAM "upstreams: {static: [10.0.0.11]}\n"

static bool control_plane(const char *path)
{
	return strcmp(path, CA) == 0 || strcmp(path, API_CERT) == 0;
}

static bool worker(const char *path)
{
	return strcmp(path, CA) == 0;
}

static bool without_ca(const char *path)
{
	return strcmp(path, API_CERT) == 0;
}

static bool bare(const char *path UNUSED)
{
	return false;
}

static void keep_message(const char *message, void *userdata)
{
	char **last = userdata;

	free(*last);
	*last = xstrdup(message);
}

static void append_message(const char *message, void *userdata)
{
	(void) fprintf(userdata, "%s\n", message);
}

static struct config *load(const char *text, bool (*exists)(const char *))
{
	struct config_env env = {.file_exists = exists};
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

static void check_endpoint(const struct endpoint *endpoint, const char *want)
{
	char text[ENDPOINT_TEXT_MAX];

	CHECK_EQ_STR(endpoint_format(endpoint, text), want);
}

/* A control-plane node of kubeadm's needs no configuration. */
static void test_defaults(void)
{
	AUTO(config_free) struct config *c = load("", control_plane);

	CHECK_EQ_INT(c->n_listen, 2);
	check_endpoint(&c->listen[0], "127.0.0.1:7445");
	check_endpoint(&c->listen[1], "[::1]:7445");
	CHECK_EQ_INT(c->sources.n_hosts, 0);
	CHECK(c->sources.has_local);
	check_endpoint(&c->sources.local, "127.0.0.1:6443");
	CHECK(c->sources.file == NULL && c->sources.members_file == NULL &&
	      c->sources.members_socket == NULL && c->sources.kubeconfig == NULL);
	CHECK_EQ_INT(c->sources.members_port, 6443);
	CHECK_EQ_INT(c->sources.slices_interval_us, 30 * US_PER_S);
	CHECK(c->health.enabled);
	CHECK_EQ_STR(c->health.path, "/readyz");
	CHECK_EQ_STR(c->health.server_name, "kubernetes");
	CHECK_EQ_STR(c->health.ca_file, CA);
	CHECK(c->health.client_cert_file == NULL && c->health.client_key_file == NULL &&
	      c->health.token_file == NULL);
	CHECK_EQ_INT(c->health.interval_us, 10 * US_PER_S);
	CHECK_EQ_INT(c->health.suspect_us, US_PER_S);
	CHECK_EQ_INT(c->health.timeout_us, US_PER_S);
	CHECK_EQ_INT(c->health.rise, 2);
	CHECK_EQ_INT(c->connect.hedge_us, 250 * US_PER_MS);
	CHECK_EQ_INT(c->connect.budget_us, 3 * US_PER_S);
	CHECK_EQ_INT(c->connect.replay_us, 2 * US_PER_S);
	CHECK_EQ_INT(c->connect.replay_bytes, 16384);
	CHECK_EQ_INT(c->drain.idle_us, 2 * US_PER_S);
	CHECK_EQ_INT(c->drain.spread_us, 10 * US_PER_S);
	CHECK_EQ_INT(c->drain.deadline_us, 300 * US_PER_S);
	CHECK_EQ_INT(c->limits.max_connections, 0);
	CHECK_EQ_INT(c->limits.idle_us, 0);
	CHECK_EQ_INT(c->limits.half_closed_us, 60 * US_PER_S);
	CHECK_EQ_INT(c->limits.max_age_us, 0);
	CHECK_EQ_INT(c->when_down, CONFIG_WHEN_DOWN_RESET);
	CHECK_EQ_STR(c->state_dir, "/var/lib/fairlead/prism");
	CHECK_EQ_INT(c->notes.n, 1);
	CHECK_EQ_STR(c->notes.items[0],
	             "the API server of this node is the only upstream (name the others "
	             "in a PrismConfig, under 'upstreams')");
}

static void test_local(void)
{
	static const struct {
		const char *text;
		bool (*exists)(const char *path);
		const char *local; /* NULL: none */
	} cases[] = {
	    {PRISM UPSTREAM, control_plane, "127.0.0.1:6443"},
	    {PRISM UPSTREAM, worker, NULL},
	    {PRISM "upstreams: {static: [10.0.0.11], local: auto}\n", control_plane, "127.0.0.1:6443"},
	    {PRISM "upstreams: {static: [10.0.0.11], local: auto}\n", worker, NULL},
	    {PRISM "upstreams: {static: [10.0.0.11], local: off}\n", control_plane, NULL},
	    {PRISM "upstreams: {local: 10.0.0.9:7443}\n", worker, "10.0.0.9:7443"},
	    {PRISM "upstreams: {local: '::1'}\n", control_plane, "[::1]:6443"},
	    {PRISM UPSTREAM "---\ncluster: {controlPlane: {localAPIServerPort: 7443}}\n", control_plane,
	     "127.0.0.1:7443"},
	    {PRISM UPSTREAM "---\napiVersion: v1alpha1\nkind: KubeAPIServerConfig\napiPort: 8443\n",
	     control_plane, "127.0.0.1:8443"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(config_free) struct config *c = load(cases[i].text, cases[i].exists);

		if (!CHECK_EQ_INT(c->sources.has_local, cases[i].local != NULL))
			(void) fprintf(stderr, "  for %s\n", cases[i].text);
		if (cases[i].local != NULL && c->sources.has_local)
			check_endpoint(&c->sources.local, cases[i].local);
	}
}

/* Off only where nobody asked for them, and not silently. */
static void test_checks(void)
{
	static const struct {
		const char *text;
		bool (*exists)(const char *path);
		bool enabled;
		size_t n_notes;
	} cases[] = {
	    {PRISM UPSTREAM, worker, true, 0},
	    {PRISM UPSTREAM, bare, false, 1},
	    {PRISM UPSTREAM "healthCheck:\n", bare, true, 0},
	    {PRISM UPSTREAM "healthCheck: {rise: 1}\n", bare, true, 0},
	    {PRISM UPSTREAM "healthCheck: {enabled: false}\n", worker, false, 0},
	    {PRISM UPSTREAM "healthCheck: {enabled: false}\n", bare, false, 0},
	    {KUBEPRISM "port: 7445\ntlsServerName: api\n" PRISM UPSTREAM, bare, false, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(config_free) struct config *c = load(cases[i].text, cases[i].exists);

		if (!CHECK_EQ_INT(c->health.enabled, cases[i].enabled) ||
		    !CHECK_EQ_INT(c->notes.n, cases[i].n_notes))
			(void) fprintf(stderr, "  for %s\n", cases[i].text);
	}
}

/* Hosts are kept apart from their ports, addresses in their one spelling. */
static void test_hosts(void)
{
	AUTO(config_free)
	struct config *c = load("cluster: {controlPlane: {endpoint: 'https://cp.example.org'}}\n" PRISM
	                        "upstreams: {static: [10.0.0.11, '[FD00:0::11]:7443', cp2:1]}\n",
	                        worker);
	static const struct config_host want[] = {
	    {"10.0.0.11", 6443}, {"fd00::11", 7443}, {"cp2", 1}, {"cp.example.org", 443}};

	if (!CHECK_EQ_INT(c->sources.n_hosts, ARRAY_SIZE(want)))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		CHECK_EQ_STR(c->sources.hosts[i].name, want[i].name);
		CHECK_EQ_INT(c->sources.hosts[i].port, want[i].port);
	}
}

/* What is wrong because of the machine. */
static void test_errors(void)
{
	static const struct {
		const char *text;
		bool (*exists)(const char *path);
		const char *want;
	} cases[] = {
	    {"", bare,
	     "no API server is known: there is nobody to connect to (write their addresses into "
	     "'upstreams.static' of a PrismConfig)\n"},
	    {PRISM "upstreams: {local: auto}\n", worker,
	     "test:4:12: PrismConfig.upstreams: no API server is known: there is nobody to connect to "
	     "(write their addresses into 'upstreams.static' of a PrismConfig)\n"},
	    {PRISM "upstreams: {static: [cp1]}\n", bare,
	     "test:4:22: PrismConfig.upstreams.static[0]: names instead of addresses need health "
	     "checks, and " CA " does not exist: 'cp1' (name the CA in healthCheck.caFile)\n"},
	    {PRISM "upstreams: {static: [10.0.0.11], members: {file: /m}}\n", without_ca,
	     "test:4:43: PrismConfig.upstreams.members: etcd's members need health checks, and " CA
	     " does not exist (name the CA in healthCheck.caFile)\n"},
	    {PRISM "upstreams: {endpointSlices: {kubeconfig: /k}}\n", without_ca,
	     "test:4:29: PrismConfig.upstreams.endpointSlices: EndpointSlices need health checks, "
	     "and " CA " does not exist (name the CA in healthCheck.caFile)\n"},
	    {KUBEPRISM "port: 6443\n", control_plane,
	     "test:4:7: KubePrismConfig.port: prism cannot listen where the API server of this node "
	     "does, on 127.0.0.1:6443: '6443' (choose another port to listen on)\n"},
	    {PRISM "upstreams: {static: [10.0.0.11], local: auto}\nlisten: ['127.0.0.1:6443']\n",
	     control_plane,
	     "test:5:10: PrismConfig.listen[0]: prism cannot listen where the API server of this node "
	     "does, on 127.0.0.1:6443: '127.0.0.1:6443' (choose another port to listen on)\n"},
	    {PRISM UPSTREAM "---\nmachine: {features: {kubePrism: {port: 1}}}\ncluster: "
	                    "{controlPlane: {localAPIServerPort: 7445}}\n",
	     control_plane,
	     "prism cannot listen where the API server of this node does, on 127.0.0.1:7445 (choose "
	     "another port to listen on)\n"},
	    {"cluster: {controlPlane: {localAPIServerPort: 7445}}\n", control_plane,
	     "prism cannot listen where the API server of this node does, on 127.0.0.1:7445 (choose "
	     "another port to listen on)\n"},
	    {PRISM UPSTREAM "listen: [x, '10.0.0.1:6443', '0.0.0.0:6443']\n", control_plane,
	     "test:5:10: PrismConfig.listen[0]: has no port: 'x' (such as 127.0.0.1:7445 or "
	     "[::1]:7445)\n"
	     "test:5:30: PrismConfig.listen[2]: cannot be opened beside 10.0.0.1:6443: '0.0.0.0:6443' "
	     "(0.0.0.0 and :: hold every address)\n"
	     "test:5:30: PrismConfig.listen[2]: prism cannot listen where the API server of this node "
	     "does, on 127.0.0.1:6443: '0.0.0.0:6443' (choose another port to listen on)\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config_env env = {.file_exists = cases[i].exists};
		AUTO(config_free) struct config *config = NULL;
		AUTO(free) char *messages = NULL;
		size_t len;
		FILE *out = open_memstream(&messages, &len);

		CHECK_EQ_INT(config_load_text("test", cases[i].text, strlen(cases[i].text), &env,
		                              append_message, out, &config),
		             -EINVAL);
		(void) fclose(out);
		CHECK_EQ_STR(messages, cases[i].want);
		CHECK(config == NULL);
	}
}

/* What config_priv.h promises: the settings fit into one message to the probe process. */
static void test_settings_fit(void)
{
	size_t files = 6, per_file = CONFIG_FILE_BYTES_MAX + sizeof("\"clientCertFile\":\"\",");
	size_t names = CONFIG_NAMES_MAX;
	size_t per_name = CONFIG_HOST_MAX + sizeof("{\"name\":\"\",\"port\":65535},");
	size_t rest = 1024; /* path, server name, socket, numbers */

	CHECK(files * per_file + names * per_name + rest <= CHECKER_MESSAGE_MAX);
}

/* --- several files --- */

static void write_file(const char *path, const char *text)
{
	CHECK(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE) >= 0);
}

/* Errors of all files, in the order of the files, with those that only the whole shows. */
static void test_files(void)
{
	static const char *const paths[] = {"one.yaml", "two.yaml"};
	struct config_env env = {.file_exists = worker};
	char directory[] = "/tmp/fairlead-test-XXXXXX";
	AUTO(free) char *back = getcwd(NULL, 0);
	AUTO(config_free) struct config *config = NULL;
	AUTO(free) char *messages = NULL;
	size_t len;
	FILE *out = open_memstream(&messages, &len);

	if (!CHECK(mkdtemp(directory) != NULL) || !CHECK(chdir(directory) == 0))
		return;
	write_file("one.yaml", PRISM UPSTREAM "whenDown: no\n");
	write_file("two.yaml", "cluster: {controlPlane: {endpoint: 'https://[::1]:7445'}}\n" PRISM);
	CHECK_EQ_INT(config_load_env(paths, 2, &env, append_message, out, &config), -EINVAL);
	(void) fclose(out);
	CHECK_EQ_STR(messages,
	             "one.yaml:5:11: PrismConfig.whenDown: must be reset or refuse: 'no'\n"
	             "two.yaml:1:36: cluster.controlPlane.endpoint: is where prism listens, on "
	             "[::1]:7445: 'https://[::1]:7445' (prism would connect to itself)\n"
	             "two.yaml:3:1: PrismConfig: is here a second time, first at one.yaml:2 (there may "
	             "be one)\n");

	write_file("one.yaml", PRISM UPSTREAM);
	write_file("two.yaml", KUBEPRISM "port: 7000\n");
	CHECK_EQ_INT(config_load_env(paths, 2, &env, NULL, NULL, &config), 0);
	if (CHECK(config != NULL))
		check_endpoint(&config->listen[0], "127.0.0.1:7000");
	CHECK(unlink("one.yaml") == 0 && unlink("two.yaml") == 0);
	CHECK(chdir(back) == 0 && rmdir(directory) == 0);
}

/* --- documentation --- */

/* The examples of docs/config.md are configurations. */
static void test_examples(void)
{
	static const char begin[] = "```yaml\n", end[] = "```";
	AUTO(free) char *page = NULL;
	unsigned n = 0;
	size_t len;

	if (!CHECK(file_read("docs/config.md", 1 << 20, &page, &len) >= 0))
		return;
	for (char *at = strstr(page, begin), *stop; at != NULL; at = strstr(stop + 1, begin)) {
		at += strlen(begin);
		stop = strstr(at, end);
		if (!CHECK(stop != NULL))
			return;
		*stop = '\0';
		if (strstr(at, "kind: PrismConfig") == NULL)
			continue;
		config_free(load(at, worker));
		n++;
	}
	CHECK(n >= 2);
}

int main(void)
{
	test_defaults();
	test_local();
	test_checks();
	test_hosts();
	test_errors();
	test_settings_fit();
	test_files();
	test_examples();
	confdocs_check(config_kinds, 45);
	return check_result();
}
