/* SPDX-License-Identifier: Apache-2.0 */
/* Revisions, values, and the entries they make up: what is read, and what is refused. */
#include "bolt/mvcc.h"

#include <errno.h>

#include "bolt/dbinfo.h"
#include "tests/unit/boltkv.h"
#include "tests/unit/check.h"

#define BYTES(text) ((struct bytes){(const uint8_t *) (text), sizeof(text) - 1})

static void test_revisions(void)
{
	static const struct {
		struct bytes key;
		const char *says;
		int64_t main, sub;
		bool is_tombstone;
	} cases[] = {
	    {BYTES("\0\0\0\0\0\0\0\2_\0\0\0\0\0\0\0\0"), NULL, 2, 0, false},
	    {BYTES("\0\0\0\0\0\1\0\2_\0\0\0\0\0\0\1\3t"), NULL, 65538, 259, true},
	    {BYTES("\x7f\xff\xff\xff\xff\xff\xff\xff_\x7f\xff\xff\xff\xff\xff\xff\xff"), NULL,
	     INT64_MAX, INT64_MAX, false},
	    {BYTES("\x80\0\0\0\0\0\0\0_\0\0\0\0\0\0\0\0"), "it is out of range", 0, 0, false},
	    {BYTES("\0\0\0\0\0\0\0\1_\x80\0\0\0\0\0\0\0"), "it is out of range", 0, 0, false},
	    {BYTES("\0\0\0\0\0\0\0\0_\0\0\0\0\0\0\0\0"), "it is out of range", 0, 0, false},
	    {BYTES("\0\0\0\0\0\0\0\2-\0\0\0\0\0\0\0\0"),
	     "there is no '_' between main and sub revision", 0, 0, false},
	    {BYTES("\0\0\0\0\0\0\0\2_\0\0\0\0\0\0\0\0x"), "its mark is not that of a deletion", 0, 0,
	     false},
	    {BYTES("\0\0\0\0\0\0\0\2_\0\0\0\0\0\0\0"), "its length is not that of a revision", 0, 0,
	     false},
	    {BYTES("\0\0\0\0\0\0\0\2_\0\0\0\0\0\0\0\0tt"), "its length is not that of a revision", 0, 0,
	     false},
	    {BYTES(""), "its length is not that of a revision", 0, 0, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mvcc_rev rev = {0};
		bool is_tombstone = false;
		uint8_t buf[MVCC_REV_BYTES];

		CHECK_EQ_STR(mvcc_parse_rev(cases[i].key, &rev, &is_tombstone), cases[i].says);
		CHECK_EQ_INT(rev.main, cases[i].main);
		CHECK_EQ_INT(rev.sub, cases[i].sub);
		CHECK_EQ_INT(is_tombstone, cases[i].is_tombstone);
		if (cases[i].says == NULL)
			CHECK(memcmp(mvcc_format_rev(rev, buf).data, cases[i].key.data, sizeof(buf)) == 0);
	}
}

static void test_values(void)
{
#define NO_MESSAGE "the value is no protobuf message"
#define WRONG_TYPE "a field of the value is of the wrong type"
	static const struct {
		struct bytes value;
		const char *says;
		const char *key, *text;
		int64_t created, modified, version, lease;
	} cases[] = {
	    {BYTES("\x0a\1k\x10\2\x18\3\x20\1\x2a\2vw\x30\7"), NULL, "k", "vw", 2, 3, 1, 7},
	    {BYTES(""), NULL, "", "", 0, 0, 0, 0},
	    {BYTES("\x0a\1k"), NULL, "k", "", 0, 0, 0, 0},
	    /* 300, and the largest there is */
	    {BYTES("\x10\xac\2\x18\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), NULL, "", "", 300, INT64_MAX,
	     0, 0},
	    /* a negative lease takes ten bytes */
	    {BYTES("\x30\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), NULL, "", "", 0, 0, 0, -1},
	    /* fields that are not known, of each type */
	    {BYTES("\x38\1\x0a\1k\x42\2xx\x49"
	           "12345678\x55"
	           "1234"),
	     NULL, "k", "", 0, 0, 0, 0},
	    /* the last of several counts */
	    {BYTES("\x0a\1k\x0a\1l"), NULL, "l", "", 0, 0, 0, 0},
	    {BYTES("\x0a"), NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\x0a\2k"), NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\1k"), NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\x10"), NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\x10\x80"), NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\2"), NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\0"), NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\0\0"), NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\x0b"), NO_MESSAGE, "", "", 0, 0, 0, 0}, /* a group */
	    {BYTES("\x0f"), NO_MESSAGE, "", "", 0, 0, 0, 0}, /* no such type */
	    {BYTES("\x49"
	           "1234567"),
	     NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\x55"
	           "123"),
	     NO_MESSAGE, "", "", 0, 0, 0, 0},
	    {BYTES("\x80\x80\x80\x80\x10\1"), NO_MESSAGE, "", "", 0, 0, 0, 0}, /* number 2^29 */
	    {BYTES("\x08\1"), WRONG_TYPE, "", "", 0, 0, 0, 0},
	    {BYTES("\x12\1x"), WRONG_TYPE, "", "", 0, 0, 0, 0},
	    {BYTES("\x2d"
	           "1234"),
	     WRONG_TYPE, "", "", 0, 0, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mvcc_kv kv = {0};
		/* A copy with nothing behind it, for the sanitizers to see. */
		AUTO(free) uint8_t *copy = xmemdup(cases[i].value.data, cases[i].value.len);
		struct bytes value = {copy, cases[i].value.len};

		CHECK_EQ_STR(mvcc_parse_kv(value, &kv), cases[i].says);
		CHECK(bytes_equal_text(kv.key, cases[i].key));
		CHECK(bytes_equal_text(kv.value, cases[i].text));
		CHECK_EQ_INT(kv.create_revision, cases[i].created);
		CHECK_EQ_INT(kv.mod_revision, cases[i].modified);
		CHECK_EQ_INT(kv.version, cases[i].version);
		CHECK_EQ_INT(kv.lease, cases[i].lease);
	}
}

