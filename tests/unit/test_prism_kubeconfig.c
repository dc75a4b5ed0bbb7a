/* SPDX-License-Identifier: Apache-2.0 */
/* Kubeconfigs: kubeadm's, kubelet's, a service account's, and what is none. */
#include "prism/probe/kubeconfig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

#define PATH "/etc/kubernetes/test.conf"

#define HEAD "apiVersion: v1\nkind: Config\n"
#define CURRENT HEAD "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\n"
#define CLUSTER(more) "clusters:\n- name: k\n  cluster: {server: 'https://cp:6443'" more "}\n"
#define USER(more) "users:\n- name: u\n  user: {" more "}\n"
#define TOKEN USER("token: t0ken")
#define CA CLUSTER(", certificate-authority: ca.crt")

/* "PEM" and "KEY" in base64 are UEVN and S0VZ. */
static const struct {
	const char *text;
	const char *want; /* every field that is set, or the error */
} cases[] = {
    /* kubeadm's admin.conf: everything inline. */
    {HEAD "clusters:\n"
          "- cluster:\n"
          "    certificate-authority-data: UEVN\n"
          "    server: https://10.0.0.10:6443\n"
          "  name: kubernetes\n"
          "contexts:\n"
          "- context:\n"
          "    cluster: kubernetes\n"
          "    user: kubernetes-admin\n"
          "  name: kubernetes-admin@kubernetes\n"
          "current-context: kubernetes-admin@kubernetes\n"
          "preferences: {}\n"
          "users:\n"
          "- name: kubernetes-admin\n"
          "  user:\n"
          "    client-certificate-data: UEVN\n"
          "    client-key-data: S0VZ\n",
     "ca=<PEM> cert=<PEM> key=<KEY> "},
    /* kubelet.conf: certificate and key in one file that rotates. */
    {CURRENT CLUSTER(", certificate-authority-data: UEVN, tls-server-name: kubernetes")
         USER("client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem, "
              "client-key: /var/lib/kubelet/pki/kubelet-client-current.pem"),
     "name=kubernetes ca=<PEM> cert=/var/lib/kubelet/pki/kubelet-client-current.pem "
     "key=/var/lib/kubelet/pki/kubelet-client-current.pem "},
    /* Relative to the file. */
    {CURRENT CA USER("client-certificate: pki/c.crt, client-key: ../c.key"),
     "ca=/etc/kubernetes/ca.crt cert=/etc/kubernetes/pki/c.crt key=/etc/kubernetes/../c.key "},
    {CURRENT CA TOKEN, "ca=/etc/kubernetes/ca.crt token=<t0ken> "},
    {CURRENT CA USER("tokenFile: /run/token"), "ca=/etc/kubernetes/ca.crt token=/run/token "},
    /* What can be renewed wins, and contents win over a path. */
    {CURRENT CA USER("tokenFile: /run/token, token: old"),
     "ca=/etc/kubernetes/ca.crt token=/run/token "},
    {CURRENT CLUSTER(", certificate-authority: ca.crt, certificate-authority-data: UEVN") TOKEN,
     "ca=<PEM> token=<t0ken> "},
    {CURRENT CLUSTER("") TOKEN, "token=<t0ken> "},
    {CURRENT CLUSTER(", certificate-authority-data: '', certificate-authority: ''") TOKEN,
     "token=<t0ken> "},
    {CURRENT CLUSTER(", certificate-authority-data: |-\n      UE\n      VN\n  ") TOKEN, NULL},
    {CURRENT "clusters:\n- name: k\n  cluster:\n    certificate-authority-data: >\n      UE\n"
             "      VN\n" TOKEN,
     "ca=<PEM> token=<t0ken> "},
    /* JSON is YAML. */
    {"{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"c\",\"contexts\":[{\"name\":"
     "\"c\",\"context\":{\"cluster\":\"k\",\"user\":\"u\"}}],\"clusters\":[{\"name\":\"k\","
     "\"cluster\":{\"certificate-authority\":\"/ca\"}}],\"users\":[{\"name\":\"u\",\"user\":"
     "{\"token\":\"x\"}}]}",
     "ca=/ca token=<x> "},
    /* Others beside, and the order does not matter. */
    {HEAD "users:\n- {name: v, user: {token: v}}\n- {name: u, user: {token: u}}\n"
          "clusters:\n- {name: l}\n- {name: k, cluster: {certificate-authority: /k}}\n"
          "contexts:\n- {name: d, context: {cluster: l, user: v}}\n- nonsense\n- 1\n"
          "- {name: c, context: {cluster: k, user: u, namespace: x}}\ncurrent-context: c\n",
     "ca=/k token=<u> "},

    {CURRENT CA USER("client-certificate: /c"),
     "the user has a client certificate without its key"},
    {CURRENT CA USER("client-key-data: S0VZ"), "the user has a client key without its certificate"},
    {CURRENT CA USER("username: a, password: b"),
     "the user has neither a client certificate nor a token"},
    {CURRENT CA USER("exec: {command: /bin/aws}"),
     "the user has neither a client certificate nor a token (exec plugins are not run)"},
    {CURRENT CA USER("token: ''"), "the user has neither a client certificate nor a token"},
    {CURRENT CA USER("token: ~"), "the user has neither a client certificate nor a token"},
    {CURRENT CA USER("client-certificate-data: 'not!base64', client-key: /k"),
     "client-certificate-data is not base64 of a text"},
    {CURRENT CA USER("client-certificate: /c, client-key-data: AAAA"),
     "client-key-data is not base64 of a text"},
    {CURRENT CLUSTER(", certificate-authority-data: UEV") TOKEN,
     "certificate-authority-data is not base64 of a text"},
    {HEAD, "it has no current-context"},
    {HEAD "current-context: ''\n", "it has no current-context"},
    {HEAD "current-context: [c]\n", "it has no current-context"},
    {HEAD "current-context: c\n", "there is no context 'c'"},
    {HEAD "current-context: c\ncontexts: {name: c}\n", "there is no context 'c'"},
    {HEAD "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n",
     "the context 'c' has no user"},
    {HEAD "current-context: c\ncontexts: [{name: c, context: {user: k}}]\n",
     "the context 'c' has no cluster"},
    {CURRENT, "there is no cluster 'k'"},
    {CURRENT "clusters: [{name: k}]\n" TOKEN, "there is no cluster 'k'"},
    {CURRENT CA, "there is no user 'u'"},
    {CURRENT CA TOKEN "---\n" CURRENT CA TOKEN, "it is not one YAML document"},
    {"", "it is not one YAML document"},
    {"- a\n", "it is not one YAML document"},
    {"token: [", "it is not one YAML document"},
    {"token: s3cret\ntoken: s3cret\n", "it is not one YAML document"},
    {"token: !strange s3cret\n", "it is not one YAML document"},
};

