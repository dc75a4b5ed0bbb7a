/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of objects, and of the bucket's list of them. */
#include "web/s3.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "web/s3_priv.h"
#include "web/s3xml.h"

/* Two digests in one reading, by pread(2), so that nobody's file position matters. */

#define BUFFER_BYTES (256 * 1024)

int s3_piece_hash(int fd, uint64_t offset, uint64_t n_bytes, struct digest *whole,
                  struct s3_piece *ret_piece)
{
	struct s3_piece piece = {.fd = fd, .offset = offset, .n_bytes = n_bytes};
	AUTO(digest_free) struct digest *sha256 = digest_new(DIGEST_SHA256);
	AUTO(digest_free) struct digest *md5 = digest_new(DIGEST_MD5);
	AUTO(free) char *buffer = xcalloc(1, BUFFER_BYTES);

	for (uint64_t done = 0; done < n_bytes;) {
		size_t want = (size_t) MIN(n_bytes - done, (uint64_t) BUFFER_BYTES);
		ssize_t n = pread(fd, buffer, want, (off_t) (offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		digest_update(sha256, buffer, (size_t) n);
		digest_update(md5, buffer, (size_t) n);
		if (whole != NULL)
			digest_update(whole, buffer, (size_t) n);
		done += (uint64_t) n;
	}
	digest_finish(sha256, piece.sha256);
	digest_finish(md5, piece.md5);
	*ret_piece = piece;
	return 0;
}

bool s3_piece_has_etag(const struct s3_piece *piece, const char *etag)
{
	char hex[DIGEST_HEX_MAX];
	size_t len;

	etag += *etag == '"' ? 1 : 0;
	len = strcspn(etag, "\"");
	(void) digest_hex(piece->md5, sizeof(piece->md5), hex);
	return len == strlen(hex) && strncasecmp(etag, hex, len) == 0;
}

#define LIST_PAGE_KEYS 1000
/* A token for the next page; those that are in use have some 100 bytes. */
#define TOKEN_MAX 2048

static int own_head(struct s3 *s3, const char *key, struct s3_object *ret_object)
{
	const struct s3_call call = {.method = "HEAD", .key = key, .crypt = S3_CRYPT_USES};
	struct s3_answer answer;
	int r;

	r = s3_request(s3, &call, NULL, &answer);
	if (r < 0)
		return r;
	ret_object->n_bytes = answer.n_bytes;
	ret_object->encrypted = answer.encrypted;
	memcpy(ret_object->etag, answer.etag, sizeof(ret_object->etag));
	s3_answer_fini(&answer);
	return 0;
}

static int own_get(struct s3 *s3, const char *key, uint64_t offset, s3_data_fn data, void *userdata,
                   struct s3_object *ret_object)
{
	const struct s3_call call = {
	    .method = "GET", .key = key, .crypt = S3_CRYPT_USES, .data = data, .userdata = userdata};
	struct s3_fetch fetch = {.offset = offset};
	struct s3_answer answer;
	int r;

	r = s3_request(s3, &call, &fetch, &answer);
	if (r < 0)
		return s3->error.status == 416 ? -ERANGE : r;
	s3_answer_fini(&answer);
	if (!fetch.known || fetch.offset != fetch.object.n_bytes)
		return s3_fail_protocol(s3, &call, "it sent less or more than it had announced");
	if (ret_object != NULL)
		*ret_object = fetch.object;
	return 0;
}

static int own_put(struct s3 *s3, const char *key, const struct s3_piece *piece)
{
	const struct s3_call call = {
	    .method = "PUT", .key = key, .crypt = S3_CRYPT_MAKES, .piece = piece};
	struct s3_answer answer;
	int r;

	r = s3_request(s3, &call, NULL, &answer);
	if (r == 0)
		s3_answer_fini(&answer);
	return r;
}

static int own_delete(struct s3 *s3, const char *key)
{
	const struct s3_call call = {.method = "DELETE", .key = key};
	struct s3_answer answer;
	int r;

	r = s3_request(s3, &call, NULL, &answer);
	if (r == 0)
		s3_answer_fini(&answer);
	/* Nearly all servers say 204 to what is not there. A bucket that is not there is an error. */
	return r == -ENOENT && strcmp(s3->error.code, "NoSuchBucket") != 0 ? 0 : r;
}

/* --- listing --- */

struct page {
	s3_listed_fn listed;
	void *userdata;
	uint64_t left; /* how many more may be told */
	/* What stands around the keys, in any order, is read before they are told. */
	bool found; /* it is the document that was expected */
	bool truncated;
	bool encoded; /* keys are percent-encoded */
	unsigned n;   /* of the pages so far */
	char token[TOKEN_MAX];
	bool nameless; /* an object had no key */
	char key[S3XML_TEXT_MAX];
	char etag[S3_ETAG_MAX];
	char modified[S3_TIME_MAX];
	uint64_t n_bytes;
};

static int hex_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char) (c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In place. Servers write a space as "%20" or as '+', and a plus sign always as "%2B". A NUL stays
 * as it is written, or the key would be taken for a shorter one. */
static void decode(char *text)
{
	char *out = text;

	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '+') {
			*out++ = ' ';
		} else if (*p == '%' && hex_of(p[1]) >= 0 && hex_of(p[2]) >= 0 &&
		           (p[1] != '0' || p[2] != '0')) {
			*out++ = (char) (hex_of(p[1]) << 4 | hex_of(p[2]));
			p += 2;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
}

static int head_element(const char *path, const char *text, void *userdata)
{
	struct page *page = userdata;

	if (strcmp(path, "ListBucketResult") == 0)
		page->found = true;
	else if (strcmp(path, "ListBucketResult/IsTruncated") == 0)
		page->truncated = strcmp(text, "true") == 0;
	else if (strcmp(path, "ListBucketResult/EncodingType") == 0)
		page->encoded = strcmp(text, "url") == 0;
	else if (strcmp(path, "ListBucketResult/NextContinuationToken") == 0)
		(void) snprintf(page->token, sizeof(page->token), "%s", text);
	return 0;
}

static int tell(struct page *page)
{
	const struct s3_listed listed = {
	    .key = page->key,
	    .n_bytes = page->n_bytes,
	    .etag = page->etag,
	    .modified = page->modified,
	};
	int r;

	if (page->left == 0)
		return 0;
	page->left--;
	if (page->encoded)
		decode(page->key);
	page->nameless = page->key[0] == '\0';
	r = page->nameless ? -EBADMSG : page->listed(&listed, page->userdata);
	/* What the next one lacks is not this one's. */
	page->key[0] = page->etag[0] = page->modified[0] = '\0';
	page->n_bytes = 0;
	return r;
}

static int key_element(const char *path, const char *text, void *userdata)
{
	static const char parent[] = "ListBucketResult/Contents";
	struct page *page = userdata;

	if (strncmp(path, parent, sizeof(parent) - 1) != 0)
		return 0;
	path += sizeof(parent) - 1;
	if (strcmp(path, "/Key") == 0)
		(void) snprintf(page->key, sizeof(page->key), "%s", text);
	else if (strcmp(path, "/Size") == 0)
		page->n_bytes = strtoull(text, NULL, 10);
	else if (strcmp(path, "/ETag") == 0)
		(void) snprintf(page->etag, sizeof(page->etag), "%s", text);
	else if (strcmp(path, "/LastModified") == 0)
		(void) snprintf(page->modified, sizeof(page->modified), "%s", text);
	else if (strcmp(path, "") == 0)
		return tell(page);
	return 0;
}

/* One page, from page->token on; the token of the next one is in there afterwards. */
static int list_page(struct s3 *s3, const char *prefix, const char *max_keys, struct page *page)
{
	AUTO(free) char *token = xstrdup(page->token);
	struct s3_call call = {
	    .method = "GET",
	    .query = {{"list-type", "2"},
	              {"prefix", prefix},
	              {"max-keys", max_keys},
	              /* Keys may have characters that XML cannot. */
	              {"encoding-type", "url"},
	              {"continuation-token", token}},
	    .n_query = token[0] != '\0' ? 5 : 4,
	};
	struct s3_answer answer;
	int r;

	r = s3_request(s3, &call, NULL, &answer);
	if (r < 0)
		return r;
	page->found = page->truncated = page->encoded = false;
	page->token[0] = '\0';
	r = s3xml_parse(answer.body != NULL ? answer.body : "", answer.body_len, head_element, page);
	if (r < 0 || !page->found ||
	    (page->truncated && (page->token[0] == '\0' || strcmp(page->token, token) == 0))) {
		s3_answer_fini(&answer);
		return s3_fail_protocol(s3, &call, "its list of objects makes no sense");
	}
	if (page->truncated && ++page->n == S3_PAGES_MAX) {
		s3_answer_fini(&answer);
		return s3_fail_protocol(s3, &call, "its list of objects has too many pages");
	}
	r = s3xml_parse(answer.body, answer.body_len, key_element, page);
	s3_answer_fini(&answer);
	return page->nameless ? s3_fail_protocol(s3, &call, "its list of objects lacks a key") : r;
}

static int own_list(struct s3 *s3, const char *prefix, uint64_t max, s3_listed_fn listed,
                    void *userdata)
{
	AUTO(free) struct page *page = NEW0(struct page);
	char max_keys[8];

	page->listed = listed;
	page->userdata = userdata;
	page->left = max > 0 ? max : UINT64_MAX;
	(void) snprintf(max_keys, sizeof(max_keys), "%u",
	                (unsigned) MIN(page->left, (uint64_t) LIST_PAGE_KEYS));
	do {
		int r = list_page(s3, prefix, max_keys, page);

		if (r < 0)
			return r;
	} while (page->truncated && page->left > 0);
	return 0;
}

/* --- in any store --- */

const struct s3_ops s3_own_ops = {
    .head = own_head,
    .get = own_get,
    .put = own_put,
    .delete = own_delete,
    .list = own_list,
};

int s3_head(struct s3 *s3, const char *key, struct s3_object *ret_object)
{
	return s3->ops->head(s3, key, ret_object);
}

int s3_get(struct s3 *s3, const char *key, uint64_t offset, s3_data_fn data, void *userdata,
           struct s3_object *ret_object)
{
	return s3->ops->get(s3, key, offset, data, userdata, ret_object);
}

int s3_put(struct s3 *s3, const char *key, const struct s3_piece *piece)
{
	return s3->ops->put(s3, key, piece);
}

int s3_delete(struct s3 *s3, const char *key)
{
	return s3->ops->delete (s3, key);
}

int s3_list(struct s3 *s3, const char *prefix, uint64_t max, s3_listed_fn listed, void *userdata)
{
	return s3->ops->list(s3, prefix, max, listed, userdata);
}
