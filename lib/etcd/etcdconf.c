/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to reach etcd, from the document to the struct: the table of its keys, what holds where it
 * says nothing, what does not go together, and the way back into YAML. On a node of kubeadm's
 * nothing has to be written: the defaults depend on the machine in one thing, which client
 * certificate there is.
 */
#include "etcd/etcdconf.h"

#include <string.h>

#include "base/conf_check.h"
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

#define ETCD(member) offsetof(struct etcdconf, member)
#define N_OWN_FIELDS 4 /* the first ones, which may be the node's own */
const struct conf_field etcdconf_fields[] = {
    CONF_ROW("endpoints", conf_list, ETCD(endpoints), NULL,
             "Members: scheme, host and port. All `https://` or all `http://`, none twice.",
             .word = "list of 1 to 16 URLs", .def_word = "`https://127.0.0.1:2379`",
             .item = &conf_string, .size = sizeof(char *),
             .count = ETCD(n_endpoints) - ETCD(endpoints), .min = 1, .max = ETCD_ENDPOINTS_MAX,
             .check = check_endpoint),
    CONF_ROW("caFile", conf_string, ETCD(ca_file), NULL,
             "Verifies the members. Needed with `https://`.", .def_word = "see above",
             .check = conf_check_file),
    CONF_ROW("certFile", conf_string, ETCD(cert_file), NULL, "Client certificate; with `keyFile`.",
             .def_word = "see above", .check = conf_check_file),
    CONF_ROW("keyFile", conf_string, ETCD(key_file), NULL, "Its key.", .def_word = "see above",
             .flags = CONF_SECRET, .check = conf_check_file),
    CONF_ROW("user", conf_string, ETCD(user), NULL,
             "User of etcd's own authentication; with `passwordFile`."),
    {.key = "password",
     .flags = CONF_REFUSED,
     .refusal =
         "a password does not belong here, write it into a file and name that in passwordFile"},
    CONF_ROW("passwordFile", conf_string, ETCD(password_file), NULL,
             "Holds the password. A `password` in the configuration is refused.",
             .flags = CONF_SECRET, .check = conf_check_file),
    CONF_ROW("discoverMembers", conf_bool, ETCD(discover_members), "true",
             "Ask the members for each other's addresses and use those too."),
    CONF_ROW(
        "prefix", conf_string, ETCD(prefix), "fairlead/v1/",
        "All keys begin with it. Must end in `/` and not begin with one. The same on every node.",
        .check = conf_check_prefix),
    CONF_ROW("callTimeout", conf_duration, ETCD(call_timeout_us), "1s",
             "A call without an answer fails after this.", .min = 100 * US_PER_MS,
             .max = 30 * US_PER_S),
    CONF_ROW("hedgeDelay", conf_duration, ETCD(hedge_us), "300ms",
             "A call without an answer is sent to a second member after this.",
             .word = "10ms to 10s, shorter than `callTimeout`", .min = 10 * US_PER_MS,
             .max = 10 * US_PER_S),
    {0},
};

void etcdconf_fini(struct etcdconf *etcd)
{
	conf_fini(etcdconf_fields, etcd);
}

struct etcdconf etcdconf_take(struct etcdconf_reading *reading)
{
	struct etcdconf etcd = reading->etcd;

	reading->etcd = (struct etcdconf){0};
	return etcd;
}

void etcdconf_reading_fini(struct etcdconf_reading *reading)
{
	etcdconf_fini(&reading->etcd);
}

void etcdconf_read(struct etcdconf_reading *reading, struct conf *conf,
                   const struct conf_node *document)
{
	size_t errors = conf_error_count(conf);

	if (!conf_is_only_one(conf, document, &reading->document))
		return;
	conf_read_map(conf, document, etcdconf_fields, &reading->etcd);
	reading->is_whole = conf_error_count(conf) == errors;
}

/* --- defaults and cross checks --- */

void etcdconf_set_defaults(struct etcdconf_reading *reading)
{
	conf_set_defaults(etcdconf_fields, &reading->etcd);
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
	bool is_own = true;
	size_t before;

	/* One set: the local files fit the local endpoint and no other. */
	for (size_t i = 0; i < N_OWN_FIELDS; i++)
		is_own = is_own && conf_node_find(document, etcdconf_fields[i].key) == NULL;
	if (is_own) {
		etcd->is_default = true;
		take_local_files(etcd, file_exists);
	}
	if (etcd->n_endpoints == 0) {
		etcd->endpoints = xcalloc(1, sizeof(etcd->endpoints[0]));
		etcd->endpoints[etcd->n_endpoints++] = xstrdup(default_endpoint);
	}

	before = conf_enter(conf, "EtcdClientConfig");
	/* What is wrong by itself has been said, and a half-read section makes no sense as a whole. */
	if (document != NULL && reading->is_whole)
		check_etcd(reading, conf);
	conf_leave(conf, before);
}

void etcdconf_print(const struct etcdconf *etcd, FILE *out)
{
	conf_print_header(out, CONF_API_FAIRLEAD, "EtcdClientConfig");
	for (size_t i = 0; etcdconf_fields[i].key != NULL; i++)
		conf_print_row(&etcdconf_fields[i], etcd, etcd->is_default && i < N_OWN_FIELDS ? "# " : "",
		               out);
}
