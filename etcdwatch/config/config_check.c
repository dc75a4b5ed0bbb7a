/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single values: names, paths, recipients, and what S3 wants. Each check is a conf_check_fn, pure:
 * NULL, or what is wrong with the text and perhaps what to write instead.
 */
#include "etcdwatch/config/config_priv.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/printable.h"
#include "web/signature.h"

#define REGION_BYTES_MAX 64
#define KMS_KEY_BYTES_MAX 2048    /* of a key's id, alias or ARN: AWS's KMS API, KeyId */
#define X25519_RECIPIENT_CHARS 62 /* "age1", 32 bytes in groups of five bits, the checksum */

/* --- names --- */

/* It becomes part of names of files and of keys in etcd. */
const char *config_check_name(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint)
{
	if (strlen(text) > CONFIG_JOB_NAME_MAX) {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "is longer than %d characters",
		                CONFIG_JOB_NAME_MAX);
		return scratch;
	}
	if (conf_has_upper_case(text)) {
		*ret_hint = "write it in lower case";
		return "has upper-case letters";
	}
	if (strchr(text, '.') != NULL || !conf_is_dns_name(text)) {
		*ret_hint = "lower-case letters, digits, and '-' inside";
		return "is not a name";
	}
	return NULL;
}

/* --- paths --- */

/* Written in one way only, so that two paths are the same if their texts are. */
static const char *check_path(const char *text, size_t bytes_max,
                              char scratch[static CONF_SCRATCH_BYTES], const char **ret_hint)
{
	const char *wrong = conf_check_file(text, scratch, ret_hint);

	if (wrong != NULL)
		return wrong;
	if (strlen(text) > bytes_max) {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "is longer than %zu characters", bytes_max);
		return scratch;
	}
	for (const char *part = text; *part == '/'; part += 1 + strcspn(part + 1, "/")) {
		size_t len = strcspn(part + 1, "/");

		if (len == 0)
			return part[1] == '\0' ? "must not end in '/'" : "has an empty part";
		if ((len == 1 && part[1] == '.') || (len == 2 && memcmp(part + 1, "..", 2) == 0))
			return "has a part '.' or '..'";
	}
	return NULL;
}

const char *config_check_directory(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                   const char **ret_hint)
{
	return check_path(text, CONFIG_DIRECTORY_MAX, scratch, ret_hint);
}

const char *config_check_path(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint)
{
	return check_path(text, CATALOG_TEXT_MAX, scratch, ret_hint);
}

/* --- encryption and signatures --- */

const char *config_check_public_key(const char *text,
                                    char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                    const char **ret_hint)
{
	if (signature_is_public_key(text))
		return NULL;
	*ret_hint = "as 'fairlead etcd snapshot key' prints it on each node";
	return "is not a public key";
}

const char *config_check_recipient(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                   const char **ret_hint)
{
	size_t name_len;

	if (strncasecmp(text, "AGE-SECRET-KEY-", 15) == 0 ||
	    strncasecmp(text, "AGE-PLUGIN-", 11) == 0) {
		*ret_hint = "write its recipient, which age-keygen -y prints, and keep this one elsewhere";
		return "is an identity, which decrypts";
	}
	if (strncmp(text, "ssh-", 4) == 0) {
		*ret_hint = "write it into a file and name that in recipientsFile";
		return "is an SSH key";
	}
	*ret_hint = "such as age1 and 58 letters and digits, from age-keygen";
	if (strncmp(text, "age1", 4) != 0)
		return "does not begin with age1";
	if (!bech32_is_good(text, &name_len))
		return "is mistyped: its checksum is wrong";
	/* Others are of age's plugins, which know their lengths. */
	if (name_len == 3 && strlen(text) != X25519_RECIPIENT_CHARS)
		return "is not of the length that a recipient has";
	return NULL;
}

/* --- S3 --- */

const char *config_check_s3_endpoint(const char *text,
                                     char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                     const char **ret_hint)
{
	struct conf_url url;
	const char *wrong;

	*ret_hint = "such as https://s3.example.org";
	wrong = conf_parse_url(text, &url);
	if (wrong != NULL)
		return wrong;
	if (url.rest[0] != '\0') {
		*ret_hint = "scheme, host and port are all; there are bucket and prefix";
		return "has a path";
	}
	return NULL;
}

