/* SPDX-License-Identifier: Apache-2.0 */
/* The record in a target, from end to end, with a server in memory: what is uploaded, what becomes
 * of it when the segment is closed, what is fetched, what is refused and what is removed. */
#include "etcdwatch/worker/record/recordsend.h"

#include <sys/stat.h>
#include <unistd.h>

#include "etcdwatch/worker/rebuild/recordfetch.h"
#include "etcdwatch/worker/record/recordobjects.h"
#include "tests/unit/catalogcase.h"
#include "tests/unit/recordfile.h"
#include "tests/unit/s3memory.h"

#define FOLDER "a/record/cp-1/"
#define FIRST_NAME "00000000000000c1-00000000000000000101-0000000001"
#define FIRST FIRST_NAME "-begins"
#define THIRD_NAME "00000000000000c1-00000000000000000103-0000000002"
#define SECOND "00000000000000c1-00000000000000000105-0000000002"

static struct s3 *s3;
static char directory[] = "/tmp/test-recordstore-XXXXXX";
static char *records, *room, *scratch;
static unsigned n_reached;
static struct problem problem;

static void (*when_reached)(void);

static void reached_cb(void *userdata UNUSED)
{
	n_reached++;
	if (when_reached != NULL)
		when_reached();
}

/* --- the record here --- */

static struct recordfile first, second;

static void save(const struct recordfile *file, const char *segment)
{
	AUTO(free) char *path = xasprintf("%s/%s.rec", records, segment);

	recordfile_save(file, file->len, path);
}

static void remove_all(const char *path)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		AUTO(free) char *file = xasprintf("%s/%s", path, names[i]->d_name);

		(void) unlink(file);
		free(names[i]);
	}
	free(names);
}

static void begin(void)
{
	s3memory_clear();
	remove_all(records);
	remove_all(room);
	record_writer_free(TAKE_PTR(first.writer));
	record_writer_free(TAKE_PTR(second.writer));
	recordfile_begin(&first, 101, 1, NULL);
	recordfile_put(&first, 101);
	recordfile_put(&first, 102);
	save(&first, FIRST_NAME);
}

/* The header of the second one says when the first one was complete. */
static void close_first(void)
{
	uint8_t digest[DIGEST_SHA256_BYTES];

	recordfile_put(&first, 103);
	recordfile_put(&first, 104);
	recordfile_progress(&first, 104, INT64_C(105) * 1000000);
	recordfile_end(&first, 104, digest);
	save(&first, FIRST_NAME);
	recordfile_begin(&second, 105, 2, digest);
	recordfile_put(&second, 105);
	save(&second, SECOND);
}

/* --- rounds --- */

static struct recordsend_result result;
static const char *node = "cp-1";
static uint64_t known, compared;
static struct age_recipients recipients;
static struct signature_key *signer;

static int round_of(const char *open, uint64_t bytes, int64_t revision)
{
	AUTO(free) char *open_file = open != NULL ? xasprintf("%s.rec", open) : xstrdup("");
	const struct recordsend_request request = {
	    .s3 = s3,
	    .prefix = "a/",
	    .node = node,
	    .directory = records,
	    .scratch = scratch,
	    .open_segment = open_file,
	    .open_bytes = bytes,
	    .revision = revision,
	    .until_us = revision * 1000000,
	    .known_sequence = known,
	    .compared_sequence = compared,
	    .level = 3,
	    .recipients = recipients,
	    .key = signer,
	    .reached = reached_cb,
	};

	n_reached = 0;
	s3memory.n_puts = s3memory.n_lists = 0;
	problem = (struct problem){0};
	result = (struct recordsend_result){0};
	return recordsend_run(&request, &problem, &result);
}

static void succeeds(int r)
{
	if (!CHECK(r == 0))
		(void) fprintf(stderr, "  %s: %s\n", problem.code, problem.reason);
}

static void test_pieces(void)
{
	AUTO(free) char *one = NULL, *two = NULL;
	size_t bytes;

	begin();
	bytes = first.len;
	succeeds(round_of(FIRST_NAME, bytes, 102));
	one = xasprintf(FIRST "/%016d-%016zu.json " FIRST "/%016d-%016zu.zst ", 0, bytes, 0, bytes);
	CHECK_EQ_STR(s3memory_keys(strlen(FOLDER)), one);
	CHECK(n_reached == 1 && result.n_objects == 1 && result.sent_sequence == 0);
	/* Nothing is new. */
	succeeds(round_of(FIRST_NAME, bytes, 102));
	CHECK(n_reached == 1 && result.n_objects == 0 && s3memory.n_puts == 0);
	/* What is not synced is not uploaded. */
	recordfile_put(&first, 103);
	recordfile_put(&first, 104);
	save(&first, FIRST_NAME);
	succeeds(round_of(FIRST_NAME, first.ends[3], 103));
	two = xasprintf("%s" FIRST "/%016zu-%016zu.json " FIRST "/%016zu-%016zu.zst ", one, bytes,
	                first.ends[3], bytes, first.ends[3]);
	CHECK_EQ_STR(s3memory_keys(strlen(FOLDER)), two);
	CHECK(access(scratch, F_OK) < 0);
}

