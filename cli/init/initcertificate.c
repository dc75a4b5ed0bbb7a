/* SPDX-License-Identifier: Apache-2.0 */
/* The first certificate of a PEM file, by OpenSSL: in a chain it is the one that is shown. */
#include "cli/init/initcertificate.h"

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "cli/init/initfiles.h"

#define FILE_BYTES_MAX (1 << 20)

static void take_names(const X509 *certificate, struct initfacts *f)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);

	for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
		struct addr addr;
		size_t len;

		if (name->type != GEN_IPADD)
			continue;
		len = (size_t) ASN1_STRING_length(name->d.iPAddress);
		if (addr_from_bytes(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress),
		                    len, &addr) < 0)
			continue;
		f->api_names = xreallocarray(f->api_names, f->n_api_names + 1, sizeof(*f->api_names));
		f->api_names[f->n_api_names++] = addr;
	}
	GENERAL_NAMES_free(names);
}

static int read_certificate(const char *path, struct initfacts *f, bool with_names,
                            int64_t *ret_not_after_s)
{
	AUTO(free) char *text = NULL;
	X509 *certificate;
	struct tm tm = {0};
	size_t len;
	BIO *bio;
	int r;

	r = file_read(path, FILE_BYTES_MAX, &text, &len);
	if (r < 0)
		return r;
	bio = BIO_new_mem_buf(text, (int) len);
	certificate = PEM_read_bio_X509(bio, NULL, NULL, NULL);
	(void) BIO_free(bio);
	if (certificate == NULL || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &tm) != 1) {
		X509_free(certificate);
		return -EBADMSG;
	}
	*ret_not_after_s = timegm(&tm);
	if (with_names)
		take_names(certificate, f);
	X509_free(certificate);
	return 0;
}

void initcertificate_look(const char *root, const char *path, struct initfacts *f)
{
	AUTO(free) char *at = initfiles_at(root, path);
	struct initfacts_certificate *c;

	f->certificates =
	    xreallocarray(f->certificates, f->n_certificates + 1, sizeof(*f->certificates));
	c = &f->certificates[f->n_certificates++];
	*c = (struct initfacts_certificate){.path = xstrdup(path)};
	c->error = read_certificate(at, f, f->api_cert != NULL && strcmp(path, f->api_cert) == 0,
	                            &c->not_after_s);
}
