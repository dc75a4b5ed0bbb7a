/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document for each thing that fairlead does on such a node, those that need an answer first as
 * comments. A line `---` stands only before a document, so that all that is commented out belongs
 * to the one above it.
 */
#include "cli/init/initchoice.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/conf.h"

struct text {
	FILE *out;
	const struct initfacts *facts;
	const struct initwish *wish;
	const struct initchoice *choice;
	bool has_document;
};

/* What is above a document, as a comment. */
static void heading(struct text *t, const char *text)
{
	(void) fprintf(t->out, "\n%s", text);
}

static void document(struct text *t, const char *api, const char *kind)
{
	if (t->has_document)
		(void) fputs("---\n", t->out);
	t->has_document = true;
	(void) fprintf(t->out, "apiVersion: %s\nkind: %s\n", api, kind);
}

static void line(struct text *t, const char *key, const char *value)
{
	(void) fprintf(t->out, "%s: ", key);
	conf_write_string(t->out, value);
	(void) fputc('\n', t->out);
}

static void item(struct text *t, const char *indent, const char *value)
{
	(void) fprintf(t->out, "%s- ", indent);
	conf_write_string(t->out, value);
	(void) fputc('\n', t->out);
}

/* --- the beginning --- */

static void write_found(struct text *t)
{
	const struct initfacts *f = t->facts;

	(void) fputs("# Found: ", t->out);
	if (f->kind == INIT_NOTHING)
		(void) fputs("no Kubernetes, no etcd", t->out);
	else if (f->kind == INIT_ETCD)
		(void) fputs("an etcd by itself, and neither kubeadm's static pods nor k3s nor rke2",
		             t->out);
	else
		(void) fprintf(t->out, "a %s of %s",
		               f->role == INIT_WORKER ? "worker" : "control-plane node",
		               initfacts_kind_name(f->kind));
	if (f->etcd_is_external)
		(void) fputs(", with an etcd that runs elsewhere", t->out);
	(void) fputs(".\n", t->out);
	for (size_t i = 0; i < f->n_links; i++) {
		AUTO(free) char *link = initchoice_describe_link(&f->links[i]);

		if (f->links[i].not_by_itself == NULL)
			(void) fprintf(t->out, "#   %s %s\n", f->links[i].kind, link);
	}
}

static void write_beginning(struct text *t)
{
	(void) fprintf(t->out,
	               "# The configuration of fairlead on %s, begun by `fairlead init`. Every key is "
	               "in fairlead.yaml(5);\n"
	               "# all programs read this file. To check it: fairlead config validate.\n",
	               t->facts->hostname);
	write_found(t);
}

/* --- vipd --- */

static void write_vips(struct text *t)
{
	static const char about[] =
	    "# An address that one control-plane node at a time answers for. The same on each of them, "
	    "but the\n# link may have another name there.\n";
	const struct initchoice *c = t->choice;
	const char *likely = t->facts->rival_vip;

	heading(t, about);
	for (size_t i = 0; i < c->n_vips; i++) {
		char address[ADDR_TEXT_MAX];

		document(t, CONF_API_TALOS, "Layer2VIPConfig");
		line(t, "name", addr_format(&c->vips[i].addr, address));
		line(t, "link", c->vips[i].link);
	}
	if (c->n_vips > 0)
		return;
	(void) fprintf(
	    t->out,
	    "# Fill in an address that no host has, in the network of the link, and take the "
	    "# away:\n"
	    "#apiVersion: v1alpha1\n#kind: Layer2VIPConfig\n#name: %s\n#link: %s\n",
	    likely != NULL ? likely : "ADDRESS", c->likely_link != NULL ? c->likely_link : "LINK");
	/* So that what follows stays a document of its own when this becomes one. */
	t->has_document = true;
}

static bool needs_gate(const struct initfacts *f)
{
	return f->api_client_cert != NULL;
}

static void write_policy(struct text *t)
{
	const struct initfacts *f = t->facts;

	if (!needs_gate(f)) {
		heading(
		    t, "# How VIPs behave, where it is not to be as usual (after a power loss another node "
		       "answers in some\n# 2.7 s):\n"
		       "#---\n#apiVersion: fairlead/v1\n#kind: VIPPolicyConfig\n#fenceWindow: 1.5s\n");
		return;
	}
	heading(t,
	        "# Which node may own it: one whose API server is ready. It answers to those whom it "
	        "knows.\n");
	document(t, CONF_API_FAIRLEAD, "VIPPolicyConfig");
	(void) fputs("healthCheck:\n", t->out);
	line(t, "  caFile", f->api_ca);
	line(t, "  clientCertFile", f->api_client_cert);
	line(t, "  clientKeyFile", f->api_client_key);
}

