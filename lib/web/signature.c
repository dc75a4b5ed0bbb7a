/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thin cover of OpenSSL's EVP_PKEY. What comes from outside (a key file, texts of others) can be
 * wrong and is an error; what OpenSSL cannot do with a good key ends the process.
 */
#include "web/signature.h"

#include <errno.h>
#include <libgen.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/openssl.h"

#define MARK "ed25519:"
#define PUBLIC_BYTES 32
#define SIGNATURE_BYTES 64
#define KEY_MODE 0600

struct signature_key {
	EVP_PKEY *pkey;
	char public_text[SIGNATURE_PUBLIC_MAX];
};

void signature_key_free(struct signature_key *key)
{
	if (key == NULL)
		return;
	EVP_PKEY_free(key->pkey);
	free(key);
}

/* Takes the key. */
static struct signature_key *wrap(EVP_PKEY *pkey)
{
	struct signature_key *key = NEW0(struct signature_key);
	unsigned char bytes[PUBLIC_BYTES];
	size_t len = sizeof(bytes);
	AUTO(free) char *text = NULL;

	openssl_expect(EVP_PKEY_get_raw_public_key(pkey, bytes, &len), "EVP_PKEY_get_raw_public_key");
	text = base64_encode(bytes, len);
	(void) snprintf(key->public_text, sizeof(key->public_text), MARK "%s", text);
	key->pkey = pkey;
	return key;
}

/* --- the file --- */

/* Without a callback OpenSSL asks for one at the terminal. */
static int no_pass_phrase_cb(char *buf UNUSED, int size UNUSED, int rwflag UNUSED,
                             void *userdata UNUSED)
{
	return -1;
}

static int check_file(const char *path)
{
	AUTO(free) char *copy = xstrdup(path);
	struct stat file, directory;

	if (stat(path, &file) < 0 || stat(dirname(copy), &directory) < 0)
		return -errno;
	if ((file.st_mode & 077) != 0 ||
	    (file.st_uid != 0 && file.st_uid != geteuid() && file.st_uid != directory.st_uid))
		return -EPERM;
	return 0;
}

const char *signature_key_advice(int r)
{
	switch (r) {
	case -EPERM:
		return "it must belong to root or to the user of etcdwatch, and have the mode 0600: where "
		       "others may have read it, remove it, and a new key is made at the next start";
	case -EBADMSG:
		return "it must be an Ed25519 key in PEM: remove it, and a new key is made at the next "
		       "start";
	default:
		return "";
	}
}

int signature_key_load(const char *path, struct signature_key **ret_key)
{
	EVP_PKEY *pkey;
	char *pem = NULL;
	BIO *bio;
	size_t len;
	int r;

	r = check_file(path);
	if (r == 0)
		r = file_read(path, SIGNATURE_PEM_MAX, &pem, &len);
	if (r < 0)
		return r == -EFBIG ? -EBADMSG : r;
	bio = mem_expect(BIO_new_mem_buf(pem, (int) len));
	pkey = PEM_read_bio_PrivateKey(bio, NULL, no_pass_phrase_cb, NULL);
	BIO_free(bio);
	OPENSSL_cleanse(pem, len);
	free(pem);
	ERR_clear_error();
	if (pkey == NULL || EVP_PKEY_get_id(pkey) != EVP_PKEY_ED25519) {
		EVP_PKEY_free(pkey);
		return -EBADMSG;
	}
	*ret_key = wrap(pkey);
	return 0;
}

static int write_key(const char *path, EVP_PKEY *pkey)
{
	BIO *bio = mem_expect(BIO_new(BIO_s_secmem()));
	char *pem;
	long len;
	int r;

	openssl_expect(PEM_write_bio_PKCS8PrivateKey(bio, pkey, NULL, NULL, 0, NULL, NULL),
	               "PEM_write_bio_PKCS8PrivateKey");
	len = BIO_get_mem_data(bio, &pem);
	r = file_write_atomic(path, pem, (size_t) len, KEY_MODE, FILE_DURABLE);
	BIO_free(bio); /* and clears it */
	return r;
}

int signature_key_load_or_make(const char *path, struct signature_key **ret_key)
{
	int r = signature_key_load(path, ret_key);
	EVP_PKEY *pkey;

	if (r != -ENOENT)
		return r;
	pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	openssl_expect(pkey != NULL, "EVP_PKEY_Q_keygen");
	r = write_key(path, pkey);
	if (r < 0) {
		EVP_PKEY_free(pkey);
		return r;
	}
	*ret_key = wrap(pkey);
	return 0;
}

const char *signature_key_public(const struct signature_key *key)
{
	return key->public_text;
}

/* --- signatures --- */

void signature_sign(const struct signature_key *key, const void *data, size_t len,
                    char ret_text[static SIGNATURE_TEXT_MAX])
{
	EVP_MD_CTX *ctx = mem_expect(EVP_MD_CTX_new());
	unsigned char bytes[SIGNATURE_BYTES];
	size_t n = sizeof(bytes);
	AUTO(free) char *text = NULL;

	openssl_expect(EVP_DigestSignInit(ctx, NULL, NULL, NULL, key->pkey), "EVP_DigestSignInit");
	openssl_expect(EVP_DigestSign(ctx, bytes, &n, data, len), "EVP_DigestSign");
	EVP_MD_CTX_free(ctx);
	text = base64_encode(bytes, n);
	(void) snprintf(ret_text, SIGNATURE_TEXT_MAX, "%s", text);
}

/* True if it is so many bytes in base64. */
static bool decode(const char *text, size_t want, unsigned char *ret_bytes)
{
	AUTO(free) char *data = NULL;
	size_t len;

	if (base64_decode(text, &data, &len) < 0 || len != want)
		return false;
	memcpy(ret_bytes, data, want);
	return true;
}

static EVP_PKEY *read_public(const char *text)
{
	unsigned char bytes[PUBLIC_BYTES];
	EVP_PKEY *pkey;

	if (strncmp(text, MARK, strlen(MARK)) != 0 ||
	    !decode(text + strlen(MARK), sizeof(bytes), bytes))
		return NULL;
	pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, sizeof(bytes));
	ERR_clear_error();
	return pkey;
}

bool signature_is_public_key(const char *text)
{
	EVP_PKEY *pkey = read_public(text);

	EVP_PKEY_free(pkey);
	return pkey != NULL;
}

bool signature_is_of(const char *public_key, const void *data, size_t len, const char *signature)
{
	unsigned char bytes[SIGNATURE_BYTES];
	EVP_PKEY *pkey = read_public(public_key);
	EVP_MD_CTX *ctx = NULL;
	bool is_good = false;

	if (pkey != NULL && decode(signature, sizeof(bytes), bytes)) {
		ctx = mem_expect(EVP_MD_CTX_new());
		is_good = EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) == 1 &&
		          EVP_DigestVerify(ctx, bytes, sizeof(bytes), data, len) == 1;
		ERR_clear_error();
	}
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	return is_good;
}
