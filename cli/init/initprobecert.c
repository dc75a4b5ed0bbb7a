/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate by which prism probes API servers: signed here, or by the cluster. It has what
 * kubeadm's certificates for clients have, and no organisation: to Kubernetes that is a user without
 * groups, who may read /readyz by system:public-info-viewer and nothing else
 * (https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings).
 */
#include "base/cleanup.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/probecert.h"
#include "cli/common/cli.h"
#include "cli/common/worker.h"
#include "cli/init/initfiles.h"
#include "cli/init/initprobecert.h"

#define INITSIGN_NAME "fairlead-probe"
#define INITSIGN_DAYS 365
#define INITSIGN_RENEW_DAYS 30 /* it is renewed when less is left */

/* What is wrong, and with which of the three texts that a certificate is made of. */
enum initsign_text {
	INITSIGN_CA_CERT,
	INITSIGN_CA_KEY,
	INITSIGN_OWN_KEY,
};

struct initsign_error {
	enum initsign_text in;
	const char *text;
};

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

static char *initsign_key(void)
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

static char *refuse(struct initsign_error *ret_error, enum initsign_text in, const char *text)
{
	ret_error->in = in;
	ret_error->text = text;
	ERR_clear_error();
	return NULL;
}

static char *initsign_certificate(const char *key_text, const char *ca_cert, const char *ca_key,
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
		return refuse(ret_error, INITSIGN_CA_CERT, "is no certificate");
	if (X509_cmp_time(X509_get0_notAfter(ca), &now) <= 0)
		return refuse(ret_error, INITSIGN_CA_CERT, "has ended");
	if (signer == NULL)
		return refuse(ret_error, INITSIGN_CA_KEY, "is no private key, or has a passphrase");
	if (X509_check_private_key(ca, signer) != 1)
		return refuse(ret_error, INITSIGN_CA_KEY, "does not belong to the authority's certificate");
	if (key == NULL)
		return refuse(ret_error, INITSIGN_OWN_KEY, "is no private key, or has a passphrase");
	openssl_expect(X509_set_version(certificate, X509_VERSION_3), "X509_set_version");
	set_serial(certificate);
	set_times(certificate, ca, now_s);
	set_name(X509_get_subject_name(certificate));
	openssl_expect(X509_set_issuer_name(certificate, X509_get_subject_name(ca)),
	               "X509_set_issuer_name");
	openssl_expect(X509_set_pubkey(certificate, key), "X509_set_pubkey");
	set_extensions(certificate, ca);
	if (X509_sign(certificate, signer, digest_for(signer)) == 0)
		return refuse(ret_error, INITSIGN_CA_KEY, "cannot sign");
	openssl_expect(PEM_write_bio_X509(bio, certificate), "PEM_write_bio_X509");
	return take_text(bio);
}

static char *initsign_request(const char *key_text)
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

static int64_t initsign_end(const char *cert, const char *key_text, const char *ca_cert)
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

/* --- initprobecert --- */

/*
 * The key stays when the certificate is renewed, so that one rename replaces all that changes and
 * no probe sees a key with another key's certificate. A first key is written before its
 * certificate, because the daemons use the two only together.
 */

#define FILE_BYTES_MAX (1 << 20)
#define DAY_S (24 * 3600)
#define KEY_USER "fairlead-prism" /* vipd reads it by its capability */
#define CERT_FILE PROBECERT_DIRECTORY "/" PROBECERT_CERT
#define KEY_FILE PROBECERT_DIRECTORY "/" PROBECERT_KEY

/* Who signs certificates for clients of the API server. */
static const struct authority {
	const char *cert, *key;
} authorities[] = {
    {"/etc/kubernetes/pki/ca.crt", "/etc/kubernetes/pki/ca.key"},
    {"/var/lib/rancher/k3s/server/tls/client-ca.crt",
     "/var/lib/rancher/k3s/server/tls/client-ca.key"},
    {"/var/lib/rancher/rke2/server/tls/client-ca.crt",
     "/var/lib/rancher/rke2/server/tls/client-ca.key"},
};

static const struct authority *find_authority(const char *root)
{
	for (size_t i = 0; i < ARRAY_SIZE(authorities); i++) {
		if (initfiles_exist(root, authorities[i].key))
			return &authorities[i];
	}
	return NULL;
}