/* The process ends between an object and its manifest, and before the object. */
static void test_cut_off(void)
{
	begin();
	s3memory.puts_left = 0;
	CHECK(round_of(FIRST_NAME, first.len, 102) < 0);
	CHECK_EQ_STR(problem.code, "S3_DENIED");
	CHECK(n_reached == 0 && s3memory.n == 0);
	s3memory.puts_left = 1;
	CHECK(round_of(FIRST_NAME, first.len, 102) < 0);
	CHECK(n_reached == 0 && s3memory.n == 1);
	s3memory.puts_left = UINT_MAX;
	succeeds(round_of(FIRST_NAME, first.len, 102));
	CHECK(n_reached == 1 && s3memory.n == 2);
}

static void test_closed(void)
{
	begin();
	succeeds(round_of(FIRST_NAME, first.len, 102));
	close_first();
	/* First what is new, the end of the closed one before the next one. */
	succeeds(round_of(SECOND, second.len, 105));
	CHECK_EQ_INT(result.n_objects, 2);
	CHECK_EQ_INT(result.sent_sequence, 1);
	CHECK_EQ_INT(result.known_sequence, 0);
	CHECK_EQ_INT(s3memory.n, 6);
	/* Then it becomes one object, and then its pieces go. */
	succeeds(round_of(SECOND, second.len, 105));
	CHECK_EQ_INT(result.n_objects, 1);
	CHECK_EQ_INT(s3memory.n, 8);
	succeeds(round_of(SECOND, second.len, 105));
	CHECK_EQ_INT(s3memory.n, 4);
	CHECK(strstr(s3memory_keys(strlen(FOLDER)), FIRST "/whole.json " FIRST "/whole.zst " SECOND) !=
	      NULL);
	succeeds(round_of(SECOND, second.len, 105));
	CHECK(result.known_sequence == 1 && result.n_objects == 0);
	/* Now the first one is not even listed. */
	known = 1;
	succeeds(round_of(SECOND, second.len, 105));
	known = 0;
	CHECK(result.known_sequence == 1 && result.sent_sequence == 1 && s3memory.n_lists == 1);
}

/* Without any piece it is one object at once; damaged, it stays here. */
static void test_whole(void)
{
	begin();
	close_first();
	succeeds(round_of(SECOND, second.len, 105));
	CHECK_EQ_INT(s3memory.n, 4);
	CHECK(s3memory_find(FOLDER FIRST "/whole.json") != NULL);
	begin();
	close_first();
	first.bytes[first.len / 2] ^= 1;
	save(&first, FIRST_NAME);
	succeeds(round_of(SECOND, second.len, 105));
	CHECK(result.n_passed == 1 && strstr(result.passed, FIRST_NAME) != NULL);
	CHECK(s3memory.n == 2 && result.sent_sequence == 0);
}

/* It is begun after the loop has said that all are closed: it is not damaged, and the next round
 * uploads it. */
static void test_begun_since(void)
{
	begin();
	close_first();
	succeeds(round_of(NULL, 0, 104));
	CHECK_EQ_INT(result.n_passed, 0);
	CHECK_EQ_INT(result.sent_sequence, 1);
	CHECK_EQ_INT(s3memory.n, 2);
	succeeds(round_of(NULL, 0, 104));
	CHECK_EQ_INT(result.known_sequence, 1);
	known = 1;
	succeeds(round_of(SECOND, second.len, 105));
	known = 0;
	CHECK_EQ_INT(s3memory.n, 4);
	/* A damaged one is never taken for uploaded. */
	begin();
	close_first();
	first.bytes[first.len / 2] ^= 1;
	save(&first, FIRST_NAME);
	succeeds(round_of(SECOND, second.len, 105));
	succeeds(round_of(SECOND, second.len, 105));
	CHECK(result.n_passed == 1 && result.known_sequence == 0 && result.sent_sequence == 0);
}

/* Its end is written after it was listed: what was listed is never taken for all of it. */
static void test_closed_since(void)
{
	const char *whole = FOLDER FIRST "/whole.json";

	begin();
	succeeds(round_of(FIRST_NAME, first.len, 102));
	when_reached = close_first;
	succeeds(round_of(NULL, 0, 102));
	when_reached = NULL;
	CHECK(result.n_passed == 0 && s3memory_find(whole) == NULL);
	for (int i = 0; i < 4; i++)
		succeeds(round_of(SECOND, second.len, 105));
	CHECK(result.known_sequence == 1 && s3memory_find(whole) != NULL);
}

