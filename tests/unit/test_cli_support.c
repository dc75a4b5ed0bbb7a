/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `fairlead support`: what is blanked, and that no secret gets into the archive, from wherever it
 * might; that who hangs is named and keeps nothing else away.
 */
#include "cli/support/blank.h"

#include <errno.h>
#include <sys/stat.h>

#include "tests/unit/clirun.h"
#include "tests/unit/scripted.h"

/* --- single texts --- */

static void check_blank(enum blank_format format, const char *text, const char *want)
{
	static const struct texts none;
	size_t n = 0;
	AUTO(free) char *got = blank_text(text, strlen(text), format, &none, &n);

	CHECK_EQ_STR(got, want);
	CHECK_EQ_INT(n > 0, strcmp(text, want) != 0);
}

#define B BLANK_TEXT
/* 32 bytes, as wg(8) writes them. */
#define WIREGUARD_KEY "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk="

#define LONG_NAME                                                                                  \
	"a.name.that.goes.on.and.on.a.name.that.goes.on.and.on.a.name.that.goes.on.and.on.and.on.and." \
	"on.and.on."

static void test_names(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
	    {"password: abc def\n", "password: " B "\n"},
	    {"passwordFile: /etc/x\n", "passwordFile: /etc/x\n"},
	    {"secretKeyFile: /etc/x # secret: no\n", "secretKeyFile: /etc/x # secret: " B "\n"},
	    {"a=1 password=\"x \\\" y\" b=2", "a=1 password=" B " b=2"},
	    {"a=1 api_key=xyz, b=2", "a=1 api_key=" B " b=2"},
	    {"{\"token\":\"x\",\"n\":1}", "{\"token\":" B ",\"n\":1}"},
	    {"{\"token\":12,\"n\":1}", "{\"token\":" B ",\"n\":1}"},
	    {"etcdctl --password x --user=y", "etcdctl --password " B " --user=y"},
	    /* In a list of words. */
	    {"[\"--password\", \"x y\", \"--user\"]", "[\"--password\", " B ", \"--user\"]"},
	    {"[\"--password\",\"x y\",\"--user\"]", "[\"--password\"," B ",\"--user\"]"},
	    {"['--password' , 'x y', '--user']", "['--password' , " B ", '--user']"},
	    {"{\"a\":\"[\\\"--token\\\", \\\"x y\\\", \\\"z\\\"]\"}",
	     "{\"a\":\"[\\\"--token\\\", " B ", \\\"z\\\"]\"}"},
	    {"[\n  \"--password\",\n  \"x y\",\n  \"--user\"\n]",
	     "[\n  \"--password\",\n" B "\n  \"--user\"\n]"},
	    /* Over two lines and more, as a shell has it; and within a string. */
	    {"etcdctl --password \\\n\tx --a \\\n\t--b y\n", "etcdctl --password \\\n" B "\n\t--b y\n"},
	    {"etcdctl --password x \\\n  --user y\n", "etcdctl --password " B " \\\n  --user y\n"},
	    {"a --password=\\\nx\nb", "a --password=\\\n" B "\nb"},
	    {"a --password \\\r\n  x\r\nb", "a --password \\\r\n" B "\nb"},
	    {"a --password \\\n \\\n  x\nb", "a --password \\\n" B "\n" B "\nb"},
	    {"a --password \\\n  x\\\ny\\\r\nz \\\n --b c",
	     "a --password \\\n" B "\n" B "\n" B "\n --b c"},
	    {"a --password x\\\ny\nb", "a --password " B "\n" B "\nb"},
	    {"a --password \"x \\\ny\"\nb", "a --password " B "\n" B "\nb"},
	    {"a --password \"x\ny\"\nb", "a --password " B "\n" B "\nb"},
	    {"TOKEN='x\n\n  it''s y' z\nb", "TOKEN=" B "\n\n" B "\nb"},
	    {"a=\"b --token \\\"x\ny \\\\\" z\\\"\"\nb", "a=\"b --token " B "\n" B "\nb"},
	    {"a --password \\\n  'x\ny'\nb", "a --password \\\n" B "\n" B "\nb"},
	    {"a --password \\\n  \"x\n\ny\" \\\n --b c", "a --password \\\n" B "\n\n" B "\n --b c"},
	    /* Of a log the next message is not in the quotes of this one. */
	    {"2026-11-22T1 a: token='x\n  y\n2026-11-22T1 b\n",
	     "2026-11-22T1 a: token=" B "\n" B "\n2026-11-22T1 b\n"},
	    {"TOKEN=\\\n'x'\nb", "TOKEN=\\\n" B "\nb"},
	    {"msg=\"a --password \\\\\\n  x --b c\"", "msg=\"a --password \\\\\\n  " B " --b c\""},
	    {"msg=\"a --password \\\\\\nx --b c\"", "msg=\"a --password " B " --b c\""},
	    {"in \\ --password is \\\nwhat", "in \\ --password " B " \\\nwhat"},
	    {"[\"password\", \"x\"]", "[\"password\", \"x\"]"},
	    {"needs --password, or --user", "needs --password, or --user"},
	    {"needs a --password\nor --user", "needs a --password\nor --user"},
	    {"the token is good", "the token is good"},
	    {"Authorization: Token abc", "Authorization: " B},
	    {"sends Bearer abc.def x", "sends Bearer " B " x"},
	    {"sends Bearer \t abc.def x", "sends Bearer " B " x"},
	    {"Cookie: session=abc", "Cookie: " B},
	    {"db_pass=abc PWD=/x", "db_pass=" B " PWD=" B},
	    /* In a string of JSON in one of JSON. */
	    {"{\"body\":\"{\\\"token\\\":\\\"x y\\\",\\\"n\\\":1}\",\"m\":2}",
	     "{\"body\":\"{\\\"token\\\":" B ",\\\"n\\\":1}\",\"m\":2}"},
	    {"err=\"login with password=\\\"x y\\\" failed\" n=1",
	     "err=\"login with password=" B " failed\" n=1"},
	    {"{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"token\\\\\\\":\\\\\\\"x y\\\\\\\"}\\\"}\"}",
	     "{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"token\\\\\\\":" B "}\\\"}\"}"},
	    {"{\"tokens\":[\"x\",\"]y\",\"z\"],\"n\":1}", "{\"tokens\":" B ",\"n\":1}"},
	    {"{\"credentials\":{\"a\":{\"b\":\"x\"},\"c\":\"y\"},\"n\":1}",
	     "{\"credentials\":" B ",\"n\":1}"},
	    {"tokens=[x y z] n=1", "tokens=" B " n=1"},
	    {"password='it''s x' n=1", "password=" B " n=1"},
	    {"password='a'\"b c\"'d' n=1", "password=" B " n=1"},
	    {LONG_NAME "password=x", LONG_NAME "password=" B},
	    {"key: /registry/a, content: b, auth: on", "key: /registry/a, content: b, auth: on"},
	    {"export AWS_SECRET_ACCESS_KEY=abc", "export AWS_SECRET_ACCESS_KEY=" B},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_blank(BLANK_PLAIN, cases[i].text, cases[i].want);
}

