/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the entries say, and what etcd promises beyond the encoding: that a value carries the
 * revision it is filed under.
 */
#include "bolt/mvcc.h"

#include <errno.h>
#include <inttypes.h>

#include "base/macro.h"
#include "bolt/proto.h"

/* --- revisions --- */

const char *mvcc_parse_rev(struct bytes key, struct mvcc_rev *ret_rev, bool *ret_is_tombstone)
{
	struct mvcc_rev rev;

	if (key.len != MVCC_REV_BYTES && key.len != MVCC_REV_BYTES_MAX)
		return "its length is not that of a revision";
	if (key.data[8] != '_')
		return "there is no '_' between main and sub revision";
	if (key.len == MVCC_REV_BYTES_MAX && key.data[MVCC_REV_BYTES] != 't')
		return "its mark is not that of a deletion";
	rev.main = (int64_t) bytes_be64(key.data);
	rev.sub = (int64_t) bytes_be64(key.data + 9);
	if (rev.main < 1 || rev.sub < 0)
		return "it is out of range";
	*ret_rev = rev;
	*ret_is_tombstone = key.len == MVCC_REV_BYTES_MAX;
	return NULL;
}

static void put_be64(uint8_t *p, int64_t v)
{
	uint64_t be = htobe64((uint64_t) v);

	memcpy(p, &be, sizeof(be));
}

struct bytes mvcc_format_rev(struct mvcc_rev rev, uint8_t buf[static MVCC_REV_BYTES])
{
	put_be64(buf, rev.main);
	buf[8] = '_';
	put_be64(buf + 9, rev.sub);
	return (struct bytes){.data = buf, .len = MVCC_REV_BYTES};
}

/* --- values --- */

static ALWAYS_INLINE const char *parse_kv(struct bytes value, struct mvcc_kv *ret_kv)
{
	struct mvcc_kv kv = {0};
	struct proto_field f;
	int r;

	for (;;) {
		bool is_text;

		r = proto_next(&value, &f);
		if (r <= 0)
			break;
		is_text = f.number == 1 || f.number == 5;
		if (f.number <= 6 && f.type != (is_text ? PROTO_BYTES : PROTO_VARINT))
			return "a field of the value is of the wrong type";
		switch (f.number) {
		case 1:
			kv.key = f.bytes;
			break;
		case 2:
			kv.create_revision = (int64_t) f.integer;
			break;
		case 3:
			kv.mod_revision = (int64_t) f.integer;
			break;
		case 4:
			kv.version = (int64_t) f.integer;
			break;
		case 5:
			kv.value = f.bytes;
			break;
		case 6:
			kv.lease = (int64_t) f.integer;
			break;
		default:
			break;
		}
	}
	if (r < 0)
		return "the value is no protobuf message";
	*ret_kv = kv;
	return NULL;
}

const char *mvcc_parse_kv(struct bytes value, struct mvcc_kv *ret_kv)
{
	return parse_kv(value, ret_kv);
}

size_t mvcc_format_kv(const struct mvcc_kv *kv, uint8_t *buf)
{
	size_t n = proto_put_bytes(buf, 1, kv->key);

	n += proto_put_integer(buf + n, 2, (uint64_t) kv->create_revision);
	n += proto_put_integer(buf + n, 3, (uint64_t) kv->mod_revision);
	n += proto_put_integer(buf + n, 4, (uint64_t) kv->version);
	n += proto_put_bytes(buf + n, 5, kv->value);
	n += proto_put_integer(buf + n, 6, (uint64_t) kv->lease);
	return n;
}

/* --- entries --- */

static const char *disagreement(bool has_value, bool is_tombstone, int64_t main,
                                const struct mvcc_kv *kv)
{
	if (!has_value)
		return NULL; /* the entry that raises the revision */
	if (kv->key.len == 0)
		return "the value has no key";
	if (is_tombstone)
		return NULL;
	if (kv->mod_revision != main)
		return "the value is of another revision";
	if (kv->create_revision < 1 || kv->create_revision > kv->mod_revision || kv->version < 1)
		return "the value was created after it was changed";
	return NULL;
}

