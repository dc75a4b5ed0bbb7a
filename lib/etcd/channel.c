/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes gRPC channels, each for exactly one endpoint. (Several addresses behind one channel would
 * break the name check of TLS and leave the failover to gRPC, which waits up to 20 s for a
 * black-holed address.) Holds no state but the channel; pool.c decides what to connect to.
 */
#include "etcd/channel.h"

#include <assert.h>
#include <errno.h>
#include <grpc/grpc_security.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"

/*
 * Reads the CA, the certificate and the key as one set. The set is what counts: while files are
 * being rotated one by one, a new key beside an old certificate fails here, and pool.c keeps what
 * it has and looks again later.
 */

DEFINE_AUTO(BIO, BIO_free_all);
DEFINE_AUTO(X509, X509_free);
DEFINE_AUTO(EVP_PKEY, EVP_PKEY_free);
DEFINE_AUTO(SSL_CTX, SSL_CTX_free);

struct pem_file {
	char *path; /* NULL: not configured */
	char *text;
	size_t len;
	struct stat stamp;
};

struct pem {
	struct pem_file ca;
	struct pem_file cert;
	struct pem_file key;
};

static int fail(char error[static ETCD_ERROR_TEXT_MAX], int r, const char *path, const char *what)
{
	(void) snprintf(error, ETCD_ERROR_TEXT_MAX, "%s: %s", path, what);
	ERR_clear_error();
	return r;
}

static int read_file(struct pem_file *file, const char *path,
                     char error[static ETCD_ERROR_TEXT_MAX])
{
	int r;

	if (path == NULL)
		return 0;
	file->path = xstrdup(path);
	/* Before reading: a file that changes in between looks stale and is read once more. */
	if (stat(path, &file->stamp) < 0) {
		r = -errno;
		return fail(error, r, path, strerror(-r));
	}
	if (!S_ISREG(file->stamp.st_mode))
		return fail(error, -EINVAL, path, "not a regular file");
	r = file_read(path, PEM_FILE_MAX_BYTES, &file->text, &file->len);
	if (r < 0)
		return fail(error, r, path, strerror(-r));
	return 0;
}

static BIO *open_text(const struct pem_file *file)
{
	return BIO_new_mem_buf(file->text, (int) file->len);
}

/* An encrypted key must be an error, not a question on the terminal. */
static int refuse_password(char *buf UNUSED, int size UNUSED, int rwflag UNUSED, void *userdata)
{
	*(bool *) userdata = true;
	return 0;
}

static void check_dates(const struct pem_file *file, const X509 *x509,
                        char error[static ETCD_ERROR_TEXT_MAX])
{
	const char *what = NULL;

	if (X509_cmp_current_time(X509_get0_notAfter(x509)) < 0)
		what = "the certificate has expired";
	else if (X509_cmp_current_time(X509_get0_notBefore(x509)) > 0)
		what = "the certificate is not valid yet";
	if (what != NULL && error[0] == '\0')
		(void) fail(error, 0, file->path, what);
}

/* The last read failed because there was nothing more to read. */
static bool at_end_of_pem(void)
{
	return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

static int check_certificates(const struct pem_file *file, char error[static ETCD_ERROR_TEXT_MAX],
                              X509 **ret_first)
{
	AUTO(BIO_free_all) BIO *bio = open_text(file);
	static const char damaged[] = "a damaged PEM certificate in it";
	AUTO(X509_free) X509 *first = PEM_read_bio_X509(bio, NULL, NULL, NULL);

	if (first == NULL)
		return fail(error, -EINVAL, file->path,
		            at_end_of_pem() ? "no PEM certificate in it" : damaged);
	for (;;) {
		AUTO(X509_free) X509 *more = PEM_read_bio_X509(bio, NULL, NULL, NULL);

		if (more != NULL)
			continue;
		if (!at_end_of_pem())
			return fail(error, -EINVAL, file->path, damaged);
		break;
	}
	ERR_clear_error();
	*ret_first = TAKE_PTR(first);
	return 0;
}

static int check_key(const struct pem_file *file, X509 *cert,
                     char error[static ETCD_ERROR_TEXT_MAX])
{
	AUTO(BIO_free_all) BIO *bio = open_text(file);
	bool encrypted = false;
	AUTO(EVP_PKEY_free)
	EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, refuse_password, &encrypted);

	if (key == NULL)
		return fail(error, -EINVAL, file->path,
		            encrypted ? "the private key is encrypted" : "no PEM private key in it");
	if (X509_check_private_key(cert, key) != 1)
		return fail(error, -EINVAL, file->path, "the key does not belong to the certificate");
	return 0;
}