/* Opens a file of entries; the caller closes. */
struct opened {
	struct boltfile f;
	struct bolt_fault fault;
	struct bolt *db;
	int fd;
};

static void open_file(struct opened *o, struct boltfile f)
{
	*o = (struct opened){.f = f, .fd = boltfile_fd(&f)};
	CHECK_EQ_INT(bolt_open(o->fd, f.n_pages * f.page_bytes, &o->fault, &o->db), 0);
}

static void close_file(struct opened *o)
{
	bolt_close(o->db);
	(void) close(o->fd);
	boltfile_free(&o->f);
}

static void test_entries(void)
{
	struct boltkv no_key = boltkv_put(9, 0, "", 9, 1, "v"), bad = boltkv_put(9, 0, "k", 9, 1, "v");
	struct {
		struct boltkv kv;
		const char *says;
	} cases[] = {
	    {boltkv_put(9, 1, "k", 5, 2, "v"), NULL},
	    {boltkv_delete(9, 1, "k"), NULL},
	    {boltkv_bump(9), NULL},
	    {no_key, "page 2: revision 9_0: the value has no key"},
	    {boltkv_put(9, 0, "k", 10, 2, "v"),
	     "page 2: revision 9_0: the value was created after it was changed"},
	    {boltkv_put(9, 0, "k", 0, 2, "v"),
	     "page 2: revision 9_0: the value was created after it was changed"},
	    {boltkv_put(9, 0, "k", 5, 0, "v"),
	     "page 2: revision 9_0: the value was created after it was changed"},
	    {bad, "page 2: revision 9_0: the value is of another revision"},
	    {bad, "page 2: revision 9_0: the value is no protobuf message"},
	    {bad, "page 2: a key of bucket 'key' is no revision: there is no '_' between main and sub "
	          "revision"},
	};

	cases[7].kv.value[6] = 8; /* mod_revision, behind key and create_revision */
	cases[8].kv.value[1] = 100;
	cases[9].kv.key[8] = 'x';
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct opened o;
		struct cursor *c = NULL;
		struct cursor_entry raw;
		struct mvcc_entry entry;
		int r;

		open_file(&o, boltkv_file(&cases[i].kv, 1, -1, -1, 9));
		CHECK_EQ_INT(cursor_open_named(o.db, MVCC_BUCKET, &c), 0);
		CHECK_EQ_INT(cursor_next(c, &raw), 1);
		r = mvcc_read(o.db, &raw, &entry);
		CHECK_EQ_INT(r, cases[i].says != NULL ? -EBADMSG : 0);
		if (r < 0)
			CHECK_EQ_STR(o.fault.what, cases[i].says);
		else
			CHECK_EQ_INT(entry.is_tombstone, cases[i].kv.is_tombstone);
		cursor_free(c);
		close_file(&o);
	}
}

