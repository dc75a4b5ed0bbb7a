/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thing that an operator could have meant otherwise is an error that says what to do, and each
 * that will hurt later a note. Nothing is guessed where two answers are as good.
 */
#include "cli/init/initchoice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"

#define DAY_S (24 * 3600)
#define CERTIFICATE_SOON_S (30 * DAY_S)

void initchoice_fini(struct initchoice *c)
{
	texts_fini(&c->errors);
	texts_fini(&c->notes);
}

/* --- links --- */

char *initchoice_describe_link(const struct initfacts_link *link)
{
	const char *separator = " (";
	char *text = NULL;
	size_t len = 0;
	FILE *out = xmemstream_open(&text, &len);

	(void) fputs(link->name, out);
	for (size_t i = 0; i < link->n_prefixes; i++) {
		char prefix[PREFIX_TEXT_MAX];

		(void) fprintf(out, "%s%s", separator, prefix_format(&link->prefixes[i], prefix));
		separator = ", ";
	}
	if (link->n_prefixes > 0)
		separator = "; ";
	if (link->has_default) {
		(void) fprintf(out, "%sdefault route", separator);
		separator = "; ";
	}
	if (link->not_by_itself != NULL)
		(void) fprintf(out, "%s%s: only by --link", separator, link->not_by_itself);
	if (link->has_default || link->n_prefixes > 0 || link->not_by_itself != NULL)
		(void) fputc(')', out);
	xmemstream_close(out);
	return text;
}

/* An address with a whole prefix may be a VIP, and is no subnet. */
static bool is_subnet(const struct prefix *prefix)
{
	return prefix->len < addr_len_bytes(&prefix->addr) * 8;
}

static bool is_in_a_network(const struct initfacts_link *link)
{
	for (size_t i = 0; i < link->n_prefixes; i++) {
		if (is_subnet(&link->prefixes[i]))
			return true;
	}
	return false;
}

/* "eth0 (10.0.0.11/24), eth1, docker0 (172.17.0.1/16; of containers: only by --link)"; to be
 * freed. */
static char *describe_links(const struct initfacts *f)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < f->n_links; i++) {
		AUTO(free) char *link = initchoice_describe_link(&f->links[i]);
		char *longer;

		/* There may be a hundred links of pods, none of which has a network. */
		if (f->links[i].not_by_itself != NULL && !is_in_a_network(&f->links[i]))
			continue;
		longer = xasprintf("%s%s%s", text, text[0] != '\0' ? ", " : "", link);
		free(text);
		text = longer;
	}
	if (text[0] != '\0')
		return text;
	free(text);
	return xstrdup("none");
}

static const struct initfacts_link *find_link(const struct initfacts *f, const char *name)
{
	for (size_t i = 0; i < f->n_links; i++) {
		if (strcmp(f->links[i].name, name) == 0)
			return &f->links[i];
	}
	return NULL;
}

/* The length of its longest prefix that the VIP is in, as the kernel would route to it; 0: none. */
static unsigned subnet_of(const struct initfacts_link *link, const struct addr *vip)
{
	unsigned longest = 0;

	for (size_t i = 0; i < link->n_prefixes; i++) {
		const struct prefix *prefix = &link->prefixes[i];

		if (is_subnet(prefix) && prefix_contains(prefix, vip))
			longest = MAX(longest, prefix->len);
	}
	return longest;
}

/* --- a VIP --- */

/* The first address of a network stands for the network or any of its routers, the last of one of
 * IPv4 for all of its hosts; where there are only two addresses, both are hosts (RFC 3021, 6164).
 */
static bool is_of_all(const struct prefix *prefix, const struct addr *vip)
{
	unsigned bits = (unsigned) addr_len_bytes(vip) * 8;
	bool is_first = true, is_last = vip->family == AF_INET;

	if (!is_subnet(prefix) || !prefix_contains(prefix, vip) || bits - prefix->len < 2)
		return false;
	for (unsigned i = prefix->len; i < bits; i++) {
		bool bit = (vip->bytes[i / 8] >> (7 - i % 8) & 1) != 0;

		is_first = is_first && !bit;
		is_last = is_last && bit;
	}
	return is_first || is_last;
}

