/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three named lists (contexts, clusters, users), of which current-context picks one entry each.
 * Read from the tree that lib/base/conf makes of YAML, and of JSON, which is YAML too. Messages
 * name keys and entries, never values: any of them may be a secret, also when it stands in the
 * wrong place.
 *
 * What kubectl prefers is preferred here: contents over the path of a file, and tokenFile, which
 * can be renewed, over token.
 */
#include "prism/probe/kubeconfig.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/conf.h"
#include "base/fileio.h"
#include "base/mem.h"

#define FILE_MAX_BYTES (1 << 20)
#define NAME_SHOWN 64

struct reading {
	struct conf *conf;
	const char *path;
	char *error; /* of error_size bytes */
	size_t error_size;
};

void kubeconfig_free(struct kubeconfig *k)
{
	if (k == NULL)
		return;
	free(k->server);
	free(k->server_name);
	free(k->ca_file);
	free(k->ca_pem);
	free(k->cert_file);
	free(k->cert_pem);
	free(k->key_file);
	free(k->key_pem);
	free(k->token_file);
	free(k->token);
	free(k);
}

void kubeconfig_identify(const struct kubeconfig *k, struct http_request *request)
{
	request->server_name = k->server_name;
	request->ca_file = k->ca_file;
	request->ca_pem = k->ca_pem;
	request->client_cert_file = k->cert_file;
	request->client_cert_pem = k->cert_pem;
	request->client_key_file = k->key_file;
	request->client_key_pem = k->key_pem;
	request->bearer_token_file = k->token_file;
	request->bearer_token = k->token;
}

/* --- looking into the tree --- */

/* Of a map or of anything else; NULL for what is absent, or null, as YAML has it. */
static const struct conf_node *find(const struct conf_node *map, const char *key,
                                    enum conf_shape shape)
{
	const struct conf_node *node;

	if (map == NULL || map->shape != CONF_MAP)
		return NULL;
	node = conf_node_find(map, key);
	return node != NULL && node->shape == shape && !conf_node_is_null(node) ? node : NULL;
}

/* "" is what some tools write for nothing. */
static const char *find_text(const struct conf_node *map, const char *key)
{
	const struct conf_node *node = find(map, key, CONF_SCALAR);

	return node != NULL && node->text[0] != '\0' ? node->text : NULL;
}

/* The map under `inner` of the entry that is called `name`. */
static const struct conf_node *find_named(const struct conf_node *root, const char *list,
                                          const char *name, const char *inner)
{
	const struct conf_node *entries = find(root, list, CONF_LIST);

	for (size_t i = 0; entries != NULL && i < entries->n; i++) {
		const char *text = find_text(entries->values[i], "name");

		if (text != NULL && strcmp(text, name) == 0)
			return find(entries->values[i], inner, CONF_MAP);
	}
	return NULL;
}

/* --- values --- */

static char *absolute(const struct reading *r, const char *file)
{
	AUTO(free) char *copy = NULL;

	if (file[0] == '/')
		return xstrdup(file);
	copy = xstrdup(r->path);
	return xasprintf("%s/%s", dirname(copy), file);
}

/* Contents under `data_key` in base64, or else a path under `file_key`. */
static int take_pem(const struct reading *r, const struct conf_node *map, const char *data_key,
                    const char *file_key, char **ret_pem, char **ret_file)
{
	const char *data = find_text(map, data_key), *file = find_text(map, file_key);
	AUTO(free) char *pem = NULL;
	size_t len;

	if (data == NULL) {
		*ret_file = file != NULL ? absolute(r, file) : NULL;
		return 0;
	}
	if (base64_decode(data, &pem, &len) < 0 || strlen(pem) != len) {
		(void) snprintf(r->error, r->error_size, "%s is not base64 of a text", data_key);
		return -EBADMSG;
	}
	*ret_pem = TAKE_PTR(pem);
	return 0;
}

static int take_cluster(const struct reading *r, const struct conf_node *cluster,
                        struct kubeconfig *k)
{
	const char *name = find_text(cluster, "tls-server-name");
	const char *server = find_text(cluster, "server");

	if (server != NULL && strncmp(server, "https://", 8) == 0)
		k->server = xstrndup(server, 8 + strcspn(server + 8, "/"));
	k->server_name = name != NULL ? xstrdup(name) : NULL;
	return take_pem(r, cluster, "certificate-authority-data", "certificate-authority", &k->ca_pem,
	                &k->ca_file);
}

