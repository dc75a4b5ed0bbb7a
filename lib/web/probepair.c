/* SPDX-License-Identifier: Apache-2.0 */
/* The pair is checked by the calls by which curl gives it to OpenSSL. */
#include "web/probepair.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/probecert.h"

#define FILE_MAX_BYTES 65536

/* OpenSSL would ask for it on the terminal. */
static int no_passphrase_cb(char *buf UNUSED, int size UNUSED, int is_write UNUSED,
                            void *userdata UNUSED)
{
	return -1;
}

static const char *refusal(SSL_CTX *ssl, X509 *cert, EVP_PKEY *key)
{
	if (cert == NULL)
		return PROBECERT_CERT " holds no certificate";
	if (key == NULL)
		return PROBECERT_KEY " holds no key";
	if (SSL_CTX_use_certificate(ssl, cert) != 1)
		return "OpenSSL refuses the certificate";
	if (X509_check_private_key(cert, key) != 1)
		return PROBECERT_KEY " is not the key of " PROBECERT_CERT;
	if (SSL_CTX_use_PrivateKey(ssl, key) != 1)
		return "OpenSSL refuses the key";
	return NULL;
}

static const char *check(const struct probepair *pair)
{
	SSL_CTX *ssl = SSL_CTX_new(TLS_client_method());
	BIO *cert_bio = BIO_new_mem_buf(pair->cert, -1), *key_bio = BIO_new_mem_buf(pair->key, -1);
	X509 *cert = NULL;
	EVP_PKEY *key = NULL;
	const char *why = "no memory";

	if (ssl != NULL && cert_bio != NULL && key_bio != NULL) {
		cert = PEM_read_bio_X509(cert_bio, NULL, no_passphrase_cb, NULL);
		key = PEM_read_bio_PrivateKey(key_bio, NULL, no_passphrase_cb, NULL);
		why = refusal(ssl, cert, key);
	}
	EVP_PKEY_free(key);
	X509_free(cert);
	BIO_free(key_bio);
	BIO_free(cert_bio);
	SSL_CTX_free(ssl);
	ERR_clear_error();
	return why;
}

static void drop(struct probepair *pair)
{
	free(pair->cert);
	if (pair->key != NULL)
		explicit_bzero(pair->key, strlen(pair->key));
	free(pair->key);
	pair->cert = pair->key = NULL;
}

/* Before the file is read: a change in between shows in the next stamp. */
static void stamp(const char *path, struct probepair_stamp *ret_stamp)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return;
	*ret_stamp = (struct probepair_stamp){.device = st.st_dev,
	                                      .inode = st.st_ino,
	                                      .changed_s = st.st_ctim.tv_sec,
	                                      .changed_ns = st.st_ctim.tv_nsec,
	                                      .size = st.st_size};
}

const char *probepair_refresh(struct probepair *pair, const char *directory)
{
	AUTO(free) char *cert_path = xasprintf("%s/" PROBECERT_CERT, directory);
	AUTO(free) char *key_path = xasprintf("%s/" PROBECERT_KEY, directory);
	struct probepair_stamp stamps[2] = {0};
	const char *why;
	size_t len;

	stamp(cert_path, &stamps[0]);
	stamp(key_path, &stamps[1]);
	/* Without padding: every member has 64 bits. */
	if (memcmp(stamps, pair->stamps, sizeof(stamps)) == 0)
		return NULL;
	drop(pair);
	memset(pair->stamps, 0, sizeof(pair->stamps));
	/* What could not be read is tried again. */
	if (file_read(cert_path, FILE_MAX_BYTES, &pair->cert, &len) < 0 ||
	    file_read(key_path, FILE_MAX_BYTES, &pair->key, &len) < 0) {
		drop(pair);
		return NULL;
	}
	memcpy(pair->stamps, stamps, sizeof(stamps));
	why = check(pair);
	if (why != NULL)
		drop(pair);
	return why;
}

void probepair_fini(struct probepair *pair)
{
	drop(pair);
	*pair = (struct probepair){0};
}