static bool is_gateway(const struct initfacts *f, const struct addr *vip)
{
	for (size_t i = 0; i < f->n_gateways; i++) {
		if (addr_equal(&f->gateways[i], vip))
			return true;
	}
	return false;
}

/* Whether an address can be a VIP at all, on this node. */
static bool check_address(const struct initfacts *f, const struct addr *vip, const char *text,
                          struct initchoice *c)
{
	if (addr_is_unspecified(vip) || addr_is_loopback(vip) || addr_is_multicast(vip) ||
	    addr_is_linklocal(vip)) {
		texts_add(&c->errors, "--vip %s: no host in a network can have this address", text);
		return false;
	}
	if (is_gateway(f, vip)) {
		texts_add(&c->errors,
		          "--vip %s: this is the gateway of this node's default route: choose an address "
		          "that no host has",
		          text);
		return false;
	}
	for (size_t i = 0; i < f->n_links; i++) {
		for (size_t k = 0; k < f->links[i].n_prefixes; k++) {
			const struct prefix *p = &f->links[i].prefixes[k];

			if (is_of_all(p, vip)) {
				char network[PREFIX_TEXT_MAX];

				texts_add(&c->errors,
				          "--vip %s: this is the first or last address of the network of %s, on "
				          "%s, which no host can have",
				          text, prefix_format(p, network), f->links[i].name);
				return false;
			}
			if (!addr_equal(&p->addr, vip))
				continue;
			if (is_subnet(p)) {
				texts_add(&c->errors,
				          "--vip %s: this is the node's own address, on %s: choose one of the same "
				          "network that no host has",
				          text, f->links[i].name);
				return false;
			}
			texts_add(&c->notes,
			          "%s is on %s now: if vipd has put it there, all is well; else stop the "
			          "program that did before vipd starts",
			          text, f->links[i].name);
		}
	}
	return true;
}

/* The link with its subnet: the longest goes before others, as with routes, and among links with
 * the same one that with the default route. */
static const struct initfacts_link *find_by_subnet(const struct initfacts *f,
                                                   const struct addr *vip, bool *ret_is_unclear)
{
	const struct initfacts_link *found = NULL;
	unsigned longest = 0;
	size_t n = 0, n_default = 0;

	for (size_t i = 0; i < f->n_links; i++) {
		const struct initfacts_link *link = &f->links[i];
		unsigned len = link->not_by_itself != NULL ? 0 : subnet_of(link, vip);

		if (len == 0 || len < longest)
			continue;
		if (len > longest) {
			longest = len;
			found = NULL;
			n = n_default = 0;
		}
		n++;
		n_default += link->has_default ? 1 : 0;
		if (found == NULL || (link->has_default && !found->has_default))
			found = link;
	}
	*ret_is_unclear = n > 1 && n_default != 1;
	return found;
}

/* One that only --link chooses, and that is in the network of the VIP. */
static const struct initfacts_link *find_only_by_name(const struct initfacts *f,
                                                      const struct addr *vip)
{
	for (size_t i = 0; i < f->n_links; i++) {
		if (f->links[i].not_by_itself != NULL && subnet_of(&f->links[i], vip) > 0)
			return &f->links[i];
	}
	return NULL;
}

