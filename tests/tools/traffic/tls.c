/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Contexts of OpenSSL for both roles. Partial writes and buffers that move, because link.c keeps
 * what could not be sent in a buffer of its own.
 */

#include "tls.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"

static NORETURN void die(const char *what)
{
	(void) fprintf(stderr, "%s: ", what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

static SSL_CTX *new_context(const SSL_METHOD *method)
{
	SSL_CTX *tls = SSL_CTX_new(method);

	if (tls == NULL)
		die("TLS");
	(void) SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE |
	                                 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
	                                 SSL_MODE_RELEASE_BUFFERS);
	(void) SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
	return tls;
}

SSL_CTX *tls_client(const char *ca_file)
{
	SSL_CTX *tls = new_context(TLS_client_method());

	if (SSL_CTX_load_verify_locations(tls, ca_file, NULL) != 1)
		die(ca_file);
	SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
	return tls;
}

SSL_CTX *tls_server(const char *cert_file, const char *key_file)
{
	SSL_CTX *tls = new_context(TLS_server_method());

	if (SSL_CTX_use_certificate_chain_file(tls, cert_file) != 1)
		die(cert_file);
	if (SSL_CTX_use_PrivateKey_file(tls, key_file, SSL_FILETYPE_PEM) != 1)
		die(key_file);
	return tls;
}
