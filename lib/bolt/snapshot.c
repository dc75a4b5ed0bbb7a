/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the tree feeds everything that is to be known of the content: each bucket and entry
 * goes through the hash of `snapshot status`, and those of the users' keys through HashKV too. The
 * digest needs the bytes in the order of the file, which is not that of the tree, and is a pass of
 * its own.
 */
#include "bolt/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/openssl.h"
#include "bolt/crc32c.h"

/* etcd's rule: see the header. */
#define UNIT_BYTES 512
#define READ_BYTES ((size_t) 128 << 10)

struct snapshot {
	int fd;
	uint64_t n_bytes; /* without the digest */
	bool has_digest;
	struct bolt_fault *fault;
	struct bolt *db;
	struct usagetop *usage; /* that is to be fed; or NULL */
};

static int fail_errno(struct bolt_fault *fault, const char *what)
{
	int r = -errno;

	fault->page = BOLT_NO_PAGE;
	(void) snprintf(fault->what, sizeof(fault->what), "%s: %s", what, strerror(-r));
	return r;
}

static int fail(struct bolt_fault *fault, int r, const char *what)
{
	fault->page = BOLT_NO_PAGE;
	(void) snprintf(fault->what, sizeof(fault->what), "%s", what);
	return r;
}

/* --- opening --- */

static int measure(struct snapshot *s)
{
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return fail_errno(s->fault, "cannot ask for its length");
	if (!S_ISREG(st.st_mode))
		return fail(s->fault, -EINVAL, "it is not a regular file");
	s->n_bytes = (uint64_t) st.st_size;
	s->has_digest = s->n_bytes % UNIT_BYTES == SNAPSHOT_DIGEST_BYTES;
	if (s->has_digest)
		s->n_bytes -= SNAPSHOT_DIGEST_BYTES;
	return 0;
}

int snapshot_open(const char *path, struct bolt_fault *fault, struct snapshot **ret_snapshot)
{
	AUTO(snapshot_close) struct snapshot *s = NEW0(struct snapshot);
	int r;

	s->fault = fault;
	/* Not to wait for somebody to write into it, should it be a pipe. */
	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (s->fd < 0)
		return fail_errno(fault, "cannot open it");
	r = measure(s);
	if (r >= 0)
		r = bolt_open(s->fd, s->n_bytes, fault, &s->db);
	if (r < 0)
		return r;
	*ret_snapshot = TAKE_PTR(s);
	return 0;
}

void snapshot_close(struct snapshot *s)
{
	if (s == NULL)
		return;
	bolt_close(s->db);
	if (s->fd >= 0)
		(void) close(s->fd);
	free(s);
}

struct bolt *snapshot_db(struct snapshot *s)
{
	return s->db;
}

void snapshot_count_usage(struct snapshot *s, struct usagetop *usage)
{
	s->usage = usage;
}

bool snapshot_has_digest(const struct snapshot *s)
{
	return s->has_digest;
}

/* --- the digest --- */

struct snapshot_sum {
	struct bolt_fault *fault;
	EVP_MD_CTX *md;
	uint8_t *buf;
	uint64_t done;
};

static ssize_t read_some(int fd, struct bolt_fault *fault, uint64_t offset, void *buf, size_t len)
{
	ssize_t n;

	do
		n = pread(fd, buf, len, (off_t) offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fail_errno(fault, "cannot read it");
	if (n == 0)
		return fail(fault, -EBADMSG, "the file became shorter while it was read");
	return n;
}

static int read_all(int fd, struct bolt_fault *fault, uint64_t offset, uint8_t *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = read_some(fd, fault, offset, buf, len);

		if (n < 0)
			return (int) n;
		buf += n;
		offset += (uint64_t) n;
		len -= (size_t) n;
	}
	return 0;
}

struct snapshot_sum *snapshot_sum_new(struct bolt_fault *fault)
{
	struct snapshot_sum *sum = NEW0(struct snapshot_sum);