static const char *choose_link(const struct initfacts *f, const struct initwish *wish,
                               const struct addr *vip, const char *text, struct initchoice *c)
{
	AUTO(free) char *links = describe_links(f);
	const struct initfacts_link *found, *hidden, *wished;
	bool is_unclear;

	if (!f->links_are_known) {
		if (wish->link == NULL)
			texts_add(&c->errors,
			          "--vip %s: the links of this node cannot be seen from here: name its link "
			          "with --link",
			          text);
		return wish->link;
	}
	wished = wish->link != NULL ? find_link(f, wish->link) : NULL;
	if (wished != NULL && subnet_of(wished, vip) > 0)
		return wish->link;
	found = find_by_subnet(f, vip, &is_unclear);
	hidden = found == NULL ? find_only_by_name(f, vip) : NULL;
	if (hidden != NULL && wish->link == NULL) {
		texts_add(&c->errors,
		          "--vip %s: only --link chooses the link in its network: --link %s. Links: %s",
		          text, hidden->name, links);
		return NULL;
	}
	if (found == NULL) {
		texts_add(&c->errors,
		          "--vip %s: no link of this node is in a network of this address: choose one of "
		          "these networks, or give the link an address of its own first. Links: %s",
		          text, links);
		return NULL;
	}
	if (wish->link != NULL) {
		texts_add(&c->errors, "--link %s: it is in no network of %s, but %s is. Links: %s",
		          wish->link, text, found->name, links);
		return NULL;
	}
	if (is_unclear) {
		texts_add(&c->errors,
		          "--vip %s: several links are in its network: choose one with --link. Links: %s",
		          text, links);
		return NULL;
	}
	return found->name;
}

static bool certificate_names(const struct initfacts *f, const struct addr *vip)
{
	for (size_t i = 0; i < f->n_api_names; i++) {
		if (addr_equal(&f->api_names[i], vip))
			return true;
	}
	return false;
}

static void note_names(const struct initfacts *f, const struct addr *vip, const char *text,
                       struct initchoice *c)
{
	if (f->n_api_names == 0 || certificate_names(f, vip))
		return;
	if (f->kind == INIT_KUBEADM)
		texts_add(&c->notes,
		          "the API server's certificate (%s) does not name %s, so clients would refuse it: "
		          "add it to apiServer.certSANs of kubeadm's ClusterConfiguration on every "
		          "control-plane node, and make the certificate anew (kubeadm init phase certs "
		          "apiserver)",
		          f->api_cert, text);
	else
		texts_add(&c->notes,
		          "the API server's certificate (%s) does not name %s, so clients would refuse it: "
		          "add it to tls-san in /etc/rancher/%s/config.yaml of every server",
		          f->api_cert, text, initfacts_kind_name(f->kind));
}

static void choose_vips(const struct initfacts *f, const struct initwish *wish,
                        struct initchoice *c)
{
	AUTO(free) char *links = describe_links(f);

	if (wish->link != NULL && f->links_are_known && find_link(f, wish->link) == NULL)
		texts_add(&c->errors, "--link %s: there is no such link that could have a VIP. Links: %s",
		          wish->link, links);
	for (size_t i = 0; i < wish->n_vips && c->errors.n == 0; i++) {
		char text[ADDR_TEXT_MAX];
		const char *link;

		(void) addr_format(&wish->vips[i], text);
		if (!check_address(f, &wish->vips[i], text, c))
			continue;
		link = choose_link(f, wish, &wish->vips[i], text, c);
		note_names(f, &wish->vips[i], text, c);
		c->vips[c->n_vips++] = (struct initchoice_vip){wish->vips[i], link};
	}
	c->likely_link = wish->link;
	for (size_t i = 0; i < f->n_links && c->likely_link == NULL; i++) {
		if (f->links[i].has_default && f->links[i].not_by_itself == NULL)
			c->likely_link = f->links[i].name;
	}
}

/* --- the rest --- */

static void note_certificates(const struct initfacts *f, int64_t now_s, struct initchoice *c)
{
	for (size_t i = 0; i < f->n_certificates; i++) {
		const struct initfacts_certificate *certificate = &f->certificates[i];
		int64_t left_s = certificate->not_after_s - now_s;

		if (certificate->error == -EACCES)
			texts_add(&c->notes, "%s cannot be read by this user: run this as root",
			          certificate->path);
		else if (certificate->error == -ENOENT)
			texts_add(&c->notes, "%s is not there yet", certificate->path);
		else if (certificate->error < 0)
			texts_add(&c->notes, "%s is no certificate", certificate->path);
		else if (left_s <= 0)
			texts_add(&c->notes, "%s has ended: renew it", certificate->path);
		else if (left_s < CERTIFICATE_SOON_S)
			texts_add(&c->notes, "%s ends in %lld days: renew it", certificate->path,
			          (long long) (left_s / DAY_S));
	}
}