static void remove_first(void)
{
	AUTO(free) char *path = xasprintf("%s/" FIRST_NAME ".rec", records);

	CHECK_EQ_INT(unlink(path), 0);
}

/* It was kept as long as it is to be, and goes during a round. */
static void test_removed_since(void)
{
	begin();
	succeeds(round_of(FIRST_NAME, first.len, 102));
	close_first();
	succeeds(round_of(SECOND, second.len, 105));
	when_reached = remove_first;
	succeeds(round_of(SECOND, second.len, 105));
	when_reached = NULL;
	CHECK(result.n_passed == 0 && s3memory_find(FOLDER FIRST "/whole.json") == NULL);
	succeeds(round_of(SECOND, second.len, 105));
	CHECK_EQ_INT(result.n_passed, 0);
}

/* The disk was put back to an earlier time, and another history follows. */
static void test_other_pieces(void)
{
	begin();
	succeeds(round_of(FIRST_NAME, first.len, 102));
	{
		const size_t len = first.len;

		close_first();
		succeeds(round_of(SECOND, second.len, 105));
		record_writer_free(TAKE_PTR(first.writer));
		record_writer_free(TAKE_PTR(second.writer));
		recordfile_begin(&first, 101, 1, NULL);
		recordfile_put(&first, 101);
		recordfile_put(&first, 102);
		recordfile_put(&first, 103);
		recordfile_put(&first, 104);
		recordfile_progress(&first, 104, INT64_C(106) * 1000000);
		CHECK(first.len > len);
	}
	{
		uint8_t digest[DIGEST_SHA256_BYTES];

		recordfile_end(&first, 104, digest);
		save(&first, FIRST_NAME);
	}
	succeeds(round_of(SECOND, second.len, 105));
	CHECK(result.n_passed == 1 && strstr(result.passed, "is not the beginning of") != NULL);
	CHECK_EQ_INT(result.sent_sequence, 0);
	CHECK(s3memory_find(FOLDER FIRST "/whole.json") == NULL);
}

/* --- what others write --- */

/* A manifest with a right signature that says something else of its object. */
static void rewrite(const char *at, void (*change)(struct recordpiece *piece))
{
	struct s3memory_object *o = s3memory_find(at);
	char error[RECORDPIECE_ERROR_MAX];
	struct recordpiece piece;
	struct recordkey parsed;
	AUTO(free) char *text = NULL;

	if (!CHECK(o != NULL && recordkey_parse(at, "a/", &parsed)))
		return;
	CHECK_EQ_INT(recordpiece_parse((const char *) o->data, o->len, &parsed, &piece, error), 0);
	change(&piece);
	text = recordpiece_print(&piece, signer);
	s3memory_put(at, text, strlen(text));
}

static void same(struct recordpiece *piece UNUSED)
{
}

static void other_bytes(struct recordpiece *piece)
{
	piece->sha256[0] = piece->sha256[0] == '0' ? '1' : '0';
}

static void other_bytes_before(struct recordpiece *piece)
{
	piece->through_sha256[0] = piece->through_sha256[0] == '0' ? '1' : '0';
}

static void fewer_bytes(struct recordpiece *piece)
{
	piece->to--;
}

static void as_before_the_end(struct recordpiece *piece)
{
	AUTO(digest_free) struct digest *digest = digest_new(DIGEST_SHA256);

	piece->to = first.ends[1];
	digest_update(digest, first.bytes, piece->to);
	(void) digest_finish_hex(digest, piece->through_sha256);
}

/* What is there then of the first segment, which is closed; one round, and the next ones. */
static void is_healed(const char *what)
{
	struct s3memory_object *o;
	struct recordkey key;
	struct recordpiece piece;
	char error[RECORDPIECE_ERROR_MAX];

	succeeds(round_of(SECOND, second.len, 105));
	if (!CHECK(strstr(result.foreign, what) != NULL))
		(void) fprintf(stderr, "  '%s'\n", result.foreign);
	CHECK(result.known_sequence == 0 && result.n_passed == 0);
	for (int i = 0; i < 3; i++)
		succeeds(round_of(SECOND, second.len, 105));
	CHECK(result.known_sequence == 1 && result.foreign[0] == '\0');
	o = s3memory_find(FOLDER FIRST "/whole.json");
	CHECK(recordkey_parse(FOLDER FIRST "/whole.json", "a/", &key));
	if (CHECK(o != NULL) &&
	    CHECK(recordpiece_parse((const char *) o->data, o->len, &key, &piece, error) == 0))
		CHECK(piece.to == first.len && strcmp(piece.signer, signature_key_public(signer)) == 0);
}

