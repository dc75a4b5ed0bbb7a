/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots that etcd 3.4.23 and 3.5.16 made (tests/bolt): everything that is known of them, and
 * that no damage passes. The digest finds each; without it, or with one that was made to fit, the
 * tree and its entries still find what is said below.
 */
#include "bolt/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/fileio.h"
#include "bolt/dbinfo.h"
#include "tests/unit/boltfile.h"
#include "tests/unit/check.h"

#define PAGE 4096u
#define FILE_BYTES_MAX 65536u

struct image {
	char *bytes;
	size_t len; /* with the digest */
};

static void load(const char *path, struct image *ret_image)
{
	if (file_read(path, FILE_BYTES_MAX, &ret_image->bytes, &ret_image->len) < 0) {
		(void) fprintf(stderr, "cannot read %s (run this in the root of the tree)\n", path);
		exit(1);
	}
}

/* --- what is known of them -------------------------------------------------------------------- */

static const struct known {
	const char *path;
	/* as etcdctl and etcdutl printed them */
	uint32_t hash;
	uint64_t n_entries;
	/* as the server answered at revision 36, 37, 38, 39; compacted at 35 */
	uint32_t hashkv[4];
	uint64_t index, term;
	const char *cluster_version;
	const char *client_url; /* 3.5 writes none into the database */
} known[] = {
    {"tests/bolt/etcd-3.4.db",
     0xc1328c3a,
     46,
     {3132229249, 2304468978, 922768723, 4013837261},
     46,
     0,
     "3.4.0",
     "http://127.0.0.1:2379"},
    {"tests/bolt/etcd-3.5.db",
     0xa01daca0,
     48,
     {3085004482, 3017183816, 1059305719, 4066523744},
     47,
     2,
     "3.5.0",
     NULL},
};

static void check_info(const struct known *k, struct bolt *db)
{
	AUTO(dbinfo_free) struct dbinfo *info = NULL;

	if (!CHECK_EQ_INT(dbinfo_read(db, &info), 0) || !CHECK_EQ_INT((long long) info->n_members, 1))
		return;
	CHECK_EQ_INT((long long) info->consistent_index, (long long) k->index);
	CHECK_EQ_INT((long long) info->term, (long long) k->term);
	CHECK_EQ_STR(info->cluster_version, k->cluster_version);
	CHECK_EQ_STR(info->storage_version, "");
	CHECK(info->members[0].id == 0x8e9e05c52164694d);
	CHECK_EQ_STR(info->members[0].name, "n1");
	CHECK(!info->members[0].is_learner);
	if (CHECK_EQ_INT(info->members[0].n_client_urls > 0, k->client_url != NULL) &&
	    k->client_url != NULL)
		CHECK_EQ_STR(info->members[0].client_urls[0], k->client_url);
	CHECK_EQ_INT((long long) info->members[0].n_peer_urls, 1);
	CHECK_EQ_STR(info->members[0].peer_urls[0], "http://localhost:2380");
	CHECK_EQ_INT((long long) info->n_removed_members, 0);
	CHECK_EQ_INT((long long) info->n_alarms, 0);
	CHECK_EQ_INT((long long) info->n_leases, 1);
	CHECK(!info->auth_is_enabled);
	CHECK_EQ_INT((long long) info->n_users, 1);
	CHECK_EQ_INT((long long) info->n_roles, 1);
}

static void test_known(const struct known *k)
{
	AUTO(snapshot_close) struct snapshot *s = NULL;
	struct snapshot_content content = {0};
	struct bolt_fault fault = {0};
	struct hashkv_result result;

	CHECK_EQ_INT(snapshot_open(k->path, &fault, &s), 0);
	CHECK(snapshot_has_digest(s));
	CHECK_EQ_INT(snapshot_check_digest(s), 0);
	if (!CHECK_EQ_INT(snapshot_check_content(s, 0, &content), 0)) {
		(void) fprintf(stderr, "%s: %s\n", k->path, fault.what);
		return;
	}
	CHECK_EQ_INT(content.hash, k->hash);
	CHECK_EQ_INT(content.revision, 39);
	CHECK_EQ_INT((long long) content.n_entries, (long long) k->n_entries);
	CHECK_EQ_INT((long long) content.hashkv.n_live, 31);
	CHECK_EQ_INT((long long) content.n_bytes, 40960);
	CHECK_EQ_INT(content.reach.current, 39);
	CHECK_EQ_INT(content.reach.compacted, 35);
	CHECK_EQ_INT(content.reach.finished, 35);
	CHECK_EQ_INT(content.hashkv.hash, k->hashkv[3]);
	CHECK_EQ_INT(content.hashkv.revision, 39);
	CHECK_EQ_INT(content.hashkv.compact_revision, 35);
	CHECK_EQ_INT((long long) content.pages.n_pages, 10);
	for (int64_t revision = 36; revision <= 39; revision++) {
		CHECK_EQ_INT(hashkv_compute(snapshot_db(s), revision, &result), 0);
		CHECK_EQ_INT(result.hash, k->hashkv[revision - 36]);
	}
	CHECK_EQ_INT(hashkv_compute(snapshot_db(s), 34, &result), -ERANGE);
	CHECK_EQ_STR(fault.what, "revision 34 was compacted: it begins with 35");
	check_info(k, snapshot_db(s));
}