int mvcc_read(struct bolt *db, const struct cursor_entry *raw, struct mvcc_entry *ret_entry)
{
	struct mvcc_rev rev;
	struct mvcc_kv kv;
	bool is_tombstone;
	const char *why;

	if (raw->is_bucket)
		return bolt_fail(db, raw->page, "a bucket among etcd's keys");
	why = mvcc_parse_rev(raw->key, &rev, &is_tombstone);
	if (why != NULL)
		return bolt_fail(db, raw->page, "a key of bucket 'key' is no revision: %s", why);
	why = parse_kv(raw->value, &kv);
	if (why == NULL)
		why = disagreement(raw->value.len > 0, is_tombstone, rev.main, &kv);
	if (why != NULL)
		return bolt_fail(db, raw->page, "revision %" PRId64 "_%" PRId64 ": %s", rev.main, rev.sub,
		                 why);
	ret_entry->rev = rev;
	ret_entry->is_tombstone = is_tombstone;
	ret_entry->kv = kv;
	ret_entry->raw = raw;
	return 0;
}

/* --- how far the file reaches --- */

static int read_last(struct bolt *db, int64_t *ret_last)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry raw;
	struct mvcc_entry e;
	int r;

	r = cursor_open_named(db, MVCC_BUCKET, &c);
	if (r == -ENOENT)
		return bolt_fail(db, BOLT_NO_PAGE, "no database of etcd 3: it lacks the bucket 'key'");
	if (r < 0)
		return r;
	r = cursor_seek_last(c);
	if (r < 0)
		return r;
	r = cursor_next(c, &raw);
	if (r < 0)
		return r;
	if (r == 0) {
		*ret_last = 0;
		return 0;
	}
	r = mvcc_read(db, &raw, &e);
	if (r < 0)
		return r;
	*ret_last = e.rev.main;
	return 0;
}

static int read_compaction(struct bolt *db, const char *key, int64_t *ret_revision)
{
	uint8_t buf[MVCC_REV_BYTES];
	struct mvcc_rev rev;
	bool is_tombstone;
	const char *why;
	int r;

	r = cursor_get(db, "meta", key, buf, sizeof(buf));
	if (r == -ENOENT) {
		*ret_revision = -1;
		return 0;
	}
	if (r < 0)
		return r;
	why = mvcc_parse_rev((struct bytes){.data = buf, .len = (size_t) r}, &rev, &is_tombstone);
	if (why != NULL)
		return bolt_fail(db, BOLT_NO_PAGE, "%s is no revision: %s", key, why);
	*ret_revision = rev.main;
	return 0;
}

int mvcc_read_reach(struct bolt *db, struct mvcc_reach *ret_reach)
{
	struct mvcc_reach reach;
	int r;

	r = read_last(db, &reach.last);
	if (r >= 0)
		r = read_compaction(db, "finishedCompactRev", &reach.finished);
	if (r >= 0)
		r = read_compaction(db, "scheduledCompactRev", &reach.scheduled);
	if (r < 0)
		return r;
	reach.compacted = MAX(reach.finished, reach.scheduled);
	reach.current = MAX(MAX(reach.last, reach.compacted), 1);
	*ret_reach = reach;
	return 0;
}

int mvcc_choose_revision(struct bolt *db, const struct mvcc_reach *reach, int64_t revision,
                         int64_t *ret_revision)
{
	if (revision == 0)
		revision = reach->current;
	if (revision > reach->current) {
		bolt_note_fault(db, BOLT_NO_PAGE,
		                "revision %" PRId64 " is not in it: it ends with %" PRId64, revision,
		                reach->current);
		return -ERANGE;
	}
	if (revision < MAX(reach->compacted, 1)) {
		bolt_note_fault(db, BOLT_NO_PAGE,
		                "revision %" PRId64 " was compacted: it begins with %" PRId64, revision,
		                MAX(reach->compacted, 1));
		return -ERANGE;
	}
	*ret_revision = revision;
	return 0;
}
