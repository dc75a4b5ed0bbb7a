/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The S3 client before a server that does what true ones do not: what it asks for, byte by byte,
 * and that nothing which does not fit together is taken for an answer. (How it gets on with a true
 * server is told by the stories tests/netns/s3_*.sh.)
 */
#include "web/s3.h"

#include <errno.h>
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
#include "base/mono.h"
#include "tests/unit/check.h"
#include "web/s3_upload.h"

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

/* --- the server ------------------------------------------------------------------------------- */

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
	    .endpoint = endpoint,
	    .bucket = "b",
	    .access_key = "AK",
	    .secret_key = "SECRET-KEY",
	    .session_token = "THE-TOKEN-OF-THIS-SESSION",
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

static void fails(int r, int want, enum s3_failure failure, const char *in_reason)
{
	const struct s3_error *error = s3_get_error(s3);

	CHECK_EQ_INT(r, want);
	CHECK_EQ_STR(s3_failure_name(error->failure), s3_failure_name(failure));
	if (!CHECK(strstr(error->reason, in_reason) != NULL))
		(void) fprintf(stderr, "  '%s' lacks '%s'\n", error->reason, in_reason);
}

/* --- what is asked ---------------------------------------------------------------------------- */

static bool asked(unsigned i, const char *what)
{
	if (CHECK(strstr(heard->requests[i], what) != NULL))
		return true;
	(void) fprintf(stderr, "  no '%s' in:\n%s\n", what, heard->requests[i]);
	return false;
}

static void make_piece(const char *text, struct s3_piece *piece)
{
	int fd = memfd_create("piece", MFD_CLOEXEC);

	CHECK(write(fd, text, strlen(text)) == (ssize_t) strlen(text));
	CHECK_EQ_INT(s3_piece_hash(fd, 0, strlen(text), NULL, piece), 0);
}

