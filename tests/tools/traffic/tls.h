/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the test tools' TLS is set to. A file that cannot be used ends the program with a message.
 */

#include <openssl/ssl.h>

/* Verifies the server against the authorities in ca_file. No tickets, no resumption: each
 * connection is a whole one. */
SSL_CTX *tls_client(const char *ca_file);
SSL_CTX *tls_server(const char *cert_file, const char *key_file);