static void note_etcd(const struct initfacts *f, struct initchoice *c)
{
	if (f->etcd_endpoint == NULL)
		return;
	if (strncmp(f->etcd_endpoint, "http://", 7) == 0)
		texts_add(&c->notes,
		          "etcd speaks plain HTTP at %s: whoever reaches its port can read every secret of "
		          "the cluster and take every VIP; give it certificates",
		          f->etcd_endpoint);
	else if (f->etcd_cert_is_server)
		texts_add(
		    &c->notes,
		    "no client certificate for etcd was found, so %s is used, which etcd serves with: "
		    "that works only if it is for clients as well",
		    f->etcd_cert);
}

static void note_anonymous(const struct initfacts *f, struct initchoice *c)
{
	if (f->anonymous == NULL || f->has_probe_certificate)
		return;
	texts_add(&c->notes,
	          "the API server refuses anonymous requests (%s), so vipd and prism would not know "
	          "whether it is ready. Either allow them for the health paths alone, by "
	          "--authentication-config=FILE in place of that, and in FILE:\n"
	          "      apiVersion: apiserver.config.k8s.io/v1\n"
	          "      kind: AuthenticationConfiguration\n"
	          "      anonymous:\n"
	          "        enabled: true\n"
	          "        conditions: [{path: /livez}, {path: /readyz}, {path: /healthz}]\n"
	          "    or give the probes a certificate, on each control-plane node: fairlead init "
	          "--probe-certificate",
	          f->anonymous);
}

static void note_rest(const struct initfacts *f, const struct initwish *wish, struct initchoice *c)
{
	for (size_t i = 0; i < f->rivals.n; i++)
		texts_add(&c->notes, "%s", f->rivals.items[i]);
	note_anonymous(f, c);
	if (c->role == INIT_CONTROL_PLANE)
		note_etcd(f, c);
	if (c->role == INIT_CONTROL_PLANE && wish->n_vips == 0)
		texts_add(&c->notes,
		          "there is no VIP yet: run this again with --vip and --force, or fill in "
		          "the first document");
	if (f->stopped_etcd != NULL)
		texts_add(&c->notes,
		          "%s does not run, so it is not taken for the cluster's etcd: if it is, start it "
		          "and run this again",
		          f->stopped_etcd);
	if (c->role == INIT_CONTROL_PLANE && f->kind == INIT_NOTHING)
		texts_add(&c->notes, "no Kubernetes and no etcd was found: this is for a node that kubeadm "
		                     "is still to make");
	if (c->role == INIT_CONTROL_PLANE)
		texts_add(&c->notes,
		          "snapshots of etcd are on the nodes' disks alone: configure a target (targets of "
		          "EtcdSnapshotConfig) before you rely on them");
}

void initchoice_make(const struct initfacts *f, const struct initwish *wish, int64_t now_s,
                     struct initchoice *ret)
{
	struct initchoice c = {.role = wish->role != INIT_NO_ROLE ? wish->role : f->role};

	if (wish->role == INIT_NO_ROLE && f->hidden != NULL)
		texts_add(&c.errors,
		          "this user may not see whether %s is there, and so not what this node is: run "
		          "this as root, or say --role control-plane or --role worker",
		          f->hidden);
	else if (c.role == INIT_NO_ROLE && f->stopped_etcd != NULL)
		texts_add(&c.errors,
		          "no Kubernetes was found here, and %s does not run: start it if it is the "
		          "cluster's etcd; else say what the node is to be with --role control-plane or "
		          "--role worker",
		          f->stopped_etcd);
	else if (c.role == INIT_NO_ROLE)
		texts_add(&c.errors,
		          "no Kubernetes and no etcd was found here: say what this node is to be "
		          "with --role control-plane or --role worker");
	else if (c.role == INIT_CONTROL_PLANE)
		choose_vips(f, wish, &c);
	else if (wish->n_vips > 1)
		texts_add(&c.errors, "--vip: a worker needs only one, to reach the API servers by");
	note_certificates(f, now_s, &c);
	note_rest(f, wish, &c);
	*ret = c;
}