static int check(const struct pem *pem, char error[static ETCD_ERROR_TEXT_MAX])
{
	AUTO(X509_free) X509 *ca = NULL;
	AUTO(X509_free) X509 *cert = NULL;
	int r;

	r = check_certificates(&pem->ca, error, &ca);
	if (r < 0)
		return r;
	if (pem->cert.path != NULL) {
		r = check_certificates(&pem->cert, error, &cert);
		if (r < 0)
			return r;
		r = check_key(&pem->key, cert, error);
		if (r < 0)
			return r;
		check_dates(&pem->cert, cert, error);
	}
	check_dates(&pem->ca, ca, error);
	return 0;
}

int pem_load(const char *ca_file, const char *cert_file, const char *key_file,
             char ret_error[static ETCD_ERROR_TEXT_MAX], struct pem **ret_pem)
{
	AUTO(pem_free) struct pem *pem = NEW0(struct pem);
	int r;

	ret_error[0] = '\0';
	if (ca_file == NULL)
		return fail(ret_error, -EINVAL, "https", "needs a CA file");
	if ((cert_file == NULL) != (key_file == NULL))
		return fail(ret_error, -EINVAL, cert_file != NULL ? cert_file : key_file,
		            "a certificate and its key are needed, not one of them");
	r = read_file(&pem->ca, ca_file, ret_error);
	if (r < 0)
		return r;
	r = read_file(&pem->cert, cert_file, ret_error);
	if (r < 0)
		return r;
	r = read_file(&pem->key, key_file, ret_error);
	if (r < 0)
		return r;
	r = check(pem, ret_error);
	if (r < 0)
		return r;
	*ret_pem = TAKE_PTR(pem);
	return 0;
}

static void clear_file(struct pem_file *file)
{
	free(file->path);
	if (file->text != NULL)
		OPENSSL_cleanse(file->text, file->len);
	free(file->text);
}

void pem_free(struct pem *pem)
{
	if (pem == NULL)
		return;
	clear_file(&pem->ca);
	clear_file(&pem->cert);
	clear_file(&pem->key);
	free(pem);
}

static bool file_is_stale(const struct pem_file *file)
{
	struct stat now;

	if (file->path == NULL)
		return false;
	/* Gone for now: whoever removed it will put the new one there. */
	if (stat(file->path, &now) < 0)
		return false;
	return now.st_dev != file->stamp.st_dev || now.st_ino != file->stamp.st_ino ||
	       now.st_size != file->stamp.st_size || now.st_mtim.tv_sec != file->stamp.st_mtim.tv_sec ||
	       now.st_mtim.tv_nsec != file->stamp.st_mtim.tv_nsec;
}

bool pem_is_stale(const struct pem *pem)
{
	return file_is_stale(&pem->ca) || file_is_stale(&pem->cert) || file_is_stale(&pem->key);
}

static bool file_equal(const struct pem_file *a, const struct pem_file *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
}

bool pem_equal(const struct pem *a, const struct pem *b)
{
	return file_equal(&a->ca, &b->ca) && file_equal(&a->cert, &b->cert) &&
	       file_equal(&a->key, &b->key);
}

/* --- for who connects --- */

static bool trust(SSL_CTX *context, const struct pem_file *file)
{
	X509_STORE *store = SSL_CTX_get_cert_store(context);
	AUTO(BIO_free_all) BIO *bio = open_text(file);

	for (;;) {
		AUTO(X509_free) X509 *x509 = PEM_read_bio_X509(bio, NULL, NULL, NULL);

		if (x509 == NULL && !at_end_of_pem())
			return false; /* it was read before: there is no memory */
		if (x509 == NULL)
			break;
		if (X509_STORE_add_cert(store, x509) != 1)
			return false;
	}
	/* What the operator has put there is trusted, be it a root or not; as gRPC does. */
	return X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST) == 1;
}

/* The first is the client's own, the others lead to who has signed it. */
static bool present_certificates(SSL_CTX *context, const struct pem_file *file)
{
	AUTO(BIO_free_all) BIO *bio = open_text(file);

	for (bool is_first = true;; is_first = false) {
		AUTO(X509_free) X509 *x509 = PEM_read_bio_X509(bio, NULL, NULL, NULL);

		if (x509 == NULL)
			return !is_first && at_end_of_pem();
		if (is_first ? SSL_CTX_use_certificate(context, x509) != 1
		             : SSL_CTX_add1_chain_cert(context, x509) != 1)
			return false;
	}
}

static bool use_key(SSL_CTX *context, const struct pem_file *file)
{
	AUTO(BIO_free_all) BIO *bio = open_text(file);
	AUTO(EVP_PKEY_free) EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL);

	return key != NULL && SSL_CTX_use_PrivateKey(context, key) == 1;
}

