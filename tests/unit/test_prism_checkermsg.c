/* SPDX-License-Identifier: Apache-2.0 */
/* The messages between prism and its probe process, both sides of them. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "prism/checker.h"
#include "prism/probe/wire.h"
#include "tests/unit/check.h"

static void fill_config(struct config *c, struct config_host *hosts)
{
	static char members_file[] = "/var/lib/members.json", kubeconfig[] = "/etc/kubelet.conf",
	            members_socket[] = "/run/fairlead/vipd.sock", path[] = "/readyz",
	            server_name[] = "kubernetes", ca_file[] = "/etc/kubernetes/pki/ca.crt",
	            cert_file[] = "/c.crt", key_file[] = "/c.key", token_file[] = "/token";

	*c = (struct config){
	    .n_listen = 2,
	    .sources = {.hosts = hosts,
	                .n_hosts = 4,
	                .members_file = members_file,
	                .members_socket = members_socket,
	                .members_port = 6443,
	                .kubeconfig = kubeconfig,
	                .slices_interval_us = 30 * US_PER_S},
	    .health = {.enabled = true,
	               .path = path,
	               .server_name = server_name,
	               .ca_file = ca_file,
	               .client_cert_file = cert_file,
	               .client_key_file = key_file,
	               .token_file = token_file,
	               .timeout_us = 2 * US_PER_S},
	};
	CHECK_EQ_INT(endpoint_parse("127.0.0.1:7445", 0, &c->listen[0]), 0);
	CHECK_EQ_INT(endpoint_parse("[::1]:7445", 0, &c->listen[1]), 0);
	hosts[0] = (struct config_host){"10.0.0.5", 6443};
	hosts[1] = (struct config_host){"cp.example.org", 6443};
	hosts[2] = (struct config_host){"fd00::5", 6443};
	hosts[3] = (struct config_host){"cp", 443};
}

static struct settings *through_the_wire(const struct config *config, bool debug)
{
	json_t *written = checkermsg_settings(config, debug);
	AUTO(free) char *text = json_dumps(written, JSON_COMPACT);
	json_t *read = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	struct settings *s = NULL;
	const char *error = "";

	if (!CHECK_EQ_INT(settings_parse(read, &s, &error), 0))
		(void) fprintf(stderr, "  %s: %s\n", error, text);
	json_decref(written);
	json_decref(read);
	return s;
}

static void test_settings_full(void)
{
	struct config_host hosts[4];
	struct config config;
	char text[ENDPOINT_TEXT_MAX];
	AUTO(settings_free) struct settings *s = NULL;

	fill_config(&config, hosts);
	s = through_the_wire(&config, true);
	if (s == NULL)
		return;
	CHECK(s->debug && s->checks);
	CHECK_EQ_STR(s->path, "/readyz");
	CHECK_EQ_STR(s->server_name, "kubernetes");
	CHECK_EQ_STR(s->ca_file, "/etc/kubernetes/pki/ca.crt");
	CHECK_EQ_STR(s->client_cert_file, "/c.crt");
	CHECK_EQ_STR(s->client_key_file, "/c.key");
	CHECK_EQ_STR(s->token_file, "/token");
	CHECK_EQ_INT(s->timeout_ms, 2000);
	CHECK_EQ_STR(s->kubeconfig, "/etc/kubelet.conf");
	CHECK_EQ_INT(s->slices_interval_us, 30 * US_PER_S);
	CHECK_EQ_STR(endpoint_format(&s->through, text), "127.0.0.1:7445");
	CHECK_EQ_STR(s->members_socket, "/run/fairlead/vipd.sock");
	CHECK_EQ_STR(s->members_file, "/var/lib/members.json");
	CHECK_EQ_INT(s->members_port, 6443);
	CHECK_EQ_INT(s->n_names, 2);
	CHECK_EQ_STR(s->names[0].name, "cp.example.org");
	CHECK_EQ_INT(s->names[0].port, 6443);
	CHECK_EQ_STR(s->names[1].name, "cp");
	CHECK_EQ_INT(s->names[1].port, 443);
}

static void test_settings_bare(void)
{
	struct config config = {
	    .health = {.path = (char[]){"/readyz"},
	               .server_name = (char[]){"kubernetes"},
	               .timeout_us = 1},
	};
	AUTO(settings_free) struct settings *s = through_the_wire(&config, false);

	if (s == NULL)
		return;
	CHECK(!s->debug && !s->checks);
	CHECK(s->ca_file == NULL && s->client_cert_file == NULL && s->client_key_file == NULL &&
	      s->token_file == NULL);
	CHECK(s->kubeconfig == NULL && s->members_socket == NULL && s->members_file == NULL);
	CHECK_EQ_INT(s->through.port, 0);
	CHECK_EQ_INT(s->n_names, 0);
	CHECK_EQ_INT(s->timeout_ms, 1);
}

/* A listener on every address is asked on loopback. */
static void test_through(void)
{
	static const char *const cases[][2] = {
	    {"0.0.0.0:7445", "127.0.0.1:7445"},
	    {"[::]:7445", "[::1]:7445"},
	    {"10.0.0.1:7445", "10.0.0.1:7445"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct config_host hosts[4];
		struct config config;
		char text[ENDPOINT_TEXT_MAX];
		AUTO(settings_free) struct settings *s = NULL;

		fill_config(&config, hosts);
		CHECK_EQ_INT(endpoint_parse(cases[i][0], 0, &config.listen[0]), 0);
		s = through_the_wire(&config, false);
		if (s != NULL)
			CHECK_EQ_STR(endpoint_format(&s->through, text), cases[i][1]);
	}
}

/* As many names, and as long, as a configuration can have, fit into a message. */
static void test_settings_largest(void)
{
	static struct config_host hosts[CONFIG_UPSTREAMS_MAX + 1];
	struct config config;
	json_t *json;
	AUTO(free) char *text = NULL;
	AUTO(free) char *path = xcalloc(SETTINGS_TEXT_MAX, 1);
	AUTO(settings_free) struct settings *s = NULL;

	fill_config(&config, hosts);
	memset(path, 'p', SETTINGS_TEXT_MAX - 1);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		memset(hosts[i].name, 'x', CONFIG_HOST_MAX);
		hosts[i].name[CONFIG_HOST_MAX] = '\0';
		hosts[i].port = 65535;
	}
	config.sources.n_hosts = ARRAY_SIZE(hosts);
	config.sources.members_file = config.sources.members_socket = config.sources.kubeconfig =
	    config.health.path = config.health.ca_file = config.health.client_cert_file =
	        config.health.client_key_file = config.health.token_file = path;
	json = checkermsg_settings(&config, false);
	text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	CHECK(strlen(text) <= CHECKER_MESSAGE_MAX);
	s = through_the_wire(&config, false);
	CHECK(s != NULL && s->n_names == ARRAY_SIZE(hosts));
}

