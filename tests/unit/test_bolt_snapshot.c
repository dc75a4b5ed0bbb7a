/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots that etcd 3.4.23 and 3.5.16 made (tests/bolt): everything that is known of them;
 * what is taken for a snapshot and what is not. Damage is in test_bolt_damage.c.
 */
#include "bolt/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bolt/usage.h"
#include "tests/unit/aborts.h"
#include "tests/unit/check.h"
#include "tests/unit/snapfile.h"
#include "tests/unit/hashkvnow.h"

#define PAGE 4096u
/* --- what is known of them --- */

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

/* The same as usage.h, which has counted it by itself. */
static void check_usage(const struct usagetop *top, struct bolt *db)
{
	AUTO(usage_free) struct usage *usage = NULL;
	struct usagetop_part parts[8];
	size_t n = usagetop_largest(top, parts, ARRAY_SIZE(parts));
	uint64_t all = 0;

	CHECK_EQ_INT(usage_new(db, 2, &usage), 0);
	if (!CHECK_EQ_INT(n, usage_count(usage)))
		return;
	for (size_t i = 0; i < n; i++) {
		CHECK(bytes_compare(parts[i].prefix, usage_at(usage, i)->prefix) == 0);
		CHECK_EQ_INT(parts[i].bytes, usage_at(usage, i)->bytes);
		all += parts[i].bytes;
	}
	CHECK_EQ_INT(n, 4);
	CHECK_EQ_INT(usagetop_all(top), all);
}

static void test_known(const struct known *k)
{
	AUTO(snapshot_close) struct snapshot *s = NULL;
	struct snapshot_content content = {0};
	struct bolt_fault fault = {0};
	struct hashkv_result result;
	AUTO(usagetop_free) struct usagetop *usage = usagetop_new(2);

	CHECK_EQ_INT(snapshot_open(k->path, &fault, &s), 0);
	CHECK(snapshot_has_digest(s));
	CHECK_EQ_INT(snapshot_check_digest(s), 0);
	snapshot_count_usage(s, usage);
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
	check_usage(usage, snapshot_db(s));
}

/* --- files --- */

/* A database from a data directory: no digest, longer than what is in use, perhaps one meta page.
 */
static void test_without_digest(void)
{
	struct snapfile image = snapfile_load(known[0].path);
	char junk[PAGE] = {1};
	int fd;

	fd = boltfile_fd_of(image.bytes, image.len - SNAPSHOT_DIGEST_BYTES);
	CHECK_EQ_INT(snapfile_check_digest(fd), -ENODATA);
	CHECK_EQ_STR(snapfile_fault(fd), NULL);
	CHECK_EQ_INT(pwrite(fd, junk, sizeof(junk), 10 * PAGE), sizeof(junk));
	CHECK_EQ_STR(snapfile_fault(fd), NULL);
	CHECK_EQ_INT(pwrite(fd, junk, 32, PAGE + 16), 32);
	CHECK_EQ_STR(snapfile_fault(fd), NULL);
	(void) close(fd);

	/* With one, neither is taken. */
	fd = boltfile_fd_of(image.bytes, image.len);
	CHECK_EQ_INT(pwrite(fd, junk, 32, PAGE + 16), 32);
	CHECK_EQ_STR(snapfile_fault(fd), "page 1: no good meta page: it does not begin as bbolt's do "
	                                 "(magic number)");
	CHECK_EQ_INT(pwrite(fd, image.bytes + PAGE + 16, 32, PAGE + 16), 32);
	CHECK_EQ_STR(snapfile_fault(fd), NULL);
	CHECK_EQ_INT(ftruncate(fd, 11 * PAGE + 32), 0);
	CHECK_EQ_STR(snapfile_fault(fd),
	             "the database has 10 pages of 4096 bytes, but the file 45056 bytes");
	(void) close(fd);
	free(image.bytes);
}

/* --- how far it is --- */

#define PASSES_MAX 8

struct passes {
	struct {
		const char *name;
		uint64_t bytes, of_bytes;
	} items[PASSES_MAX];
	size_t n;
};

static void on_pass(const char *pass, uint64_t bytes, uint64_t of_bytes, void *userdata)
{
	struct passes *p = userdata;

	/* Each begins at 0 and never goes back. */
	if (bytes == 0 && CHECK(p->n < PASSES_MAX)) {
		p->items[p->n].name = pass;
		p->items[p->n++].of_bytes = of_bytes;
		return;
	}
	CHECK_EQ_STR(pass, p->items[p->n - 1].name);
	CHECK_EQ_INT((long long) of_bytes, (long long) p->items[p->n - 1].of_bytes);
	CHECK(bytes >= p->items[p->n - 1].bytes);
	CHECK(of_bytes == 0 || bytes <= of_bytes);
	p->items[p->n - 1].bytes = bytes;
}

static void test_passes(const struct known *k)
{
	AUTO(snapshot_close) struct snapshot *s = NULL;
	struct snapshot_content c;
	struct hashkv_result hashkv;
	struct bolt_fault fault;
	struct passes p = {.n = 0};

	if (!CHECK_EQ_INT(snapshot_open(k->path, &fault, &s), 0))
		return;
	bolt_on_pass(snapshot_db(s), on_pass, &p);
	CHECK_EQ_INT(snapshot_check_digest(s), 0);
	CHECK_EQ_INT(snapshot_check_content(s, 0, &c), 0);
	CHECK_EQ_INT(hashkv_compute(snapshot_db(s), 0, &hashkv), 0);
	if (!CHECK_EQ_INT(p.n, 5))
		return;
	CHECK_EQ_STR(p.items[0].name, "digest");
	CHECK_EQ_STR(p.items[1].name, "keys");
	CHECK_EQ_STR(p.items[2].name, "tree");
	CHECK_EQ_STR(p.items[3].name, "keys");
	CHECK_EQ_STR(p.items[4].name, "hashkv");
	CHECK_EQ_INT((long long) p.items[0].bytes, (long long) c.n_bytes);
	/* Without what is free, and the meta pages. */
	CHECK_EQ_INT((long long) p.items[2].bytes,
	             (long long) ((c.pages.n_pages - c.pages.n_free - 2) * PAGE));
	CHECK(p.items[4].bytes > 0);
	for (size_t i = 0; i < p.n; i++)
		CHECK_EQ_INT((long long) p.items[i].of_bytes,
		             strcmp(p.items[i].name, "keys") == 0 ? 0 : (long long) c.n_bytes);
	/* Nobody waits any more. */
	bolt_on_pass(snapshot_db(s), NULL, NULL);
	CHECK_EQ_INT(snapshot_check_digest(s), 0);
	CHECK_EQ_INT(p.n, 5);
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

static void check_digest(void)
{
	int fd = open(known[0].path, O_RDONLY | O_CLOEXEC);

	(void) snapfile_check_digest(fd);
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		test_known(&known[i]);
		test_passes(&known[i]);
	}
	test_without_digest();
	test_no_file();
	aborts_without_openssl(check_digest, "<3>event=openssl_failed call=EVP_DigestInit_ex ");
	return check_result();
}