SSL_CTX *pem_context(const struct pem *pem)
{
	AUTO(SSL_CTX_free) SSL_CTX *context = NULL;

	ERR_clear_error();
	context = SSL_CTX_new(TLS_client_method());
	if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1 ||
	    !trust(context, &pem->ca))
		return NULL;
	if (pem->cert.path != NULL &&
	    (!present_certificates(context, &pem->cert) || !use_key(context, &pem->key)))
		return NULL;
	/* The reading of certificates ends with an error: there are no more. */
	ERR_clear_error();
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	(void) SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
	(void) SSL_CTX_set_mode(context,
	                        SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return TAKE_PTR(context);
}

/* To be released by grpc_channel_credentials_release(). */
static grpc_channel_credentials *pem_credentials(const struct pem *pem)
{
	grpc_ssl_pem_key_cert_pair pair = {.private_key = pem->key.text, .cert_chain = pem->cert.text};

	return grpc_ssl_credentials_create(pem->ca.text, pem->cert.path != NULL ? &pair : NULL, NULL,
	                                   NULL);
}

/* Ping a silent connection that has calls in flight. etcd takes pings no faster than every 5 s. */
#define KEEPALIVE_MS 10000
#define KEEPALIVE_TIMEOUT_MS 3000
/* The minimum is the time that one attempt to connect may take; the maximum is how late a member
 * that came back is noticed. */
#define RECONNECT_INITIAL_MS 200
#define RECONNECT_MIN_MS 1000
#define RECONNECT_MAX_MS 2000
#define RESOLVE_MIN_INTERVAL_MS 5000

struct channel {
	unsigned refs;
	grpc_channel *grpc;
};

static grpc_arg int_arg(const char *key, int value)
{
	/* gRPC's struct wants a char *, and copies it. */
	return (grpc_arg){
	    .type = GRPC_ARG_INTEGER, .key = (char *) (uintptr_t) key, .value.integer = value};
}

struct channel *channel_new(const struct url *url, const struct pem *pem, size_t receive_max_bytes)
{
	struct channel *channel = NEW0(struct channel);
	grpc_channel_credentials *credentials =
	    pem != NULL ? pem_credentials(pem) : grpc_insecure_credentials_create();
	grpc_arg args[] = {
	    {.type = GRPC_ARG_STRING,
	     .key = (char *) (uintptr_t) GRPC_ARG_DEFAULT_AUTHORITY,
	     .value.string = (char *) (uintptr_t) url->authority},
	    /* Proxy variables would redirect even numeric addresses. */
	    int_arg("grpc.enable_http_proxy", 0),
	    int_arg("grpc.enable_retries", 0),
	    int_arg("grpc.use_local_subchannel_pool", 1),
	    int_arg("grpc.service_config_disable_resolution", 1),
	    int_arg("grpc.keepalive_time_ms", KEEPALIVE_MS),
	    int_arg("grpc.keepalive_timeout_ms", KEEPALIVE_TIMEOUT_MS),
	    int_arg("grpc.keepalive_permit_without_calls", 0),
	    int_arg("grpc.http2.max_pings_without_data", 0),
	    int_arg("grpc.initial_reconnect_backoff_ms", RECONNECT_INITIAL_MS),
	    int_arg("grpc.min_reconnect_backoff_ms", RECONNECT_MIN_MS),
	    int_arg("grpc.max_reconnect_backoff_ms", RECONNECT_MAX_MS),
	    int_arg("grpc.dns_min_time_between_resolutions_ms", RESOLVE_MIN_INTERVAL_MS),
	    int_arg("grpc.max_receive_message_length", (int) receive_max_bytes),
	    /* With probes, gRPC takes windows of 4 to 16 MiB by its own guess. */
	    int_arg("grpc.http2.bdp_probe", 0),
	};
	grpc_channel_args list = {.num_args = ARRAY_SIZE(args), .args = args};

	assert((url->scheme == URL_HTTPS) == (pem != NULL));
	channel->refs = 1;
	channel->grpc = grpc_channel_create(url->target, credentials, &list);
	grpc_channel_credentials_release(credentials);
	(void) channel_state(channel);
	return channel;
}

struct channel *channel_ref(struct channel *channel)
{
	channel->refs++;
	return channel;
}

void channel_unref(struct channel *channel)
{
	if (channel == NULL || --channel->refs > 0)
		return;
	grpc_channel_destroy(channel->grpc);
	free(channel);
}

grpc_channel *channel_grpc(const struct channel *channel)
{
	return channel->grpc;
}

enum channel_state channel_state(const struct channel *channel)
{
	switch (grpc_channel_check_connectivity_state(channel->grpc, 1)) {
	case GRPC_CHANNEL_READY:
		return CHANNEL_READY;
	case GRPC_CHANNEL_IDLE:
	case GRPC_CHANNEL_CONNECTING:
		return CHANNEL_CONNECTING;
	case GRPC_CHANNEL_TRANSIENT_FAILURE:
	case GRPC_CHANNEL_SHUTDOWN:
		break;
	}
	return CHANNEL_FAILED;
}
