/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a configuration is, and what several programs find in it, told once. */
#include <stdlib.h>
#include <string.h>

#include "base/fileio.h"
#include "base/mem.h"
#include "cli/config/config.h"
#include "cli/config/findings.h"
#include "tests/unit/check.h"

/* --- findings --- */

static void test_places(void)
{
	CHECK(findings_has_place("/a/b.yaml:1:2: X.y: is wrong"));
	CHECK(findings_has_place("/a/b.yaml:1: X"));
	CHECK(findings_has_place("/a:5x/b.yaml:10:1: X"));
	CHECK(!findings_has_place("no API server is known"));
	CHECK(!findings_has_place("EtcdClientConfig: /etc/x: No such file or directory"));
	CHECK(!findings_has_place("10.0.0.5:6443 does not answer"));
}

static void test_findings(void)
{
	AUTO(findings_free) struct findings *findings = findings_new();
	AUTO(free) char *out_text = NULL;
	AUTO(free) char *err_text = NULL;
	AUTO(free) char *json_text = NULL;
	size_t out_len, err_len;
	FILE *out = open_memstream(&out_text, &out_len);
	FILE *err = open_memstream(&err_text, &err_len);
	json_t *json;

	findings_add(findings, FINDING_ERROR, "vipd", "misses something");
	findings_add(findings, FINDING_ERROR, "vipd", "b.yaml:2:1: Y: is wrong");
	findings_add(findings, FINDING_ERROR, "vipd", "a.yaml:10:1: X: is wrong: 'v' (so)");
	findings_add(findings, FINDING_ERROR, "prism", "a.yaml:10:1: X: is wrong: 'v' (so)");
	findings_add(findings, FINDING_ERROR, "prism", "a.yaml:9:7: X: is wrong\033");
	findings_add(findings, FINDING_NOTE, "prism", "a.yaml:3: odd");
	findings_add(findings, FINDING_WARNING, "fairlead", "a.yaml:4: not checked");
	CHECK_EQ_INT(findings_count(findings, FINDING_ERROR), 4);
	CHECK_EQ_INT(findings_count(findings, FINDING_WARNING), 1);
	findings_print(findings, out, err);
	(void) fclose(out);
	(void) fclose(err);
	CHECK_EQ_STR(out_text, "note: a.yaml:3: odd\n");
	CHECK_EQ_STR(err_text, "warning: a.yaml:4: not checked\n"
	                       "a.yaml:9:7: X: is wrong?\n"
	                       "a.yaml:10:1: X: is wrong: 'v' (so)\n"
	                       "b.yaml:2:1: Y: is wrong\n"
	                       "misses something\n");
	json = findings_json(findings);
	CHECK_EQ_INT(json_array_size(json), 6);
	json_text = json_dumps(json_array_get(json, 3), JSON_COMPACT);
	CHECK_EQ_STR(json_text, "{\"severity\":\"error\",\"program\":\"vipd\",\"file\":\"a.yaml\","
	                        "\"line\":10,\"column\":1,\"message\":\"X: is wrong: 'v' (so)\"}");
	free(json_text);
	json_text = json_dumps(json_array_get(json, 5), JSON_COMPACT);
	CHECK_EQ_STR(json_text, "{\"severity\":\"error\",\"program\":\"vipd\",\"message\":"
	                        "\"misses something\"}");
	json_decref(json);
}

/* --- whose --- */

static char path[] = "/tmp/fairlead-config-XXXXXX";

static void on_error(const char *message, void *userdata)
{
	char **errors = userdata;
	AUTO(free) char *before = *errors;

	*errors = xasprintf("%s%s\n", before, message + strlen(path));
}