/* --- etcd --- */

static void write_etcd(struct text *t)
{
	const struct initfacts *f = t->facts;

	if (f->etcd_endpoint == NULL || f->etcd_is_default) {
		heading(t, "# How etcd is reached: as kubeadm has it (127.0.0.1:2379, "
		           "/etc/kubernetes/pki/etcd), which needs no\n# words. Elsewhere:\n"
		           "#---\n#apiVersion: fairlead/v1\n#kind: EtcdClientConfig\n"
		           "#endpoints: [https://10.0.0.21:2379]\n#caFile: /etc/etcd/ca.crt\n"
		           "#certFile: /etc/etcd/client.crt\n#keyFile: /etc/etcd/client.key\n");
		return;
	}
	heading(t, f->etcd_is_external
	               ? "# How etcd is reached; one member is enough, it tells of the others.\n"
	               : "# How this node's member of etcd is reached, which tells of the others.\n");
	if (strncmp(f->etcd_endpoint, "http://", 7) == 0)
		(void) fputs("# There are no certificates: whoever reaches this port may do everything.\n",
		             t->out);
	if (f->etcd_cert_is_server)
		(void) fputs("# A certificate for clients alone would be better than the one that etcd "
		             "serves with.\n",
		             t->out);
	document(t, CONF_API_FAIRLEAD, "EtcdClientConfig");
	(void) fputs("endpoints:\n", t->out);
	item(t, "  ", f->etcd_endpoint);
	if (strncmp(f->etcd_endpoint, "http://", 7) == 0)
		return;
	line(t, "caFile", f->etcd_ca != NULL ? f->etcd_ca : "/etc/etcd/ca.crt");
	if (f->etcd_ca == NULL)
		(void) fputs("# It was not found: fill in who signed etcd's certificate.\n", t->out);
	if (f->etcd_cert != NULL && f->etcd_key != NULL) {
		line(t, "certFile", f->etcd_cert);
		line(t, "keyFile", f->etcd_key);
	}
}

static void write_watch(struct text *t)
{
	const struct initfacts *f = t->facts;
	bool has_directory = f->etcd_data != NULL && strcmp(f->etcd_data, "/var/lib/etcd") != 0;
	bool has_certificates = f->etcd_cert != NULL;

	heading(t, "# A snapshot of etcd each hour, taken by one of the nodes, proven, and kept in\n"
	           "# /var/lib/fairlead/etcdwatch. It holds all secrets of the cluster; before it goes "
	           "elsewhere (targets),\n# encrypt it (encryption).\n");
	document(t, CONF_API_FAIRLEAD, "EtcdSnapshotConfig");
	(void) fputs(
	    "name: hourly\nschedule: \"@hourly\"\n"
	    "#encryption:\n#  recipients: [age1...]\n"
	    "# Each snapshot is on the disk of one node. Configure a target: without one they are "
	    "lost with the\n# nodes.\n"
	    "#targets:\n#  - name: site\n#    endpoint: https://s3.example.org\n"
	    "#    bucket: etcd-backups\n",
	    t->out);
	(void) fprintf(t->out,
	               "#    prefix: %s/ # of this cluster alone\n"
	               "#    accessKeyFile: /etc/fairlead/s3.access\n"
	               "#    secretKeyFile: /etc/fairlead/s3.secret\n",
	               f->cluster != NULL ? f->cluster : "NAME-OF-THIS-CLUSTER");
	if (!has_directory && !has_certificates)
		return;
	heading(t, "# Where this node's etcd has its data and certificates, whose room and ends are "
	           "watched.\n");
	document(t, CONF_API_FAIRLEAD, "EtcdWatchConfig");
	if (has_directory)
		line(t, "dataDirectory", f->etcd_data);
	if (has_certificates) {
		(void) fputs("certificates:\n", t->out);
		item(t, "  ", f->etcd_cert);
	}
}

/* --- prism --- */

static bool is_this_node(const struct initfacts *f, const char *host)
{
	return strncmp(host, "127.", 4) == 0 || strncmp(host, "localhost", 9) == 0 ||
	       strncmp(host, "[::1]", 5) == 0 ||
	       (f->hostname != NULL && strcmp(host, f->hostname) == 0);
}

/* Members of etcd on other nodes, where API servers run too. */
static size_t count_upstreams(const struct initfacts *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->members.n; i++)
		n += is_this_node(f, f->members.items[i]) ? 0 : 1;
	return n;
}

