/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request and its answer: signing, sending from a text or a file, receiving into memory or to
 * whoever wants the data, and telling what went wrong. Data of an answer that is an error never
 * reaches the receiver, and neither does data from another place of the object than was asked for,
 * or of another object than the attempt before had.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/mono.h"
#include "web/credentials.h"
#include "web/s3_priv.h"
#include "web/s3xml.h"

#define HEADERS_MAX 12
#define CRYPT "x-amz-server-side-encryption"
#define CRYPT_CUSTOMER CRYPT "-customer-"
#define EXPECT_BYTES ((uint64_t) 1 << 20)
#define EMPTY_SHA256 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct transfer {
	struct s3 *s3;
	const struct s3_call *call;
	struct s3_fetch *fetch;
	struct s3_answer *answer;
	struct curl_slist *headers;
	uint64_t sent;
	bool began;       /* the headers of the answer were looked at */
	bool wanted;      /* its data goes to the receiver */
	uint64_t at;      /* of the object: where what comes next belongs */
	uint64_t skip;    /* of the data: what the receiver has already */
	curl_off_t moved; /* both ways together, */
	int64_t moved_us; /* and when that was last another number */
	int result;       /* why a callback of ours ended it: -errno */
	enum s3_failure failure;
	const char *what; /* its sentence, or NULL */
	char curl_error[CURL_ERROR_SIZE];
};

void s3_answer_fini(struct s3_answer *answer)
{
	free(answer->body);
	*answer = (struct s3_answer){0};
}

/* --- what is sent --- */

static void payload_hash(const struct s3_call *call, char hex[static DIGEST_HEX_MAX])
{
	uint8_t hash[DIGEST_SHA256_BYTES];

	if (call->piece != NULL) {
		(void) digest_hex(call->piece->sha256, DIGEST_SHA256_BYTES, hex);
	} else if (call->text != NULL) {
		digest_sha256(call->text, strlen(call->text), hash);
		(void) digest_hex(hash, sizeof(hash), hex);
	} else {
		(void) snprintf(hex, DIGEST_HEX_MAX, "%s", EMPTY_SHA256);
	}
}

static void add_header(struct transfer *t, const char *name, const char *value)
{
	AUTO(free) char *line = xasprintf("%s: %s", name, value);

	t->headers = curl_slist_append(t->headers, line);
}

/* How many there are. */
static size_t crypt_headers(const struct transfer *t, struct sigv4_pair *headers)
{
	const struct s3 *s3 = t->s3;
	size_t n = 0;

	if (s3->kms_key != NULL && t->call->crypt == S3_CRYPT_MAKES) {
		headers[n++] = (struct sigv4_pair){CRYPT, "aws:kms"};
		headers[n++] = (struct sigv4_pair){CRYPT "-aws-kms-key-id", s3->kms_key};
	}
	if (s3->customer_key != NULL && t->call->crypt != S3_CRYPT_NONE) {
		headers[n++] = (struct sigv4_pair){CRYPT_CUSTOMER "algorithm", "AES256"};
		headers[n++] = (struct sigv4_pair){CRYPT_CUSTOMER "key", s3->customer_key};
		headers[n++] = (struct sigv4_pair){CRYPT_CUSTOMER "key-md5", s3->customer_key_md5};
	}
	return n;
}

