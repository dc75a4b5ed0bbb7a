/* SPDX-License-Identifier: Apache-2.0 */
/* A file of certificates, which may hold a chain and a key too. */
#include "web/certificate.h"

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdbool.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"

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