/* curl takes 1080 for a proxy's port where none is written, which is that of SOCKS. */
const char *config_check_proxy(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                               const char **ret_hint)
{
	struct conf_url url;
	const char *wrong;

	*ret_hint = "such as http://proxy.example.org:3128";
	wrong = conf_parse_url(text, &url);
	if (wrong != NULL)
		return wrong;
	if (url.https)
		return "is not http://: the proxy itself is reached without TLS";
	if (!url.has_port)
		return "has no port";
	return url.rest[0] != '\0' ? "has a path" : NULL;
}

const char *config_check_kms(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                             const char **ret_hint)
{
	*ret_hint = "the id, the alias or the ARN of a key, such as alias/etcd";
	if (strlen(text) > KMS_KEY_BYTES_MAX)
		return "is longer than 2048 characters";
	for (const char *p = text; *p != '\0'; p++) {
		if (!isalnum((unsigned char) *p) && strchr(":/_-", *p) == NULL)
			return "is not the name of a key";
	}
	return NULL;
}

/* AWS's STS API, RoleArn; other stores want the same form. */
const char *config_check_arn(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                             const char **ret_hint)
{
	*ret_hint = "such as arn:aws:iam::123456789012:role/etcd-backups";
	if (strncmp(text, "arn:", 4) != 0 || strlen(text) > KMS_KEY_BYTES_MAX)
		return "is not the ARN of a role";
	if (!printable_is_word(text))
		return "has characters that no ARN has";
	return NULL;
}

/* The same, RoleSessionName. */
const char *config_check_session(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                 const char **ret_hint)
{
	size_t len = strlen(text);

	*ret_hint = "2 to 64 letters, digits and '=,.@_-'";
	if (len < 2 || len > 64)
		return "is too short or too long";
	for (const char *p = text; *p != '\0'; p++) {
		if (!isalnum((unsigned char) *p) && strchr("=,.@_-", *p) == NULL)
			return "is not the name of a session";
	}
	return NULL;
}

/* As Amazon has it; others allow more, and nobody allows less. */
const char *config_check_bucket(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                const char **ret_hint)
{
	size_t len = strlen(text);

	*ret_hint = "3 to 63 lower-case letters, digits, '-' and '.' inside";
	if (len < 3 || len > 63 || !conf_is_dns_name(text))
		return "is not the name of a bucket";
	return NULL;
}

const char *config_check_region(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                const char **ret_hint)
{
	*ret_hint = "such as us-east-1 or eu-central-1";
	if (strlen(text) > REGION_BYTES_MAX)
		return "is longer than 64 characters";
	for (const char *p = text; *p != '\0'; p++) {
		if (!isalnum((unsigned char) *p) && *p != '-' && *p != '_')
			return "is not the name of a region";
	}
	return NULL;
}

/* --- bech32 --- */

/* The checksum is a remainder of polynomials over GF(32), which the standard chose to be 1. */

#define CHECKSUM_CHARS 6

static uint32_t step(uint32_t sum, unsigned value)
{
	static const uint32_t generators[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd,
	                                      0x2a1462b3};
	uint32_t top = sum >> 25;

	sum = (sum & 0x1ffffff) << 5 ^ value;
	for (unsigned i = 0; i < 5; i++) {
		if ((top >> i & 1) != 0)
			sum ^= generators[i];
	}
	return sum;
}

bool bech32_is_good(const char *text, size_t *ret_name_len)
{
	static const char digits[] = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
	const char *separator = strrchr(text, '1');
	size_t name_len = separator != NULL ? (size_t) (separator - text) : 0;
	uint32_t sum = 1;

	if (name_len == 0 || strlen(separator + 1) < CHECKSUM_CHARS)
		return false;
	for (size_t i = 0; i < name_len; i++) {
		if (text[i] <= ' ' || text[i] >= 0x7f || (text[i] >= 'A' && text[i] <= 'Z'))
			return false;
		sum = step(sum, (unsigned char) text[i] >> 5);
	}
	sum = step(sum, 0);
	for (size_t i = 0; i < name_len; i++)
		sum = step(sum, (unsigned char) text[i] & 31);
	for (const char *p = separator + 1; *p != '\0'; p++) {
		const char *digit = strchr(digits, *p);

		if (digit == NULL)
			return false;
		sum = step(sum, (unsigned) (digit - digits));
	}
	if (sum != 1)
		return false;
	*ret_name_len = name_len;
	return true;
}
