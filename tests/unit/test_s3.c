/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The S3 client before a server that does what true ones do not: what it asks for, byte by byte,
 * and that nothing which does not fit together is taken for an answer. (How it gets on with a true
 * server is told by the stories tests/netns/s3_*.sh.)
 */
#include "web/s3.h"

#include <errno.h>
#include <time.h>

#include "tests/unit/s3fake.h"
#include "web/s3_upload.h"

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

/* Where there is something already, it stays. */
static void test_put_new(void)
{
	struct s3_piece piece;

	make_piece("abc", &piece);
	piece.is_new = true;
	START(ANSWER("200 OK", ETAG, ""),
	      ANSWER("412 Precondition Failed", "",
	             "<Error><Code>PreconditionFailed</Code><Message>no</Message></Error>"),
	      ANSWER("501 Not Implemented", "",
	             "<Error><Code>NotImplemented</Code><Message>no</Message></Error>"));
	CHECK_EQ_INT(s3_put(s3, "k", &piece), 0);
	(void) asked(0, "\r\nif-none-match: *\r\n");
	(void) asked(0, "SignedHeaders=content-md5;content-type;host;if-none-match;"
	                "x-amz-content-sha256;x-amz-date;");
	fails(s3_put(s3, "k", &piece), -EEXIST, S3_EXISTS, "PreconditionFailed");
	fails(s3_put(s3, "k", &piece), -EINVAL, S3_REFUSED, "NotImplemented");
	(void) close(piece.fd);
}

/* --- keys that expire --- */

static unsigned n_renewed;
static int renew_result;

static int renew_keys(struct s3 *client, char ret_reason[static S3_REASON_MAX],
                      void *userdata UNUSED)
{
	const struct s3_keys keys = {"AK2", "SECRET-2", "THE-SECOND-TOKEN", time(NULL) + 3600};

	n_renewed++;
	if (renew_result < 0)
		(void) snprintf(ret_reason, S3_REASON_MAX, "no role any more");
	else
		CHECK_EQ_INT(s3_set_keys(client, &keys), 0);
	return renew_result;
}

#define HEAD_OK ANSWER("200 OK", ETAG "Content-Length: 0\r\n", "")

static void test_expiry(void)
{
	static const struct s3_keys unfit = {"AK", "a\r\nb", NULL, 0};
	struct s3_object object;
	struct s3_piece piece;

	renew = renew_keys;
	/* Far off, or never: they are not asked for. */
	expires_s = time(NULL) + 3600;
	START(HEAD_OK, HEAD_OK);
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	expires_s = 0;
	START(HEAD_OK);
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	CHECK_EQ_INT(n_renewed, 0);
	/* Near: the very next request has the new ones, and no further one asks. */
	expires_s = time(NULL) + 60;
	START(HEAD_OK, HEAD_OK);
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	CHECK_EQ_INT(n_renewed, 1);
	(void) asked(0, "Credential=AK2/");
	(void) asked(0, "x-amz-security-token: THE-SECOND-TOKEN\r\n");
	/* None are to be had: those of now are good still, and it is not tried with each request. */
	renew_result = -EIO;
	START(HEAD_OK, HEAD_OK);
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	CHECK_EQ_INT(n_renewed, 2);
	(void) asked(1, "Credential=AK/");
	expires_s = time(NULL) - 1;
	START(HEAD_OK);
	fails(s3_head(s3, "k", &object), -EIO, S3_DENIED,
	      "credentials expired, and new ones cannot be had: no role any more");
	CHECK_EQ_INT(heard->n, 0);
	/* The server says so, in the middle of an upload: once more, with new ones, and only once. */
	renew_result = 0;
	n_renewed = 0;
	expires_s = 0;
	make_piece("abc", &piece);
	START(ANSWER("403 Forbidden", "", "<Error><Code>ExpiredToken</Code></Error>"),
	      ANSWER("200 OK", ETAG, ""));
	CHECK_EQ_INT(s3_put(s3, "k", &piece), 0);
	CHECK_EQ_INT(n_renewed, 1);
	(void) asked(1, "Credential=AK2/");
	(void) asked(1, "\r\n\r\nabc");
	START(ANSWER("403 Forbidden", "", "<Error><Code>ExpiredToken</Code></Error>"));
	fails(s3_put(s3, "k", &piece), -EACCES, S3_DENIED, "ExpiredToken");
	CHECK_EQ_INT(n_renewed, 2);
	CHECK_EQ_INT(heard->n, 2);
	CHECK_EQ_INT(s3_set_keys(s3, &unfit), -EINVAL);
	renew = NULL;
	(void) close(piece.fd);
}

/* --- encryption by the server, and a proxy --- */

