/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to reach etcd, from the document to the struct: the table of its keys, what holds where it
 * says nothing, what does not go together, and the way back into YAML. On a node of kubeadm's
 * nothing has to be written: the defaults depend on the machine in one thing, which client
 * certificate there is.
 */
#include "etcd/etcdconf.h"

#include <stdlib.h>
#include <string.h>

#include "base/conf_url.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/etcd.h"

static const char default_endpoint[] = "https://127.0.0.1:2379";
static const char default_ca[] = "/etc/kubernetes/pki/etcd/ca.crt";

/* A client certificate that kubeadm makes; the API server's own works as well. */
static const struct {
	const char *cert, *key;
} clients[] = {
    {"/etc/kubernetes/pki/etcd/healthcheck-client.crt",
     "/etc/kubernetes/pki/etcd/healthcheck-client.key"},
    {"/etc/kubernetes/pki/apiserver-etcd-client.crt",
     "/etc/kubernetes/pki/apiserver-etcd-client.key"},
};

/* --- life --- */

void etcdconf_fini(struct etcdconf *etcd)
{
	for (size_t i = 0; i < etcd->n_endpoints; i++)
		free(etcd->endpoints[i]);
	free(etcd->endpoints);
	free(etcd->ca_file);
	free(etcd->cert_file);
	free(etcd->key_file);
	free(etcd->user);
	free(etcd->password_file);
	free(etcd->prefix);
	*etcd = (struct etcdconf){0};
}

struct etcdconf etcdconf_take(struct etcdconf_reading *reading)
{
	struct etcdconf etcd = reading->etcd;

	reading->etcd = (struct etcdconf){0};
	return etcd;
}

void etcdconf_reading_fini(struct etcdconf_reading *reading)
{
	conf_strings_fini(&reading->endpoints);
	etcdconf_fini(&reading->etcd);
}

/* --- single values --- */

static const char *check_endpoint(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                  const char **ret_hint)
{
	struct conf_url url;
	const char *wrong;

	*ret_hint = "such as https://10.0.0.1:2379";
	wrong = conf_parse_url(text, &url);
	if (wrong != NULL)
		return wrong;
	if (url.rest[0] != '\0') {
		*ret_hint = "scheme, host and port are all";
		return "has a path";
	}
	if (!url.has_port) {
		*ret_hint = "etcd's client port is 2379";
		return "has no port";
	}
	return NULL;
}

/* --- the document --- */

#define ETCD(member) offsetof(struct etcdconf_reading, etcd.member)
const struct conf_field etcdconf_fields[] = {
    {.key = "endpoints",
     .set = conf_set_strings,
     .offset = offsetof(struct etcdconf_reading, endpoints),
     .min = 1,
     .max = ETCD_ENDPOINTS_MAX,
     .check = check_endpoint},
    {.key = "caFile", .set = conf_set_string, .offset = ETCD(ca_file), .check = conf_check_file},
    {.key = "certFile",
     .set = conf_set_string,
     .offset = ETCD(cert_file),
     .check = conf_check_file},
    {.key = "keyFile",
     .set = conf_set_string,
     .offset = ETCD(key_file),
     .flags = CONF_SECRET,
     .check = conf_check_file},
    {.key = "user", .set = conf_set_string, .offset = ETCD(user)},
    {.key = "password",
     .flags = CONF_REFUSED,
     .refusal =
         "a password does not belong here, write it into a file and name that in passwordFile"},
    {.key = "passwordFile",
     .set = conf_set_string,
     .offset = ETCD(password_file),
     .flags = CONF_SECRET,
     .check = conf_check_file},
    {.key = "discoverMembers", .set = conf_set_bool, .offset = ETCD(discover_members)},
    {.key = "prefix", .set = conf_set_string, .offset = ETCD(prefix), .check = conf_check_prefix},
    {.key = "callTimeout",
     .set = conf_set_duration,
     .offset = ETCD(call_timeout_us),
     .min = 100 * US_PER_MS,
     .max = 30 * US_PER_S},
    {.key = "hedgeDelay",
     .set = conf_set_duration,
     .offset = ETCD(hedge_us),
     .min = 10 * US_PER_MS,
     .max = 10 * US_PER_S},
    {0},
};

void etcdconf_read(struct etcdconf_reading *reading, struct conf *conf,
                   const struct conf_node *document)
{
	size_t errors = conf_error_count(conf);

	if (!conf_is_only_one(conf, document, &reading->document))
		return;
	conf_read_map(conf, document, etcdconf_fields, reading);
	reading->is_whole = conf_error_count(conf) == errors;
}

/* --- defaults and cross checks --- */

void etcdconf_set_defaults(struct etcdconf_reading *reading)
{
	reading->etcd = (struct etcdconf){
	    .discover_members = true,
	    .prefix = xstrdup("fairlead/v1/"),
	    .call_timeout_us = US_PER_S,
	    .hedge_us = 300 * US_PER_MS,
	};
}

static void take_local_files(struct etcdconf *etcd, bool (*file_exists)(const char *path))
{
	size_t chosen = 0;

	for (size_t i = 0; i < ARRAY_SIZE(clients); i++) {
		if (file_exists(clients[i].cert) && file_exists(clients[i].key)) {
			chosen = i;
			break;
		}
	}
	etcd->ca_file = xstrdup(default_ca);
	etcd->cert_file = xstrdup(clients[chosen].cert);
	etcd->key_file = xstrdup(clients[chosen].key);
}

static bool is_https(const char *url)
{
	return strncmp(url, "https://", 8) == 0;
}