static void put(FILE *out, const char *key, const char *file, const char *text)
{
	if (file != NULL)
		(void) fprintf(out, "%s=%s ", key, file);
	if (text != NULL)
		(void) fprintf(out, "%s=<%s> ", key, text);
}

static char *format(const struct kubeconfig *k)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	put(out, "name", k->server_name, NULL);
	put(out, "ca", k->ca_file, k->ca_pem);
	put(out, "cert", k->cert_file, k->cert_pem);
	put(out, "key", k->key_file, k->key_pem);
	put(out, "token", k->token_file, k->token);
	(void) fclose(out);
	return text;
}

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(kubeconfig_free) struct kubeconfig *k = NULL;
		char error[128] = "";
		int r =
		    kubeconfig_parse(PATH, cases[i].text, strlen(cases[i].text), error, sizeof(error), &k);
		AUTO(free) char *got = r == 0 ? format(k) : xstrdup(error);

		CHECK(r == 0 || (r == -EBADMSG && k == NULL));
		if (cases[i].want == NULL)
			CHECK(r < 0);
		else if (!CHECK_EQ_STR(got, cases[i].want))
			(void) fprintf(stderr, "  %s\n", cases[i].text);
		CHECK(r == 0 || strstr(error, "s3cret") == NULL);
	}
}

/* A long name does not overrun the message. */
static void test_error_room(void)
{
	AUTO(kubeconfig_free) struct kubeconfig *k = NULL;
	AUTO(free) char *text = NULL;
	char name[2001], error[32];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	text = xasprintf(HEAD "current-context: %s\n", name);
	CHECK_EQ_INT(kubeconfig_parse(PATH, text, strlen(text), error, sizeof(error), &k), -EBADMSG);
	CHECK(strlen(error) < sizeof(error));
}

static void test_read(void)
{
	AUTO(kubeconfig_free) struct kubeconfig *k = NULL;
	char error[128] = "";

	CHECK_EQ_INT(kubeconfig_read("/nonexistent/kubeconfig", error, sizeof(error), &k), -ENOENT);
	CHECK_EQ_STR(error, "No such file or directory");
	CHECK_EQ_INT(kubeconfig_read("/", error, sizeof(error), &k), -EISDIR);
	CHECK(k == NULL);
}

int main(void)
{
	test_cases();
	test_error_room();
	test_read();
	kubeconfig_free(NULL);
	return check_result();
}