/* Who may write to the bucket makes this node take its record for uploaded. */
static void test_foreign(void)
{
	AUTO(free) char *path = xasprintf("%s/other.key", directory);
	AUTO(signature_key_free) struct signature_key *other = NULL;
	struct signature_key *own = signer;
	const char *whole = FOLDER FIRST "/whole.json";

	CHECK_EQ_INT(signature_key_load_or_make(path, &other), 0);
	(void) unlink(path);
	/* A closed segment: a manifest of any content, beside its pieces, which stay. */
	begin();
	succeeds(round_of(FIRST_NAME, first.len, 102));
	close_first();
	s3memory_put(whole, "{}", 2);
	succeeds(round_of(SECOND, second.len, 105));
	CHECK(strstr(result.foreign, "whole.json' is of a format") != NULL);
	CHECK_EQ_INT(s3memory.n, 2 + 1 + 2 + 2);
	is_healed("whole.json' is of a format");
	/* Signed by another key, and not signed. */
	for (int i = 0; i < 2; i++) {
		signer = i == 0 ? other : NULL;
		rewrite(whole, same);
		signer = own;
		is_healed("is not signed with this node's key");
	}
	/* It is ours, and is not all of the segment. */
	rewrite(whole, as_before_the_end);
	is_healed("lacks its end");
	/* Ours, but of other bytes: it stays, and so does what is here. */
	rewrite(whole, other_bytes_before);
	succeeds(round_of(SECOND, second.len, 105));
	CHECK(result.n_passed == 1 && result.known_sequence == 0);
	CHECK(strstr(result.passed, "is not the beginning of") != NULL);
	/* It was compared before: its manifest is enough. */
	compared = 1;
	succeeds(round_of(SECOND, second.len, 105));
	compared = 0;
	CHECK(result.n_passed == 0 && result.known_sequence == 1);
	rewrite(whole, fewer_bytes);
	compared = 1;
	succeeds(round_of(SECOND, second.len, 105));
	compared = 0;
	CHECK_EQ_INT(result.n_passed, 1);
}

/* The same with pieces of an open one. */
static void test_foreign_pieces(void)
{
	AUTO(free) char *one = NULL, *two = NULL;
	struct signature_key *own = signer;

	begin();
	recordfile_put(&first, 103);
	save(&first, FIRST_NAME);
	one = xasprintf(FOLDER FIRST "/%016d-%016zu.json", 0, first.ends[1]);
	two = xasprintf(FOLDER FIRST "/%016zu-%016zu.json", first.ends[1], first.len);
	succeeds(round_of(FIRST_NAME, first.ends[1], 102));
	succeeds(round_of(FIRST_NAME, first.len, 103));
	CHECK_EQ_INT(result.n_objects, 1);
	CHECK_EQ_STR(result.foreign, "");
	for (int i = 0; i < 2; i++) {
		signer = NULL;
		rewrite(i == 0 ? two : one, same);
		signer = own;
		succeeds(round_of(FIRST_NAME, first.len, 103));
		CHECK(result.n_objects == 1 && strstr(result.foreign, "it has no signature") != NULL);
		succeeds(round_of(FIRST_NAME, first.len, 103));
		CHECK(result.n_objects == 0);
	}
	/* One that reaches further than anything here. */
	begin();
	s3memory_put(FOLDER FIRST "/0000000000000000-0000000009999999.json", "{}", 2);
	succeeds(round_of(FIRST_NAME, first.len, 102));
	CHECK(result.n_objects == 1 && result.foreign[0] != '\0');
}

/* --- fetching --- */

static void put_entry(int64_t revision)
{
	char error[CATALOG_ERROR_MAX];
	struct catalog_entry *entry = NULL;
	AUTO(free) char *text = NULL, *key = NULL;

	CHECK_EQ_INT(catalog_parse(sample, strlen(sample), &entry, error), 0);
	free(entry->id);
	free(entry->file);
	entry->id = xasprintf("20261121T203000Z-hourly-cp-1-r%lld", (long long) revision);
	entry->file = catalog_file_name(entry);
	entry->cluster_id = 0xc1;
	entry->revision = revision;
	entry->compact_revision = -1;
	entry->started_s = entry->finished_s = revision;
	if (signer != NULL)
		trust_sign(entry, signer);
	text = catalog_print(entry);
	key = xasprintf("a/00000000000000c1/%s.json", entry->id);
	s3memory_put(key, text, strlen(text));
	catalog_entry_free(entry);
}

static struct recordfetched fetched;
static struct trust trust = {.is_configured = false};
static const char *snapshot = "latest";