	sum->fault = fault;
	sum->md = mem_expect(EVP_MD_CTX_new());
	sum->buf = xcalloc(1, READ_BYTES);
	openssl_expect(EVP_DigestInit_ex(sum->md, EVP_sha256(), NULL), "EVP_DigestInit_ex");
	return sum;
}

void snapshot_sum_free(struct snapshot_sum *sum)
{
	if (sum == NULL)
		return;
	EVP_MD_CTX_free(sum->md);
	free(sum->buf);
	free(sum);
}

int snapshot_sum_add(struct snapshot_sum *sum, int fd, uint64_t n_bytes)
{
	uint64_t end = n_bytes - n_bytes % UNIT_BYTES;

	while (sum->done < end) {
		ssize_t n =
		    read_some(fd, sum->fault, sum->done, sum->buf, MIN(READ_BYTES, end - sum->done));

		if (n < 0)
			return (int) n;
		openssl_expect(EVP_DigestUpdate(sum->md, sum->buf, (size_t) n), "EVP_DigestUpdate");
		sum->done += (uint64_t) n;
	}
	return 0;
}

static void end_sum(struct snapshot_sum *sum, uint8_t ret_digest[static SNAPSHOT_DIGEST_BYTES])
{
	openssl_expect(EVP_DigestFinal_ex(sum->md, ret_digest, NULL), "EVP_DigestFinal_ex");
}

static int no_digest(struct bolt_fault *fault)
{
	return fail(fault, -ENODATA, "the file does not end with a digest");
}

static int compare_digest(struct snapshot_sum *sum, int fd)
{
	uint8_t computed[SNAPSHOT_DIGEST_BYTES], stored[SNAPSHOT_DIGEST_BYTES];
	int r = read_all(fd, sum->fault, sum->done, stored, sizeof(stored));

	if (r < 0)
		return r;
	end_sum(sum, computed);
	if (memcmp(computed, stored, sizeof(stored)) != 0)
		return fail(sum->fault, -EBADMSG, "the digest at its end is not that of what is before it");
	return 0;
}

int snapshot_sum_check(struct snapshot_sum *sum, int fd, uint64_t n_bytes)
{
	int r;

	if (n_bytes % UNIT_BYTES != SNAPSHOT_DIGEST_BYTES)
		return no_digest(sum->fault);
	r = snapshot_sum_add(sum, fd, n_bytes);
	return r < 0 ? r : compare_digest(sum, fd);
}

/* All of the database. */
static int sum_up(struct snapshot *s, struct snapshot_sum *sum)
{
	(void) posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	bolt_pass_begin(s->db, "digest", true);
	while (sum->done < s->n_bytes) {
		uint64_t before = sum->done;
		int r = snapshot_sum_add(sum, s->fd, MIN(before + READ_BYTES, s->n_bytes));

		if (r < 0)
			return r;
		bolt_pass_add(s->db, sum->done - before);
	}
	bolt_pass_end(s->db);
	return 0;
}

int snapshot_check_digest(struct snapshot *s)
{
	AUTO(snapshot_sum_free) struct snapshot_sum *sum = snapshot_sum_new(s->fault);
	int r;

	if (!s->has_digest)
		return no_digest(s->fault);
	r = sum_up(s, sum);
	return r < 0 ? r : compare_digest(sum, s->fd);
}

int snapshot_append_digest(int fd, uint64_t n_bytes)
{
	struct bolt_fault fault;
	AUTO(snapshot_sum_free) struct snapshot_sum *sum = snapshot_sum_new(&fault);
	uint8_t digest[SNAPSHOT_DIGEST_BYTES];
	ssize_t n;
	int r = snapshot_sum_add(sum, fd, n_bytes);

	if (r < 0)
		return r;
	end_sum(sum, digest);
	do
		n = pwrite(fd, digest, sizeof(digest), (off_t) n_bytes);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n == (ssize_t) sizeof(digest) ? 0 : -ENOSPC;
}

/* --- the content --- */

