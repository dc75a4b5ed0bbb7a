/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kubeadm's certificates for clients have, and no organisation: to Kubernetes that is a user
 * without groups, who may read /readyz by system:public-info-viewer and nothing else
 * (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings).
 */
#include "cli/init/initsign.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/openssl.h"

#define DAY_S (24 * 3600)
/* Clocks of other nodes may be behind. */
#define EARLIER_S 300
#define SERIAL_BITS 127

DEFINE_AUTO(BIO, BIO_free_all);
DEFINE_AUTO(EVP_PKEY, EVP_PKEY_free);
DEFINE_AUTO(X509, X509_free);
DEFINE_AUTO(X509_REQ, X509_REQ_free);
DEFINE_AUTO(X509_NAME, X509_NAME_free);

/* --- PEM --- */

static BIO *bio_of(const char *text)
{
	BIO *bio = BIO_new_mem_buf(text, -1);

	openssl_expect(bio != NULL, "BIO_new_mem_buf");
	return bio;
}

static char *take_text(BIO *bio)
{
	char *data = NULL;
	long len = BIO_get_mem_data(bio, &data);

	return xstrndup(data, (size_t) len);
}

/* Nobody is asked for a passphrase. */
static int no_passphrase(char *buf UNUSED, int size UNUSED, int writing UNUSED, void *u UNUSED)
{
	return -1;
}

static EVP_PKEY *read_key(const char *text)
{
	AUTO(BIO_free_all) BIO *bio = bio_of(text);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);

	ERR_clear_error();
	return key;
}

static X509 *read_certificate(const char *text)
{
	AUTO(BIO_free_all) BIO *bio = bio_of(text);
	X509 *certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	ERR_clear_error();
	return certificate;
}

char *initsign_key(void)
{
	AUTO(EVP_PKEY_free) EVP_PKEY *key = EVP_EC_gen("P-256");
	AUTO(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());

	openssl_expect(key != NULL, "EVP_EC_gen");
	openssl_expect(bio != NULL, "BIO_new");
	openssl_expect(PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL),
	               "PEM_write_bio_PKCS8PrivateKey");
	return take_text(bio);
}

/* --- signing --- */

static void set_name(X509_NAME *name)
{
	openssl_expect(X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
	                                          (const unsigned char *) INITSIGN_NAME, -1, -1, 0),
	               "X509_NAME_add_entry_by_NID");
}

static void set_serial(X509 *certificate)
{
	BIGNUM *number = BN_new();

	openssl_expect(number != NULL, "BN_new");
	openssl_expect(BN_rand(number, SERIAL_BITS, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY), "BN_rand");
	openssl_expect(BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL,
	               "BN_to_ASN1_INTEGER");
	BN_free(number);
}

static void set_times(X509 *certificate, const X509 *ca, int64_t now_s)
{
	time_t begin = (time_t) (now_s - EARLIER_S);
	time_t end = (time_t) (now_s + (int64_t) INITSIGN_DAYS * DAY_S);
	const ASN1_TIME *ca_end = X509_get0_notAfter(ca);

	openssl_expect(ASN1_TIME_set(X509_getm_notBefore(certificate), begin) != NULL, "ASN1_TIME_set");
	if (X509_cmp_time(ca_end, &end) < 0)
		openssl_expect(X509_set1_notAfter(certificate, ca_end), "X509_set1_notAfter");
	else
		openssl_expect(ASN1_TIME_set(X509_getm_notAfter(certificate), end) != NULL,
		               "ASN1_TIME_set");
}

static void set_extensions(X509 *certificate, X509 *ca)
{
	static const struct {
		int nid;
		const char *value;
	} extensions[] = {
	    {NID_basic_constraints, "critical,CA:FALSE"},
	    {NID_key_usage, "critical,digitalSignature"},
	    {NID_ext_key_usage, "clientAuth"},
	    {NID_authority_key_identifier, "keyid"},
	};
	X509V3_CTX ctx;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, ca, certificate, NULL, NULL, 0);
	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++) {
		X509_EXTENSION *extension =
		    X509V3_EXT_conf_nid(NULL, &ctx, extensions[i].nid, extensions[i].value);

		/* An authority without a key identifier needs none here. */
		if (extension == NULL && extensions[i].nid == NID_authority_key_identifier)
			continue;
		openssl_expect(extension != NULL, "X509V3_EXT_conf_nid");
		openssl_expect(X509_add_ext(certificate, extension, -1), "X509_add_ext");
		X509_EXTENSION_free(extension);
	}
	ERR_clear_error();
}