/* Every header that we set is signed, in the order of the names; `rest` is the request without. */
static void sign(struct transfer *t, const struct sigv4_request *rest)
{
	struct sigv4_request request = *rest;
	const struct s3_call *call = t->call;
	struct sigv4_pair headers[HEADERS_MAX];
	AUTO(free) char *authorization = NULL;
	AUTO(free) char *md5 = NULL;
	char range[48];
	size_t n = 0;

	if (call->piece != NULL) {
		md5 = base64_encode(call->piece->md5, sizeof(call->piece->md5));
		headers[n++] = (struct sigv4_pair){"content-md5", md5};
		headers[n++] = (struct sigv4_pair){"content-type", "application/octet-stream"};
	} else if (call->text != NULL) {
		headers[n++] = (struct sigv4_pair){"content-type", "application/xml"};
	}
	headers[n++] = (struct sigv4_pair){"host", t->s3->host};
	if (call->piece != NULL && call->piece->is_new)
		headers[n++] = (struct sigv4_pair){"if-none-match", "*"};
	if (t->fetch != NULL && t->fetch->offset > 0) {
		(void) snprintf(range, sizeof(range), "bytes=%llu-", (unsigned long long) t->fetch->offset);
		headers[n++] = (struct sigv4_pair){"range", range};
	}
	headers[n++] = (struct sigv4_pair){"x-amz-content-sha256", request.payload_sha256};
	headers[n++] = (struct sigv4_pair){"x-amz-date", request.date};
	if (t->s3->session_token != NULL)
		headers[n++] = (struct sigv4_pair){"x-amz-security-token", t->s3->session_token};
	n += crypt_headers(t, headers + n);
	assert(n <= HEADERS_MAX);
	request.headers = headers;
	request.n_headers = n;
	authorization = sigv4_authorization(&t->s3->key, &request);
	for (size_t i = 0; i < n; i++)
		add_header(t, headers[i].name, headers[i].value);
	add_header(t, "authorization", authorization);
	/* What is sent at once costs less than asking first whether to send it. */
	if (call->piece != NULL && call->piece->n_bytes < EXPECT_BYTES)
		t->headers = curl_slist_append(t->headers, "Expect:");
	(void) curl_easy_setopt(t->s3->easy, CURLOPT_HTTPHEADER, t->headers);
}

static void set_target(struct transfer *t)
{
	const struct s3_call *call = t->call;
	AUTO(free)
	char *raw = xasprintf("%s/%s", t->s3->root, call->key != NULL ? call->key : "");
	AUTO(free) char *path = sigv4_encode_path(raw);
	AUTO(free) char *query = sigv4_encode_query(call->query, call->n_query);
	AUTO(free) char *url = NULL;
	char sha256[DIGEST_HEX_MAX], date[SIGV4_DATE_MAX];
	struct sigv4_request request = {.method = call->method,
	                                .path = path,
	                                .query = query,
	                                .payload_sha256 = sha256,
	                                .date = date};
	time_t now = time(NULL);
	struct tm tm;

	(void) strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
	payload_hash(call, sha256);
	sign(t, &request);
	url = xasprintf("%s%s%s%s", t->s3->url, path, query[0] != '\0' ? "?" : "", query);
	(void) curl_easy_setopt(t->s3->easy, CURLOPT_URL, url);
}

/* Ends the transfer from within a callback. */
static void give_up(struct transfer *t, enum s3_failure failure, int result, const char *what)
{
	t->failure = failure;
	t->result = result;
	t->what = what;
}

static size_t read_cb(char *buffer, size_t size, size_t n, void *userdata)
{
	struct transfer *t = userdata;
	const struct s3_piece *piece = t->call->piece;
	size_t want = (size_t) MIN(piece->n_bytes - t->sent, (uint64_t) (size * n));
	ssize_t got;

	if (want == 0)
		return 0;
	do
		got = pread(piece->fd, buffer, want, (off_t) (piece->offset + t->sent));
	while (got < 0 && errno == EINTR);
	if (got <= 0) {
		give_up(t, S3_LOCAL, got < 0 ? -errno : -ENODATA, "the file cannot be read");
		return CURL_READFUNC_ABORT;
	}
	t->sent += (uint64_t) got;
	return (size_t) got;
}

/* A kept connection was closed by the server before it read: curl begins anew on another one. */
static int seek_cb(void *userdata, curl_off_t offset, int origin)
{
	struct transfer *t = userdata;

	if (origin != SEEK_SET || offset < 0)
		return CURL_SEEKFUNC_CANTSEEK;
	t->sent = (uint64_t) offset;
	return CURL_SEEKFUNC_OK;
}

/* --- what comes --- */

static const char *header(struct transfer *t, const char *name)
{
	struct curl_header *found = NULL;

	if (curl_easy_header(t->s3->easy, name, 0, CURLH_HEADER, -1, &found) != CURLHE_OK)
		return NULL;
	return found->value;
}

static int status_of(struct transfer *t)
{
	long status = 0;

	(void) curl_easy_getinfo(t->s3->easy, CURLINFO_RESPONSE_CODE, &status);
	return (int) status;
}

