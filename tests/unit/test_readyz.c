/* SPDX-License-Identifier: Apache-2.0 */
/* What answers to /readyz mean, and the sentences for them. */
#include "web/readyz.h"

#include <string.h>

#include "base/macro.h"
#include "tests/unit/check.h"

static void test_verdict(void)
{
	static const struct {
		enum http_failure failure;
		int status;
		enum readyz_verdict verdict;
	} cases[] = {
	    {HTTP_OK, 200, READYZ_READY},
	    {HTTP_OK, 204, READYZ_READY},
	    {HTTP_OK, 299, READYZ_READY},
	    {HTTP_OK, 300, READYZ_ALIVE},
	    {HTTP_OK, 302, READYZ_ALIVE},
	    {HTTP_OK, 400, READYZ_ALIVE},
	    {HTTP_OK, 401, READYZ_ALIVE},
	    {HTTP_OK, 403, READYZ_ALIVE},
	    {HTTP_OK, 404, READYZ_ALIVE},
	    {HTTP_OK, 428, READYZ_ALIVE},
	    {HTTP_OK, 429, READYZ_BUSY},
	    {HTTP_OK, 430, READYZ_ALIVE},
	    {HTTP_OK, 499, READYZ_ALIVE},
	    {HTTP_OK, 500, READYZ_NOT_READY},
	    {HTTP_OK, 503, READYZ_NOT_READY},
	    {HTTP_OK, 599, READYZ_NOT_READY},
	    {HTTP_OK, 600, READYZ_BROKEN},
	    {HTTP_OK, 101, READYZ_BROKEN},
	    {HTTP_OK, 199, READYZ_BROKEN},
	    {HTTP_OK, 0, READYZ_BROKEN},
	    {HTTP_OK, -1, READYZ_BROKEN},
	    {HTTP_REFUSED, 0, READYZ_DOWN},
	    {HTTP_UNREACHED, 0, READYZ_DOWN},
	    {HTTP_TIMEOUT, 0, READYZ_SILENT},
	    {HTTP_TLS_PEER, 0, READYZ_UNTRUSTED},
	    {HTTP_TLS_OTHER, 0, READYZ_BROKEN},
	    {HTTP_PROTOCOL, 0, READYZ_BROKEN},
	    /* A failure is a failure, whatever the status says. */
	    {HTTP_PROTOCOL, 200, READYZ_BROKEN},
	    {HTTP_TLS_PEER, 200, READYZ_UNTRUSTED},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum readyz_verdict verdict = readyz_verdict(cases[i].failure, cases[i].status);

		if (!CHECK_EQ_STR(readyz_verdict_name(verdict), readyz_verdict_name(cases[i].verdict)))
			(void) fprintf(stderr, "  failure %d, status %d\n", (int) cases[i].failure,
			               cases[i].status);
	}
}

/* They are part of a protocol. */
static void test_names(void)
{
	static const char *const names[READYZ_N_VERDICTS] = {
	    "ready", "alive", "busy", "not_ready", "down", "silent", "untrusted", "broken",
	};

	for (int i = 0; i < READYZ_N_VERDICTS; i++)
		CHECK_EQ_STR(readyz_verdict_name((enum readyz_verdict) i), names[i]);
}

static void test_describe(void)
{
	static const struct {
		enum http_failure failure;
		int status;
		const char *text; /* of the failure, or the body */
		const char *reason;
	} cases[] = {
	    {HTTP_OK, 200, "ok", "readyz 200"},
	    {HTTP_OK, 200, "[-]etcd failed: no", "readyz 200"},
	    {HTTP_OK, 401, "", "readyz 401: alive, readiness unknown"},
	    {HTTP_OK, 429, "", "readyz 429: alive, overloaded"},
	    {HTTP_OK, 500, "", "readyz 500"},
	    {HTTP_OK, 500, "<html>[-]x failed</html>", "readyz 500"},
	    {HTTP_OK, 500, "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n",
	     "readyz 500: etcd failed"},
	    {HTTP_OK, 500, "[-]etcd failed: x\n[-]shutdown failed: y\n",
	     "readyz 500: etcd, shutdown failed"},
	    {HTTP_OK, 500, "[-]a x\n[-]b x\n[-]c x\n[-]d x\n[-]e x\n", "readyz 500: a, b, c, d failed"},
	    {HTTP_OK, 500, "[-]poststarthook/rbac/bootstrap-roles failed: not finished",
	     "readyz 500: poststarthook/rbac/bootstrap-rol failed"},
	    {HTTP_OK, 500, "[-]\n[-] x\n[-]\x1b[31mred failed\n[-]ok\x1b failed\n[-]",
	     "readyz 500: ok failed"},
	    {HTTP_OK, 500,
	     "[-]et\x7f"
	     "cd failed\n[-]\xc3\xa9 failed",
	     "readyz 500: et failed"},
	    {HTTP_OK, 503, "[-]etcd", "readyz 503: etcd failed"},
	    {HTTP_REFUSED, 0, "Failed to connect after 3 ms", "connection refused"},
	    {HTTP_UNREACHED, 0, "timed out", "no answer to a connection attempt"},
	    {HTTP_TIMEOUT, 0, "timed out after 1001 milliseconds", "no answer in time"},
	    {HTTP_TLS_PEER, 0, "self-signed", "wrong certificate: self-signed"},
	    {HTTP_TLS_PEER, 0, "name 'a\nb\x1b[0m\xff'", "wrong certificate: name 'a?b?[0m?'"},
	    {HTTP_TLS_OTHER, 0, "bad file", "TLS failed: bad file"},
	    {HTTP_PROTOCOL, 0, "HTTP/0.9", "not HTTP: HTTP/0.9"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char buf[READYZ_REASON_MAX];
		struct http_response response = {
		    .failure = cases[i].failure,
		    .failure_text = cases[i].text,
		    .status = cases[i].status,
		    .body = cases[i].text,
		    .body_len = strlen(cases[i].text),
		};

		CHECK_EQ_STR(readyz_describe(&response, buf), cases[i].reason);
	}
}

/* A sentence that is too long is cut, not overrun. */
static void test_long(void)
{
	char text[READYZ_REASON_MAX * 2], buf[READYZ_REASON_MAX];
	struct http_response response = {.failure = HTTP_TLS_PEER, .failure_text = text};

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK_EQ_INT(strlen(readyz_describe(&response, buf)), READYZ_REASON_MAX - 1);
}

static void test_blames_etcd(void)
{
	CHECK(readyz_blames_etcd("readyz 500: etcd failed"));
	CHECK(readyz_blames_etcd("readyz 500: ping, etcd-readiness failed"));
	CHECK(!readyz_blames_etcd("readyz 500: ping failed"));
	CHECK(!readyz_blames_etcd("readyz 500"));
	/* It ends, and says so first of all. */
	CHECK(!readyz_blames_etcd("readyz 500: etcd, shutdown failed"));
}

int main(void)
{
	test_blames_etcd();
	test_verdict();
	test_names();
	test_describe();
	test_long();
	return check_result();
}
