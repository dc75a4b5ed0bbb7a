/* SPDX-License-Identifier: Apache-2.0 */
/* Requests, whole and byte by byte: what comes in pieces is answered as what comes at once. */
#include "base/metricsask.h"

#include <string.h>

#include "base/macro.h"
#include "tests/unit/check.h"

#define HOST "Host: 127.0.0.1:9650\r\n"

static const struct ask_case {
	const char *text;
	int status;
	bool head;
} cases[] = {
    {"GET /metrics HTTP/1.1\r\n" HOST "\r\n", 200, false},
    {"HEAD /metrics HTTP/1.1\r\n" HOST "\r\n", 200, true},
    {"GET /metrics HTTP/1.0\r\n\r\n", 200, false},
    {"GET /metrics HTTP/1.9\r\n" HOST "\r\n", 200, false},
    {"GET /metrics?target=a HTTP/1.1\r\n" HOST "\r\n", 200, false},
    {"GET http://localhost:9650/metrics HTTP/1.1\r\n" HOST "\r\n", 200, false},
    {"GET HTTP://localhost/metrics? HTTP/1.1\r\n" HOST "\r\n", 200, false},
    {"GET /metrics HTTP/1.1\r\nhost: a\r\nAccept: text/plain;\tq=1, */*\r\nX: \xff\r\n\r\n", 200,
     false},
    {"GET /metrics HTTP/1.1\r\nHost:\r\nContent-Length: 4\r\n\r\nbody", 200, false},
    /* Not here. */
    {"GET / HTTP/1.1\r\n" HOST "\r\n", 404, false},
    {"GET /metricsx HTTP/1.1\r\n" HOST "\r\n", 404, false},
    {"GET /metric HTTP/1.1\r\n" HOST "\r\n", 404, false},
    {"GET /metrics/ HTTP/1.1\r\n" HOST "\r\n", 404, false},
    {"HEAD /x HTTP/1.1\r\n" HOST "\r\n", 404, true},
    {"GET http://localhost HTTP/1.1\r\n" HOST "\r\n", 404, false},
    {"GET http:// HTTP/1.1\r\n" HOST "\r\n", 404, false},
    {"GET https://localhost/metrics HTTP/1.1\r\n" HOST "\r\n", 404, false},
    {"GET * HTTP/1.1\r\n" HOST "\r\n", 404, false},
    /* Not so. */
    {"POST /metrics HTTP/1.1\r\n" HOST "\r\n", 405, false},
    {"get /metrics HTTP/1.1\r\n" HOST "\r\n", 405, false},
    {"OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 405, false},
    {"GET /metrics HTTP/2.0\r\n", 505, false},
    /* Not HTTP. */
    {"GET /metrics HTTP/1.1\r\n\r\n", 400, false},
    {"GET /metrics HTTP/1.1\r\n" HOST HOST "\r\n", 400, false},
    {"GET /metrics HTTP/1.0\r\n" HOST HOST "\r\n", 400, false},
    {"GET /metrics HTTP/1.1\n", 400, false},
    {"GET /metrics HTTP/1.1\r\nHost: a\n", 400, false},
    {"GET /metrics HTTP/1.1\r\n Host: a\r\n", 400, false},
    {"GET /metrics HTTP/1.1\r\nHost : a\r\n", 400, false},
    {"GET /metrics HTTP/1.1\r\nHost: a\r\n b\r\n", 400, false},
    {"GET /metrics HTTP/1.1\r\n: a\r\n", 400, false},
    {"GET /metrics HTTP/1.1\r\nno colon\r\n", 400, false},
    {"GET /metrics HTTP/1.1\r\nX: \x01", 400, false},
    {"GET /metrics HTTP/1.1\r\nX: a\rb", 400, false},
    {"GET /metrics\r\n", 400, false},
    {"GET  HTTP/1.1\r\n", 400, false},
    {"GET /metrics  HTTP/1.1\r\n", 400, false},
    {"GET /metrics HTTP/1.1 \r\n", 400, false},
    {"GET /metrics HTTP/1.10\r\n", 400, false},
    {"GET /metrics HTTP/1x1\r\n", 400, false},
    {"GET /metrics HTTP/1.x\r\n", 400, false},
    {"GET /metrics http/1.1\r\n", 400, false},
    {"G\x7fT /metrics HTTP/1.1\r\n", 400, false},
    {"G(T /metrics HTTP/1.1\r\n", 400, false},
    {" /metrics HTTP/1.1\r\n", 400, false},
    {"\r\n", 400, false},
    {"\x16\x03\x01\x02", 400, false}, /* TLS */
    /* Not yet. */
    {"", 0, false},
    {"GET /metrics HTTP/1.1\r", 0, false},
    {"GET /metrics HTTP/1.1\r\n" HOST, 0, false},
    {"GET /metrics HTTP/1.1\r\n" HOST "\r", 0, false},
};

static void test_cases(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct ask_case *c = &cases[i];
		size_t len = strlen(c->text);
		bool head = false;
		int status;

		if (!CHECK_EQ_INT(metricsask_read(c->text, len, &head), c->status) ||
		    !CHECK_EQ_INT(head, c->head))
			(void) fprintf(stderr, "  of '%s'\n", c->text);
		/* In pieces: nothing, then the same. */
		for (size_t part = 0; part < len; part++) {
			status = metricsask_read(c->text, part, &head);
			CHECK(status == 0 || status == c->status);
		}
	}
}

static void test_length(void)
{
	static const char start[] = "GET /metrics HTTP/1.1\r\n" HOST "X: ";
	char text[METRICSASK_BYTES_MAX];
	bool head = false;

	memset(text, 'x', sizeof(text));
	memcpy(text, start, strlen(start));
	CHECK_EQ_INT(metricsask_read(text, sizeof(text) - 1, &head), 0);
	CHECK_EQ_INT(metricsask_read(text, sizeof(text), &head), 431);
	memcpy(text + sizeof(text) - 4, "\r\n\r\n", 4);
	CHECK_EQ_INT(metricsask_read(text, sizeof(text), &head), 200);
}

int main(void)
{
	test_cases();
	test_length();
	return check_result();
}
