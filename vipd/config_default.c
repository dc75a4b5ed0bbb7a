/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds where no document says otherwise: a kubeadm node needs none. The values are constants,
 * save for two that depend on the machine (struct config_env): which of kubeadm's client
 * certificates there is, and the host's name.
 */
#include "vipd/config_priv.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mono.h"

const char config_default_ca_file[] = "/etc/kubernetes/pki/ca.crt";

static const char default_endpoint[] = "https://127.0.0.1:2379";
static const char default_etcd_ca[] = "/etc/kubernetes/pki/etcd/ca.crt";

/* A client certificate that kubeadm makes; the API server's own works as well. */
static const struct {
	const char *cert, *key;
} etcd_clients[] = {
    {"/etc/kubernetes/pki/etcd/healthcheck-client.crt",
     "/etc/kubernetes/pki/etcd/healthcheck-client.key"},
    {"/etc/kubernetes/pki/apiserver-etcd-client.crt",
     "/etc/kubernetes/pki/apiserver-etcd-client.key"},
};

void config_set_defaults(struct config *config)
{
	config->lease_ttl_us = 10 * US_PER_S;
	config->policy = (struct config_policy){
	    .fence = CONFIG_FENCE_AUTO,
	    .priority = 100,
	    .avoid_etcd_leader = true,
	    .hold_down_us = 30 * US_PER_S,
	    .health =
	        {
	            .enabled = true,
	            .url = xstrdup("https://127.0.0.1:6443/readyz"),
	            .server_name = xstrdup("kubernetes"),
	            .ca_file = xstrdup(config_default_ca_file),
	            .interval_us = US_PER_S,
	            .timeout_us = US_PER_S,
	            .rise = 2,
	            .fall = 3,
	        },
	    .announce_refresh_us = 60 * US_PER_S,
	    .announce_repeats = 5,
	    .destroy_sockets = true,
	};
	config->etcd = (struct config_etcd){
	    .discover_members = true,
	    .prefix = xstrdup("fairlead/v1/"),
	    .call_timeout_us = US_PER_S,
	    .hedge_us = 300 * US_PER_MS,
	};
}

/* --- etcd --- */

static void take_local_files(struct config_reading *reading, struct config_etcd *etcd)
{
	size_t chosen = 0;

	for (size_t i = 0; i < ARRAY_SIZE(etcd_clients); i++) {
		if (reading->env->file_exists(etcd_clients[i].cert) &&
		    reading->env->file_exists(etcd_clients[i].key)) {
			chosen = i;
			break;
		}
	}
	etcd->ca_file = xstrdup(default_etcd_ca);
	etcd->cert_file = xstrdup(etcd_clients[chosen].cert);
	etcd->key_file = xstrdup(etcd_clients[chosen].key);
}

static bool is_https(const char *url)
{
	return strncmp(url, "https://", 8) == 0;
}

/* Reports at the key, or at the document if the key is not written. */
static void report(struct config_reading *reading, const char *key, const char *hint,
                   const char *what)
{
	const struct conf_node *document = reading->etcd_document;
	const struct conf_node *value = key != NULL ? conf_node_find(document, key) : NULL;
	size_t before = value != NULL ? conf_enter(reading->conf, "%s", key) : 0;

	conf_error(reading->conf, value != NULL ? value : document, hint, "%s", what);
	if (value != NULL)
		conf_leave(reading->conf, before);
}

static void check_endpoints(struct config_reading *reading, const struct config_etcd *etcd)
{
	bool https = is_https(etcd->endpoints[0]);

	for (size_t i = 1; i < etcd->n_endpoints; i++) {
		if (is_https(etcd->endpoints[i]) != https) {
			report(reading, "endpoints", NULL, "http:// and https:// endpoints cannot be mixed");
			return;
		}
		for (size_t j = 0; j < i; j++) {
			if (strcmp(etcd->endpoints[i], etcd->endpoints[j]) == 0)
				report(reading, "endpoints", NULL, "the same endpoint is there twice");
		}
	}
	if (https && etcd->ca_file == NULL)
		report(reading, NULL, "on a kubeadm node it is /etc/kubernetes/pki/etcd/ca.crt",
		       "https:// endpoints need a caFile");
	if (!https && (etcd->ca_file != NULL || etcd->cert_file != NULL || etcd->key_file != NULL))
		report(reading, NULL, "did you mean https://?",
		       "http:// endpoints make no use of certificates");
}