static void note_clock(struct transfer *t)
{
	const char *date = header(t, "date");
	time_t then = date != NULL ? curl_getdate(date, NULL) : -1;

	if (then < 0)
		return;
	t->s3->clock_known = true;
	t->s3->clock_ahead_s = (int64_t) then - (int64_t) time(NULL);
}

/* "bytes 100-199/200": where it begins, and how long all is. */
static bool parse_content_range(const char *text, uint64_t *ret_from, uint64_t *ret_total)
{
	unsigned long long from, to, total;
	int end = 0;

	if (text == NULL || strchr(text, '-') == strrchr(text, ' ') ||
	    sscanf(text, "bytes %19llu-%19llu/%19llu%n", &from, &to, &total, &end) != 3 ||
	    text[end] != '\0' || from > to || to + 1 != total)
		return false;
	*ret_from = from;
	*ret_total = total;
	return true;
}

/* What is about to come is what was asked for, of the same object as before. */
static void check_object(struct transfer *t, int status)
{
	struct s3_fetch *fetch = t->fetch;
	struct s3_object object = {.n_bytes = t->answer->n_bytes};
	uint64_t from = 0;

	(void) snprintf(object.etag, sizeof(object.etag), "%s", t->answer->etag);
	if (status == 206 && !parse_content_range(header(t, "content-range"), &from, &object.n_bytes)) {
		give_up(t, S3_PROTOCOL, -EPROTO, "its Content-Range makes no sense");
		return;
	}
	if (status == 206 && from != fetch->offset) {
		give_up(t, S3_PROTOCOL, -EPROTO, "it sent another range than was asked for");
		return;
	}
	if (fetch->known &&
	    (strcmp(object.etag, fetch->object.etag) != 0 || object.n_bytes != fetch->object.n_bytes)) {
		give_up(t, S3_CHANGED, -ESTALE, "the object was replaced while it was read");
		return;
	}
	/* A server that knows no ranges sends all. */
	t->at = from;
	t->skip = fetch->offset - from;
	fetch->object = object;
	fetch->known = true;
}

