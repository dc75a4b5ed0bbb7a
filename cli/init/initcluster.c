/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributions are told apart by what only they have: kubeadm writes static pods into
 * /etc/kubernetes/manifests, k3s and rke2 keep everything below /var/lib/rancher. An etcd that is
 * none of theirs is looked for last, because its package may be there for its tools alone. Of a PEM
 * file the first certificate counts: in a chain it is the one that is shown.
 */
#include "cli/init/initfacts.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/probecert.h"
#include "bolt/keyset.h"
#include "cli/init/initfiles.h"

#define FILE_BYTES_MAX (1 << 20)

static void take_names(const X509 *certificate, struct initfacts *f)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);

	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
		struct addr addr;
		size_t len;

		if (name->type != GEN_IPADD)
			continue;
		len = (size_t) ASN1_STRING_length(name->d.iPAddress);
		if (addr_from_bytes(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress),
		                    len, &addr) < 0)
			continue;
		f->api_names = xreallocarray(f->api_names, f->n_api_names + 1, sizeof(*f->api_names));
		f->api_names[f->n_api_names++] = addr;
	}
	GENERAL_NAMES_free(names);
}

static int read_certificate(const char *path, struct initfacts *f, bool with_names,
                            int64_t *ret_not_after_s)
{
	AUTO(free) char *text = NULL;
	X509 *certificate;
	struct tm tm = {0};
	size_t len;
	BIO *bio;
	int r;

	r = file_read(path, FILE_BYTES_MAX, &text, &len);
	if (r < 0)
		return r;
	bio = BIO_new_mem_buf(text, (int) len);
	certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	(void) BIO_free(bio);
	if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1) {
		X509_free(certificate);
		return -EBADMSG;
	}
	*ret_not_after_s = timegm(&tm);
	if (with_names)
		take_names(certificate, f);
	X509_free(certificate);
	return 0;
}

static void initcertificate_look(const char *root, const char *path, struct initfacts *f)
{
	AUTO(free) char *at = initfiles_at(root, path);
	struct initfacts_certificate *c;

	f->certificates =
	    xreallocarray(f->certificates, f->n_certificates + 1, sizeof(*f->certificates));
	c = &f->certificates[f->n_certificates++];
	*c = (struct initfacts_certificate){.path = xstrdup(path)};
	c->error = read_certificate(at, f, f->api_cert != NULL && strcmp(path, f->api_cert) == 0,
	                            &c->not_after_s);
}

/* --- files --- */

#define KUBEADM_PKI "/etc/kubernetes/pki"
#define ETCD_POD "/etc/kubernetes/manifests/etcd.yaml"
#define API_POD "/etc/kubernetes/manifests/kube-apiserver.yaml"
#define KUBELET_CONF "/etc/kubernetes/kubelet.conf"

/* host[:port] of a kubeconfig's first cluster; to be freed. */
static char *read_server(const char *root, const char *path)
{
	AUTO(conf_free) struct conf *conf = NULL;
	const struct conf_node *file = initfiles_yaml(root, path, &conf);
	const struct conf_node *server =
	    initfiles_find(file, "clusters", "0", "cluster", "server", NULL);
	const char *host;

	if (server == NULL || server->shape != CONF_SCALAR || strncmp(server->text, "https://", 8) != 0)
		return NULL;
	host = server->text + 8;
	return xstrndup(host, strcspn(host, "/"));
}

/* --- kubeadm --- */

/* The value of an argument of a static pod; to be freed. */
static char *pod_argument(const struct conf_node *pod, const char *option)
{
	struct texts words = {0};
	char *value = NULL;
	size_t len = strlen(option);

	initetcd_pod_words(pod, &words);
	for (size_t i = 0; i < words.n && value == NULL; i++) {
		if (strncmp(words.items[i], option, len) == 0 && words.items[i][len] == '=')
			value = xstrdup(words.items[i] + len + 1);
	}
	texts_fini(&words);
	return value;
}

/* Of URLs with commas between them. */
static void take_hosts(const char *servers, struct texts *ret_hosts)
{
	for (const char *p = servers; *p != '\0'; p += strcspn(p, ",") + (strchr(p, ',') != NULL)) {
		const char *host = strstr(p, "://");

		if (host != NULL)
			texts_add(ret_hosts, "%.*s", (int) strcspn(host + 3, ":/,"), host + 3);
	}
}

/* The API server has a certificate for etcd, wherever that runs. */
static void take_api_server(const char *root, struct initfacts *f)
{
	AUTO(conf_free) struct conf *conf = NULL;
	const struct conf_node *pod = initfiles_yaml(root, API_POD, &conf);
	AUTO(free) char *servers = pod_argument(pod, "--etcd-servers");

	if (f->etcd_endpoint == NULL && servers != NULL) {
		f->etcd_endpoint = xstrndup(servers, strcspn(servers, ","));
		f->etcd_is_external = strstr(f->etcd_endpoint, "://127.") == NULL;
		if (f->etcd_is_external)
			take_hosts(servers, &f->members);
	}
	if (f->etcd_cert == NULL) {
		f->etcd_ca = pod_argument(pod, "--etcd-cafile");
		f->etcd_cert = pod_argument(pod, "--etcd-certfile");
		f->etcd_key = pod_argument(pod, "--etcd-keyfile");
	}
}

