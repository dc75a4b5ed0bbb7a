/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads in parts, before a server that does what true ones do not, or nothing. */
#include "web/s3_upload.h"

#include <errno.h>

#include "base/mono.h"
#include "tests/unit/s3fake.h"

static int ignore_part(const struct s3_part *part UNUSED, void *userdata UNUSED)
{
	return 0;
}

#define COMPLETED \
	"<CompleteMultipartUploadResult><ETag>&quot;x-2&quot;</ETag></CompleteMultipartUploadResult>"

static void count_sent(uint64_t n_bytes, void *userdata)
{
	*(uint64_t *) userdata = n_bytes;
}

static void test_upload(void)
{
	const struct s3_part parts[] = {{1, 3, "\"a&b\""}, {2, 3, "<c>"}};
	char id[S3_UPLOAD_ID_MAX];
	struct s3_piece piece;
	struct s3_part part;
	uint64_t sent = 0;

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
	s3_on_sent(s3, count_sent, &sent);
	CHECK_EQ_INT(s3_upload_part(s3, "k", "i/d=", 7, &piece, &part), 0);
	CHECK_EQ_INT(sent, 3);
	s3_on_sent(s3, NULL, NULL);
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

static int64_t cancel_at_us;

static bool is_late(void)
{
	return mono_now_us() >= cancel_at_us;
}

/* It is given up after a second, but not while it puts parts together. */
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

int main(void)
{
	fake_up();
	test_upload();
	test_etag();
	test_silence();
	stop_server();
	return check_result();
}