#define CRYPT "x-amz-server-side-encryption"
#define KMS_SAYS CRYPT ": aws:kms\r\n"
#define CUSTOMER_SAYS "X-Amz-Server-Side-Encryption-Customer-Algorithm: AES256\r\n"
#define UPLOAD_ID \
	"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"

static int drop_data(const void *data UNUSED, size_t len UNUSED, void *userdata UNUSED)
{
	return 0;
}

static bool has_crypt(unsigned i)
{
	return strstr(heard->requests[i], CRYPT) != NULL;
}

static void test_kms(void)
{
	char id[S3_UPLOAD_ID_MAX];
	struct s3_object object;
	struct s3_piece piece;
	struct s3_part part;

	kms_key = "alias/etcd";
	make_piece("abc", &piece);
	START(ANSWER("200 OK", ETAG KMS_SAYS, ""), ANSWER("200 OK", KMS_SAYS, UPLOAD_ID),
	      ANSWER("200 OK", ETAG, ""), ANSWER("200 OK", ETAG "Content-Length: 0\r\n", ""));
	CHECK_EQ_INT(s3_put(s3, "k", &piece), 0);
	CHECK_EQ_INT(s3_upload_create(s3, "k", id), 0);
	CHECK_EQ_INT(s3_upload_part(s3, "k", id, 1, &piece, &part), 0);
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	for (unsigned i = 0; i < 2; i++) {
		(void) asked(i, "\r\n" CRYPT ": aws:kms\r\n");
		(void) asked(i, "\r\n" CRYPT "-aws-kms-key-id: alias/etcd\r\n");
		(void) asked(i, ";x-amz-security-token;" CRYPT ";" CRYPT "-aws-kms-key-id, ");
	}
	CHECK(!has_crypt(2) && !has_crypt(3));
	CHECK(!object.encrypted);
	START(ANSWER("200 OK", ETAG KMS_SAYS "Content-Length: 0\r\n", ""));
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	CHECK(object.encrypted);
	/* It passed over the headers: what was to be encrypted is not. */
	START(ANSWER("200 OK", ETAG, ""));
	fails(s3_put(s3, "k", &piece), -EINVAL, S3_REFUSED, "does not confirm the encryption");
	START(ANSWER("200 OK", ETAG CRYPT ": AES256\r\n", ""));
	fails(s3_put(s3, "k", &piece), -EINVAL, S3_REFUSED, "does not confirm the encryption");
	START(ANSWER("200 OK", "", UPLOAD_ID));
	fails(s3_upload_create(s3, "k", id), -EINVAL, S3_REFUSED, "does not confirm the encryption");
	kms_key = NULL;
	(void) close(piece.fd);
}

static void test_customer_key(void)
{
	static const uint8_t key[S3_CUSTOMER_KEY_BYTES] = "0123456789abcdef0123456789abcdef";
	static const char in_base64[] = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
	char id[S3_UPLOAD_ID_MAX];
	struct s3_object object;
	struct s3_piece piece;
	struct s3_part part;

	customer_key = key;
	make_piece("abc", &piece);
	START(ANSWER("200 OK", ETAG CUSTOMER_SAYS, ""), ANSWER("200 OK", CUSTOMER_SAYS, UPLOAD_ID),
	      ANSWER("200 OK", ETAG, ""), ANSWER("200 OK", ETAG "Content-Length: 0\r\n", ""),
	      ANSWER("200 OK", ETAG "Content-Length: 0\r\n", ""), ANSWER("204 OK", "", ""));
	CHECK_EQ_INT(s3_put(s3, "k", &piece), 0);
	CHECK_EQ_INT(s3_upload_create(s3, "k", id), 0);
	CHECK_EQ_INT(s3_upload_part(s3, "k", id, 1, &piece, &part), 0);
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	CHECK_EQ_INT(s3_get(s3, "k", 0, drop_data, NULL, &object), 0);
	CHECK_EQ_INT(s3_delete(s3, "k"), 0);
	for (unsigned i = 0; i < 5; i++) {
		(void) asked(i, "\r\n" CRYPT "-customer-algorithm: AES256\r\n");
		(void) asked(i, "\r\n" CRYPT "-customer-key: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
		                "\r\n");
		(void) asked(i, "\r\n" CRYPT "-customer-key-md5: hRasmdxgYDKV3nvbahU1MA==\r\n");
		(void) asked(i, ";x-amz-security-token;" CRYPT "-customer-algorithm;" CRYPT
		                "-customer-key;" CRYPT "-customer-key-md5, ");
	}
	CHECK(!has_crypt(5));
	START(ANSWER("200 OK", ETAG, ""));
	fails(s3_put(s3, "k", &piece), -EINVAL, S3_REFUSED, "does not confirm the encryption");
	/* A server may repeat what it was sent. */
	START(ANSWER("403 Forbidden", "",
	             "<Error><Code>AccessDenied</Code><Message>"
	             "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=</Message></Error>"));
	fails(s3_put(s3, "k", &piece), -EACCES, S3_DENIED, "********");
	CHECK(strstr(s3_get_error(s3)->reason, in_base64) == NULL);
	customer_key = NULL;
	(void) close(piece.fd);
}