/* Whether an AuthenticationConfiguration refuses anonymous requests to /readyz. Without `anonymous`
 * it allows all; one that cannot be read says nothing. */
static bool refuses_readyz(const char *root, const char *path)
{
	AUTO(conf_free) struct conf *conf = NULL;
	const struct conf_node *file = initfiles_yaml(root, path, &conf);
	const struct conf_node *enabled = initfiles_find(file, "anonymous", "enabled", NULL);
	const struct conf_node *conditions = initfiles_find(file, "anonymous", "conditions", NULL);

	if (initfiles_find(file, "anonymous", NULL) == NULL)
		return false;
	if (enabled == NULL || enabled->shape != CONF_SCALAR || strcmp(enabled->text, "true") != 0)
		return true;
	for (size_t i = 0; conditions != NULL && conditions->shape == CONF_LIST && i < conditions->n;
	     i++) {
		const struct conf_node *condition = initfiles_find(conditions->values[i], "path", NULL);

		if (condition != NULL && condition->shape == CONF_SCALAR &&
		    strcmp(condition->text, "/readyz") == 0)
			return false;
	}
	return conditions != NULL && conditions->shape == CONF_LIST && conditions->n > 0;
}

static void take_anonymous(const char *root, struct initfacts *f)
{
	AUTO(conf_free) struct conf *conf = NULL;
	const struct conf_node *pod = initfiles_yaml(root, API_POD, &conf);
	AUTO(free) char *allowed = pod_argument(pod, "--anonymous-auth");
	AUTO(free) char *path = pod_argument(pod, "--authentication-config");

	if (allowed != NULL && strcmp(allowed, "false") == 0)
		f->anonymous = xstrdup("--anonymous-auth=false");
	else if (path != NULL && refuses_readyz(root, path))
		f->anonymous = xasprintf("--authentication-config=%s", path);
}

/* kubeadm's own client certificates, which every daemon finds by itself. */
static bool has_default_client(const char *root)
{
	return initfiles_exist(root, KUBEADM_PKI "/etcd/ca.crt") &&
	       (initfiles_exist(root, KUBEADM_PKI "/etcd/healthcheck-client.crt") ||
	        initfiles_exist(root, KUBEADM_PKI "/apiserver-etcd-client.crt"));
}

static void take_kubeadm(const char *root, struct initfacts *f)
{
	AUTO(conf_free) struct conf *conf = NULL;
	const struct conf_node *pod = initfiles_yaml(root, ETCD_POD, &conf);
	struct initetcd etcd = {0};

	f->kind = INIT_KUBEADM;
	f->role = INIT_CONTROL_PLANE;
	if (pod != NULL) {
		initetcd_take_pod(&etcd, pod);
		f->etcd_endpoint = initetcd_endpoint(&etcd);
		initetcd_hosts(&etcd, &f->members);
		f->etcd_data = TAKE_PTR(etcd.values[INITETCD_DATA_DIR]);
		f->etcd_is_default =
		    strcmp(f->etcd_endpoint, "https://127.0.0.1:2379") == 0 && has_default_client(root);
	}
	initetcd_fini(&etcd);
	if (!f->etcd_is_default)
		take_api_server(root, f);
	/* Then they are still to come. */
	if (f->etcd_cert == NULL && !f->etcd_is_external)
		f->etcd_is_default = true;
	take_anonymous(root, f);
	f->server = read_server(root, KUBELET_CONF);
	f->api_cert = xstrdup(KUBEADM_PKI "/apiserver.crt");
	initcertificate_look(root, KUBEADM_PKI "/ca.crt", f);
	initcertificate_look(root, f->api_cert, f);
	if (f->etcd_is_default)
		initcertificate_look(root,
		                     initfiles_exist(root, KUBEADM_PKI "/etcd/healthcheck-client.crt")
		                         ? KUBEADM_PKI "/etcd/healthcheck-client.crt"
		                         : KUBEADM_PKI "/apiserver-etcd-client.crt",
		                     f);
}

/* --- k3s, rke2 --- */

static void take_rancher(const char *root, const char *home, enum init_kind kind,
                         struct initfacts *f)
{
	f->kind = kind;
	f->role = INIT_CONTROL_PLANE;
	f->etcd_endpoint = xstrdup("https://127.0.0.1:2379");
	f->etcd_ca = xasprintf("%s/server/tls/etcd/server-ca.crt", home);
	f->etcd_cert = xasprintf("%s/server/tls/etcd/client.crt", home);
	f->etcd_key = xasprintf("%s/server/tls/etcd/client.key", home);
	f->etcd_data = xasprintf("%s/server/db/etcd", home);
	f->api_ca = xasprintf("%s/server/tls/server-ca.crt", home);
	f->api_cert = xasprintf("%s/server/tls/serving-kube-apiserver.crt", home);
	/* Who may do the least of those who may ask: anonymous questions are refused. */
	f->api_client_cert = xasprintf("%s/server/tls/client-kube-proxy.crt", home);
	f->api_client_key = xasprintf("%s/server/tls/client-kube-proxy.key", home);
	initcertificate_look(root, f->api_cert, f);
	initcertificate_look(root, f->api_client_cert, f);
}