static const struct {
	const char *yaml;
	const char *first[N_PARTS]; /* behind the name of the file */
	const char *other;          /* NULL: none */
	const char *errors;
} cases[] = {
    {"", {0}, NULL, ""},
    {"apiVersion: fairlead/v1\nkind: NodeConfig\nname: a\n", {0}, NULL, ""},
    {"apiVersion: v1alpha1\nkind: Layer2VIPConfig\n---\napiVersion: fairlead/v1\nkind: "
     "PrismConfig\n",
     {[PART_VIPD] = ":1: Layer2VIPConfig", [PART_PRISM] = ":4: PrismConfig"},
     NULL,
     ""},
    {"apiVersion: fairlead/v1\nkind: EtcdSnapshotConfig\n---\napiVersion: v1alpha1\nkind: "
     "LinkConfig\n---\napiVersion: v1alpha1\nkind: KubeletConfig\n",
     {[PART_ETCDWATCH] = ":1: EtcdSnapshotConfig", [PART_NETCONF] = ":4: LinkConfig"},
     ":7: KubeletConfig",
     ""},
    {"machine:\n  type: worker\n  features: {rbac: true}\n  network:\n    interfaces:\n"
     "      - interface: eth0\n        vlans:\n          - vlanId: 5\n"
     "            vip: {ip: 10.0.0.5}\ncluster:\n  id: x\n  controlPlane: {endpoint: e}\n",
     {[PART_VIPD] = ":9: machine.network.interfaces",
      [PART_NETCONF] = ":4: machine.network",
      [PART_PRISM] = ":12: cluster.controlPlane"},
     ":1: machine.type, machine.features, cluster.id",
     ""},
    {"machine:\n  features: {kubePrism: }\n", {[PART_PRISM] = ":2: machine.features"}, NULL, ""},
    {"machine: [1]\ncluster: 5\n", {0}, NULL, ""},
    {"apiVersion: v1alpha1\nkind: Layer2VipConfig\n---\nfoo: 1\n---\nkind: [a]\n---\n"
     "apiVersion: fairlead/v1\nkind: PrismConfig\n",
     {[PART_PRISM] = ":8: PrismConfig"},
     ":1: Layer2VipConfig",
     ":2:7: unknown kind: 'Layer2VipConfig' (did you mean 'Layer2VIPConfig'?)\n"
     ":4:1: cannot tell what this document is (it has neither 'kind:' nor Talos's 'machine:' or "
     "'cluster:')\n"
     ":6:7: must be one value, not a list\n"},
};

static void check_text(const char *got, const char *want)
{
	if (!CHECK_EQ_INT(got != NULL, want != NULL) || want == NULL)
		return;
	CHECK_EQ_STR(got + strlen(path), want);
}

static void test_parts(void)
{
	const char *paths[] = {path};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free) char *errors = xstrdup("");
		struct parts parts;

		CHECK(file_write_atomic(path, cases[i].yaml, strlen(cases[i].yaml), 0600, FILE_VOLATILE) ==
		      0);
		CHECK_EQ_INT(parts_read(paths, 1, on_error, &errors, &parts) == 0,
		             cases[i].errors[0] == '\0');
		CHECK_EQ_STR(errors, cases[i].errors);
		for (enum part part = 0; part < N_PARTS; part++)
			check_text(parts.first[part], cases[i].first[part]);
		check_text(parts.others.n > 0 ? parts.others.items[0] : NULL, cases[i].other);
		parts_fini(&parts);
	}
}

/* --- what is printed --- */

static void test_documents(void)
{
	static const char vipd[] = "---\nkind: A\nx: 1\n---\nkind: B\n";
	static const char etcdwatch[] = "---\nkind: A\nx: 1\n---\nkind: AB\nx: \"---\"\n";
	struct texts documents = {0};

	config_add_documents(&documents, vipd, NULL);
	config_add_documents(&documents, etcdwatch, NULL);
	config_add_documents(&documents, "", NULL);
	if (CHECK_EQ_INT(documents.n, 3)) {
		CHECK_EQ_STR(documents.items[0], "---\nkind: A\nx: 1\n");
		CHECK_EQ_STR(documents.items[1], "---\nkind: B\n");
		CHECK_EQ_STR(documents.items[2], "---\nkind: AB\nx: \"---\"\n");
	}
	texts_fini(&documents);
	config_add_documents(&documents, etcdwatch, "AB");
	CHECK_EQ_INT(documents.n, 1);
	texts_fini(&documents);
}

int main(void)
{
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	(void) close(fd);
	test_places();
	test_findings();
	test_parts();
	test_documents();
	(void) unlink(path);
	return check_result();
}
