/* SPDX-License-Identifier: Apache-2.0 */
/* `fairlead init --probe-certificate`: what openssl(1) says of the certificate, and when there is a
 * new one. */
#include "cli/init/initprobecert.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "cli/common/cli.h"
#include "tests/unit/check.h"

#define DAY_S (24 * 3600)

static char root[] = "/tmp/fairlead-probecert-XXXXXX";

/* What these words print in the root, without the line's end; to be freed. */
static char *shell(const char *fmt, ...) PRINTF_LIKE(1, 2);

static char *shell(const char *fmt, ...)
{
	AUTO(free) char *words = NULL;
	AUTO(free) char *command = NULL;
	char *text = NULL;
	size_t size = 0;
	va_list ap;
	FILE *f;

	va_start(ap, fmt);
	words = xvasprintf(fmt, ap);
	va_end(ap);
	command = xasprintf("cd %s && { %s; } 2>&1", root, words);
	f = popen(command, "r");
	CHECK(f != NULL);
	if (getdelim(&text, &size, '\0', f) < 0)
		text[0] = '\0';
	(void) pclose(f);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void check_shell(const char *want, const char *words)
{
	AUTO(free) char *got = shell("%s", words);

	if (!CHECK_EQ_STR(got, want))
		(void) fprintf(stderr, "  %s\n", words);
}

#define MAKE_CA(algorithm, name)                                                                \
	"mkdir -p etc/kubernetes/pki && openssl req -x509 -newkey " algorithm " -nodes -days 3650 " \
	"-subj /CN=" name " -keyout etc/kubernetes/pki/ca.key -out etc/kubernetes/pki/ca.crt "      \
	"2>/dev/null"
#define IN_PKI "cd etc/fairlead/pki && "

static int64_t now_s(void)
{
	return time(NULL);
}

static void check_valid(void)
{
	check_shell("probe.crt: OK", IN_PKI "openssl verify -no_check_time -purpose sslclient -CAfile "
	                                    "../../kubernetes/pki/ca.crt probe.crt");
	check_shell("subject=CN = fairlead-probe", IN_PKI "openssl x509 -in probe.crt -noout -subject");
	check_shell("", IN_PKI "openssl x509 -in probe.crt -noout -pubkey >a; "
	                       "openssl pkey -in probe.key -pubout >b; cmp a b; rm a b");
}

/* Authorities of each kind of key; a node without one. */
static void test_signs(void)
{
	static const char *const authorities[] = {
	    MAKE_CA("rsa:2048", "kubernetes"),
	    MAKE_CA("ec -pkeyopt ec_paramgen_curve:prime256v1", "kubernetes"),
	    MAKE_CA("ed25519", "kubernetes"),
	};

	CHECK_EQ_INT(initprobecert_make(root, NULL, false, now_s()), CLI_FAILED);
	check_shell("", "ls etc 2>/dev/null");
	for (size_t i = 0; i < ARRAY_SIZE(authorities); i++) {
		check_shell("", authorities[i]);
		CHECK_EQ_INT(initprobecert_make(root, NULL, false, now_s()), CLI_OK);
		check_valid();
	}
	check_shell("400 644", IN_PKI "echo $(stat -c %a probe.key probe.crt)");
	check_shell("", IN_PKI "openssl x509 -in probe.crt -noout -ext subjectAltName -ext "
	                       "keyUsage | grep -i 'cert sign'");
	check_shell("CA:FALSE", IN_PKI "openssl x509 -in probe.crt -noout -text | grep -o CA:.*");
	check_shell("TLS Web Client Authentication",
	            IN_PKI "openssl x509 -in probe.crt -noout -ext extendedKeyUsage | tail -1 | "
	                   "sed 's/^ *//'");
}

/* A good one stays; the key stays when the certificate is renewed. */
static void test_renews(void)
{
	AUTO(free) char *cert = shell(IN_PKI "sha256sum probe.crt");
	AUTO(free) char *key = shell(IN_PKI "sha256sum probe.key");
	int64_t soon_s = now_s() + (365 - 30) * (int64_t) DAY_S;

	CHECK_EQ_INT(initprobecert_make(root, NULL, false, soon_s - 60), CLI_OK);
	check_shell(cert, IN_PKI "sha256sum probe.crt");
	CHECK_EQ_INT(initprobecert_make(root, NULL, false, soon_s + 60), CLI_OK);
	check_shell(key, IN_PKI "sha256sum probe.key");
	check_shell("",
	            IN_PKI "openssl x509 -in probe.crt -noout -checkend $((600 * 86400)) >/dev/null "
	                   "|| echo it ends too soon");
	check_valid();
	/* By another authority than the node's it is of no use, for another key neither. */
	check_shell("", MAKE_CA("ed25519", "other"));
	CHECK_EQ_INT(initprobecert_make(root, NULL, false, now_s()), CLI_OK);
	check_valid();
	check_shell("", IN_PKI "openssl genpkey -algorithm ed25519 >probe.key");
	CHECK_EQ_INT(initprobecert_make(root, NULL, false, now_s()), CLI_OK);
	check_valid();
	check_shell("1", IN_PKI "grep -c BEGIN probe.crt");
	/* A key that another user could have read is replaced by --force. */
	free(key);
	key = shell(IN_PKI "sha256sum probe.key");
	CHECK_EQ_INT(initprobecert_make(root, NULL, true, now_s()), CLI_OK);
	free(cert);
	cert = shell(IN_PKI "sha256sum probe.key");
	CHECK(strcmp(key, cert) != 0);
	check_valid();
}

/* It ends with its authority; what is wrong with that is said, and nothing is touched. */
static void test_bad_authority(void)
{
	static const char *const breaks[] = {
	    "openssl genpkey -algorithm ed25519 >etc/kubernetes/pki/ca.key",
	    "echo no key >etc/kubernetes/pki/ca.key",
	    "echo no certificate >etc/kubernetes/pki/ca.crt",
	    "rm etc/kubernetes/pki/ca.crt",
	    "openssl genpkey -algorithm ed25519 -aes256 -pass pass:x >etc/kubernetes/pki/ca.key",
	};

	check_shell("", "openssl req -x509 -newkey ed25519 -nodes -days 100 -subj /CN=short -keyout "
	                "etc/kubernetes/pki/ca.key -out etc/kubernetes/pki/ca.crt 2>/dev/null");
	CHECK_EQ_INT(initprobecert_make(root, NULL, false, now_s()), CLI_OK);
	check_shell("", "a=$(openssl x509 -noout -enddate <etc/fairlead/pki/probe.crt); "
	                "b=$(openssl x509 -noout -enddate <etc/kubernetes/pki/ca.crt); "
	                "[ \"$a\" = \"$b\" ] || echo $a, $b");
	CHECK_EQ_INT(initprobecert_make(root, NULL, false, now_s() + 101 * (int64_t) DAY_S),
	             CLI_FAILED);
	for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
		AUTO(free) char *before = NULL;

		check_shell("", MAKE_CA("ed25519", "kubernetes"));
		CHECK_EQ_INT(initprobecert_make(root, NULL, false, now_s()), CLI_OK);
		before = shell(IN_PKI "cat probe.crt probe.key | sha256sum");
		check_shell("", breaks[i]);
		if (!CHECK_EQ_INT(initprobecert_make(root, NULL, true, now_s()), CLI_FAILED))
			(void) fprintf(stderr, "  %s\n", breaks[i]);
		check_shell(before, IN_PKI "cat probe.crt probe.key | sha256sum");
	}
}

int main(void)
{
	CHECK(mkdtemp(root) != NULL);
	test_signs();
	test_renews();
	test_bad_authority();
	free(shell("rm -rf %s", root));
	return check_result();
}
