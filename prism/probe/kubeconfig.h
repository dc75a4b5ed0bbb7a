/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a kubeconfig says of how to verify an API server and of who we are: by its current-context.
 * prism itself has no use for the address of the server in it. Programs that it names (exec
 * plugins) are never run.
 * https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/
 */

#include <stddef.h>

#include "base/cleanup.h"
#include "web/http.h"

/* Each is NULL when the file has none. A file's path is absolute: those in a kubeconfig are
 * relative to it. Where there are contents there is no path. */
struct kubeconfig {
	char *server;      /* https://HOST[:PORT], without a path; NULL also where it is another URL */
	char *server_name; /* tls-server-name */
	char *ca_file, *ca_pem;
	char *cert_file, *cert_pem;
	char *key_file, *key_pem;
	char *token_file, *token;
};

/* 0; or the error of reading the file, or -EBADMSG, with the reason in ret_error, which holds no
 * part of the file. */
int kubeconfig_read(const char *path, char *ret_error, size_t error_size,
                    struct kubeconfig **ret_kubeconfig);
/* The same from a text; `path` says what relative paths in it are relative to. */
int kubeconfig_parse(const char *path, const char *text, size_t len, char *ret_error,
                     size_t error_size, struct kubeconfig **ret_kubeconfig);
/* Sets who is asked and who asks: the name and CA to verify, certificate, key and token. Borrowed. */
void kubeconfig_identify(const struct kubeconfig *k, struct http_request *request);
void kubeconfig_free(struct kubeconfig *k);
DEFINE_AUTO(struct kubeconfig, kubeconfig_free);
