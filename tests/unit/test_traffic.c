/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the clients and servers of the stories believe: the known stream, answers byte by byte, for
 * whom a ClientHello is. Whether they count right on real connections is the story self_traffic.
 */

#include "check.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/tools/client/question.h"
#include "tests/tools/server/hello.h"
#include "tests/tools/traffic/stream.h"

#define LEN 3000000 /* longer than the stream's period */

static void test_stream(void)
{
	char *bytes = xcalloc(LEN, 1);

	stream_fill(7, 1000, bytes, LEN);
	CHECK_EQ_INT(stream_match(7, 1000, bytes, LEN), LEN);
	CHECK_EQ_INT(stream_match(7, 1000 + 65536, bytes + 65536, 100), 100);
	CHECK(stream_match(8, 1000, bytes, LEN) < 64);
	/* A block is missing, or comes again: whatever its size. */
	for (size_t lost = 1; lost <= 1 << 20; lost *= 2)
		CHECK(stream_match(7, 1000, bytes + lost, 4096) < 64);
	bytes[2222222] ^= 1;
	CHECK_EQ_INT(stream_match(7, 1000, bytes, LEN), 2222222);
	free(bytes);
}

struct answer_case {
	const char *text;
	enum answer_state state;
	const char *why;
};

static void test_http(void)
{
	static const struct question q = {
	    .host = "h", .path = "/p", .status = 200, .body = "abc", .body_len = 3};
	static const struct answer_case cases[] = {
	    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", ANSWER_RIGHT, ""},
	    {"HTTP/1.1 200 OK\r\ncontent-length:3\r\nX: y\r\n\r\nabc", ANSWER_RIGHT, ""},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", ANSWER_INCOMPLETE, ""},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", ANSWER_INCOMPLETE, ""},
	    {"HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nabc", ANSWER_WRONG, "status 500"},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabd", ANSWER_WRONG,
	     "the body differs; its bytes: 3"},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcd", ANSWER_WRONG,
	     "the body differs; its bytes: 4"},
	    {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcd", ANSWER_WRONG,
	     "bytes behind the body: 1"},
	    {"HTTP/1.1 200 OK\r\n\r\nContent-Length: 3\r\n", ANSWER_WRONG,
	     "no Content-Length; bytes of the head: 19"},
	    {"SSH-2.0-x\r\n\r\n", ANSWER_WRONG, "not HTTP; bytes: 13"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].text;
		struct answer whole = {0}, pieces = {0};
		enum answer_state state = ANSWER_INCOMPLETE;

		CHECK_EQ_INT(answer_add(&whole, &q, 0, text, strlen(text)), cases[i].state);
		CHECK_EQ_STR(whole.why, cases[i].why);
		for (size_t at = 0; at < strlen(text); at++)
			state = answer_add(&pieces, &q, 0, text + at, 1);
		CHECK_EQ_INT(state, cases[i].state);
		answer_clear(&whole);
		answer_clear(&pieces);
	}
}

static void test_echo(void)
{
	static const struct question q = {.echo_bytes = 5000};
	struct answer a = {0};
	size_t len;
	char *text = question_text(&q, 3, &len);

	CHECK_EQ_INT(len, 5000);
	CHECK_EQ_INT(answer_add(&a, &q, 3, text, 4999), ANSWER_INCOMPLETE);
	CHECK_EQ_INT(answer_add(&a, &q, 3, text + 4999, 1), ANSWER_RIGHT);
	CHECK_EQ_INT(answer_add(&a, &q, 3, "x", 1), ANSWER_WRONG);
	answer_clear(&a);
	text[777]++;
	CHECK_EQ_INT(answer_add(&a, &q, 3, text, len), ANSWER_WRONG);
	CHECK_EQ_STR(a.why, "the echo differs at byte 777");
	answer_clear(&a);
	free(text);
}

/* A ClientHello as OpenSSL sends it, with few extensions and the name "node.example". */
static const uint8_t hello[] = {
    0x16, 0x03, 0x01, 0x00, 0x4d, 0x01, 0x00, 0x00, 0x49, 0x03, 0x03, 'r',  'a',  'n',
    'd',  'o',  'm',  'r',  'a',  'n',  'd',  'o',  'm',  'r',  'a',  'n',  'd',  'o',
    'm',  'r',  'a',  'n',  'd',  'o',  'm',  'r',  'a',  'n',  'd',  'o',  'm',  '!',
    '!',  0x04, 1,    2,    3,    4,    0x00, 0x02, 0x13, 0x01, 0x01, 0x00, 0x00, 0x1a,
    0x00, 0x17, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x11, 0x00, 0x0f, 0x00, 0x00, 0x0c,
    'n',  'o',  'd',  'e',  '.',  'e',  'x',  'a',  'm',  'p',  'l',  'e',
};

static void test_hello(void)
{
	char name[HELLO_NAME_MAX];
	uint8_t bytes[sizeof(hello)];

	CHECK_EQ_INT(sizeof(hello), 5 + 0x4d);
	for (size_t len = 0; len < sizeof(hello); len++)
		CHECK_EQ_INT(hello_read(hello, len, name), HELLO_INCOMPLETE);
	CHECK_EQ_INT(hello_read(hello, sizeof(hello), name), HELLO_TLS);
	CHECK_EQ_STR(name, "node.example");
	CHECK_EQ_INT(hello_read("GET / HTTP/1.1\r\n", 16, name), HELLO_OTHER);
	CHECK_EQ_INT(hello_read("\x16GE", 3, name), HELLO_OTHER);
	CHECK_EQ_INT(hello_read("\x16\x03\x01\x00\x20\x02", 6, name), HELLO_OTHER);
	/* Lengths that lie are no ClientHello, and read nothing that is not there. */
	for (size_t i = 5; i < sizeof(hello); i++) {
		memcpy(bytes, hello, sizeof(hello));
		bytes[i] = 0xff;
		CHECK(hello_read(bytes, sizeof(bytes), name) != HELLO_INCOMPLETE);
	}
}

int main(void)
{
	test_stream();
	test_http();
	test_echo();
	test_hello();
	return check_result();
}
