/* SPDX-License-Identifier: Apache-2.0 */
/* The pair of the probes: what is used, what is refused and why, and when the files are read. */
#include "web/certificate.h"

#include "base/cleanup.h"
#include "base/macro.h"
#include "tests/unit/check.h"
#include "tests/unit/nginx.h"

static struct nginx server;

/* The commands make the files; from a good pair each time. */
static void test_refused(void)
{
	static const struct {
		const char *command;
		bool used;
		const char *why;
	} cases[] = {
	    {"true", true, NULL},
	    {"cat ca.crt >>probe.crt", true, NULL},
	    {"echo garbage >probe.crt", false, "probe.crt holds no certificate"},
	    {": >probe.crt", false, "probe.crt holds no certificate"},
	    {"head -c 200 client.crt >probe.crt", false, "probe.crt holds no certificate"},
	    {"echo garbage >probe.key", false, "probe.key holds no key"},
	    {"head -c 100 client.key >probe.key", false, "probe.key holds no key"},
	    /* No terminal is asked for the passphrase. */
	    {"openssl pkey -aes256 -passout pass:x -in client.key -out probe.key", false,
	     "probe.key holds no key"},
	    {"cp other.key probe.key", false, "probe.key is not the key of probe.crt"},
	    {"cp server.crt probe.crt", false, "probe.key is not the key of probe.crt"},
	    {"openssl req -x509 -newkey rsa:512 -nodes -subj /CN=w -keyout probe.key -out probe.crt",
	     false, "OpenSSL refuses the certificate"},
	    {"rm probe.crt", false, NULL},
	    {"rm probe.key", false, NULL},
	    {"rm probe.key && mkdir probe.key", false, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct probepair pair = {0};

		nginx_shell(&server,
		            "rm -rf probe.key && cp client.crt probe.crt && cp client.key probe.key && %s",
		            cases[i].command);
		if (!CHECK_EQ_STR(probepair_refresh(&pair, server.dir), cases[i].why) ||
		    !CHECK_EQ_INT(pair.cert != NULL, cases[i].used) ||
		    !CHECK_EQ_INT(pair.key != NULL, cases[i].used))
			(void) fprintf(stderr, "  %s\n", cases[i].command);
		/* Once. */
		CHECK_EQ_STR(probepair_refresh(&pair, server.dir), NULL);
		CHECK_EQ_INT(pair.cert != NULL, cases[i].used);
		probepair_fini(&pair);
	}
	nginx_shell(&server, "rm -rf probe.*");
}

/* A step a command: what changes is seen at the next call, and the files are not read otherwise. */
static void test_read_again(void)
{
	struct probepair pair = {0};
	const char *cert;

	CHECK_EQ_STR(probepair_refresh(&pair, server.dir), NULL);
	CHECK(pair.cert == NULL);
	nginx_shell(&server, "cp client.crt probe.crt && cp client.key probe.key");
	CHECK_EQ_STR(probepair_refresh(&pair, server.dir), NULL);
	CHECK(pair.cert != NULL && pair.key != NULL);
	cert = pair.cert;
	CHECK_EQ_STR(probepair_refresh(&pair, server.dir), NULL);
	CHECK(pair.cert == cert);
	/* A renewal with a new key that ended between the two files, and goes on later. */
	nginx_shell(&server, "cp server.key new && mv new probe.key");
	CHECK_EQ_STR(probepair_refresh(&pair, server.dir), "probe.key is not the key of probe.crt");
	CHECK(pair.cert == NULL && pair.key == NULL);
	CHECK_EQ_STR(probepair_refresh(&pair, server.dir), NULL);
	CHECK(pair.cert == NULL);
	nginx_shell(&server, "cp server.crt new && mv new probe.crt");
	CHECK_EQ_STR(probepair_refresh(&pair, server.dir), NULL);
	CHECK(pair.cert != NULL);
	nginx_shell(&server, "rm probe.crt");
	CHECK_EQ_STR(probepair_refresh(&pair, server.dir), NULL);
	CHECK(pair.cert == NULL && pair.key == NULL);
	probepair_fini(&pair);
}

int main(void)
{
	nginx_init(&server);
	test_refused();
	test_read_again();
	nginx_fini(&server);
	return check_result();
}