static void look_at_headers(struct transfer *t)
{
	const char *etag = header(t, "etag"), *after = header(t, "retry-after");
	curl_off_t length = -1;
	int status = status_of(t);

	if (t->began)
		return;
	t->began = true;
	note_clock(t);
	(void) curl_easy_getinfo(t->s3->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	t->answer->n_bytes = length > 0 ? (uint64_t) length : 0;
	if (etag != NULL && strlen(etag) < sizeof(t->answer->etag))
		(void) snprintf(t->answer->etag, sizeof(t->answer->etag), "%s", etag);
	if (after != NULL && strspn(after, "0123456789") == strlen(after))
		t->answer->retry_after_s = (unsigned) MIN(strtoul(after, NULL, 10), 1000000UL);
	t->wanted = t->call->data != NULL && (status == 200 || status == 206);
	if (t->wanted)
		check_object(t, status);
}

static size_t keep(struct transfer *t, const char *data, size_t len)
{
	struct s3_answer *answer = t->answer;

	if (len > S3_BODY_MAX - answer->body_len) {
		give_up(t, S3_PROTOCOL, -EPROTO, "its answer is too long");
		return 0;
	}
	answer->body = xreallocarray(answer->body, answer->body_len + len + 1, 1);
	memcpy(answer->body + answer->body_len, data, len);
	answer->body_len += len;
	answer->body[answer->body_len] = '\0';
	return len;
}

/* Anything but all of it ends the transfer. */
static size_t write_cb(char *data, size_t size, size_t n, void *userdata)
{
	struct transfer *t = userdata;
	size_t len = size * n, skipped;
	int r;

	look_at_headers(t);
	if (t->result < 0)
		return 0;
	if (!t->wanted)
		return keep(t, data, len);
	/* Without a length, it might never end. */
	if (len > t->fetch->object.n_bytes - MIN(t->at, t->fetch->object.n_bytes)) {
		give_up(t, S3_PROTOCOL, -EPROTO, "it sends more than it has announced");
		return 0;
	}
	t->at += len;
	skipped = (size_t) MIN(t->skip, (uint64_t) len);
	t->skip -= skipped;
	if (skipped == len)
		return len;
	r = t->call->data(data + skipped, len - skipped, t->call->userdata);
	if (r < 0) {
		give_up(t, S3_LOCAL, r, "what came could not be kept");
		return 0;
	}
	t->fetch->offset += len - skipped;
	return len;
}

/* curl's own limit of speed is about the mean of some seconds, so that the end of what is sent
 * covers up the silence behind it. Connecting has a limit of its own. */
static bool is_stalled(struct transfer *t, curl_off_t moved)
{
	int64_t limit_us = t->s3->stall_timeout_ms * (int64_t) MAX(t->call->patience, 1u) * US_PER_MS;
	int64_t now_us = mono_now_us();
	curl_off_t connected_us = 0;

	(void) curl_easy_getinfo(t->s3->easy, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
	if (connected_us == 0 || moved != t->moved) {
		t->moved = moved;
		t->moved_us = now_us;
	}
	return now_us - t->moved_us >= limit_us;
}

/* Called whenever something happens, and at least once a second. */
static int progress_cb(void *userdata, curl_off_t to_come UNUSED, curl_off_t came,
                       curl_off_t to_send UNUSED, curl_off_t sent)
{
	struct transfer *t = userdata;

	if (t->s3->is_cancelled != NULL && t->s3->is_cancelled())
		give_up(t, S3_CANCELLED, -ECANCELED, "cancelled");
	else if (is_stalled(t, came + sent))
		give_up(t, S3_TIMEOUT, -ETIMEDOUT, "the server is silent, or takes nothing");
	else if (t->call->piece != NULL)
		s3_tell_sent(t->s3, (uint64_t) sent);
	return t->result < 0 ? 1 : 0;
}

/* --- what came of it --- */

static const struct {
	CURLcode code;
	enum s3_failure failure;
} failures[] = {
    {CURLE_COULDNT_RESOLVE_HOST, S3_UNREACHABLE},
    {CURLE_COULDNT_RESOLVE_PROXY, S3_UNREACHABLE},
    {CURLE_COULDNT_CONNECT, S3_UNREACHABLE},
    {CURLE_OPERATION_TIMEDOUT, S3_TIMEOUT},
    {CURLE_PEER_FAILED_VERIFICATION, S3_TLS},
    {CURLE_SSL_ISSUER_ERROR, S3_TLS},
    {CURLE_SSL_INVALIDCERTSTATUS, S3_TLS},
    {CURLE_SSL_CACERT_BADFILE, S3_TLS},
    {CURLE_SSL_CERTPROBLEM, S3_TLS},
    {CURLE_SSL_CIPHER, S3_TLS},
    /* The server may be restarting. */
    {CURLE_SSL_CONNECT_ERROR, S3_CUT},
    {CURLE_SEND_ERROR, S3_CUT},
    {CURLE_RECV_ERROR, S3_CUT},
    {CURLE_GOT_NOTHING, S3_CUT},
    {CURLE_PARTIAL_FILE, S3_CUT},
};

static enum s3_failure judge_curl(struct transfer *t, CURLcode code)
{
	long port = 0;

	/* libcurl knows its own port when the connection is made (CURLINFO_LOCAL_PORT(3)). */
	(void) curl_easy_getinfo(t->s3->easy, CURLINFO_LOCAL_PORT, &port);
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		if (failures[i].code == code)
			return code == CURLE_OPERATION_TIMEDOUT && port == 0 ? S3_UNREACHABLE
			                                                     : failures[i].failure;
	}
	return S3_PROTOCOL;
}

/* There was no whole answer. */
static int fail_transfer(struct transfer *t, CURLcode code)
{
	struct s3_error *e = &t->s3->error;

	e->failure = t->result < 0 ? t->failure : judge_curl(t, code);
	(void) snprintf(e->reason, sizeof(e->reason), "%s",
	                t->what != NULL            ? t->what
	                : t->curl_error[0] != '\0' ? t->curl_error
	                                           : curl_easy_strerror(code));
	return t->result < 0 ? t->result : s3_judge_errno(e->failure);
}

/* A server that does not know the headers passes over them, and would store what it gets. */
static bool is_encrypted_as_asked(struct transfer *t)
{
	const char *kms = header(t, CRYPT), *customer = header(t, CRYPT_CUSTOMER "algorithm");

	if (t->s3->kms_key != NULL)
		return kms != NULL && strcmp(kms, "aws:kms") == 0;
	return t->s3->customer_key == NULL || (customer != NULL && strcmp(customer, "AES256") == 0);
}

/* There is one: good, or an error with a code and a message. */
static int judge_answer(struct transfer *t, int status)
{
	struct s3_error *e = &t->s3->error;
	const struct s3_answer *answer = t->answer;
	int64_t ahead_s = t->s3->clock_known ? t->s3->clock_ahead_s : 0;

	e->status = status;
	if (answer->body_len > 0)
		(void) s3xml_parse_error(answer->body, answer->body_len, e->code, sizeof(e->code),
		                         e->reason, sizeof(e->reason));
	e->failure = s3_judge_status(status, e->code, ahead_s);
	t->answer->encrypted = is_encrypted_as_asked(t);
	if (e->failure == S3_OK && t->call->crypt == S3_CRYPT_MAKES && !answer->encrypted) {
		e->failure = S3_REFUSED;
		(void) snprintf(e->reason, sizeof(e->reason),
		                "the server does not confirm the encryption that it was asked for");
	}
	return e->failure == S3_OK ? 0 : s3_judge_errno(e->failure);
}

static void set_method(struct transfer *t)
{
	const struct s3_call *call = t->call;
	CURL *easy = t->s3->easy;

	if (call->piece != NULL) {
		(void) curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
		(void) curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t) call->piece->n_bytes);
		(void) curl_easy_setopt(easy, CURLOPT_READFUNCTION, read_cb);
		(void) curl_easy_setopt(easy, CURLOPT_READDATA, t);
		(void) curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, seek_cb);
		(void) curl_easy_setopt(easy, CURLOPT_SEEKDATA, t);
	} else if (call->text != NULL) {
		(void) curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) strlen(call->text));
		(void) curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->text);
	} else if (strcmp(call->method, "HEAD") == 0) {
		(void) curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	} else if (strcmp(call->method, "GET") != 0) {
		(void) curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
	}
}

