/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The PEM files of a client: read, checked with OpenSSL, and compared with the disk later on. gRPC
 * reads what it is given once and reports a broken file only as an unreachable server, so whatever
 * is wrong is found here, with the file's name.
 */

#include <grpc/grpc_security.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"

#define PEM_FILE_MAX_BYTES (1024 * 1024)

struct pem;

/*
 * cert and key may be NULL, both or none. 0, or -errno with a sentence in ret_error. With 0,
 * ret_error is "", or a warning: a certificate has expired (or is not valid yet), which only the
 * server's own view of time can decide.
 */
int pem_load(const char *ca_file, const char *cert_file, const char *key_file,
             char ret_error[static ETCD_ERROR_TEXT_MAX], struct pem **ret_pem);
void pem_free(struct pem *pem);
DEFINE_AUTO(struct pem, pem_free);

/* A file is no longer the one that was read: three stat(2) calls. */
bool pem_is_stale(const struct pem *pem);

bool pem_equal(const struct pem *a, const struct pem *b);

/* For a client of TLS 1.2 and newer, that goes by nothing else; SSL_CTX_free() it. NULL, with
 * OpenSSL's reason in its queue: as where the policy of the machine wants longer keys. */
SSL_CTX *pem_context(const struct pem *pem);

/* The same for gRPC; released by grpc_channel_credentials_release(). */
grpc_channel_credentials *pem_credentials(const struct pem *pem);