/* Every key of the configuration that is a secret, or that is refused because somebody might write
 * one there; and what stands beside them. */
static void test_keys(void)
{
	static const char *const secret[] = {
	    "password",  "token",        "secret",     "passphrase",   "identity",   "accessKey",
	    "secretKey", "sessionToken", "privateKey", "presharedKey", "SECRET_KEY", "client-key-data"};
	static const char *const open[] = {
	    "passwordFile",    "tokenFile",      "secretFile",       "identityFile",
	    "accessKeyFile",   "secretKeyFile",  "sessionTokenFile", "keyFile",
	    "credentialsFile", "privateKeyFile", "presharedKeyFile", "clientKeyFile",
	    "endpoint",        "name",           "publicKey",        "recipients",
	    "bucket",          "kubeconfig"};

	for (size_t i = 0; i < ARRAY_SIZE(secret); i++) {
		if (!CHECK(blank_is_secret_name(secret[i], strlen(secret[i]))))
			(void) fprintf(stderr, "  %s\n", secret[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
		if (!CHECK(!blank_is_secret_name(open[i], strlen(open[i]))))
			(void) fprintf(stderr, "  %s\n", open[i]);
	}
}

static void test_forms(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
	    {"key " WIREGUARD_KEY " of a tunnel", "key " B " of a tunnel"},
	    {"join abcdef.0123456789abcdef now", "join " B " now"},
	    {"x AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQ y", "x " B " y"},
	    {"https://u:p@h.example/a/b?x=1 z", "https://" B "@h.example/a/b?" B " z"},
	    {"https://h.example:6443/readyz", "https://h.example:6443/readyz"},
	    {"https://h/services/T0/abcdefghij0123456789", "https://h/services/T0/" B},
	    {"GET https://10.0.0.5:2379/v3/kv", "GET https://10.0.0.5:2379/v3/kv"},
	    {"a\n-----BEGIN EC PRIVATE KEY-----\nxx\n-----END EC PRIVATE KEY-----\nb\n",
	     "a\n" B "\n\n\nb\n"},
	    {"-----BEGIN PRIVATE KEY-----\\nxx\\n-----END PRIVATE KEY----- b", B " b"},
	    {"-----BEGIN CERTIFICATE-----\nxx\n", "-----BEGIN CERTIFICATE-----\nxx\n"},
	    /* Within a string, behind something else. */
	    {"\"-----END CERTIFICATE-----\\n-----BEGIN PRIVATE KEY-----\\nxx\\n-----END PRIVATE "
	     "KEY-----\"",
	     "\"-----END CERTIFICATE-----\\n" B "\""},
	    {"chain-----BEGIN PRIVATE KEY-----\\nxx\\n-----END PRIVATE KEY----- b", "chain" B " b"},
	    {"\"\\nAGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQ\\tghp_"
	     "0123456789abcdefghij\\u003ceyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9\"",
	     "\"\\" B "\\t" B "\\u003c" B "\""},
	    {"key.AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQ y", B " y"},
	    {"it is " WIREGUARD_KEY ".", "it is " B "."},
	    {"join abcdef.0123456789abcdef. Then", "join " B ". Then"},
	    {"https://u:it's@h.example/a", "https://" B "@h.example/a"},
	    {"'https://h.example/a' or 'x@y'", "'https://h.example/a' or 'x@y'"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_blank(BLANK_PLAIN, cases[i].text, cases[i].want);
}

static void test_yaml(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
	    {"a:\n  password: |\n    x\n\n    y\n  b: 1\n",
	     "a:\n  password: " B "\n" B "\n\n" B "\n  b: 1\n"},
	    {"password: 'x\n  y'\nb: 1\n", "password: " B "\n" B "\nb: 1\n"},
	    {"tokens:\n- x\n- y\nb: 1\n", "tokens:\n" B "\n" B "\nb: 1\n"},
	    {"{\"password\":\n\"x\",\n\"b\": 1}\n", "{\"password\":\n" B "\n\"b\": 1}\n"},
	    {"name: {password: x, b: y}\nc: 1\n", "name: {password: " B "\nc: 1\n"},
	    {"# password: x\nb: 1\n", "# password: " B "\nb: 1\n"},
	    {"auth:\n  username: u\n  auth: dTpw\nb: 1\n", "auth:\n" B "\n" B "\nb: 1\n"},
	    {"- content: |\n    x\n  path: /etc/x\n- path: /y\n  \"content\": z\n",
	     "- content: " B "\n" B "\n  path: /etc/x\n- path: /y\n  \"content\": " B "\n"},
	    {"- - \"psk\":\n      x\n    b: 1\n", "- - \"psk\":\n" B "\n    b: 1\n"},
	    {"headers: {X-Site: x}\n---\nb: 1\n", "headers: " B "\n---\nb: 1\n"},
	    {"- key: x\n  keyId: y\n- key\n", "- key: " B "\n  keyId: y\n- key\n"},
	    {"command: etcd --key /etc/x --auth=y\n", "command: etcd --key /etc/x --auth=y\n"},
	    /* A list of words, in each of YAML's forms. */
	    {"- --password\n- x\n- --user=y\n", "- --password\n" B "\n- --user=y\n"},
	    {"a:\n  - --password\n\n  - x\n  - --user=y\n",
	     "a:\n  - --password\n\n" B "\n  - --user=y\n"},
	    {"- \"--password\"\n- \"x\"\n- y\n", "- \"--password\"\n" B "\n- y\n"},
	    {"- --password\n- |\n  x\n  z\n- y\n", "- --password\n" B "\n" B "\n" B "\n- y\n"},
	    {"- --password\n- \"x\n  z\"\n- y\n", "- --password\n" B "\n" B "\n- y\n"},
	    {"- '--password'\n- x\n  z\n- y\n", "- '--password'\n" B "\n" B "\n- y\n"},
	    {"- --password\n# y\n- x\n- z\n", "- --password\n" B "\n" B "\n- z\n"},
	    {"- - --password\n  - x\n  - y\n", "- - --password\n" B "\n  - y\n"},
	    {"- --password=x\n  z\n- y\n", "- --password=" B "\n" B "\n- y\n"},
	    {"- --password\r\n- x\r\n- y\n", "- --password\r\n" B "\n- y\n"},
	    {"a: |\n  etcdctl --password \\\n  x\n  b\nc: 1\n",
	     "a: |\n  etcdctl --password \\\n" B "\n  b\nc: 1\n"},
	    {"command: [a, --password, x]\n", "command: [a, --password, " B "]\n"},
	    {"command: [\"--password\", \"x y\", \"z\"]\n",
	     "command: [\"--password\", " B ", \"z\"]\n"},
	    {"command: [a,\n  --password,\n  x,\n  y]\nb: 1\n",
	     "command: [a,\n  --password,\n" B "\n  y]\nb: 1\n"},
	    /* Quotes in quotes, and values that go on at any column. */
	    {"password: 'it''s x'\nb: 1\n", "password: " B "\nb: 1\n"},
	    {"password: 'x\\'\nb: 1\n", "password: " B "\nb: 1\n"},
	    {"password: \"x\ny: \\\"\nz\"\nb: 1\n", "password: " B "\n" B "\n" B "\nb: 1\n"},
	    {"password: 'x\ny: ''\nz'\nb: 1\n", "password: " B "\n" B "\n" B "\nb: 1\n"},
	    {"password: &a !!str \"x\ny\"\nb: 1\n", "password: " B "\n" B "\nb: 1\n"},
	    {"password: \"x\n---\nb: 1\n", "password: " B "\n---\nb: 1\n"},
	    {"# password: \"x\nb: 1\n", "# password: " B "\nb: 1\n"},
	    {"x: \"{\\\"password\\\": \\\"x y\\\", \\\"n\\\": 1}\"\n",
	     "x: \"{\\\"password\\\": " B ", \\\"n\\\": 1}\"\n"},
	    /* The same where the document is none, and in a comment. */
	    {"password: 'x\ny'\nb: [\n", "password: " B "\n" B "\nb: [\n"},
	    {"a: \"b --token \\\"x\n  y\\\" z\"\nb: [\n", "a: \"b --token " B "\n" B "\nb: [\n"},
	    {"x: &a \"y\n  z\"\nb: {secret: *a}\n", "x: " B "\n" B "\nb: {secret: " B "\n"},
	    {"\xef\xbb\xbf"
	     "a: \xc3\xa4\npassword: x\xc3\xa4\nb: \xc3\xa4\n",
	     "\xef\xbb\xbf"
	     "a: \xc3\xa4\npassword: " B "\nb: \xc3\xa4\n"},
	    {"{\xc3\xa4: [\xe2\x82\xac, --token, '\xe2\x82\xac\n x', y], b: 1}\n",
	     "{\xc3\xa4: [\xe2\x82\xac, --token, " B "\n" B ", y], b: 1}\n"},
	    /* What does not end a block. */
	    {"token: |\r\n  x\r\n\r\n  y\r\nb: 1\n", "token: " B "\n" B "\n\n" B "\r\nb: 1\n"},
	    {"headers:\n# x\n  X-Site: y\nb: 1\n", "headers:\n" B "\n" B "\nb: 1\n"},
	    {"headers:\n  X-Site: y\n# x\n  Z: y\nb: 1\n", "headers:\n" B "\n# x\n" B "\nb: 1\n"},
	    {"? password\n: x\nb: 1\n", "? password\n" B "\nb: 1\n"},
	    /* Of other kinds of documents that may lie there. */
	    {"- contents: |\n    x\n  name: y\n", "- contents: " B "\n" B "\n  name: y\n"},
	    {"data:\n  x: y\nstringData: {x: y}\n", "data:\n" B "\nstringData: " B "\n"},
	    {"encryptionKey: x\npublicKey: y\n", "encryptionKey: " B "\npublicKey: y\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_blank(BLANK_YAML, cases[i].text, cases[i].want);
}

/* Pieces in any order: whatever a log may hold, a known value is gone, and nobody reads beyond it.
 */
static void test_any(unsigned number)
{
	static const char *const pieces[] = {"password",
	                                     "token:",
	                                     "=",
	                                     ": ",
	                                     "\"",
	                                     "'",
	                                     "\\",
	                                     "\n",
	                                     "  ",
	                                     "- ",
	                                     "{",
	                                     "}",
	                                     ",",
	                                     "://",
	                                     "@",
	                                     "/",
	                                     "?",
	                                     "known-value",
	                                     "-----BEGIN PRIVATE KEY-----",
	                                     "-----END",
	                                     "Bearer ",
	                                     "--secret ",
	                                     "\xff",
	                                     "eyJ",
	                                     "LS0tLS1CRUdJTi",
	                                     "abcdef.0123456789abcdef",
	                                     "#"};
	char *known_items[] = {(char[]){"known-value"}, NULL};
	const struct texts known = {.items = known_items, .n = 1};
	AUTO(free) char *text = xstrdup("");
	AUTO(free) char *exact = NULL;
	AUTO(free) char *got = NULL;
	unsigned seed = number;
	size_t n = 0;

	for (int i = rand_r(&seed) % 24; i > 0; i--) {
		char *longer = xasprintf("%s%s", text, pieces[(size_t) rand_r(&seed) % ARRAY_SIZE(pieces)]);

		free(text);
		text = longer;
	}
	/* Without a NUL behind it. */
	exact = strlen(text) > 0 ? xmemdup(text, strlen(text)) : xstrdup("");
	got = blank_text(exact, strlen(text), number % 2 == 0 ? BLANK_YAML : BLANK_PLAIN, &known, &n);
	if (!CHECK(strstr(got, "known-value") == NULL))
		(void) fprintf(stderr, "  seed %u: '%s'\n", number, text);
}

/* --- the archive --- */

/* What must not be found in it, each planted in a place of its own. */
static const char *const secrets[] = {
    "config-secret-1",      /* a key of the configuration */
    "file-secret-2",        /* in a file that it names, said by a log without its name */
    "webhook-secret-3",     /* in the path of a URL */
    "environment-secret-4", /* of this process */
    "comment-secret-5",
    "anchored-secret-6", /* written where nothing tells, used where it is secret */
    "probe-secret-7",    /* logs in to a URL */
    "block-secret-8",
    "s3-secret-9", /* AWS's way of writing it */
    WIREGUARD_KEY,
    "AGE-SECRET-KEY-1QYQSZQ",
    "pem-secret-10",
    "log-secret-11",
    "status-secret-12",
    "metric-secret-13",
    "url-file-secret-14",
    "kubeconfig-secret-15",
    "command-secret-16",
    "cmVnaXN0cnk6c2VjcmV0LTE3", /* user and password of a registry, as it wants them */
    "content-secret-18",
    "header-secret-19",
    "folded-secret-20", /* a block that nothing tells of where it is written */
    "tight-secret-21",  /* AWS's file without blanks, said by a log */
    "escaped-secret-22",
    "chained-secret-23",
    "quoted-secret-24", /* over two lines, and secret by an alias alone */
};

static const char config_text[] = "apiVersion: fairlead/v1\n"
                                  "kind: EtcdClientConfig\n"
                                  "password: config-secret-1\n"
                                  "passwordFile: DIR/etcd.password\n"
                                  "# token: comment-secret-5\n"
                                  "---\n"
                                  "apiVersion: fairlead/v1\n"
                                  "kind: EtcdWatchConfig\n"
                                  "notify:\n"
                                  "  url: https://hooks.example.org/webhook-secret-3\n"
                                  "  urlFile: DIR/url\n"
                                  "x: &a anchored-secret-6\n"
                                  "y: {secret: *a}\n"
                                  "z: &b |\n"
                                  "  one line\n"
                                  "  folded-secret-20\n"
                                  "w: {secret: *b}\n"
                                  "v: &c \"one line\n"
                                  "quoted-secret-24\"\n"
                                  "u: {secret: *c}\n"
                                  "---\n"
                                  "apiVersion: fairlead/v1\n"
                                  "kind: EtcdSnapshotConfig\n"
                                  "name: kept-by-name\n"
                                  "identity: |\n"
                                  "  block-secret-8\n"
                                  "  AGE-SECRET-KEY-1QYQSZQGPQYQSZQGPQYQSZQGPQYQSZQGP\n"
                                  "targets:\n"
                                  "  - credentialsFile: DIR/aws\n"
                                  "---\n"
                                  "apiVersion: fairlead/v1\n"
                                  "kind: PrismConfig\n"
                                  "upstreams: {endpointSlices: {kubeconfig: DIR/kubeconfig}}\n"
                                  "---\n"
                                  "apiVersion: v1alpha1\n"
                                  "kind: WireguardConfig\n"
                                  "privateKey: " WIREGUARD_KEY "\n"
                                  "---\n"
                                  "apiVersion: v1alpha1\n"
                                  "kind: HTTPProbeConfig\n"
                                  "url: http://me:probe-secret-7@10.0.0.20:3128/health\n"
                                  "key: |\n"
                                  "  -----BEGIN PRIVATE KEY-----\n"
                                  "  pem-secret-10\n"
                                  "  -----END PRIVATE KEY-----\n"
                                  "headers: {X-Site: header-secret-19}\n"
                                  "---\n"
                                  "machine:\n"
                                  "  registries:\n"
                                  "    config:\n"
                                  "      registry.example.org:\n"
                                  "        auth: {auth: cmVnaXN0cnk6c2VjcmV0LTE3}\n"
                                  "  files:\n"
                                  "    - content: |\n"
                                  "        open: content-secret-18\n"
                                  "      path: /etc/kept-path\n";

static const char journal_text[] =
    "#!/bin/sh\n"
    "cat <<'END'\n"
    "2026-11-22 vipd: kept in the log\n"
    "2026-11-22 vipd: event=auth user=root tried file-secret-2 and s3-secret-9 and "
    "url-file-secret-14 and kubeconfig-secret-15\n"
    "2026-11-22 vipd: password=log-secret-11 err=x\n"
    "2026-11-22 vipd: told webhook-secret-3, anchored-secret-6, header-secret-19\n"
    "2026-11-22 vipd: -----BEGIN RSA PRIVATE KEY-----\n"
    "pem-secret-10\n"
    "-----END RSA PRIVATE KEY-----\n"
    "2026-11-22 vipd: tight-secret-21 body=\"{\\\"password\\\":\\\"an escaped-secret-22\\\"}\"\n"
    "2026-11-22 vipd: pem=\"-----END CERTIFICATE-----\\n-----BEGIN EC PRIVATE KEY-----\\n"
    "chained-secret-23\\n-----END EC PRIVATE KEY-----\"\n"
    "END\n";

static void put(const char *name, const char *text, mode_t mode)
{
	AUTO(free) char *path = xasprintf("%s/%s", clirun_dir, name);
	char *result = NULL;
	size_t len;
	FILE *out = open_memstream(&result, &len);

	for (const char *p = text; *p != '\0';) {
		if (strncmp(p, "DIR/", 4) == 0) {
			(void) fputs(clirun_dir, out);
			p += 3;
		} else {
			(void) fputc(*p++, out);
		}
	}
	(void) fclose(out);
	CHECK_EQ_INT(file_write_atomic(path, result, strlen(result), mode, FILE_VOLATILE), 0);
	free(result);
}

static bool shell(const char *fmt, const char *argument)
{
	AUTO(free) char *dir = xasprintf("D=%s; set -- '%s'; %s", clirun_dir, argument, fmt);

	return system(dir) == 0;
}

static void plant(void)
{
	AUTO(free) char *bin = xasprintf("%s/bin", clirun_dir);
	AUTO(free) char *path = xasprintf("%s:%s", bin, getenv("PATH"));

	CHECK_EQ_INT(mkdir(bin, 0755), 0);
	CHECK_EQ_INT(setenv("PATH", path, 1), 0);
	CHECK_EQ_INT(setenv("FAIRLEAD_TOKEN", "environment-secret-4", 1), 0);
	put("config.yaml", config_text, 0600);
	put("etcd.password", "file-secret-2\n", 0600);
	put("url", "https://hooks.example.org/url-file-secret-14\n", 0600);
	put("aws",
	    "[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n"
	    "aws_secret_access_key = s3-secret-9\n"
	    "aws_session_token=tight-secret-21\n",
	    0600);
	put("kubeconfig", "users:\n- user: {token: kubeconfig-secret-15}\n", 0600);
	put("bin/journalctl", journal_text, 0755);
	put("bin/ss", "#!/bin/sh\necho 'x --password command-secret-16'\n", 0755);
	/* It hangs, and so does what it has started. */
	put("bin/nft", "#!/bin/sh\necho half\nsleep 1000 &\nsleep 1000\n", 0755);
}

/* vipd hangs. */
static const struct scripted_row daemons[] = {
    {"vipd", NULL, NULL},
    {"etcdwatch", "metrics",
     "{\"metrics\":\"kept_metric 1\\nx{token=\\\"metric-secret-13\\\"} 1\\n\"}\nok\n"},
    {"etcdwatch", "etcd health",
     "{\"state\":\"ok\",\"findings\":[],\"kept\":\"in "
     "status\",\"token\":\"status-secret-12\"}\nok\n"},
    {"etcdwatch", NULL, "error notfound nothing\n"},
};

static void check_has(const char *text, const char *file)
{
	AUTO(free) char *command = xasprintf("grep -qF -- \"$1\" $D/out.d/*/%s", file);

	if (!CHECK(shell(command, text)))
		(void) fprintf(stderr, "  '%s' is not in %s\n", text, file);
}

static void test_archive(void)
{
	AUTO(free)
	char *line = xasprintf("-r %s support --config %s/config.yaml --file %s/support.tar.gz",
	                       clirun_dir, clirun_dir, clirun_dir);
	AUTO(free) char *archive = xasprintf("%s/support.tar.gz", clirun_dir);
	pid_t pid = scripted_start(clirun_dir, daemons, ARRAY_SIZE(daemons));
	struct stat st;

	plant();
	clirun_check(line, CLI_OK, "wrote ", "");
	scripted_stop(pid);
	CHECK(stat(archive, &st) == 0 && (st.st_mode & 0777) == 0600);
	/* Nothing is left beside it. */
	CHECK(shell("! ls -A $D | grep -q fairlead-support", ""));
	CHECK(shell("mkdir $D/out.d && tar -C $D/out.d -xzf $D/support.tar.gz", ""));
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
		if (!CHECK(shell("! grep -rqF -- \"$1\" $D/out.d", secrets[i])))
			(void) fprintf(stderr, "  found: %s\n", secrets[i]);
	}
	check_has("name: kept-by-name", "config/tmp/*/config.yaml");
	check_has("/etcd.password", "config/tmp/*/config.yaml");
	check_has("path: /etc/kept-path", "config/tmp/*/config.yaml");
	check_has("kept in the log", "logs/fairlead-vipd.log");
	check_has("kept_metric 1", "daemons/etcdwatch-metrics.prom");
	check_has("in status", "daemons/etcdwatch-etcd-health.json");
	check_has("vipd: vip status: no answer in time", "SUMMARY.md");
	check_has("did not end within 5 s", "SUMMARY.md");
	check_has("half", "network/nftables.txt");
	check_has("ifname", "network/address.json");
}

static void test_refused(void)
{
	AUTO(free)
	char *line =
	    xasprintf("-r %s support --no-logs --file %s/no/such.tar.gz", clirun_dir, clirun_dir);

	clirun_check(line, CLI_FAILED, "", "fairlead: cannot write '");
}

/* Values that begin alike, are parts of each other, or stand at the end. */
static void test_known(void)
{
	char *items[] = {(char[]){"abcdef"},
	                 (char[]){"abcdefgh"},
	                 (char[]){"abcdexyz"},
	                 (char[]){"abcdef"},
	                 (char[]){"abcd"},
	                 (char[]){"12345"},
	                 NULL};
	const struct texts known = {.items = items, .n = ARRAY_SIZE(items) - 1};
	static const char text[] = "xabcdefghabcdef abcd abcdexy abcdexyz 1234 12345";
	size_t n = 0;
	AUTO(free) char *got = blank_text(text, strlen(text), BLANK_PLAIN, &known, &n);

	CHECK_EQ_STR(got, "x" B B " abcd abcdexy " B " 1234 " B);
	CHECK_EQ_INT((int) n, 4);
}

/* By a signal that comes while tar(1) is at work. */
static void test_interrupted(void)
{
	AUTO(free)
	char *line = xasprintf("-r %s support --no-logs --file %s/late.tar.gz", clirun_dir, clirun_dir);

	put("bin/nft", "#!/bin/sh\n", 0755);
	put("bin/tar", "#!/bin/sh\nkill -INT $PPID\n", 0755);
	clirun_check(line, CLI_FAILED, "", "\nfairlead: interrupted: nothing was written");
	CHECK(shell("! test -e $D/late.tar.gz && ! ls -A $D | grep -q fairlead-support", ""));
}

int main(void)
{
	test_names();
	test_keys();
	for (unsigned i = 0; i < 5000; i++)
		test_any(i);
	test_forms();
	test_known();
	test_yaml();
	clirun_begin();
	test_archive();
	test_refused();
	test_interrupted();
	clirun_end();
	return check_result();
}