/* Reports at the key, or at the document if the key is not written. */
static void report(const struct etcdconf_reading *reading, struct conf *conf, const char *key,
                   const char *hint, const char *what)
{
	const struct conf_node *document = reading->document;
	const struct conf_node *value = key != NULL ? conf_node_find(document, key) : NULL;
	size_t before = value != NULL ? conf_enter(conf, "%s", key) : 0;

	conf_error(conf, value != NULL ? value : document, hint, "%s", what);
	if (value != NULL)
		conf_leave(conf, before);
}

static void check_endpoints(const struct etcdconf_reading *reading, struct conf *conf)
{
	const struct etcdconf *etcd = &reading->etcd;
	bool https = is_https(etcd->endpoints[0]);

	for (size_t i = 1; i < etcd->n_endpoints; i++) {
		if (is_https(etcd->endpoints[i]) != https) {
			report(reading, conf, "endpoints", NULL,
			       "http:// and https:// endpoints cannot be mixed");
			return;
		}
		for (size_t j = 0; j < i; j++) {
			if (strcmp(etcd->endpoints[i], etcd->endpoints[j]) == 0)
				report(reading, conf, "endpoints", NULL, "the same endpoint is there twice");
		}
	}
	if (https && etcd->ca_file == NULL)
		report(reading, conf, NULL, "on a kubeadm node it is /etc/kubernetes/pki/etcd/ca.crt",
		       "https:// endpoints need a caFile");
	if (!https && (etcd->ca_file != NULL || etcd->cert_file != NULL || etcd->key_file != NULL))
		report(reading, conf, NULL, "did you mean https://?",
		       "http:// endpoints make no use of certificates");
}

static void check_etcd(const struct etcdconf_reading *reading, struct conf *conf)
{
	const struct etcdconf *etcd = &reading->etcd;

	check_endpoints(reading, conf);
	if (etcd->cert_file != NULL && etcd->key_file == NULL)
		report(reading, conf, "certFile", "keyFile is missing",
		       "a certificate is of no use without its key");
	if (etcd->key_file != NULL && etcd->cert_file == NULL)
		report(reading, conf, "keyFile", "certFile is missing",
		       "a key is of no use without its certificate");
	if (etcd->user != NULL && etcd->password_file == NULL)
		report(reading, conf, "user", "passwordFile is missing", "a user needs a password");
	if (etcd->password_file != NULL && etcd->user == NULL)
		report(reading, conf, "passwordFile", "user is missing", "a password needs a user");
	if (etcd->hedge_us >= etcd->call_timeout_us)
		report(reading, conf,
		       conf_node_find(reading->document, "hedgeDelay") != NULL ? "hedgeDelay"
		                                                               : "callTimeout",
		       "a call would end before it is sent to a second endpoint",
		       "hedgeDelay must be shorter than callTimeout");
}

void etcdconf_resolve(struct etcdconf_reading *reading, struct conf *conf,
                      bool (*file_exists)(const char *path))
{
	const struct conf_node *document = reading->document;
	struct etcdconf *etcd = &reading->etcd;
	size_t before;

	/* One set: the local files fit the local endpoint and no other. */
	if (document == NULL || (conf_node_find(document, "endpoints") == NULL &&
	                         conf_node_find(document, "caFile") == NULL &&
	                         conf_node_find(document, "certFile") == NULL &&
	                         conf_node_find(document, "keyFile") == NULL)) {
		etcd->is_default = true;
		take_local_files(etcd, file_exists);
	}
	if (reading->endpoints.n == 0) {
		reading->endpoints.items = xcalloc(1, sizeof(char *));
		reading->endpoints.items[0] = xstrdup(default_endpoint);
		reading->endpoints.n = 1;
	}
	etcd->endpoints = reading->endpoints.items;
	etcd->n_endpoints = reading->endpoints.n;
	reading->endpoints = (struct conf_strings){0};

	before = conf_enter(conf, "EtcdClientConfig");
	/* What is wrong by itself has been said, and a half-read section makes no sense as a whole. */
	if (document != NULL && reading->is_whole)
		check_etcd(reading, conf);
	conf_leave(conf, before);
}

/* --- printing --- */

/* Behind a prefix that may turn it into a comment. */
static void print_own_string(FILE *out, const char *own, const char *key, const char *value)
{
	if (value == NULL)
		return;
	(void) fputs(own, out);
	conf_print_string(out, key, value);
}

void etcdconf_print(const struct etcdconf *etcd, FILE *out)
{
	const char *own = etcd->is_default ? "# " : "";

	conf_print_header(out, CONF_API_FAIRLEAD, "EtcdClientConfig");
	(void) fprintf(out, "%sendpoints:\n", own);
	for (size_t i = 0; i < etcd->n_endpoints; i++) {
		(void) fprintf(out, "%s  - ", own);
		conf_write_string(out, etcd->endpoints[i]);
		(void) fputc('\n', out);
	}
	print_own_string(out, own, "caFile", etcd->ca_file);
	print_own_string(out, own, "certFile", etcd->cert_file);
	print_own_string(out, own, "keyFile", etcd->key_file);
	conf_print_string(out, "user", etcd->user);
	conf_print_string(out, "passwordFile", etcd->password_file);
	conf_print_bool(out, "discoverMembers", etcd->discover_members);
	conf_print_string(out, "prefix", etcd->prefix);
	conf_print_duration(out, "callTimeout", etcd->call_timeout_us);
	conf_print_duration(out, "hedgeDelay", etcd->hedge_us);
}