static void write_upstreams(struct text *t)
{
	const struct initfacts *f = t->facts;

	(void) fputs("upstreams:\n", t->out);
	if (count_upstreams(f) > 0)
		(void) fputs("  static:\n", t->out);
	for (size_t i = 0; i < f->members.n; i++) {
		if (!is_this_node(f, f->members.items[i]))
			item(t, "    ", f->members.items[i]);
	}
}

static const char prism_about[] =
    "# A balancer on 127.0.0.1:7445 in front of all API servers, for what runs on this node.\n";

static void write_unknown_prism(struct text *t, const char *why)
{
	(void) fprintf(t->out,
	               "%s#---\n#apiVersion: fairlead/v1\n#kind: PrismConfig\n#upstreams:\n"
	               "#  static: [10.0.0.11, 10.0.0.12, 10.0.0.13]\n",
	               why);
}

static void write_prism(struct text *t)
{
	const struct initfacts *f = t->facts;

	heading(t, prism_about);
	if (f->kind == INIT_K3S || f->kind == INIT_RKE2) {
		(void) fprintf(
		    t->out,
		    "# %s has one of its own, so this is only for other programs. prism's user "
		    "must be able to read\n# the CA: install -m 644 %s /etc/fairlead/api-ca.crt\n",
		    initfacts_kind_name(f->kind),
		    f->api_ca != NULL ? f->api_ca : "/var/lib/rancher/k3s/agent/server-ca.crt");
		write_unknown_prism(t, "");
		(void) fputs("#  local: 127.0.0.1:6443\n#healthCheck:\n#  caFile: "
		             "/etc/fairlead/api-ca.crt\n",
		             t->out);
		return;
	}
	if (f->etcd_is_external) {
		write_unknown_prism(t, "# etcd runs elsewhere, so its members do not tell where the API "
		                       "servers are. Fill them in, port 6443,\n# and take the # away:\n");
		return;
	}
	if (f->etcd_endpoint == NULL || (f->kind != INIT_KUBEADM && !f->has_api_ca)) {
		write_unknown_prism(t, "# Fill in the API servers, port 6443, and take the # away:\n");
		return;
	}
	(void) fputs(
	    "# vipd tells of the API servers beside etcd's members; add here what has no member.\n",
	    t->out);
	document(t, CONF_API_FAIRLEAD, "PrismConfig");
	write_upstreams(t);
	(void) fputs("  members:\n    socket: /run/fairlead/vipd.sock\n", t->out);
}

static void write_worker(struct text *t)
{
	const struct initfacts *f = t->facts;
	char vip[ADDR_TEXT_MAX];
	const char *server = f->server;

	if (t->wish->n_vips > 0)
		server = addr_format(&t->wish->vips[0], vip);
	heading(t, prism_about);
	if (server == NULL || is_this_node(f, server)) {
		write_unknown_prism(t, "# Fill in the API servers, port 6443, and take the # away:\n");
		return;
	}
	(void) fputs("# Better than this one address are those of all API servers.\n", t->out);
	document(t, CONF_API_FAIRLEAD, "PrismConfig");
	(void) fputs("upstreams:\n  static:\n", t->out);
	item(t, "    ", server);
	(void) fputs("#  endpointSlices:\n#    kubeconfig: /etc/fairlead/prism.kubeconfig\n", t->out);
}

/* --- netconf --- */

static void write_network(struct text *t, const char *network)
{
	const char *source = t->facts->network_source;

	if (network == NULL) {
		heading(t, "# The network of this node stays with ");
		(void) fprintf(t->out,
		               "%s.\n# For netconf to make it, with changes that nobody confirms undone: "
		               "fairlead init --network.\n",
		               source != NULL ? source : "whatever makes it now");
		return;
	}
	heading(t,
	        "# The network of this node as it is now, for netconf: a plan of it is empty. Once it "
	        "is applied and\n# confirmed (fairlead net apply, fairlead net confirm), turn off ");
	(void) fprintf(t->out, "%s.\n%s", source != NULL ? source : "what else makes it", network);
}

void inittext_write(FILE *out, const struct initfacts *facts, const struct initwish *wish,
                    const struct initchoice *choice, const char *network)
{
	struct text t = {.out = out, .facts = facts, .wish = wish, .choice = choice};

	write_beginning(&t);
	if (choice->role == INIT_WORKER) {
		write_worker(&t);
	} else {
		write_vips(&t);
		write_policy(&t);
		write_etcd(&t);
		write_watch(&t);
		write_prism(&t);
	}
	write_network(&t, network);
}