static void check_etcd(struct config_reading *reading, const struct config_etcd *etcd)
{
	check_endpoints(reading, etcd);
	if (etcd->cert_file != NULL && etcd->key_file == NULL)
		report(reading, "certFile", "keyFile is missing",
		       "a certificate is of no use without its key");
	if (etcd->key_file != NULL && etcd->cert_file == NULL)
		report(reading, "keyFile", "certFile is missing",
		       "a key is of no use without its certificate");
	if (etcd->user != NULL && etcd->password_file == NULL)
		report(reading, "user", "passwordFile is missing", "a user needs a password");
	if (etcd->password_file != NULL && etcd->user == NULL)
		report(reading, "passwordFile", "user is missing", "a password needs a user");
	if (etcd->hedge_us >= etcd->call_timeout_us)
		report(reading,
		       conf_node_find(reading->etcd_document, "hedgeDelay") != NULL ? "hedgeDelay"
		                                                                    : "callTimeout",
		       "a call would end before it is sent to a second endpoint",
		       "hedgeDelay must be shorter than callTimeout");
}

void config_resolve_etcd(struct config_reading *reading)
{
	const struct conf_node *document = reading->etcd_document;
	struct config_etcd *etcd = &reading->etcd.etcd;
	size_t before;

	/* One set: the local files fit the local endpoint and no other. */
	if (document == NULL || (conf_node_find(document, "endpoints") == NULL &&
	                         conf_node_find(document, "caFile") == NULL &&
	                         conf_node_find(document, "certFile") == NULL &&
	                         conf_node_find(document, "keyFile") == NULL)) {
		reading->config->etcd_is_default = true;
		take_local_files(reading, etcd);
	}
	if (reading->etcd.endpoints.n == 0) {
		reading->etcd.endpoints.items = xcalloc(1, sizeof(char *));
		reading->etcd.endpoints.items[0] = xstrdup(default_endpoint);
		reading->etcd.endpoints.n = 1;
	}
	etcd->endpoints = reading->etcd.endpoints.items;
	etcd->n_endpoints = reading->etcd.endpoints.n;
	reading->etcd.endpoints = (struct conf_strings){0};

	before = conf_enter(reading->conf, "EtcdClientConfig");
	/* What is wrong by itself has been said, and a half-read section makes no sense as a whole. */
	if (document != NULL && reading->etcd_is_whole)
		check_etcd(reading, etcd);
	conf_leave(reading->conf, before);
}

/* --- the node's name --- */

static void take_name(struct config_reading *reading, const struct conf_node *at, const char *name,
                      const char *what)
{
	AUTO(free) char *lower = xstrdup(name);
	char scratch[CONF_SCRATCH_BYTES];
	const char *hint = NULL, *wrong;

	/* As the kubelet does. */
	for (char *p = lower; *p != '\0'; p++)
		*p = (char) tolower((unsigned char) *p);
	wrong = config_check_node_name(lower, scratch, &hint);
	if (lower[0] == '\0')
		wrong = "is empty";
	if (wrong == NULL)
		memcpy(reading->config->node_name, lower, strlen(lower) + 1);
	else if (at != NULL)
		conf_error(reading->conf, at, hint, "%s", wrong);
	else
		conf_error(reading->conf, NULL, "give it one with NodeConfig", "%s '%s' %s", what, name,
		           wrong);
}

void config_resolve_node_name(struct config_reading *reading)
{
	char buf[HOST_NAME_MAX + 1] = "";
	const char *name = reading->env->hostname;

	if (reading->node_document != NULL)
		return;
	if (reading->hostname != NULL) {
		size_t before = conf_enter(reading->conf, "%s", reading->hostname_path);

		take_name(reading, reading->hostname, reading->hostname->text, NULL);
		conf_leave(reading->conf, before);
		return;
	}
	if (name == NULL) {
		(void) gethostname(buf, sizeof(buf) - 1);
		name = buf;
	}
	take_name(reading, NULL, name, "the host's name");
}