static int fetch(enum rebuild_to to, int64_t at, bool encrypted, const char *identity)
{
	const struct rebuild_request request = {
	    .base = {.name = snapshot,
	             .trust = trust,
	             .s3 = s3,
	             .s3_prefix = "a/",
	             .encrypted = encrypted,
	             .identities = &identity,
	             .n_identities = identity != NULL},
	    .to = to,
	    .revision = at,
	    .us = at * 1000000,
	};

	remove_all(room);
	problem = (struct problem){0};
	fetched = (struct recordfetched){0};
	return recordfetch_run(&request, room, &problem, &fetched);
}

static void is_same(const struct recordfile *file, const char *segment)
{
	AUTO(free) char *path = xasprintf("%s/%s.rec", room, segment);
	AUTO(free) char *text = NULL;
	size_t len = 0;

	if (CHECK(file_read(path, RECORDFILE_MAX, &text, &len) == 0))
		CHECK(len == file->len && memcmp(text, file->bytes, len) == 0);
}

static void is_not_there(const char *segment)
{
	AUTO(free) char *path = xasprintf("%s/%s.rec", room, segment);

	CHECK(access(path, F_OK) < 0);
}

/* Of an open segment in two pieces, and a closed one. */
static void upload_both(void)
{
	begin();
	close_first();
	succeeds(round_of(SECOND, second.ends[0], 104));
	succeeds(round_of(SECOND, second.len, 105));
}

static void test_fetch(void)
{
	upload_both();
	put_entry(100);
	succeeds(fetch(REBUILD_TO_END, 0, false, NULL));
	is_same(&first, FIRST_NAME);
	is_same(&second, SECOND);
	CHECK_EQ_STR(fetched.node, "cp-1");
	CHECK_EQ_INT(fetched.n_segments, 2);
	succeeds(fetch(REBUILD_TO_TIME, 103, false, NULL));
	is_same(&first, FIRST_NAME);
	succeeds(fetch(REBUILD_TO_REVISION, 105, false, NULL));
	is_same(&second, SECOND);
	/* What is not in it. */
	CHECK(fetch(REBUILD_TO_REVISION, 106, false, NULL) < 0);
	CHECK_EQ_STR(problem.code, "UNREACHABLE");
	CHECK(strstr(problem.reason, "revisions 101 to 105 of 'cp-1'") != NULL);
	CHECK(fetch(REBUILD_TO_TIME, 99, false, NULL) < 0);
	CHECK_EQ_STR(problem.code, "UNREACHABLE");
	/* A snapshot of that revision needs no record. */
	succeeds(fetch(REBUILD_TO_REVISION, 100, false, NULL));
	CHECK_EQ_STR(fetched.node, "");
	/* From a later one on, the first segment is not needed, and not even looked at. */
	put_entry(105);
	s3memory_remove(FOLDER FIRST "/whole.json");
	succeeds(fetch(REBUILD_TO_END, 0, false, NULL));
	is_not_there(FIRST_NAME);
	is_same(&second, SECOND);
}

static void until_the_end(struct recordpiece *piece)
{
	piece->until_us = INT64_C(105) * 1000000;
}

static void until_later(struct recordpiece *piece)
{
	piece->until_us = INT64_C(107) * 1000000;
}

/* A closed segment in pieces joins the next one, but not without its end. */
static void test_fetch_pieces(void)
{
	AUTO(free) char *next = NULL, *most = NULL, *end = NULL;

	begin();
	succeeds(round_of(FIRST_NAME, first.len, 102));
	close_first();
	recordfile_progress(&second, 105, INT64_C(107) * 1000000);
	save(&second, SECOND);
	succeeds(round_of(SECOND, second.len, 105));
	next = xasprintf(FOLDER SECOND "/%016d-%016zu.json", 0, second.len);
	rewrite(next, until_later);
	CHECK(s3memory_find(FOLDER FIRST "/whole.json") == NULL);
	put_entry(100);
	succeeds(fetch(REBUILD_TO_REVISION, 105, false, NULL));
	succeeds(fetch(REBUILD_TO_TIME, 106, false, NULL));
	is_same(&first, FIRST_NAME);
	is_same(&second, SECOND);
	/* All but END, which may have the same time as what is before it. */
	begin();
	close_first();
	succeeds(round_of(FIRST_NAME, first.ends[5], 104));
	most = xasprintf(FOLDER FIRST "/%016d-%016zu.json", 0, first.ends[5]);
	rewrite(most, until_the_end);
	end = xasprintf(FOLDER FIRST "/%016zu-%016zu.json", first.ends[5], first.len);
	succeeds(round_of(SECOND, second.len, 105));
	s3memory_remove(end);
	put_entry(100);
	CHECK(fetch(REBUILD_TO_REVISION, 105, false, NULL) < 0);
	CHECK_EQ_STR(problem.code, "UNREACHABLE");
	succeeds(fetch(REBUILD_TO_REVISION, 104, false, NULL));
}