static int fail(int r, const char *action, const char *path)
{
	(void) fprintf(stderr, "fairlead: cannot %s '%s': %s%s\n", action, path, strerror(-r),
	               r == -EACCES || r == -EPERM ? ": run this as root" : "");
	return r == -EACCES || r == -EPERM ? CLI_DENIED : CLI_FAILED;
}

/* --- files --- */

/* CLI_OK, also with NULL where there is no such file. */
static int read_file(const char *root, const char *path, char **ret_text)
{
	AUTO(free) char *at = initfiles_at(root, path);
	size_t len;
	int r;

	*ret_text = NULL;
	r = file_read(at, FILE_BYTES_MAX, ret_text, &len);
	return r < 0 && r != -ENOENT ? fail(r, "read", at) : CLI_OK;
}

static int write_file(const char *at, const char *text, mode_t mode)
{
	int r;

	r = file_write_atomic(at, text, strlen(text), mode, FILE_DURABLE);
	return r < 0 ? fail(r, "write", at) : CLI_OK;
}

static void wipe(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

static int make_directories(const char *root)
{
	static const char *const paths[] = {"/etc/fairlead", PROBECERT_DIRECTORY};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO(free) char *at = initfiles_at(root, paths[i]);

		if (mkdir(at, 0755) < 0 && errno != EEXIST)
			return fail(-errno, "make the directory", at);
	}
	return CLI_OK;
}

/* Only its owner reads it: the probes of prism. */
static int give_key(const char *at)
{
	const struct passwd *owner = getpwnam(KEY_USER);

	if (owner == NULL) {
		(void) fprintf(stderr,
		               "note: there is no user %s here, so '%s' is root's: give it to the user "
		               "that prism runs as\n",
		               KEY_USER, at);
		return CLI_OK;
	}
	return chown(at, owner->pw_uid, 0) < 0 ? fail(-errno, "give to " KEY_USER, at) : CLI_OK;
}

static void print_end(const char *what, int64_t end_s)
{
	time_t end = (time_t) end_s;
	char text[32] = "?";
	struct tm tm;

	if (gmtime_r(&end, &tm) != NULL)
		(void) strftime(text, sizeof(text), "%Y-%m-%d", &tm);
	(void) printf("%s " CERT_FILE ": CN=" INITSIGN_NAME ", until %s\n", what, text);
}

/* --- the certificate --- */

/* kubelet may ask for such certificates: ClusterRole system:node. */
static char *find_kubeconfig(const char *root)
{
	static const char *const paths[] = {"/etc/kubernetes/kubelet.conf",
	                                    "/var/lib/rancher/k3s/agent/kubelet.kubeconfig",
	                                    "/var/lib/rancher/rke2/agent/kubelet.kubeconfig"};

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (initfiles_exist(root, paths[i]))
			return initfiles_at(root, paths[i]);
	}
	return NULL;
}

static int say_nobody_signs(void)
{
	(void) fputs("fairlead: neither the key of the cluster's authority is here "
	             "(/etc/kubernetes/pki/ca.key) nor a kubeconfig of kubelet's "
	             "(/etc/kubernetes/kubelet.conf): run this on a control-plane node, or name a "
	             "kubeconfig with --kubeconfig\n",
	             stderr);
	return CLI_FAILED;
}