struct check {
	struct bolt *db;
	struct hashkv *hashkv;  /* NULL: it is not wanted */
	struct usagetop *usage; /* the same */
	bool in_keys;           /* the bucket of the users' keys goes by */
	struct crc32c_run hash;
	uint64_t n_entries;
	int64_t revision;
};

static int on_bucket(struct bytes name, void *userdata)
{
	struct check *check = userdata;

	check->in_keys = bytes_equal_text(name, MVCC_BUCKET);
	crc32c_run_add(&check->hash, name);
	(void) crc32c_run_end(&check->hash);
	return 0;
}

static int on_entry(const struct cursor_entry *raw, void *userdata)
{
	struct check *check = userdata;
	struct mvcc_entry entry;
	int r;

	check->n_entries++;
	crc32c_run_add(&check->hash, raw->key);
	crc32c_run_add(&check->hash, raw->value);
	if (raw->ends_page)
		(void) crc32c_run_end(&check->hash);
	if (!check->in_keys)
		return 0;
	r = mvcc_read(check->db, raw, &entry);
	if (r < 0)
		return r;
	check->revision = entry.rev.main;
	if (check->hashkv != NULL)
		hashkv_add(check->hashkv, &entry);
	/* One without a key is no client's, see mvcc.h. */
	if (check->usage != NULL && entry.kv.key.len > 0)
		usagetop_add(check->usage, entry.kv.key, entry.kv.key.len + entry.kv.value.len);
	return 0;
}

/* What a stream of etcd's has, and a file from a data directory need not have. */
static int check_whole_copy(struct snapshot *s)
{
	const struct bolt_meta *meta = bolt_get_meta(s->db);

	if (meta->n_pages * meta->page_bytes != s->n_bytes)
		return bolt_fail(
		    s->db, BOLT_NO_PAGE, "the database has %llu pages of %u bytes, but the file %llu bytes",
		    (unsigned long long) meta->n_pages, meta->page_bytes, (unsigned long long) s->n_bytes);
	return bolt_check_both_metas(s->db);
}

static int start_hashkv(struct snapshot *s, const struct mvcc_reach *reach, int64_t revision,
                        struct hashkv **ret_hashkv)
{
	int r = mvcc_choose_revision(s->db, reach, revision, &revision);

	return r < 0 ? r : hashkv_new(s->db, reach, revision, HASHKV_KEYS_MAX, ret_hashkv);
}

/* `before` is what HashKV goes by; NULL: the file's own reach. */
static int check_content(struct snapshot *s, const struct mvcc_reach *before, int64_t revision,
                         struct snapshot_content *ret_content)
{
	const struct bolt_meta *meta = bolt_get_meta(s->db);
	AUTO(hashkv_free) struct hashkv *hashkv = NULL;
	struct check check = {.db = s->db, .usage = s->usage};
	struct walk_visitor visitor = {
	    .on_bucket = on_bucket, .on_entry = on_entry, .userdata = &check};
	struct snapshot_content content = {.n_bytes = meta->n_pages * meta->page_bytes};
	int r = 0;

	if (s->has_digest)
		r = check_whole_copy(s);
	if (r >= 0)
		r = mvcc_read_reach(s->db, &content.reach);
	if (r >= 0 && revision != SNAPSHOT_NO_HASHKV)
		r = start_hashkv(s, before != NULL ? before : &content.reach, revision, &hashkv);
	check.hashkv = hashkv;
	if (r >= 0)
		r = walk_all(s->db, &visitor, &content.pages);
	if (r < 0)
		return r;
	if (hashkv != NULL)
		hashkv_finish(hashkv, &content.hashkv);
	content.hash = crc32c_run_end(&check.hash);
	content.revision = check.revision;
	content.n_entries = check.n_entries;
	*ret_content = content;
	return 0;
}

int snapshot_check_content(struct snapshot *s, int64_t revision,
                           struct snapshot_content *ret_content)
{
	return check_content(s, NULL, revision, ret_content);
}

int snapshot_check_restored(struct snapshot *s, const struct mvcc_reach *before,
                            struct snapshot_content *ret_content)
{
	return check_content(s, before, before->current, ret_content);
}