static void test_proxy(void)
{
	AUTO(free) char *here = xasprintf("http://127.0.0.1:%d", port);
	struct s3_object object;

	/* Those of the environment are not used, and exceptions from them do not count. */
	CHECK(setenv("no_proxy", "*", 1) == 0);
	CHECK(setenv("http_proxy", "http://127.0.0.1:1", 1) == 0);
	START(ANSWER("200 OK", ETAG "Content-Length: 0\r\n", ""));
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	(void) asked(0, "HEAD /b/k HTTP/1.1\r\n");
	proxy = here;
	elsewhere = "http://store.test";
	START(ANSWER("200 OK", ETAG "Content-Length: 0\r\n", ""));
	CHECK_EQ_INT(s3_head(s3, "k", &object), 0);
	(void) asked(0, "HEAD http://store.test/b/k HTTP/1.1\r\n");
	(void) asked(0, "\r\nHost: store.test\r\n");
	elsewhere = "https://store.test:9000";
	START(
	    ANSWER("407 Proxy Authentication Required", "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n", ""));
	fails(s3_head(s3, "k", &object), -ECONNRESET, S3_CUT, "407");
	(void) asked(0, "CONNECT store.test:9000 HTTP/1.1\r\n");
	CHECK(strstr(heard->requests[0], "AWS4") == NULL);
	proxy = elsewhere = NULL;
	CHECK(unsetenv("no_proxy") == 0 && unsetenv("http_proxy") == 0);
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

/* --- getting --- */

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
	START(ANSWER("200 OK", ETAG "Transfer-Encoding: chunked\r\n", "4\r\noops\r\n"));
	fails(get(0, NULL), -EPROTO, S3_PROTOCOL, "more than it has announced");
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

/* --- lists --- */

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
	START(LIST(KEY("p/a%20b", "1") KEY("p/%2B+%zz%00", "2")
	               MORE("t+1/=") "<EncodingType>url</EncodingType>"),
	      LIST("<IsTruncated>false</IsTruncated>" KEY("p/%20", "3")));
	CHECK_EQ_INT(list(0), 0);
	CHECK_EQ_STR(listed, "p/a b 1 now|p/+ %zz%00 2 now|p/%20 3 now|");
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
	START(LIST(KEY("p/1", "1") "<Contents><Size>2</Size></Contents>"));
	fails(list(0), -EPROTO, S3_PROTOCOL, "lacks a key");
	CHECK_EQ_STR(listed, "p/1 1 now|");
}

/* --- the rest --- */

static bool cancelled(void)
{
	return true;
}

/* True from then on. */
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
	    {{"ftp://h", "b", .keys = {.access_key = "a", .secret_key = "s"}}, "endpoint"},
	    {{"h", "b", .keys = {.access_key = "a", .secret_key = "s"}}, "endpoint"},
	    {{"https://h/p", "b", .keys = {.access_key = "a", .secret_key = "s"}}, "endpoint"},
	    {{"https://u:p@h", "b", .keys = {.access_key = "a", .secret_key = "s"}}, "endpoint"},
	    {{"https://h?q", "b", .keys = {.access_key = "a", .secret_key = "s"}}, "endpoint"},
	    {{"https://h", "", .keys = {.access_key = "a", .secret_key = "s"}}, "bucket"},
	    {{"https://h", "b/c", .keys = {.access_key = "a", .secret_key = "s"}}, "bucket"},
	    {{"https://h", "b@c", .keys = {.access_key = "a", .secret_key = "s"}, .virtual_host = true},
	     "bucket"},
	    {{"https://h", "b", .keys = {.access_key = "", .secret_key = "s"}}, "access key"},
	    {{"https://h", "b", .keys = {.access_key = "a", .secret_key = "s\r\nx: y"}}, "secret key"},
	    {{"https://h", "b", "r r", .keys = {.access_key = "a", .secret_key = "s"}}, "region"},
	    {{"https://h", "b", .keys = {.access_key = "a", .secret_key = "s", .session_token = ""}},
	     "token"},
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
	fake_up();
	test_put();
	test_put_new();
	test_expiry();
	test_kms();
	test_customer_key();
	test_proxy();
	test_put_changed();
	test_get();
	test_get_wrong();
	test_list();
	test_list_wrong();
	test_patience();
	test_clock();
	test_secrets();
	test_long_answer();
	test_config();
	stop_server();
	return check_result();
}
