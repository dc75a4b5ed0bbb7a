/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server of one's own for tests of the S3 client: it says what the test gives it, one answer a
 * connection, and keeps what it was asked.
 */

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "web/s3.h"

#define REQUESTS_MAX 8
#define REQUEST_MAX 4096
#define ETAG "ETag: \"900150983cd24fb0d6963f7d28e17f72\"\r\n"

/* What the server was asked, where both processes see it. */
struct heard {
	volatile unsigned n;
	char requests[REQUESTS_MAX][REQUEST_MAX];
};

static struct heard *heard;
static pid_t server_pid;
static struct s3 *s3;
static int listener, port;
static unsigned stall_ms = 10000;
/* Of the next client, where a test sets them. */
static const char *kms_key, *elsewhere, *proxy;
static const uint8_t *customer_key;
static int64_t expires_s;
static s3_renew_fn renew;

/* --- the server --- */

static size_t content_length(const char *head)
{
	const char *at = strcasestr(head, "\r\ncontent-length:");

	return at != NULL ? strtoul(at + 17, NULL, 10) : 0;
}

/* Head and body of one request. */
static void hear(int fd, char *buffer)
{
	size_t len = 0;
	const char *end;

	for (;;) {
		ssize_t n = recv(fd, buffer + len, REQUEST_MAX - 1 - len, 0);

		if (n <= 0)
			return;
		len += (size_t) n;
		buffer[len] = '\0';
		end = strstr(buffer, "\r\n\r\n");
		if (end != NULL && len >= (size_t) (end + 4 - buffer) + content_length(buffer))
			return;
	}
}

/* Gives the answers, one a connection. "\001" stands for a connection that breaks: a reset; "\002"
 * for a server that hears and says nothing, until nobody listens any more. */
static NORETURN void serve(const char *const *answers, size_t n)
{
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0;; i++) {
		int fd = accept(listener, NULL, NULL);
		const char *answer = answers[MIN(i, n - 1)];
		const char *cut = strchr(answer, '\001');
		size_t len = cut != NULL ? (size_t) (cut - answer) : strlen(answer);

		hear(fd, heard->requests[MIN(i, (size_t) REQUESTS_MAX - 1)]);
		heard->n = (unsigned) i + 1;
		if (answer[0] == '\002')
			(void) recv(fd, &(char){0}, 1, 0);
		else if (send(fd, answer, len, MSG_NOSIGNAL) == (ssize_t) len)
			(void) shutdown(fd, SHUT_WR);
		(void) close(fd);
	}
}

static void stop_server(void)
{
	if (server_pid > 0) {
		(void) kill(server_pid, SIGKILL);
		(void) waitpid(server_pid, NULL, 0);
	}
	server_pid = 0;
	s3_free(TAKE_PTR(s3));
}

static void start(bool (*is_cancelled)(void), const char *const *answers, size_t n)
{
	AUTO(free) char *endpoint = xasprintf("http://127.0.0.1:%d", port);
	const struct s3_config config = {
	    .endpoint = elsewhere != NULL ? elsewhere : endpoint,
	    .proxy = proxy,
	    .kms_key = kms_key,
	    .customer_key = customer_key,
	    .bucket = "b",
	    .keys = {"AK", "SECRET-KEY", "THE-TOKEN-OF-THIS-SESSION", expires_s},
	    .renew = renew,
	    .attempts = 3,
	    .backoff_ms = 1,
	    .stall_timeout_ms = stall_ms,
	    .is_cancelled = is_cancelled,
	};
	const char *why = NULL;

	stop_server();
	memset(heard, 0, sizeof(*heard));
	server_pid = fork();
	if (server_pid == 0)
		serve(answers, n);
	CHECK_EQ_INT(s3_new(&config, &why, &s3), 0);
}

#define START(...)                                           \
	do {                                                     \
		static const char *const answers_[] = {__VA_ARGS__}; \
		start(NULL, answers_, ARRAY_SIZE(answers_));         \
	} while (0)

#define ANSWER(status, headers, body) \
	"HTTP/1.1 " status "\r\nConnection: close\r\n" headers "\r\n" body

static UNUSED void fails(int r, int want, enum s3_failure failure, const char *in_reason)
{
	const struct s3_error *error = s3_get_error(s3);

	CHECK_EQ_INT(r, want);
	CHECK_EQ_STR(s3_failure_name(error->failure), s3_failure_name(failure));
	if (!CHECK(strstr(error->reason, in_reason) != NULL))
		(void) fprintf(stderr, "  '%s' lacks '%s'\n", error->reason, in_reason);
}
/* First of all. */
static void fake_up(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);

	heard = mmap(NULL, sizeof(*heard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(heard != MAP_FAILED && bind(listener, (struct sockaddr *) &a, len) == 0 &&
	      listen(listener, 16) == 0 && getsockname(listener, (struct sockaddr *) &a, &len) == 0);
	port = ntohs(a.sin_port);
}

/* --- what is asked --- */

static bool asked(unsigned i, const char *what)
{
	if (CHECK(strstr(heard->requests[i], what) != NULL))
		return true;
	(void) fprintf(stderr, "  no '%s' in:\n%s\n", what, heard->requests[i]);
	return false;
}

static UNUSED void make_piece(const char *text, struct s3_piece *piece)
{
	int fd = memfd_create("piece", MFD_CLOEXEC);

	CHECK(write(fd, text, strlen(text)) == (ssize_t) strlen(text));
	CHECK_EQ_INT(s3_piece_hash(fd, 0, strlen(text), NULL, piece), 0);
}