/* etcd went back, and both histories have a revision: all of both is fetched, for the rebuild asks
 * which one is meant. */
static void test_fetch_histories(void)
{
	begin();
	close_first();
	record_writer_free(TAKE_PTR(second.writer));
	recordfile_begin(&second, 103, 2, NULL);
	recordfile_put(&second, 103);
	recordfile_put(&second, 104);
	remove_all(records);
	save(&first, FIRST_NAME);
	save(&second, THIRD_NAME);
	succeeds(round_of(THIRD_NAME, second.len, 104));
	put_entry(100);
	put_entry(102);
	succeeds(fetch(REBUILD_TO_REVISION, 104, false, NULL));
	is_same(&first, FIRST_NAME);
	is_same(&second, THIRD_NAME);
	/* Also where a snapshot has just that revision. */
	put_entry(103);
	succeeds(fetch(REBUILD_TO_REVISION, 103, false, NULL));
	is_same(&first, FIRST_NAME);
	is_same(&second, THIRD_NAME);
}

static void damage(const char *key, size_t at)
{
	struct s3memory_object *o = s3memory_find(key);

	if (CHECK(o != NULL))
		o->data[MIN(at, o->len - 1)] ^= 1;
}

static void test_fetch_damaged(void)
{
	AUTO(free) char *last = NULL;

	upload_both();
	put_entry(100);
	last = xasprintf("a/record/cp-1/" SECOND "/%016zu-%016zu", second.ends[0], second.len);
	/* An object; with its manifest made to fit; a manifest; each is missing. */
	{
		AUTO(free) char *key = xasprintf("%s.zst", last);

		damage(key, 20);
		CHECK(fetch(REBUILD_TO_END, 0, false, NULL) < 0);
		CHECK_EQ_STR(problem.code, "MISMATCH");
		damage(key, 20);
	}
	{
		AUTO(free)
		char *key = xasprintf("a/record/cp-1/" SECOND "/%016d-%016zu.zst", 0, second.ends[0]);

		s3memory_remove(key);
		CHECK(fetch(REBUILD_TO_END, 0, false, NULL) < 0);
		CHECK_EQ_STR(problem.code, "S3_NOT_FOUND");
	}
	/* Another node has it. */
	node = "cp-2";
	succeeds(round_of(SECOND, second.len, 105));
	node = "cp-1";
	succeeds(fetch(REBUILD_TO_END, 0, false, NULL));
	is_same(&first, FIRST_NAME);
	is_same(&second, SECOND);
	CHECK_EQ_STR(fetched.node, "cp-2");
	/* That one is better anyway, as the other's last piece counts for nothing without its first. */
	damage("a/record/cp-2/" FIRST "/whole.zst", 30);
	CHECK(fetch(REBUILD_TO_END, 0, false, NULL) < 0);
	CHECK_EQ_STR(problem.code, "MISMATCH");
}

static void test_fetch_rewritten(void)
{
	static void (*const changes[])(struct recordpiece *) = {other_bytes, other_bytes_before,
	                                                        fewer_bytes};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		upload_both();
		put_entry(100);
		rewrite(FOLDER FIRST "/whole.json", changes[i]);
		CHECK(fetch(REBUILD_TO_END, 0, false, NULL) < 0);
		if (!CHECK(strcmp(problem.code, "MISMATCH") == 0))
			(void) fprintf(stderr, "  %zu: %s\n", i, problem.code);
	}
}

/* One node's is damaged in its middle, the other one's is whole. */
static void test_fetch_other(void)
{
	upload_both();
	put_entry(100);
	node = "cp-2";
	succeeds(round_of(SECOND, second.len, 105));
	node = "cp-1";
	damage("a/record/cp-2/" FIRST "/whole.zst", 30);
	succeeds(fetch(REBUILD_TO_END, 0, false, NULL));
	CHECK_EQ_STR(fetched.node, "cp-1");
	CHECK(strstr(fetched.passed, "cp-2") != NULL);
	is_same(&first, FIRST_NAME);
}