static void set_options(struct transfer *t)
{
	const struct http_request tls = {.ca_file = t->s3->ca_file};
	CURL *easy = t->s3->easy;

	/* Keeps connections. */
	curl_easy_reset(easy);
	(void) curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->curl_error);
	(void) curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void) curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long) CURL_HTTP_VERSION_1_1);
	(void) curl_easy_setopt(easy, CURLOPT_USERAGENT, "fairlead/" FAIRLEAD_VERSION);
	(void) curl_easy_setopt(easy, CURLOPT_PROXY, t->s3->proxy != NULL ? t->s3->proxy : "");
	/* Or $no_proxy holds. */
	(void) curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	(void) curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	/* Or "a/../b" would be asked for as "b", and signed as what it is. */
	(void) curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	(void) curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long) t->s3->connect_timeout_ms);
	(void) curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	(void) curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, progress_cb);
	(void) curl_easy_setopt(easy, CURLOPT_XFERINFODATA, t);
	(void) curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, write_cb);
	(void) curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
	credentials_set_tls(easy, &tls);
}

int s3_transfer(struct s3 *s3, const struct s3_call *call, struct s3_fetch *fetch,
                struct s3_answer *answer)
{
	struct transfer t = {
	    .s3 = s3, .call = call, .fetch = fetch, .answer = answer, .moved_us = mono_now_us()};
	CURLcode code;
	int r;

	s3->error = (struct s3_error){.attempts = s3->error.attempts};
	set_options(&t);
	set_method(&t);
	set_target(&t);
	code = curl_easy_perform(s3->easy);
	if (code == CURLE_OK)
		look_at_headers(&t);
	/* A server that refuses need not read to the end what it is sent. */
	if (t.result == 0 && (code == CURLE_OK || status_of(&t) >= 300))
		r = judge_answer(&t, status_of(&t));
	else
		r = fail_transfer(&t, code);
	/* The handle must not keep what is gone from the stack. */
	curl_easy_reset(s3->easy);
	curl_slist_free_all(t.headers);
	return r;
}
