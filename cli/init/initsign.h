/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keys and certificates for the daemons' probes, as PEM, by OpenSSL's library. Pure, but for chance
 * and the clock that is brought. Texts that are returned are to be freed; errors are sentences
 * without a subject ("is no private key"), constants.
 */

#include <stdint.h>

#define INITSIGN_NAME "fairlead-probe"
#define INITSIGN_DAYS 365
#define INITSIGN_RENEW_DAYS 30 /* it is renewed when less is left */

/* A new key: ECDSA, P-256. */
char *initsign_key(void);

/* A certificate for that key, of the name above and without a group, for TLS clients: it ends after
 * INITSIGN_DAYS, or with the authority. NULL, and what is wrong in *ret_error with the file that it
 * is in (of the three texts). */
enum initsign_text {
	INITSIGN_CA_CERT,
	INITSIGN_CA_KEY,
	INITSIGN_OWN_KEY,
};

struct initsign_error {
	enum initsign_text in;
	const char *text;
};
char *initsign_certificate(const char *key, const char *ca_cert, const char *ca_key, int64_t now_s,
                           struct initsign_error *ret_error);

/* A request for such a certificate; NULL: it is no key. */
char *initsign_request(const char *key);

/* When the first certificate of that text ends, if it is of that name, for that key, and, unless
 * ca_cert is NULL, signed by that authority; 0: it is not. */
int64_t initsign_end(const char *cert, const char *key, const char *ca_cert);