static void test_encrypted(void)
{
	AUTO(free) char *identity = xasprintf("%s/identity", directory);
	AUTO(free) char *command = xasprintf("age-keygen -o %s 2>/dev/null", identity);
	AUTO(free) char *print = xasprintf("age-keygen -y %s", identity);
	char recipient[AGE_KEY_MAX] = "";
	const char *name = recipient;
	FILE *pipe;

	CHECK_EQ_INT(system(command), 0);
	pipe = popen(print, "r");
	if (!CHECK(pipe != NULL && fgets(recipient, sizeof(recipient), pipe) != NULL))
		return;
	(void) pclose(pipe);
	recipient[strcspn(recipient, "\n")] = '\0';
	/* Plain pieces of a stranger, where snapshots are encrypted. */
	upload_both();
	put_entry(100);
	CHECK(fetch(REBUILD_TO_END, 0, true, identity) < 0);
	CHECK_EQ_STR(problem.code, "PLAIN");
	recipients = (struct age_recipients){.names = &name, .n_names = 1};
	upload_both();
	recipients = (struct age_recipients){0};
	put_entry(100);
	CHECK(strstr(s3memory_keys(0), "whole.zst.age ") != NULL);
	succeeds(fetch(REBUILD_TO_END, 0, true, identity));
	is_same(&first, FIRST_NAME);
	is_same(&second, SECOND);
	(void) unlink(identity);
}

static void test_signed(void)
{
	AUTO(free) char *path = xasprintf("%s/other.key", directory);
	AUTO(free) char *piece = NULL;
	AUTO(signature_key_free) struct signature_key *other = NULL;
	struct signature_key *own = signer;
	const char *keys[1] = {signature_key_public(own)};

	CHECK_EQ_INT(signature_key_load_or_make(path, &other), 0);
	(void) unlink(path);
	upload_both();
	put_entry(100);
	trust = (struct trust){.keys = keys, .n = 1, .is_configured = true};
	succeeds(fetch(REBUILD_TO_END, 0, false, NULL));
	is_same(&first, FIRST_NAME);
	CHECK_EQ_INT(fetched.joined.n_signers, 1);
	CHECK_EQ_STR(fetched.joined.signers[0], signature_key_public(own));
	/* A stranger's pieces, behind a snapshot that is ours. */
	signer = other;
	upload_both();
	signer = own;
	put_entry(100);
	CHECK(fetch(REBUILD_TO_END, 0, false, NULL) < 0);
	CHECK_EQ_STR(problem.code, "UNREACHABLE");
	CHECK(strstr(problem.reason, "is signed by a key that is not trusted") != NULL);
	/* The first piece of two is a stranger's. */
	upload_both();
	piece = xasprintf(FOLDER SECOND "/%016d-%016zu.json", 0, second.ends[0]);
	signer = other;
	rewrite(piece, same);
	signer = own;
	put_entry(100);
	CHECK(fetch(REBUILD_TO_END, 0, false, NULL) < 0);
	CHECK_EQ_STR(problem.code, "UNTRUSTED");
	/* Without any signature: never, also behind a snapshot that is named. */
	signer = NULL;
	upload_both();
	signer = own;
	put_entry(100);
	for (size_t i = 0; i < 4; i++) {
		trust.is_configured = i % 2 == 0;
		snapshot = i < 2 ? "latest" : "20261121T203000Z-hourly-cp-1-r100";
		CHECK(fetch(REBUILD_TO_END, 0, false, NULL) < 0);
		CHECK(strstr(problem.reason, "is not signed") != NULL);
		is_not_there(FIRST_NAME);
	}
	snapshot = "latest";
	trust = (struct trust){.is_configured = false};
}

/* A manifest of the first segment under another name, as one who may write to the bucket makes it;
 * NULL: it is none at all. */
static void forge(uint64_t from, uint64_t to, const struct signature_key *by)
{
	struct recordpiece piece = {.node = "cp-1", .segment = FIRST, .from = from, .to = to};
	AUTO(free) char *at = NULL, *text = NULL;

	memset(piece.sha256, 'a', DIGEST_HEX_MAX - 1);
	memset(piece.through_sha256, 'a', DIGEST_HEX_MAX - 1);
	memset(piece.file_sha256, 'a', DIGEST_HEX_MAX - 1);
	piece.is_whole = to == 0;
	piece.to = to > 0 ? to : 1;
	piece.file_bytes = 1;
	piece.last_revision = 900;
	piece.until_us = INT64_C(900) * 1000000;
	recordpiece_set_file(&piece, ".zst");
	at = recordpiece_manifest_key("a/", &piece);
	text = by != NULL ? recordpiece_print(&piece, by) : xstrdup("{}");
	s3memory_put(at, text, strlen(text));
}