/* Each key in turn with something that it must not be. */
static void test_settings_bad(void)
{
	static const struct {
		const char *key;
		const char *value; /* JSON; NULL: absent */
		const char *error; /* NULL: it is fine */
	} cases[] = {
	    {"type", "\"probe\"", "type"},
	    {"type", NULL, "type"},
	    {"debug", NULL, "debug"},
	    {"checks", "1", "checks"},
	    {"checks", NULL, "checks"},
	    {"path", "null", "path"},
	    {"path", "\"\"", "path"},
	    {"path", "7", "path"},
	    {"serverName", NULL, "serverName"},
	    {"caFile", "7", "caFile"},
	    {"caFile", "\"\"", "caFile"},
	    {"caFile", NULL, NULL},
	    {"clientCertFile", "[]", "clientCertFile"},
	    {"clientKeyFile", "{}", "clientKeyFile"},
	    {"tokenFile", "true", "tokenFile"},
	    {"kubeconfig", "1.5", "kubeconfig"},
	    {"membersSocket", "1", "membersSocket"},
	    {"membersFile", "1", "membersFile"},
	    {"timeoutMs", "0", "timeoutMs"},
	    {"timeoutMs", "-1", "timeoutMs"},
	    {"timeoutMs", "\"2000\"", "timeoutMs"},
	    {"timeoutMs", "86400001", "timeoutMs"},
	    {"timeoutMs", NULL, "timeoutMs"},
	    {"slicesIntervalMs", "0", "slicesIntervalMs"},
	    {"membersPort", "65536", "membersPort"},
	    {"through", "\"127.0.0.1\"", "through"},
	    {"through", "\"cp:7445\"", "through"},
	    {"through", "7445", "through"},
	    {"names", "{}", "names"},
	    {"names", "null", NULL},
	    {"names", "[]", NULL},
	    {"names", "[null]", "names"},
	    {"names", "[\"cp\"]", "names"},
	    {"names", "[{\"name\":\"cp\"}]", "names"},
	    {"names", "[{\"name\":\"cp\",\"port\":0}]", "names"},
	    {"names", "[{\"name\":\"cp\",\"port\":65536}]", "names"},
	    {"names", "[{\"name\":\"\",\"port\":1}]", "names"},
	    {"names", "[{\"name\":\"cp\",\"port\":1},{\"name\":7,\"port\":1}]", "names"},
	    {"new", "\"from a later version\"", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(settings_free) struct settings *s = NULL;
		struct config_host hosts[4];
		struct config config;
		const char *error = NULL;
		json_t *json;

		fill_config(&config, hosts);
		json = checkermsg_settings(&config, false);
		if (cases[i].value == NULL)
			(void) json_object_del(json, cases[i].key);
		else
			(void) json_object_set_new(json, cases[i].key,
			                           json_loads(cases[i].value, JSON_DECODE_ANY, NULL));
		CHECK_EQ_INT(settings_parse(json, &s, &error), cases[i].error != NULL ? -EBADMSG : 0);
		CHECK_EQ_STR(error, cases[i].error);
		CHECK((s != NULL) == (error == NULL));
		json_decref(json);
	}
}

static void test_questions(void)
{
	struct endpoint endpoint;
	json_t *json;
	AUTO(free) char *probe = NULL;
	AUTO(free) char *forget = NULL;

	CHECK_EQ_INT(endpoint_parse("[fd00::5]:6443", 0, &endpoint), 0);
	json = checkermsg_probe(UINT64_C(1) << 40, &endpoint);
	probe = json_dumps(json, JSON_COMPACT);
	CHECK_EQ_STR(probe,
	             "{\"type\":\"probe\",\"id\":1099511627776,\"endpoint\":\"[fd00::5]:6443\"}");
	json_decref(json);
	json = checkermsg_forget(&endpoint);
	forget = json_dumps(json, JSON_COMPACT);
	CHECK_EQ_STR(forget, "{\"type\":\"forget\",\"endpoint\":\"[fd00::5]:6443\"}");
	json_decref(json);
}

#define VERDICT(fields) "{\"type\":\"verdict\",\"id\":7,\"reason\":\"r\",\"rttUs\":800," fields "}"
#define FROM(fields) "{\"type\":\"endpoints\",\"source\":\"slices\"," fields "}"
#define TEN "\"10.0.0.5:6443\""

static void test_answers(void)
{
	static const struct {
		const char *text;
		const char *want; /* NULL: refused */
	} cases[] = {
	    {VERDICT("\"verdict\":\"ready\""), "7 0 800 r"},
	    {VERDICT("\"verdict\":\"alive\""), "7 1 800 r"},
	    {VERDICT("\"verdict\":\"busy\""), "7 2 800 r"},
	    {VERDICT("\"verdict\":\"not_ready\""), "7 3 800 r"},
	    {VERDICT("\"verdict\":\"down\""), "7 4 800 r"},
	    {VERDICT("\"verdict\":\"silent\""), "7 5 800 r"},
	    {VERDICT("\"verdict\":\"untrusted\""), "7 6 800 r"},
	    {VERDICT("\"verdict\":\"broken\""), "7 7 800 r"},
	    {VERDICT("\"verdict\":\"connected\""), "7 8 800 r"},
	    {VERDICT("\"verdict\":\"unreached\""), "7 9 800 r"},
	    {"{\"type\":\"verdict\",\"id\":0,\"verdict\":\"ready\",\"reason\":\"\",\"rttUs\":0}",
	     "0 0 0 "},
	    {"{\"type\":\"verdict\",\"id\":1,\"verdict\":\"down\",\"reason\":\"a\\nb\\u001b["
	     "0m\xc3\xa9\","
	     "\"rttUs\":0}",
	     "1 4 0 a?b?[0m??"},
	    {VERDICT("\"verdict\":\"Ready\""), NULL},
	    {VERDICT("\"verdict\":\"\""), NULL},
	    {VERDICT("\"verdict\":0"), NULL},
	    {VERDICT("\"verdict\":null"), NULL},
	    {VERDICT("\"x\":0"), NULL},
	    {VERDICT("\"verdict\":\"ready\",\"id\":8"), NULL},
	    {"{\"type\":\"verdict\",\"id\":\"7\",\"verdict\":\"ready\",\"reason\":\"\",\"rttUs\":0}",
	     NULL},
	    {"{\"type\":\"verdict\",\"id\":7.0,\"verdict\":\"ready\",\"reason\":\"\",\"rttUs\":0}",
	     NULL},
	    {"{\"type\":\"verdict\",\"id\":7,\"verdict\":\"ready\",\"rttUs\":0}", NULL},
	    {"{\"type\":\"verdict\",\"id\":7,\"verdict\":\"ready\",\"reason\":\"\"}", NULL},
	    {"{\"type\":\"verdict\",\"id\":7,\"verdict\":\"ready\",\"reason\":\"\",\"rttUs\":-1}",
	     NULL},
	    {"{\"type\":\"verdict\",\"id\":7,\"verdict\":\"ready\",\"reason\":\"\","
	     "\"rttUs\":9223372036854775807}",
	     NULL},

	    {FROM("\"endpoints\":[" TEN ",\"[fd00::5]:6443\"],\"error\":null"),
	     "slices 10.0.0.5:6443 [fd00::5]:6443 "},
	    {FROM("\"endpoints\":[" TEN "]"), "slices 10.0.0.5:6443 "},
	    {"{\"type\":\"endpoints\",\"source\":\"members\",\"endpoints\":[" TEN "]}",
	     "members 10.0.0.5:6443 "},
	    {"{\"type\":\"endpoints\",\"source\":\"dns\",\"endpoints\":[" TEN "]}",
	     "dns 10.0.0.5:6443 "},
	    {FROM("\"error\":\"HTTP 403\""), "slices: HTTP 403"},
	    {FROM("\"endpoints\":[],\"error\":null"), NULL},
	    {FROM("\"endpoints\":[],\"error\":\"none\""), NULL},
	    {FROM("\"endpoints\":[" TEN "],\"error\":\"but\""), NULL},
	    {FROM("\"endpoints\":[\"10.0.0.5\"]"), NULL},
	    {FROM("\"endpoints\":[" TEN ",\"cp:6443\"]"), NULL},
	    {FROM("\"endpoints\":[" TEN ",7]"), NULL},
	    {FROM("\"endpoints\":" TEN), NULL},
	    {FROM("\"endpoints\":null,\"error\":null"), NULL},
	    {FROM("\"error\":null"), NULL},
	    {FROM("\"error\":\"\""), NULL},
	    {FROM("\"error\":7"), NULL},
	    {"{\"type\":\"endpoints\",\"source\":\"static\",\"endpoints\":[" TEN "]}", NULL},
	    {"{\"type\":\"endpoints\",\"source\":\"lastgood\",\"endpoints\":[" TEN "]}", NULL},
	    {"{\"type\":\"endpoints\",\"source\":0,\"endpoints\":[" TEN "]}", NULL},
	    {"{\"type\":\"endpoints\",\"endpoints\":[" TEN "]}", NULL},
	    {"{\"type\":\"settings\"}", NULL},
	    {"{\"type\":null}", NULL},
	    {"{}", NULL},
	    {"[]", NULL},
	    {"null", NULL},
	    {"", NULL},
	    {"\xff", NULL},
	    {VERDICT("\"verdict\":\"ready\"") "x", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct checkermsg m = {.id = 99};
		char got[256] = "", at[ENDPOINT_TEXT_MAX];
		int r = checkermsg_parse(cases[i].text, strlen(cases[i].text), &m);

		if (r == 0 && m.type == CHECKERMSG_VERDICT)
			(void) snprintf(got, sizeof(got), "%llu %d %lld %s", (unsigned long long) m.id,
			                (int) (m.evidence - JUDGE_PROBE_READY), (long long) m.rtt_us, m.text);
		if (r == 0 && m.type == CHECKERMSG_ERROR)
			(void) snprintf(got, sizeof(got), "%s: %.100s", endpoints_source_name(m.source),
			                m.text);
		if (r == 0 && m.type == CHECKERMSG_ENDPOINTS) {
			(void) snprintf(got, sizeof(got), "%s ", endpoints_source_name(m.source));
			for (size_t k = 0; k < m.list.n; k++) {
				size_t len = strlen(got);

				(void) snprintf(got + len, sizeof(got) - len, "%s ",
				                endpoint_format(&m.list.items[k], at));
			}
		}
		if (!CHECK_EQ_STR(r == 0 ? got : NULL, cases[i].want))
			(void) fprintf(stderr, "  %s\n", cases[i].text);
		CHECK(r == 0 || (r == -EBADMSG && m.id == 99));
	}
}

/* The longest list that there is fits into an answer, and a longer one is refused. */
static void test_longest_list(void)
{
	for (size_t n = ENDPOINTS_MAX; n <= ENDPOINTS_MAX + 1; n++) {
		struct checkermsg m;
		json_t *json =
		    json_pack("{s:s, s:s, s:[]}", "type", "endpoints", "source", "slices", "endpoints");
		AUTO(free) char *text = NULL;

		for (size_t i = 0; i < n; i++)
			(void) json_array_append_new(json_object_get(json, "endpoints"),
			                             json_sprintf("[fd00:aaaa:bbbb:cccc:dddd:eeee:1111:%zx]"
			                                          ":65535",
			                                          i + 4096));
		text = json_dumps(json, JSON_COMPACT);
		json_decref(json);
		CHECK(strlen(text) <= CHECKER_ANSWER_MAX);
		CHECK_EQ_INT(checkermsg_parse(text, strlen(text), &m), n <= ENDPOINTS_MAX ? 0 : -EBADMSG);
	}
}

int main(void)
{
	test_settings_full();
	test_settings_bare();
	test_through();
	test_settings_largest();
	test_settings_bad();
	test_questions();
	test_answers();
	test_longest_list();
	settings_free(NULL);
	return check_result();
}