static void test_reach(void)
{
	static const struct {
		size_t n; /* entries, at revisions 2, 3, ... */
		int64_t finished, scheduled;
		int64_t last, current, compacted;
	} cases[] = {
	    {0, -1, -1, 0, 1, -1}, {3, -1, -1, 4, 4, -1}, {3, 2, 2, 4, 4, 2},     {3, 2, 4, 4, 4, 4},
	    {3, -1, 3, 4, 4, 3},   {3, 9, 9, 4, 9, 9},    {0, 12, 15, 0, 15, 15},
	};
	struct boltkv kvs[3];

	for (int i = 0; i < 3; i++)
		kvs[i] = boltkv_put(2 + i, 0, "k", 2, 1 + i, "v");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct mvcc_reach reach = {0};
		int64_t revision = 0;
		struct opened o;

		open_file(&o, boltkv_file(kvs, cases[i].n, cases[i].finished, cases[i].scheduled, 2));
		CHECK_EQ_INT(mvcc_read_reach(o.db, &reach), 0);
		CHECK_EQ_INT(reach.last, cases[i].last);
		CHECK_EQ_INT(reach.current, cases[i].current);
		CHECK_EQ_INT(reach.compacted, cases[i].compacted);
		CHECK_EQ_INT(reach.finished, cases[i].finished);
		CHECK_EQ_INT(reach.scheduled, cases[i].scheduled);
		CHECK_EQ_INT(mvcc_choose_revision(o.db, &reach, 0, &revision), 0);
		CHECK_EQ_INT(revision, reach.current);
		CHECK_EQ_INT(mvcc_choose_revision(o.db, &reach, reach.current, &revision), 0);
		CHECK_EQ_INT(mvcc_choose_revision(o.db, &reach, reach.current + 1, &revision), -ERANGE);
		CHECK_EQ_INT(mvcc_choose_revision(o.db, &reach, reach.compacted, &revision),
		             reach.compacted > 0 ? 0 : -ERANGE);
		CHECK_EQ_INT(mvcc_choose_revision(o.db, &reach, reach.compacted - 1, &revision), -ERANGE);
		close_file(&o);
	}
}

/* A bbolt file of something else. */
static void test_no_etcd(void)
{
	struct boltfile f = boltfile_new(4096);
	struct mvcc_reach reach;
	struct opened o;

	boltfile_seal(&f, boltfile_leaf(&f, NULL, 0), BOLT_NO_FREELIST);
	open_file(&o, f);
	CHECK_EQ_INT(mvcc_read_reach(o.db, &reach), -EBADMSG);
	CHECK_EQ_STR(o.fault.what, "no database of etcd 3: it lacks the bucket 'key'");
	close_file(&o);
}

