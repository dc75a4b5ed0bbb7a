/* SPDX-License-Identifier: Apache-2.0 */
/* Ed25519: the examples of RFC 8032, section 7.1; key files that are made, kept and refused; and
 * that no bit of key, text or signature can change. */
#include "web/signature.h"

#include <errno.h>
#include <openssl/err.h>
#include <string.h>

#include "base/base64.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "tests/unit/check.h"
#include "tests/unit/scratch.h"

static size_t unhex(const char *hex, unsigned char *ret_bytes)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned byte = 0;

		(void) sscanf(hex + 2 * i, "%2x", &byte);
		ret_bytes[i] = (unsigned char) byte;
	}
	return n;
}

static const struct {
	const char *public_key, *message, *signature;
} examples[] = {
    {"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b"
     "46bd25bf5f0595bbe24655141438e7a100b"},
    {"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11"
     "d8c387b2eaeb4302aeeb00d291612bb0c00"},
};

static void test_examples(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		unsigned char key[32], message[8], signature[64];
		size_t len = unhex(examples[i].message, message);
		AUTO(free) char *key_text = NULL;
		AUTO(free) char *public_text = NULL;
		AUTO(free) char *text = NULL;

		(void) unhex(examples[i].public_key, key);
		(void) unhex(examples[i].signature, signature);
		key_text = base64_encode(key, sizeof(key));
		public_text = xasprintf("ed25519:%s", key_text);
		text = base64_encode(signature, sizeof(signature));
		CHECK(signature_is_public_key(public_text));
		CHECK(signature_is_of(public_text, message, len, text));
		CHECK(!signature_is_of(public_text, "x", 1, text));
	}
}

static void test_made_and_kept(void)
{
	AUTO(signature_key_free) struct signature_key *key = NULL, *again = NULL, *other = NULL;
	char text[SIGNATURE_TEXT_MAX], of_other[SIGNATURE_TEXT_MAX];
	const char *data = "one line\nand another\n";
	size_t len = strlen(data);
	struct stat st = {0};

	CHECK_EQ_INT(signature_key_load("signing.key", &key), -ENOENT);
	CHECK_EQ_INT(signature_key_load_or_make("signing.key", &key), 0);
	CHECK(stat("signing.key", &st) == 0 && (st.st_mode & 07777) == 0600);
	CHECK_EQ_INT(signature_key_load_or_make("signing.key", &again), 0);
	CHECK_EQ_STR(signature_key_public(key), signature_key_public(again));
	CHECK_EQ_INT((long) strlen(signature_key_public(key)), SIGNATURE_PUBLIC_MAX - 1);
	CHECK_EQ_INT(signature_key_load_or_make("other.key", &other), 0);
	CHECK(strcmp(signature_key_public(key), signature_key_public(other)) != 0);

	signature_sign(key, data, len, text);
	CHECK_EQ_INT((long) strlen(text), SIGNATURE_TEXT_MAX - 1);
	CHECK(signature_is_of(signature_key_public(again), data, len, text));
	CHECK(!signature_is_of(signature_key_public(other), data, len, text));
	signature_sign(other, data, len, of_other);
	CHECK(!signature_is_of(signature_key_public(key), data, len, of_other));
	/* Another program reads the same key from it. */
	(void) scratch_shell("printf %%s '%s' | sed 's/^ed25519://' | base64 -d >public && "
	                     "openssl pkey -in signing.key -pubout -outform DER | tail -c 32 | "
	                     "cmp - public",
	                     signature_key_public(key));
}

static void test_no_bit_can_change(void)
{
	AUTO(signature_key_free) struct signature_key *key = NULL;
	char data[] = "file_sha256=00ff", text[SIGNATURE_TEXT_MAX];
	size_t len = sizeof(data) - 1;

	CHECK_EQ_INT(signature_key_load_or_make("signing.key", &key), 0);
	signature_sign(key, data, len, text);
	for (size_t i = 0; i < 8 * len; i++) {
		data[i / 8] = (char) (data[i / 8] ^ (1 << i % 8));
		CHECK(!signature_is_of(signature_key_public(key), data, len, text));
		data[i / 8] = (char) (data[i / 8] ^ (1 << i % 8));
	}
	CHECK(!signature_is_of(signature_key_public(key), data, len - 1, text));
	for (size_t i = 0; i < strlen(text); i++) {
		char before = text[i];

		text[i] = before == 'A' ? 'B' : 'A';
		CHECK(!signature_is_of(signature_key_public(key), data, len, text));
		text[i] = before;
	}
	CHECK(signature_is_of(signature_key_public(key), data, len, text));
}

/* Who may have read it may sign; who may replace it does not need to. The test may be root. */
static void test_file(void)
{
	static const struct {
		const char *command;
		int r;
		bool needs_root;
	} cases[] = {
	    {"chmod 640 own.key", -EPERM, false},
	    {"chmod 604 own.key", -EPERM, false},
	    {"chmod 400 own.key", 0, false},
	    {"chmod 600 own.key", 0, false},
	    {"chown 65534 own.key", -EPERM, true},
	    {"mkdir d && mv own.key d/ && ln -s d/own.key own.key", -EPERM, true},
	    {"chown 65534 d && rm own.key && ln d/own.key own.key", -EPERM, true},
	    {"chown 65534 .", 0, true},
	    {"chown 0 . own.key", 0, true},
	};
	AUTO(signature_key_free) struct signature_key *made = NULL;

	CHECK_EQ_INT(signature_key_load_or_make("own.key", &made), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases) && !(cases[i].needs_root && geteuid() != 0); i++) {
		AUTO(signature_key_free) struct signature_key *key = NULL;

		(void) scratch_shell("%s", cases[i].command);
		if (!CHECK_EQ_INT(signature_key_load("own.key", &key), cases[i].r))
			(void) fprintf(stderr, "  %s\n", cases[i].command);
		CHECK((key != NULL) == (cases[i].r == 0));
	}
	CHECK(signature_key_advice(-EPERM)[0] != '\0' && signature_key_advice(-EIO)[0] == '\0');
}

static void test_refused(void)
{
	static const char *const no_keys[] = {
	    "",
	    "ed25519:",
	    "ed25519:AAAA",
	    "rsa:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
	    "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
	    "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURp=",
	    "ed25519:11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURoAAAA="};
	static const char *const no_files[] = {
	    "printf '' >bad.key",
	    "echo nonsense >bad.key",
	    "openssl genpkey -quiet -algorithm X25519 -out bad.key",
	    "openssl genpkey -quiet -algorithm ED25519 -aes256 -pass pass:x -out bad.key",
	    "head -c 5000 /dev/zero >bad.key",
	};
	struct signature_key *key = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(no_keys); i++) {
		CHECK(!signature_is_public_key(no_keys[i]));
		CHECK(!signature_is_of(no_keys[i], "", 0, "AAAA"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(no_files); i++) {
		(void) scratch_shell("%s; chmod 600 bad.key", no_files[i]);
		if (!CHECK_EQ_INT(signature_key_load_or_make("bad.key", &key), -EBADMSG))
			(void) fprintf(stderr, "  %s\n", no_files[i]);
	}
	CHECK_EQ_INT(signature_key_load_or_make("none/signing.key", &key), -ENOENT);
	CHECK(key == NULL);
	CHECK_EQ_INT((long) ERR_peek_error(), 0); /* nothing is left for another call to report */
}

int main(void)
{
	scratch_enter();
	test_examples();
	test_made_and_kept();
	test_no_bit_can_change();
	test_file();
	test_refused();
	scratch_leave();
	return check_result();
}