static int take_user(const struct reading *r, const struct conf_node *user, struct kubeconfig *k)
{
	const char *token_file = find_text(user, "tokenFile"), *token = find_text(user, "token");
	bool has_cert, has_key;
	int e;

	e = take_pem(r, user, "client-certificate-data", "client-certificate", &k->cert_pem,
	             &k->cert_file);
	if (e < 0)
		return e;
	e = take_pem(r, user, "client-key-data", "client-key", &k->key_pem, &k->key_file);
	if (e < 0)
		return e;
	if (token_file != NULL)
		k->token_file = absolute(r, token_file);
	else if (token != NULL)
		k->token = xstrdup(token);
	has_cert = k->cert_pem != NULL || k->cert_file != NULL;
	has_key = k->key_pem != NULL || k->key_file != NULL;
	if (has_cert != has_key) {
		(void) snprintf(r->error, r->error_size, "the user has a client %s without its %s",
		                has_cert ? "certificate" : "key", has_cert ? "key" : "certificate");
		return -EBADMSG;
	}
	if (!has_cert && token_file == NULL && token == NULL) {
		(void) snprintf(r->error, r->error_size,
		                "the user has neither a client certificate nor a token%s",
		                find(user, "exec", CONF_MAP) != NULL ? " (exec plugins are not run)" : "");
		return -EBADMSG;
	}
	return 0;
}

/* --- the file --- */

static int no_entry(const struct reading *r, const char *what, const char *name)
{
	(void) snprintf(r->error, r->error_size, "there is no %s '%.*s'", what, NAME_SHOWN, name);
	return -EBADMSG;
}

static int take_current(const struct reading *r, const struct conf_node *root, struct kubeconfig *k)
{
	const char *current = find_text(root, "current-context");
	const struct conf_node *context, *cluster, *user;
	const char *cluster_name, *user_name;
	int e;

	if (current == NULL) {
		(void) snprintf(r->error, r->error_size, "it has no current-context");
		return -EBADMSG;
	}
	context = find_named(root, "contexts", current, "context");
	if (context == NULL)
		return no_entry(r, "context", current);
	cluster_name = find_text(context, "cluster");
	user_name = find_text(context, "user");
	if (cluster_name == NULL || user_name == NULL) {
		(void) snprintf(r->error, r->error_size, "the context '%.*s' has no %s", NAME_SHOWN,
		                current, cluster_name == NULL ? "cluster" : "user");
		return -EBADMSG;
	}
	cluster = find_named(root, "clusters", cluster_name, "cluster");
	if (cluster == NULL)
		return no_entry(r, "cluster", cluster_name);
	user = find_named(root, "users", user_name, "user");
	if (user == NULL)
		return no_entry(r, "user", user_name);
	e = take_cluster(r, cluster, k);
	return e < 0 ? e : take_user(r, user, k);
}

int kubeconfig_parse(const char *path, const char *text, size_t len, char *ret_error,
                     size_t error_size, struct kubeconfig **ret_kubeconfig)
{
	AUTO(conf_free) struct conf *conf = conf_new();
	AUTO(kubeconfig_free) struct kubeconfig *k = NEW0(struct kubeconfig);
	const struct reading reading = {conf, path, ret_error, error_size};
	const struct conf_node *root;
	int r;

	conf_add_text(conf, path, text, len);
	root = conf_document(conf, 0);
	if (conf_error_count(conf) > 0 || root == NULL || conf_document(conf, 1) != NULL) {
		(void) snprintf(ret_error, error_size, "it is not one YAML document");
		return -EBADMSG;
	}
	r = take_current(&reading, root, k);
	if (r < 0)
		return r;
	*ret_kubeconfig = TAKE_PTR(k);
	return 0;
}

int kubeconfig_read(const char *path, char *ret_error, size_t error_size,
                    struct kubeconfig **ret_kubeconfig)
{
	AUTO(free) char *text = NULL;
	size_t len;
	int r;

	r = file_read(path, FILE_MAX_BYTES, &text, &len);
	if (r < 0) {
		(void) snprintf(ret_error, error_size, "%s", strerror(-r));
		return r;
	}
	return kubeconfig_parse(path, text, len, ret_error, error_size, ret_kubeconfig);
}