/* Names that reach further than this node's pieces, or over several of them, hide none of them. */
static void test_forged(void)
{
	AUTO(free) char *path = xasprintf("%s/other.key", directory);
	AUTO(signature_key_free) struct signature_key *other = NULL;
	const char *keys[1] = {signature_key_public(signer)};

	CHECK_EQ_INT(signature_key_load_or_make(path, &other), 0);
	(void) unlink(path);
	trust = (struct trust){.keys = keys, .n = 1, .is_configured = true};
	for (int i = 0; i < 2; i++) {
		const struct signature_key *by = i == 0 ? NULL : other;

		begin();
		succeeds(round_of(FIRST_NAME, first.ends[1], 101));
		succeeds(round_of(FIRST_NAME, first.ends[2], 102));
		recordfile_put(&first, 103);
		save(&first, FIRST_NAME);
		succeeds(round_of(FIRST_NAME, first.len, 103));
		put_entry(100);
		forge(0, 9999999, by);
		forge(first.ends[2], 9999999, by);
		forge(first.len, 9999999, by);
		succeeds(fetch(REBUILD_TO_REVISION, 103, false, NULL));
		is_same(&first, FIRST_NAME);
		/* Before the last one, which is ours. */
		forge(0, first.ends[2], by);
		succeeds(fetch(REBUILD_TO_REVISION, 103, false, NULL));
		is_same(&first, FIRST_NAME);
		forge(0, 0, by);
		succeeds(fetch(REBUILD_TO_REVISION, 103, false, NULL));
		is_same(&first, FIRST_NAME);
	}
	for (uint64_t i = 0; i < RECORDSTORED_REFUSED_MAX; i++)
		forge(0, 9999999 - i, NULL);
	CHECK(fetch(REBUILD_TO_REVISION, 103, false, NULL) < 0);
	CHECK(strstr(problem.reason, "more than 100 manifests of '" FIRST "'") != NULL);
	trust = (struct trust){.is_configured = false};
}

/* --- removing --- */

static void less(struct recordpiece *piece)
{
	piece->last_revision = 0;
}

static void test_prune(void)
{
	struct signature_key *own = signer;
	struct recordprune_rules rules = {
	    .cluster_id = 0xc1, .oldest_revision = 103, .now_us = INT64_C(106) * 1000000};
	struct recordprune_result pruned;

	upload_both();
	node = "cp-2";
	succeeds(round_of(SECOND, second.len, 105));
	node = "cp-1";
	put_entry(103);
	CHECK_EQ_INT(s3memory.n, 6 + 4 + 1);
	succeeds(recordprune_run(s3, "a/", &rules, &problem, &pruned));
	CHECK(pruned.n_removed == 0 && s3memory.n == 11);
	/* Its manifest says that it has less than it has. */
	signer = NULL;
	rewrite(FOLDER FIRST "/whole.json", less);
	signer = own;
	succeeds(recordprune_run(s3, "a/", &rules, &problem, &pruned));
	CHECK(pruned.n_removed == 0 && strstr(pruned.untrusted, FIRST) != NULL);
	succeeds(round_of(SECOND, second.len, 105));
	rules.oldest_revision = 104;
	succeeds(recordprune_run(s3, "a/", &rules, &problem, &pruned));
	CHECK(pruned.n_removed == 4 && s3memory.n == 7);
	CHECK(strstr(s3memory_keys(0), FIRST) == NULL);
	/* What a dead node left open goes later. */
	rules.oldest_revision = 105;
	succeeds(recordprune_run(s3, "a/", &rules, &problem, &pruned));
	CHECK_EQ_INT(pruned.n_removed, 0);
	rules.now_us += RECORDPRUNE_OPEN_US;
	succeeds(recordprune_run(s3, "a/", &rules, &problem, &pruned));
	CHECK(pruned.n_removed == 6 && s3memory.n == 1);
}

int main(void)
{
	CHECK(mkdtemp(directory) != NULL);
	records = xasprintf("%s/record", directory);
	room = xasprintf("%s/room", directory);
	scratch = xasprintf("%s/scratch", directory);
	CHECK(mkdir(records, 0700) == 0 && mkdir(room, 0700) == 0);
	s3 = s3memory_start();
	{
		AUTO(free) char *path = xasprintf("%s/key", directory);

		CHECK_EQ_INT(signature_key_load_or_make(path, &signer), 0);
		(void) unlink(path);
	}
	test_pieces();
	test_cut_off();
	test_closed();
	test_whole();
	test_begun_since();
	test_closed_since();
	test_removed_since();
	test_other_pieces();
	test_foreign();
	test_foreign_pieces();
	test_fetch();
	test_fetch_pieces();
	test_fetch_histories();
	test_fetch_damaged();
	test_fetch_rewritten();
	test_fetch_other();
	test_encrypted();
	test_signed();
	test_forged();
	test_prune();
	begin();
	record_writer_free(first.writer);
	s3memory_clear();
	s3_free(s3);
	signature_key_free(signer);
	remove_all(records);
	(void) rmdir(records);
	(void) rmdir(room);
	(void) rmdir(directory);
	free(records);
	free(room);
	free(scratch);
	return check_result();
}