/* Ed25519 and Ed448 have no choice of digests. */
static const EVP_MD *digest_for(EVP_PKEY *key)
{
	bool has_own = EVP_PKEY_is_a(key, "ED25519") || EVP_PKEY_is_a(key, "ED448");

	return has_own ? NULL : EVP_sha256();
}

static char *fail(struct initsign_error *ret_error, enum initsign_text in, const char *text)
{
	ret_error->in = in;
	ret_error->text = text;
	ERR_clear_error();
	return NULL;
}

char *initsign_certificate(const char *key_text, const char *ca_cert, const char *ca_key,
                           int64_t now_s, struct initsign_error *ret_error)
{
	AUTO(X509_free) X509 *certificate = X509_new();
	AUTO(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());
	AUTO(X509_free) X509 *ca = read_certificate(ca_cert);
	AUTO(EVP_PKEY_free) EVP_PKEY *signer = read_key(ca_key);
	AUTO(EVP_PKEY_free) EVP_PKEY *key = read_key(key_text);
	time_t now = (time_t) now_s;

	openssl_expect(certificate != NULL, "X509_new");
	openssl_expect(bio != NULL, "BIO_new");
	if (ca == NULL)
		return fail(ret_error, INITSIGN_CA_CERT, "is no certificate");
	if (X509_cmp_time(X509_get0_notAfter(ca), &now) <= 0)
		return fail(ret_error, INITSIGN_CA_CERT, "has ended");
	if (signer == NULL)
		return fail(ret_error, INITSIGN_CA_KEY, "is no private key, or has a passphrase");
	if (X509_check_private_key(ca, signer) != 1)
		return fail(ret_error, INITSIGN_CA_KEY, "does not belong to the authority's certificate");
	if (key == NULL)
		return fail(ret_error, INITSIGN_OWN_KEY, "is no private key, or has a passphrase");
	openssl_expect(X509_set_version(certificate, X509_VERSION_3), "X509_set_version");
	set_serial(certificate);
	set_times(certificate, ca, now_s);
	set_name(X509_get_subject_name(certificate));
	openssl_expect(X509_set_issuer_name(certificate, X509_get_subject_name(ca)),
	               "X509_set_issuer_name");
	openssl_expect(X509_set_pubkey(certificate, key), "X509_set_pubkey");
	set_extensions(certificate, ca);
	if (X509_sign(certificate, signer, digest_for(signer)) == 0)
		return fail(ret_error, INITSIGN_CA_KEY, "cannot sign");
	openssl_expect(PEM_write_bio_X509(bio, certificate), "PEM_write_bio_X509");
	return take_text(bio);
}

char *initsign_request(const char *key_text)
{
	AUTO(X509_REQ_free) X509_REQ *request = X509_REQ_new();
	AUTO(BIO_free_all) BIO *bio = BIO_new(BIO_s_mem());
	AUTO(X509_NAME_free) X509_NAME *name = X509_NAME_new();
	AUTO(EVP_PKEY_free) EVP_PKEY *key = read_key(key_text);

	openssl_expect(request != NULL && name != NULL, "X509_REQ_new");
	openssl_expect(bio != NULL, "BIO_new");
	if (key == NULL)
		return NULL;
	set_name(name);
	openssl_expect(X509_REQ_set_subject_name(request, name), "X509_REQ_set_subject_name");
	openssl_expect(X509_REQ_set_pubkey(request, key), "X509_REQ_set_pubkey");
	openssl_expect(X509_REQ_sign(request, key, digest_for(key)) > 0, "X509_REQ_sign");
	openssl_expect(PEM_write_bio_X509_REQ(bio, request), "PEM_write_bio_X509_REQ");
	return take_text(bio);
}

/* --- what is there already --- */

static bool is_signed_by(X509 *certificate, const char *ca_text)
{
	AUTO(X509_free) X509 *ca = read_certificate(ca_text);

	return ca != NULL && X509_verify(certificate, X509_get0_pubkey(ca)) == 1;
}

int64_t initsign_end(const char *cert, const char *key_text, const char *ca_cert)
{
	AUTO(X509_free) X509 *certificate = read_certificate(cert);
	AUTO(EVP_PKEY_free) EVP_PKEY *key = read_key(key_text);
	AUTO(X509_NAME_free) X509_NAME *name = X509_NAME_new();
	struct tm tm = {0};
	bool is_good;

	openssl_expect(name != NULL, "X509_NAME_new");
	set_name(name);
	is_good = certificate != NULL && key != NULL &&
	          X509_NAME_cmp(X509_get_subject_name(certificate), name) == 0 &&
	          X509_check_private_key(certificate, key) == 1 &&
	          (ca_cert == NULL || is_signed_by(certificate, ca_cert)) &&
	          ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) == 1;
	ERR_clear_error();
	return is_good ? timegm(&tm) : 0;
}
