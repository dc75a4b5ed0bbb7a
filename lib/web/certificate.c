/* SPDX-License-Identifier: Apache-2.0 */
/* A file of certificates, which may hold a chain and a key too. */
#include "web/certificate.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/probecert.h"

#define FILE_MAX_BYTES (1 << 20)

int certificate_end(const X509 *certificate, int64_t *ret_not_after_s)
{
	struct tm tm = {0};

	if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1)
		return -EBADMSG;
	*ret_not_after_s = timegm(&tm);
	return 0;
}

/* Whether reading ended because there was no further one. */
static bool was_last(void)
{
	unsigned long error = ERR_peek_last_error();

	return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static int first_end(BIO *bio, int64_t *ret_not_after_s)
{
	int64_t first_s = INT64_MAX, end_s = 0;
	X509 *certificate;
	bool whole;

	while ((certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
		int r = certificate_end(certificate, &end_s);

		X509_free(certificate);
		if (r < 0)
			return r;
		first_s = MIN(first_s, end_s);
	}
	whole = was_last();
	ERR_clear_error();
	if (!whole)
		return -EBADMSG;
	if (first_s == INT64_MAX)
		return -ENODATA;
	*ret_not_after_s = first_s;
	return 0;
}

int certificate_file_end(const char *path, int64_t *ret_not_after_s)
{
	AUTO(free) char *content = NULL;
	size_t len;
	BIO *bio;
	int r;

	r = file_read(path, FILE_MAX_BYTES, &content, &len);
	if (r < 0)
		return r;
	bio = BIO_new_mem_buf(content, (int) len);
	if (bio == NULL)
		return -ENOMEM;
	r = first_end(bio, ret_not_after_s);
	BIO_free(bio);
	return r;
}

/* The pair is checked by the calls by which curl gives it to OpenSSL. */

#define PAIR_FILE_MAX_BYTES 65536

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
	if (file_read(cert_path, PAIR_FILE_MAX_BYTES, &pair->cert, &len) < 0 ||
	    file_read(key_path, PAIR_FILE_MAX_BYTES, &pair->key, &len) < 0) {
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