/* Else a server would be taken for a worker: k3s shows its folder to root alone. */
static void note_hidden(const char *root, const char *path, struct initfacts *f)
{
	if (f->hidden == NULL && initfiles_is_hidden(root, path))
		f->hidden = xstrdup(path);
}

static bool look_for_rancher(const char *root, struct initfacts *f)
{
	static const struct {
		const char *home;
		enum init_kind kind;
	} homes[] = {{"/var/lib/rancher/k3s", INIT_K3S}, {"/var/lib/rancher/rke2", INIT_RKE2}};

	for (size_t i = 0; i < ARRAY_SIZE(homes); i++) {
		AUTO(free) char *etcd = xasprintf("%s/server/tls/etcd", homes[i].home);
		AUTO(free) char *agent = xasprintf("%s/agent/kubelet.kubeconfig", homes[i].home);

		if (initfiles_exist(root, etcd)) {
			take_rancher(root, homes[i].home, homes[i].kind, f);
			return true;
		}
		note_hidden(root, etcd, f);
		if (initfiles_exist(root, agent)) {
			f->kind = homes[i].kind;
			f->role = INIT_WORKER;
			f->server = read_server(root, agent);
			return true;
		}
	}
	return false;
}

/* --- etcd alone --- */

static void look_for_service(const char *root, struct initfacts *f)
{
	struct initetcd etcd = {0};
	const char *stopped;

	if (initetcd_take_service(&etcd, root, &stopped)) {
		f->kind = INIT_ETCD;
		f->role = INIT_CONTROL_PLANE;
		f->etcd_endpoint = initetcd_endpoint(&etcd);
		initetcd_hosts(&etcd, &f->members);
		f->etcd_ca = TAKE_PTR(etcd.values[INITETCD_CA]);
		f->etcd_cert = TAKE_PTR(etcd.values[INITETCD_CERT]);
		f->etcd_key = TAKE_PTR(etcd.values[INITETCD_KEY]);
		f->etcd_data = TAKE_PTR(etcd.values[INITETCD_DATA_DIR]);
		f->has_api_ca = initfiles_exist(root, KUBEADM_PKI "/ca.crt");
		/* kubeadm's files without its static pods. */
		f->etcd_is_default =
		    strcmp(f->etcd_endpoint, "https://127.0.0.1:2379") == 0 && f->etcd_ca != NULL &&
		    strcmp(f->etcd_ca, KUBEADM_PKI "/etcd/ca.crt") == 0 && has_default_client(root);
		f->etcd_cert_is_server = f->etcd_cert != NULL && !f->etcd_is_default;
	} else if (stopped != NULL) {
		f->stopped_etcd = xstrdup(stopped);
	}
	initetcd_fini(&etcd);
}

/* Two sites may have the same names and addresses, but each has made its own CA; to be freed. */
static char *name_cluster(const char *root, const char *ca)
{
	static const struct siphash sum = {0};
	AUTO(free) char *text = ca != NULL ? initfiles_text(root, ca) : NULL;

	if (text == NULL)
		return NULL;
	return xasprintf(
	    "etcd-%016" PRIx64,
	    siphash_of(&sum, (struct bytes){.data = (const uint8_t *) text, .len = strlen(text)}));
}

void initcluster_look(const char *root, struct initfacts *f)
{
	static const char probe_cert[] = PROBECERT_DIRECTORY "/" PROBECERT_CERT;

	f->has_probe_certificate = initfiles_exist(root, probe_cert);
	if (f->has_probe_certificate)
		initcertificate_look(root, probe_cert, f);
	note_hidden(root, API_POD, f);
	if (initfiles_exist(root, API_POD) || initfiles_exist(root, ETCD_POD)) {
		take_kubeadm(root, f);
	} else if (look_for_rancher(root, f)) {
		/* All is said. */
	} else if (initfiles_exist(root, KUBELET_CONF)) {
		f->kind = INIT_KUBEADM;
		f->role = INIT_WORKER;
		f->server = read_server(root, KUBELET_CONF);
		initcertificate_look(root, KUBEADM_PKI "/ca.crt", f);
	} else {
		look_for_service(root, f);
	}
	if (f->etcd_ca != NULL)
		initcertificate_look(root, f->etcd_ca, f);
	f->cluster = name_cluster(root, f->etcd_ca);
	if (f->etcd_cert != NULL)
		initcertificate_look(root, f->etcd_cert, f);
}