#define URLS_4 "\"\",\"\",\"\",\"\""
#define URLS_16 URLS_4 "," URLS_4 "," URLS_4 "," URLS_4
#define URLS_64 URLS_16 "," URLS_16 "," URLS_16 "," URLS_16
#define URLS_256 URLS_64 "," URLS_64 "," URLS_64 "," URLS_64

/* What the small buckets may not hold. */
static void test_info(void)
{
	static const struct {
		const char *bucket, *key, *value;
		const char *says; /* NULL: that is fine */
	} cases[] = {
	    {"members", "8e9e05c52164694d", "{\"name\": \"n1\", \"peerURLs\": [\"http://a:1\"]}", NULL},
	    {"members", "8e9e05c52164694d", "{\"id\": 18446744073709551615}", NULL},
	    {"members", "8e9e05c52164694d", "{\"peerURLs\": 7, \"clientURLs\": [7], \"name\": 7}",
	     NULL},
	    {"members", "8e9e05c52164694d", "[]", "page 2: a member is not described in JSON"},
	    {"members", "8e9e05c52164694d", "{", "page 2: a member is not described in JSON"},
	    {"members", "8e9e05c52164694d", "{\"clientURLs\": [" URLS_256 "]}", NULL},
	    {"members", "8e9e05c52164694d", "{\"clientURLs\": [\"\", " URLS_256 "]}",
	     "page 2: a member with more URLs than there can be"},
	    {"members", "8e9e05c52164694dd", "{}", "page 2: the key of a member is no id"},
	    {"members", "8e9x", "{}", "page 2: the key of a member is no id"},
	    {"alarm", "\x08\x05\x10\x01", "", NULL},
	    {"alarm", "\x08", "", "page 2: an alarm is no protobuf message"},
	    {"meta", "consistent_index", "12345678", NULL},
	    {"meta", "consistent_index", "1234567", "consistent_index has 7 bytes"},
	    {"meta", "consistent_index", "123456789",
	     "page 2: the value of 'consistent_index' has 9 bytes"},
	    {"meta", "storageVersion", "3.6.0", NULL},
	    {"meta", "storageVersion", "3.6\n", "storageVersion is no version"},
	    {"cluster", "clusterVersion", "3.123456789012345678901234567890",
	     "page 2: the value of 'clusterVersion' has 32 bytes"},
	    {"auth", "authEnabled", "\x01", NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(dbinfo_free) struct dbinfo *info = NULL;
		struct boltfile f = boltfile_new(4096);
		struct boltfile_entry entry = {cases[i].key, strlen(cases[i].key), cases[i].value,
		                               strlen(cases[i].value), false};
		uint8_t value[16];
		struct opened o;
		int r;

		entry = boltfile_bucket(cases[i].bucket, boltfile_leaf(&f, &entry, 1), value);
		boltfile_seal(&f, boltfile_leaf(&f, &entry, 1), BOLT_NO_FREELIST);
		open_file(&o, f);
		r = dbinfo_read(o.db, &info);
		CHECK_EQ_STR(r < 0 ? o.fault.what : NULL, cases[i].says);
		if (r >= 0 && strcmp(cases[i].bucket, "members") == 0) {
			CHECK_EQ_INT((long long) info->n_members, 1);
			CHECK(info->members[0].id == 0x8e9e05c52164694d);
		}
		if (r >= 0 && strcmp(cases[i].bucket, "alarm") == 0) {
			CHECK_EQ_INT((long long) info->n_alarms, 1);
			CHECK_EQ_INT((long long) info->alarms[0].member_id, 5);
			CHECK_EQ_INT(info->alarms[0].kind, DBINFO_ALARM_NOSPACE);
		}
		if (r >= 0 && strcmp(cases[i].bucket, "auth") == 0)
			CHECK(info->auth_is_enabled);
		close_file(&o);
	}
}

int main(void)
{
	test_revisions();
	test_values();
	test_entries();
	test_reach();
	test_no_etcd();
	test_info();
	return check_result();
}
