/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ed25519 signatures (RFC 8032), by OpenSSL. A private key is a file (PEM, PKCS #8, mode 0600); a
 * public key and a signature are text:
 *
 *	ed25519:<base64 of the 32 bytes>      a public key
 *	<base64 of the 64 bytes>              a signature
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

#define SIGNATURE_PUBLIC_MAX 53 /* bytes of the text of a public key, with its NUL */
#define SIGNATURE_TEXT_MAX 89   /* of a signature */
#define SIGNATURE_PEM_MAX 4096u /* a longer file is no key */

struct signature_key;

/* Reads the private key at `path`; where there is none it makes one and writes it first, so that it
 * survives a loss of power. Blocking. -EBADMSG: the file is no Ed25519 key; -EPERM: others than its
 * owner may read it, or its owner is neither root nor who runs this nor the owner of its directory,
 * who could replace it anyway; else -errno. */
int signature_key_load_or_make(const char *path, struct signature_key **ret_key);
/* The same without making one: -ENOENT. */
int signature_key_load(const char *path, struct signature_key **ret_key);
/* What to do about that error; "": its own words are enough. */
const char *signature_key_advice(int r);
void signature_key_free(struct signature_key *key);
DEFINE_AUTO(struct signature_key, signature_key_free);

/* Valid as long as the key is. */
const char *signature_key_public(const struct signature_key *key);
void signature_sign(const struct signature_key *key, const void *data, size_t len,
                    char ret_text[static SIGNATURE_TEXT_MAX]);

bool signature_is_public_key(const char *text);
/* It is the signature of these bytes by that public key; false too when either text is no such
 * thing. */
bool signature_is_of(const char *public_key, const void *data, size_t len, const char *signature);
