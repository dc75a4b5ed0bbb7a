/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One connection to one endpoint, with the credentials of its day. Counted: whoever has a call on
 * it holds it, so a channel that was replaced lives until its last call has ended, and no longer.
 */

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <openssl/ssl.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcd/url.h"

/*
 * The PEM files of a client: read, checked with OpenSSL, and compared with the disk later on. gRPC
 * reads what it is given once and reports a broken file only as an unreachable server, so whatever
 * is wrong is found here, with the file's name.
 */

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

struct channel;

enum channel_state {
	CHANNEL_READY,
	CHANNEL_CONNECTING, /* or idle: a call waits for the connection */
	CHANNEL_FAILED,     /* a call fails at once, until the next attempt to connect */
};

/* Begins to connect. pem is NULL for http and unix. A longer message than receive_max_bytes ends
 * its call. */
struct channel *channel_new(const struct url *url, const struct pem *pem, size_t receive_max_bytes);
struct channel *channel_ref(struct channel *channel);
void channel_unref(struct channel *channel); /* NULL is fine */

grpc_channel *channel_grpc(const struct channel *channel);

/* Also begins to connect, if it is idle. */
enum channel_state channel_state(const struct channel *channel);