/* Has the cluster sign it: prism-probe speaks HTTP, and waits. */
static int ask_cluster(const char *root, const char *kubeconfig, const char *key, char **ret_cert)
{
	char request_file[] = "/tmp/fairlead-request-XXXXXX";
	AUTO(free) char *found = kubeconfig == NULL ? find_kubeconfig(root) : NULL;
	AUTO(free) char *request = initsign_request(key);
	AUTO(free) char *cert = NULL;
	struct texts words = {0};
	AUTO(close) int fd = -1;
	int code, exit_code = CLI_FAILED;

	if (kubeconfig == NULL && found == NULL)
		return say_nobody_signs();
	if (request == NULL) {
		(void) fputs("fairlead: '" KEY_FILE "' is no private key, or has a passphrase\n", stderr);
		return CLI_FAILED;
	}
	fd = mkstemp(request_file);
	if (fd < 0)
		return fail(-errno, "make", request_file);
	texts_add(&words, "--sign");
	texts_add(&words, "%s", kubeconfig != NULL ? kubeconfig : found);
	texts_add(&words, "%s", request_file);
	code = write(fd, request, strlen(request)) == (ssize_t) strlen(request)
	           ? worker_text("prism-probe", &words, false, &cert, &exit_code)
	           : fail(-errno, "write", request_file);
	(void) unlink(request_file);
	texts_fini(&words);
	if (code != CLI_OK || exit_code != 0)
		return code != CLI_OK ? code : CLI_FAILED;
	if (initsign_end(cert, key, NULL) == 0) {
		(void) fputs("fairlead: what the cluster has signed is not what it was asked for\n",
		             stderr);
		return CLI_FAILED;
	}
	*ret_cert = TAKE_PTR(cert);
	return CLI_OK;
}

static int sign(const char *root, const struct authority *authority, const char *key, int64_t now_s,
                char **ret_cert)
{
	struct initsign_error error = {0};
	char *ca_cert, *ca_key = NULL;
	int code;

	code = read_file(root, authority->cert, &ca_cert);
	if (code == CLI_OK)
		code = read_file(root, authority->key, &ca_key);
	if (code == CLI_OK) {
		*ret_cert = initsign_certificate(key, ca_cert != NULL ? ca_cert : "",
		                                 ca_key != NULL ? ca_key : "", now_s, &error);
		if (*ret_cert == NULL) {
			code = CLI_FAILED;
			(void) fprintf(stderr, "fairlead: '%s' %s: nothing is signed\n",
			               error.in == INITSIGN_CA_CERT  ? authority->cert
			               : error.in == INITSIGN_CA_KEY ? authority->key
			                                             : KEY_FILE,
			               error.text);
		}
	}
	wipe(ca_key);
	free(ca_cert);
	return code;
}

/* When the one that is there ends; 0: it is of no use. */
static int64_t find_end(const char *root, const char *cert, const char *key)
{
	const struct authority *authority = find_authority(root);
	AUTO(free) char *ca_cert = authority != NULL ? initfiles_text(root, authority->cert) : NULL;

	return cert != NULL && key != NULL ? initsign_end(cert, key, ca_cert) : 0;
}

static int make(const char *root, const char *kubeconfig, const char *old_key, int64_t now_s)
{
	const struct authority *authority = kubeconfig == NULL ? find_authority(root) : NULL;
	AUTO(free) char *at = initfiles_at(root, CERT_FILE);
	AUTO(free) char *key_at = initfiles_at(root, KEY_FILE);
	AUTO(free) char *cert = NULL;
	char *key = old_key != NULL ? xstrdup(old_key) : initsign_key();
	int code = authority != NULL ? sign(root, authority, key, now_s, &cert)
	                             : ask_cluster(root, kubeconfig, key, &cert);

	if (code == CLI_OK)
		code = make_directories(root);
	if (code == CLI_OK && old_key == NULL)
		code = write_file(key_at, key, 0400);
	if (code == CLI_OK)
		code = give_key(key_at);
	if (code == CLI_OK)
		code = write_file(at, cert, 0644);
	if (code == CLI_OK) {
		print_end("wrote", initsign_end(cert, key, NULL));
		(void) puts("The probes of vipd and prism on this node use it from now on. Run this again "
		            "before it ends.");
	}
	wipe(key);
	return code;
}

int initprobecert_make(const char *root, const char *kubeconfig, bool force, int64_t now_s)
{
	AUTO(free) char *cert = NULL;
	char *key = NULL;
	int64_t end_s;
	int code;

	code = read_file(root, KEY_FILE, &key);
	if (code == CLI_OK)
		code = read_file(root, CERT_FILE, &cert);
	end_s = find_end(root, cert, key);
	if (code == CLI_OK && !force && end_s - now_s >= (int64_t) INITSIGN_RENEW_DAYS * DAY_S)
		print_end("still good:", end_s);
	else if (code == CLI_OK)
		code = make(root, kubeconfig, force ? NULL : key, now_s);
	wipe(key);
	return code;
}