static void test_put(void)
{
	struct s3_piece piece;

	make_piece("abc", &piece);
	START(ANSWER("200 OK", ETAG, ""));
	CHECK_EQ_INT(s3_put(s3, "a b/c", &piece), 0);
	(void) asked(0, "PUT /b/a%20b/c HTTP/1.1\r\n");
	(void) asked(0, "\r\nContent-Length: 3\r\n");
	(void) asked(0, "\r\n\r\nabc");
	(void) asked(0, "\r\ncontent-md5: kAFQmDzST7DWlj99KOF/cg==\r\n");
	(void) asked(0, "\r\nx-amz-content-sha256: "
	                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\r\n");
	(void) asked(0, "\r\nx-amz-security-token: THE-TOKEN-OF-THIS-SESSION\r\n");
	(void) asked(0, "SignedHeaders=content-md5;content-type;host;x-amz-content-sha256;x-amz-date;"
	                "x-amz-security-token, ");
	(void) asked(0, "\r\nauthorization: AWS4-HMAC-SHA256 Credential=AK/");
	CHECK(strcasestr(heard->requests[0], "\r\nexpect") == NULL &&
	      strstr(heard->requests[0], "chunked") == NULL &&
	      strstr(heard->requests[0], "SECRET") == NULL);
	(void) close(piece.fd);
}

/* The file changed after it was hashed: it is cut short, and then another. */
static void test_put_changed(void)
{
	struct s3_piece piece;

	make_piece("abcdef", &piece);
	CHECK(ftruncate(piece.fd, 3) == 0);
	START(ANSWER("200 OK", ETAG, ""));
	fails(s3_put(s3, "k", &piece), -ENODATA, S3_LOCAL, "the file cannot be read");
	(void) close(piece.fd);
}

/* --- getting ---------------------------------------------------------------------------------- */

static char got[64];
static int got_limit;

static int on_data(const void *data, size_t len, void *userdata UNUSED)
{
	size_t have = strlen(got);

	if (got_limit > 0 && have + len > (size_t) got_limit)
		return -ENOSPC;
	CHECK(have + len < sizeof(got));
	memcpy(got + have, data, len);
	got[have + len] = '\0';
	return 0;
}

static int get(uint64_t offset, struct s3_object *object)
{
	got[0] = '\0';
	return s3_get(s3, "k", offset, on_data, NULL, object);
}

#define WHOLE ANSWER("200 OK", ETAG "Content-Length: 10\r\n", "0123456789")
#define FIRST_HALF ANSWER("200 OK", ETAG "Content-Length: 10\r\n", "01234\001")
#define PART(range, body) \
	ANSWER("206 Partial Content", ETAG "Content-Length: 5\r\nContent-Range: " range "\r\n", body)

static void test_get(void)
{
	struct s3_object object;

	START(WHOLE);
	CHECK_EQ_INT(get(0, &object), 0);
	CHECK_EQ_STR(got, "0123456789");
	CHECK_EQ_INT(object.n_bytes, 10);
	CHECK_EQ_STR(object.etag, "\"900150983cd24fb0d6963f7d28e17f72\"");
	CHECK(strstr(heard->requests[0], "range:") == NULL);
	START(PART("bytes 5-9/10", "56789"));
	CHECK_EQ_INT(get(5, &object), 0);
	CHECK_EQ_STR(got, "56789");
	(void) asked(0, "\r\nrange: bytes=5-\r\n");
	START(FIRST_HALF, PART("bytes 5-9/10", "56789"));
	CHECK_EQ_INT(get(0, &object), 0);
	CHECK_EQ_STR(got, "0123456789");
	CHECK_EQ_INT(object.n_bytes, 10);
	(void) asked(1, "\r\nrange: bytes=5-\r\n");
	/* A server that knows no ranges: what is there already is passed over. */
	START(FIRST_HALF, WHOLE);
	CHECK_EQ_INT(get(0, &object), 0);
	CHECK_EQ_STR(got, "0123456789");
	START(WHOLE);
	CHECK_EQ_INT(get(3, &object), 0);
	CHECK_EQ_STR(got, "3456789");
	START(ANSWER("200 OK", ETAG "Content-Length: 0\r\n", ""));
	CHECK_EQ_INT(get(0, &object), 0);
	CHECK_EQ_INT(object.n_bytes, 0);
	START(ANSWER("416 Range", "", "<Error><Code>InvalidRange</Code></Error>"));
	CHECK_EQ_INT(get(10, &object), -ERANGE);
}

#define OTHER_ETAG "ETag: \"other\"\r\n"

static void test_get_wrong(void)
{
	static const char *const ranges[] = {
	    PART("bytes 4-8/10", "45678"),
	    PART("bytes 6-10/11", "67890"),
	    PART("bytes 5-9/*", "56789"),
	    PART("bytes 5-9", "56789"),
	    PART("bytes 5-8/10", "5678"),
	    PART("bytes -5-9/10", "56789"),
	    PART("items 5-9/10", "56789"),
	    PART("bytes 9-5/10", "56789"),
	    PART("bytes 5-9/10x", "56789"),
	    ANSWER("206 Partial Content", ETAG "Content-Length: 5\r\n", "56789"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		start(NULL, &ranges[i], 1);
		if (!CHECK_EQ_INT(get(5, NULL), -EPROTO))
			(void) fprintf(stderr, "  %s\n", ranges[i]);
		CHECK_EQ_STR(got, "");
	}
	START(FIRST_HALF,
	      ANSWER("206 Partial Content",
	             OTHER_ETAG "Content-Length: 5\r\nContent-Range: bytes 5-9/10\r\n", "56789"));
	fails(get(0, NULL), -ESTALE, S3_CHANGED, "was replaced");
	CHECK_EQ_STR(got, "01234");
	START(FIRST_HALF,
	      ANSWER("206 Partial Content",
	             ETAG "Content-Length: 6\r\nContent-Range: bytes 5-10/11\r\n", "567890"));
	fails(get(0, NULL), -ESTALE, S3_CHANGED, "was replaced");
	/* An error is no data, and neither is what has no content. */
	START(ANSWER("500 Oops", ETAG "Content-Length: 4\r\n", "oops"));
	fails(get(0, NULL), -EREMOTEIO, S3_SERVER, "500 server (tried 3 times)");
	CHECK_EQ_STR(got, "");
	START(ANSWER("204 No Content", ETAG, ""));
	fails(get(0, NULL), -EPROTO, S3_PROTOCOL, "less or more");
	START(ANSWER("301 Moved", "Location: http://127.0.0.1:1/\r\n",
	             "<Error><Code>PermanentRedirect</Code><Message>Go there</Message></Error>"));
	fails(get(0, NULL), -EINVAL, S3_REFUSED, "301 PermanentRedirect: Go there");
	CHECK_EQ_INT(heard->n, 1);
	START(ANSWER("200 OK", ETAG "Content-Length: 10\r\n", "\001"));
	fails(get(0, NULL), -ECONNRESET, S3_CUT, "tried 3 times");
	/* Whoever takes the data has the last word. */
	got_limit = 5;
	START(WHOLE);
	fails(get(0, NULL), -ENOSPC, S3_LOCAL, "could not be kept");
	CHECK_EQ_INT(heard->n, 1);
	got_limit = 0;
}

/* --- lists ------------------------------------------------------------------------------------ */

static char listed[512];

static int on_listed(const struct s3_listed *l, void *userdata UNUSED)
{
	size_t len = strlen(listed);

	(void) snprintf(listed + len, sizeof(listed) - len, "%s %llu %s|", l->key,
	                (unsigned long long) l->n_bytes, l->modified);
	return 0;
}

static int list(uint64_t max)
{
	listed[0] = '\0';
	return s3_list(s3, "p/", max, on_listed, NULL);
}

#define KEY(name, size)                                  \
	"<Contents><Key>" name "</Key><Size>" size "</Size>" \
	"<LastModified>now</LastModified><ETag>&quot;e&quot;</ETag></Contents>"
#define LIST(body)       \
	ANSWER("200 OK", "", \
	       "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\">" body "</ListBucketResult>")
#define MORE(token)                   \
	"<IsTruncated>true</IsTruncated>" \
	"<NextContinuationToken>" token "</NextContinuationToken>"

static void test_list(void)
{
	/* The words around the keys may come before them or behind them. */
	START(LIST(KEY("p/a%20b", "1") KEY("p/%2B+%zz", "2")
	               MORE("t+1/=") "<EncodingType>url</EncodingType>"),
	      LIST("<IsTruncated>false</IsTruncated>" KEY("p/%20", "3")));
	CHECK_EQ_INT(list(0), 0);
	CHECK_EQ_STR(listed, "p/a b 1 now|p/+ %zz 2 now|p/%20 3 now|");
	(void) asked(0, "GET /b/?encoding-type=url&list-type=2&max-keys=1000&prefix=p%2F HTTP/1.1");
	(void) asked(1, "GET /b/?continuation-token=t%2B1%2F%3D&encoding-type=url&list-type=2&");
	START(LIST(KEY("p/1", "1") KEY("p/2", "2") KEY("p/3", "3") MORE("t")));
	CHECK_EQ_INT(list(2), 0);
	CHECK_EQ_STR(listed, "p/1 1 now|p/2 2 now|");
	(void) asked(0, "max-keys=2&");
	CHECK_EQ_INT(heard->n, 1);
}

static void test_list_wrong(void)
{
	static const char *const answers[] = {
	    ANSWER("200 OK", "", ""),
	    ANSWER("200 OK", "", "<html/>"),
	    ANSWER("200 OK", "", "<ListBucketResult><Contents>"),
	    LIST("<IsTruncated>true</IsTruncated>"),
	    /* It would never end. */
	    LIST(KEY("p/1", "1") MORE("same")),
	};

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		start(NULL, &answers[i], 1);
		fails(list(0), -EPROTO, S3_PROTOCOL, "makes no sense");
	}
	START(ANSWER("200 OK", "", "<Error><Code>SlowDown</Code><Message>m</Message></Error>"));
	fails(list(0), -EAGAIN, S3_BUSY, "200 SlowDown: m (tried 3 times)");
}

/* --- uploads ---------------------------------------------------------------------------------- */

static int ignore_part(const struct s3_part *part UNUSED, void *userdata UNUSED)
{
	return 0;
}

#define COMPLETED \
	"<CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag></CompleteMultipartUploadResult>"

static void test_upload(void)
{
	const struct s3_part parts[] = {{1, 3, "\"a&b\""}, {2, 3, "<c>"}};
	char id[S3_UPLOAD_ID_MAX];
	struct s3_piece piece;
	struct s3_part part;

	make_piece("abc", &piece);
	START(ANSWER("200 OK", "",
	             "<InitiateMultipartUploadResult><UploadId>i/d=</UploadId></"
	             "InitiateMultipartUploadResult>"));
	CHECK_EQ_INT(s3_upload_create(s3, "k", id), 0);
	CHECK_EQ_STR(id, "i/d=");
	(void) asked(0, "POST /b/k?uploads= HTTP/1.1");
	START(ANSWER("200 OK", "", "<InitiateMultipartUploadResult/>"));
	fails(s3_upload_create(s3, "k", id), -EPROTO, S3_PROTOCOL, "not the one to this request");
	START(ANSWER("200 OK", ETAG, ""));
	CHECK_EQ_INT(s3_upload_part(s3, "k", "i/d=", 7, &piece, &part), 0);
	(void) asked(0, "PUT /b/k?partNumber=7&uploadId=i%2Fd%3D HTTP/1.1");
	CHECK(part.number == 7 && part.n_bytes == 3 && s3_piece_has_etag(&piece, part.etag));
	START(ANSWER("200 OK", "", ""));
	fails(s3_upload_part(s3, "k", "id", 7, &piece, &part), -EPROTO, S3_PROTOCOL, "gave no ETag");
	START(ANSWER("200 OK", "", " \n <?xml version=\"1.0\"?>" COMPLETED));
	CHECK_EQ_INT(s3_upload_complete(s3, "k", "id", parts, 2), 0);
	(void) asked(0, "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>"
	                "<ETag>&quot;a&amp;b&quot;</ETag></Part><Part><PartNumber>2</PartNumber>"
	                "<ETag>&lt;c></ETag></Part></CompleteMultipartUpload>");
	/* Status 200, and an error all the same; then another one, then success. */
	START(ANSWER("200 OK", "", "<Error><Code>InternalError</Code></Error>"),
	      ANSWER("200 OK", "", "\n<Error><Code>SlowDown</Code></Error>"),
	      ANSWER("200 OK", "", COMPLETED));
	CHECK_EQ_INT(s3_upload_complete(s3, "k", "id", parts, 2), 0);
	CHECK_EQ_INT(heard->n, 3);
	START(ANSWER("200 OK", "", "<Error><Code>InternalError</Code><Message>m</Message></Error>"));
	fails(s3_upload_complete(s3, "k", "id", parts, 2), -EREMOTEIO, S3_SERVER,
	      "200 InternalError: m");
	START(ANSWER("200 OK", "", ""));
	fails(s3_upload_complete(s3, "k", "id", parts, 2), -EPROTO, S3_PROTOCOL, "not the one");
	START(ANSWER("200 OK", "", "<CompleteMultipartUploadResult>"));
	fails(s3_upload_complete(s3, "k", "id", parts, 2), -EPROTO, S3_PROTOCOL, "not the one");
	START(ANSWER("200 OK", "",
	             "<ListPartsResult><IsTruncated>true</IsTruncated>"
	             "<NextPartNumberMarker>5</NextPartNumberMarker></ListPartsResult>"));
	fails(s3_upload_list_parts(s3, "k", "id", ignore_part, NULL), -EPROTO, S3_PROTOCOL,
	      "not go on");
	(void) asked(1, "part-number-marker=5&uploadId=id");
	START(ANSWER("404 Not Found", "", "<Error><Code>NoSuchUpload</Code></Error>"));
	CHECK_EQ_INT(s3_upload_abort(s3, "k", "id"), 0);
	START(ANSWER("404 Not Found", "", "<Error><Code>NoSuchBucket</Code></Error>"));
	CHECK_EQ_INT(s3_upload_abort(s3, "k", "id"), -ENOENT);
	CHECK_EQ_INT(s3_delete(s3, "k"), -ENOENT);
	(void) close(piece.fd);
}

static void test_etag(void)
{
	struct s3_piece piece;

	make_piece("abc", &piece);
	CHECK(s3_piece_has_etag(&piece, "\"900150983cd24fb0d6963f7d28e17f72\""));
	CHECK(s3_piece_has_etag(&piece, "900150983CD24FB0D6963F7D28E17F72"));
	CHECK(!s3_piece_has_etag(&piece, "\"900150983cd24fb0d6963f7d28e17f72-1\""));
	CHECK(!s3_piece_has_etag(&piece, "\"900150983cd24fb0d6963f7d28e17f7\""));
	CHECK(!s3_piece_has_etag(&piece, "") && !s3_piece_has_etag(&piece, "\""));
	(void) close(piece.fd);
}

/* --- the rest --------------------------------------------------------------------------------- */

static bool cancelled(void)
{
	return true;
}

/* True from then on. */
static int64_t cancel_at_us;

static bool is_late(void)
{
	return mono_now_us() >= cancel_at_us;
}

/* A server that says nothing: it is given up after a second, but not while it puts parts together.
 */
static void test_silence(void)
{
	static const char *const silence = "\002";
	const struct s3_part part = {1, 3, "e"};
	struct s3_object object;

	stall_ms = 1000;
	cancel_at_us = mono_now_us() + 60 * US_PER_S;
	start(is_late, &silence, 1);
	fails(s3_head(s3, "k", &object), -ETIMEDOUT, S3_TIMEOUT, "tried 3 times");
	start(is_late, &silence, 1);
	cancel_at_us = mono_now_us() + 5 * US_PER_S / 2;
	fails(s3_upload_complete(s3, "k", "id", &part, 1), -ECANCELED, S3_CANCELLED, "cancelled");
	CHECK_EQ_INT(heard->n, 1);
	stall_ms = 10000;
}

static void test_patience(void)
{
	static const char *const busy = ANSWER("503 Busy", "Retry-After: 1\r\n", "");
	struct s3_object object;

	START(ANSWER("503 Busy", "Retry-After: 1\r\n", ""), ANSWER("200 OK", ETAG, ""));
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	CHECK_EQ_INT(heard->n, 2);
	start(cancelled, &busy, 1);
	fails(s3_head(s3, "k", &object), -ECANCELED, S3_CANCELLED, "");
}

static void test_clock(void)
{
	struct s3_object object;
	int64_t ahead_s;

	START(ANSWER("403 No", "Date: Tue, 01 Jan 2030 00:00:00 GMT\r\n", ""));
	CHECK(!s3_get_clock_ahead_s(s3, &ahead_s));
	fails(s3_head(s3, "k", &object), -EACCES, S3_CLOCK, "clock is ");
	CHECK(s3_get_clock_ahead_s(s3, &ahead_s));
	START(ANSWER("403 No", "Date: nonsense\r\n", ""));
	fails(s3_head(s3, "k", &object), -EACCES, S3_DENIED, "403 these credentials");
	CHECK(!s3_get_clock_ahead_s(s3, &ahead_s));
}

/* A server that repeats what it was sent, or knows: none of it gets into a log. */
static void test_secrets(void)
{
	struct s3_object object;

	START(ANSWER("403 No", "",
	             "<Error><Code>ExpiredToken</Code><Message>THE-TOKEN-OF-THIS-SESSION is old, so "
	             "is THE-TOKEN-OF, not THE-TO or SECRET-KEYHOLE</Message></Error>"));
	fails(s3_get(s3, "k", 0, on_data, NULL, &object), -EACCES, S3_DENIED,
	      ": ************************* is old, so is ************, not THE-TO or **********HOLE");
}

/* More than anyone wants to know, told by an error: it is not kept. */
static void test_long_answer(void)
{
	AUTO(free) char *answer = xcalloc(1, (9 << 20) + 256);
	const char *const answers[] = {answer};

	memset(answer, 'x', (9 << 20) + 200);
	memcpy(answer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", 38);
	start(NULL, answers, 1);
	fails(list(0), -EPROTO, S3_PROTOCOL, "too long");
}

static void test_config(void)
{
	static const struct {
		struct s3_config config;
		const char *why;
	} cases[] = {
	    {{"ftp://h", "b", .access_key = "a", .secret_key = "s"}, "endpoint"},
	    {{"h", "b", .access_key = "a", .secret_key = "s"}, "endpoint"},
	    {{"https://h/p", "b", .access_key = "a", .secret_key = "s"}, "endpoint"},
	    {{"https://u:p@h", "b", .access_key = "a", .secret_key = "s"}, "endpoint"},
	    {{"https://h?q", "b", .access_key = "a", .secret_key = "s"}, "endpoint"},
	    {{"https://h", "", .access_key = "a", .secret_key = "s"}, "bucket"},
	    {{"https://h", "b/c", .access_key = "a", .secret_key = "s"}, "bucket"},
	    {{"https://h", "b@c", .access_key = "a", .secret_key = "s", .virtual_host = true},
	     "bucket"},
	    {{"https://h", "b", .access_key = "", .secret_key = "s"}, "access key"},
	    {{"https://h", "b", .access_key = "a", .secret_key = "s\r\nx: y"}, "secret key"},
	    {{"https://h", "b", "r r", .access_key = "a", .secret_key = "s"}, "region"},
	    {{"https://h", "b", .access_key = "a", .secret_key = "s", .session_token = ""}, "token"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct s3 *none = NULL;
		const char *why = "";

		CHECK_EQ_INT(s3_new(&cases[i].config, &why, &none), -EINVAL);
		if (!CHECK(none == NULL && strstr(why, cases[i].why) != NULL))
			(void) fprintf(stderr, "  '%s' lacks '%s'\n", why, cases[i].why);
	}
}

int main(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);

	heard = mmap(NULL, sizeof(*heard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(heard != MAP_FAILED && bind(listener, (struct sockaddr *) &a, len) == 0 &&
	      listen(listener, 16) == 0 && getsockname(listener, (struct sockaddr *) &a, &len) == 0);
	port = ntohs(a.sin_port);
	test_put();
	test_put_changed();
	test_get();
	test_get_wrong();
	test_list();
	test_list_wrong();
	test_upload();
	test_etag();
	test_silence();
	test_patience();
	test_clock();
	test_secrets();
	test_long_answer();
	test_config();
	stop_server();
	return check_result();
}