/* --- files ------------------------------------------------------------------------------------ */

/* What is found without the digest: NULL, or what is wrong. */
static const char *content_fault(int fd)
{
	static struct bolt_fault fault;
	AUTO(snapshot_close) struct snapshot *s = NULL;
	AUTO(dbinfo_free) struct dbinfo *info = NULL;
	struct snapshot_content content;
	char path[32];
	int r;

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = snapshot_open(path, &fault, &s);
	if (r >= 0)
		r = snapshot_check_content(s, 0, &content);
	if (r >= 0)
		r = dbinfo_read(snapshot_db(s), &info);
	return r < 0 ? fault.what : NULL;
}

static int digest_result(int fd)
{
	AUTO(snapshot_close) struct snapshot *s = NULL;
	struct bolt_fault fault = {0};
	char path[32];
	int r;

	(void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = snapshot_open(path, &fault, &s);
	return r < 0 ? r : snapshot_check_digest(s);
}

/* A database from a data directory: no digest, longer than what is in use, perhaps one meta page.
 */
static void test_without_digest(void)
{
	struct image image;
	char junk[PAGE] = {1};
	int fd;

	load(known[0].path, &image);
	fd = boltfile_fd_of(image.bytes, image.len - SNAPSHOT_DIGEST_BYTES);
	CHECK_EQ_INT(digest_result(fd), -ENODATA);
	CHECK_EQ_STR(content_fault(fd), NULL);
	CHECK_EQ_INT(pwrite(fd, junk, sizeof(junk), 10 * PAGE), sizeof(junk));
	CHECK_EQ_STR(content_fault(fd), NULL);
	CHECK_EQ_INT(pwrite(fd, junk, 32, PAGE + 16), 32);
	CHECK_EQ_STR(content_fault(fd), NULL);
	(void) close(fd);

	/* With one, neither is taken. */
	fd = boltfile_fd_of(image.bytes, image.len);
	CHECK_EQ_INT(pwrite(fd, junk, 32, PAGE + 16), 32);
	CHECK_EQ_STR(content_fault(fd), "page 1: no good meta page: it does not begin as bbolt's do "
	                                "(magic number)");
	CHECK_EQ_INT(pwrite(fd, image.bytes + PAGE + 16, 32, PAGE + 16), 32);
	CHECK_EQ_STR(content_fault(fd), NULL);
	CHECK_EQ_INT(ftruncate(fd, 11 * PAGE + 32), 0);
	CHECK_EQ_STR(content_fault(fd),
	             "the database has 10 pages of 4096 bytes, but the file 45056 bytes");
	(void) close(fd);
	free(image.bytes);
}

static void test_no_file(void)
{
	struct snapshot *s = NULL;
	struct bolt_fault fault = {0};
	char dir[] = "/tmp/fairlead-bolt-XXXXXX", fifo[64];

	CHECK_EQ_INT(snapshot_open("/nonexistent", &fault, &s), -ENOENT);
	CHECK_EQ_STR(fault.what, "cannot open it: No such file or directory");
	CHECK_EQ_INT(snapshot_open("/tmp", &fault, &s), -EINVAL);
	CHECK_EQ_STR(fault.what, "it is not a regular file");
	CHECK(mkdtemp(dir) != NULL);
	(void) snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	CHECK_EQ_INT(mkfifo(fifo, 0600), 0);
	CHECK_EQ_INT(snapshot_open(fifo, &fault, &s), -EINVAL);
	(void) unlink(fifo);
	(void) rmdir(dir);
	CHECK_EQ_INT(snapshot_open("/dev/null", &fault, &s), -EINVAL);
}

/* Cut off at each multiple of 512, and 32 before and behind it. */
static void test_cut_off(const struct known *k)
{
	struct image image;
	int fd;

	load(k->path, &image);
	fd = boltfile_fd_of(image.bytes, image.len);
	for (off_t len = (off_t) image.len - 1; len >= 0; len--) {
		bool digest_fits;

		if (len % 512 != 0 && len % 512 != 32 && len % 512 != 480)
			continue;
		CHECK_EQ_INT(ftruncate(fd, len), 0);
		digest_fits = digest_result(fd) == 0;
		CHECK(!digest_fits);
		/* What lacks nothing but the digest is a good database. */
		if ((size_t) len < image.len - SNAPSHOT_DIGEST_BYTES)
			CHECK(content_fault(fd) != NULL);
	}
	(void) close(fd);
	free(image.bytes);
}

/* --- one wrong byte --------------------------------------------------------------------------- */

enum place {
	PLACE_OTHER, /* values, free pages, what follows the last value of a page */
	PLACE_META,
	PLACE_HEADER,
	PLACE_ELEMENT,
	PLACE_LENGTH, /* of the last value in a leaf */
	PLACE_KEY,
	PLACE_REVISION, /* the main revision in a key of etcd's keys */
	PLACE_DIGEST,
	N_PLACES,
};

static const struct {
	const char *name;
	bool always; /* found also without the digest, whichever bit it is */
} places[N_PLACES] = {
    [PLACE_OTHER] = {"other", false},      [PLACE_META] = {"meta", true},
    [PLACE_HEADER] = {"header", true},     [PLACE_ELEMENT] = {"element", true},
    [PLACE_LENGTH] = {"length", false},    [PLACE_KEY] = {"key", false},
    [PLACE_REVISION] = {"revision", true}, [PLACE_DIGEST] = {"digest", false},
};

static uint64_t number(const char *bytes, unsigned width)
{
	uint64_t v = 0;

	for (unsigned i = width; i-- > 0;)
		v = v << 8 | (uint8_t) bytes[i];
	return v;
}

/* Where is what, below this page, in a file that is known to be good. */
static void map_page(const struct image *image, size_t page, bool is_keys, uint8_t *map)
{
	size_t base = page * PAGE;
	const char *p = image->bytes + base;
	bool is_leaf = number(p + 8, 2) == 2;
	size_t count = number(p + 10, 2);

	memset(map + base, PLACE_HEADER, 16);
	for (size_t i = 0; i < count; i++) {
		size_t at = 16 + i * 16;
		const char *e = p + at;
		size_t key = at + number(e + (is_leaf ? 4 : 0), 4);
		size_t key_len = number(e + (is_leaf ? 8 : 4), 4);

		memset(map + base + at, PLACE_ELEMENT, 16);
		if (is_leaf && i + 1 == count)
			memset(map + base + at + 12, PLACE_LENGTH, 4);
		memset(map + base + key, PLACE_KEY, key_len);
		if (is_leaf && is_keys)
			memset(map + base + key, PLACE_REVISION, 8);
		if (!is_leaf)
			map_page(image, number(e + 8, 8), is_keys, map);
		else if (number(e, 4) == 1 && number(p + key + key_len, 8) != 0)
			map_page(image, number(p + key + key_len, 8),
			         key_len == 3 && memcmp(p + key, "key", 3) == 0, map);
	}
}

static void test_wrong_bytes(const struct known *k)
{
	unsigned n[N_PLACES] = {0}, found[N_PLACES] = {0};
	struct image image;
	uint8_t *map;
	int fd;

	load(k->path, &image);
	map = xcalloc(image.len, 1);
	memset(map, PLACE_META, 80);
	memset(map + PAGE, PLACE_META, 80);
	memset(map + image.len - SNAPSHOT_DIGEST_BYTES, PLACE_DIGEST, SNAPSHOT_DIGEST_BYTES);
	map_page(&image, number(image.bytes + 32, 8), false, map);
	fd = boltfile_fd_of(image.bytes, image.len);
	for (size_t i = 0; i < image.len; i++) {
		char byte = (char) (image.bytes[i] ^ (1 << i % 8));

		if (map[i] == PLACE_OTHER && i % 7 != 0)
			continue; /* it is nearly all of the file */
		CHECK_EQ_INT(pwrite(fd, &byte, 1, (off_t) i), 1);
		n[map[i]]++;
		if (content_fault(fd) != NULL)
			found[map[i]]++;
		else if (places[map[i]].always)
			(void) fprintf(stderr, "%s: byte %zu (%s) passed\n", k->path, i, places[map[i]].name);
		CHECK_EQ_INT(digest_result(fd), -EBADMSG);
		CHECK_EQ_INT(pwrite(fd, image.bytes + i, 1, (off_t) i), 1);
	}
	CHECK_EQ_STR(content_fault(fd), NULL);
	for (unsigned i = 0; i < N_PLACES; i++) {
		CHECK(n[i] > 0);
		if (places[i].always)
			CHECK_EQ_INT(found[i], n[i]);
		(void) printf("%s: %-8s %5u of %5u found without the digest\n", k->path, places[i].name,
		              found[i], n[i]);
	}
	(void) close(fd);
	free(map);
	free(image.bytes);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		test_known(&known[i]);
		test_cut_off(&known[i]);
		test_wrong_bytes(&known[i]);
	}
	test_without_digest();
	test_no_file();
	return check_result();
}
