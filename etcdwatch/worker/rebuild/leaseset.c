/* SPDX-License-Identifier: Apache-2.0 */
/* Which key hangs on which lease is a table of the hashes of keys (keyset.h), with the number of
 * the lease from 1; 0: on none any more. */
#include "etcdwatch/worker/rebuild/leaseset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bolt/cursor.h"
#include "bolt/keyset.h"
#include "bolt/proto.h"

#define BUCKET "lease"
#define ID_BYTES 8
#define VALUE_BYTES_MAX 64 /* three numbers */

struct lease {
	int64_t id;
	bool is_known; /* there is a value */
	bool is_gone;
	uint64_t n_keys;
	uint8_t value[VALUE_BYTES_MAX]; /* leasepb.Lease: 1 id, 2 TTL, 3 what remains of it */
	size_t value_len;
};

struct leaseset {
	struct lease *leases;
	size_t n, room;
	size_t n_unknown;
	struct keyset *by_id;
	struct keyset *by_key;
	bool is_overfull; /* keys are no longer counted */
};

struct leaseset *leaseset_new(size_t max_keys)
{
	struct leaseset *set = NEW0(struct leaseset);

	set->by_id = keyset_new(SIZE_MAX);
	set->by_key = keyset_new(max_keys);
	return set;
}

void leaseset_free(struct leaseset *set)
{
	if (set == NULL)
		return;
	keyset_free(set->by_id);
	keyset_free(set->by_key);
	free(set->leases);
	free(set);
}

/* --- one lease --- */

static void format_id(int64_t id, uint8_t buf[static ID_BYTES])
{
	uint64_t be = htobe64((uint64_t) id);

	memcpy(buf, &be, sizeof(be));
}

/* Its number; a new one if it was not there. */
static size_t find(struct leaseset *set, int64_t id)
{
	uint8_t bytes[ID_BYTES];
	uint64_t hash, number;

	format_id(id, bytes);
	hash = keyset_hash(set->by_id, (struct bytes){.data = bytes, .len = sizeof(bytes)});
	if (keyset_find(set->by_id, hash, &number))
		return (size_t) number;
	if (set->n == set->room) {
		set->room = set->room * 2 + 64;
		set->leases = xreallocarray(set->leases, set->room, sizeof(*set->leases));
	}
	set->leases[set->n++] = (struct lease){.id = id};
	(void) keyset_put(set->by_id, hash, set->n);
	return set->n;
}

static struct lease *at(const struct leaseset *set, size_t number)
{
	return &set->leases[number - 1];
}

static bool is_missed(const struct lease *lease)
{
	return lease->n_keys > 0 && !lease->is_known;
}

static void set_keys(struct leaseset *set, size_t number, int more)
{
	struct lease *lease = at(set, number);

	set->n_unknown -= is_missed(lease);
	lease->n_keys = more > 0 ? lease->n_keys + 1 : lease->n_keys - 1;
	set->n_unknown += is_missed(lease);
}

static void set_value(struct leaseset *set, struct lease *lease, struct bytes value)
{
	set->n_unknown -= is_missed(lease);
	memcpy(lease->value, value.data, value.len);
	lease->value_len = value.len;
	lease->is_known = true;
	lease->is_gone = false;
}

/* --- what is told --- */

int leaseset_load(struct leaseset *set, struct bolt *db)
{
	AUTO(cursor_free) struct cursor *c = NULL;
	struct cursor_entry e;
	int r = cursor_open_named(db, BUCKET, &c);

	if (r < 0)
		return r == -ENOENT ? bolt_fail(db, BOLT_NO_PAGE, "it lacks the bucket '" BUCKET "'") : r;
	while ((r = cursor_next(c, &e)) > 0) {
		if (e.is_bucket || e.key.len != ID_BYTES || e.value.len > VALUE_BYTES_MAX)
			return bolt_fail(db, e.page, "the bucket '" BUCKET "' has what is no lease");
		set_value(set, at(set, find(set, (int64_t) bytes_be64(e.key.data))), e.value);
	}
	return r;
}

void leaseset_see_key(struct leaseset *set, struct bytes key, bool is_tombstone, int64_t lease)
{
	uint64_t hash, before = 0;
	size_t number = 0;

	if (set->is_overfull)
		return;
	hash = keyset_hash(set->by_key, key);
	(void) keyset_find(set->by_key, hash, &before);
	if (!is_tombstone && lease != 0)
		number = find(set, lease);
	if (number == before)
		return;
	if (!keyset_put(set->by_key, hash, number)) {
		set->is_overfull = true;
		return;
	}
	if (before != 0)
		set_keys(set, (size_t) before, -1);
	if (number != 0)
		set_keys(set, number, 1);
}

static void grant(struct leaseset *set, struct lease *lease, int64_t ttl_s)
{
	uint8_t value[VALUE_BYTES_MAX];
	size_t n = proto_put_integer(value, 1, (uint64_t) lease->id);

	n += proto_put_integer(value + n, 2, (uint64_t) ttl_s);
	set_value(set, lease, (struct bytes){.data = value, .len = n});
}

void leaseset_see_lease(struct leaseset *set, int64_t id, int64_t ttl_s)
{
	struct lease *lease = at(set, find(set, id));

	if (ttl_s <= 0)
		lease->is_gone = true;
	else
		grant(set, lease, ttl_s);
}

size_t leaseset_count_unknown(const struct leaseset *set)
{
	return set->n_unknown;
}

void leaseset_see_late(struct leaseset *set, int64_t id, int64_t ttl_s)
{
	struct lease *lease = at(set, find(set, id));

	if (ttl_s > 0 && is_missed(lease))
		grant(set, lease, ttl_s);
}

/* --- what is written --- */

/* As bytes, which is how their ids are sorted: a negative one is behind the others. */
static int compare_ids(const void *a, const void *b)
{
	const struct lease *x = a, *y = b;
	uint64_t i = (uint64_t) x->id, j = (uint64_t) y->id;

	return i < j ? -1 : i > j;
}

static bool is_there(const struct leaseset *set, const struct lease *lease)
{
	return lease->is_known && (!lease->is_gone || lease->n_keys > 0 || set->is_overfull);
}

int leaseset_write(struct leaseset *set, struct bulk *bulk, size_t *ret_n)
{
	size_t n = 0;

	/* Their numbers mean nothing from here on. */
	if (set->n > 0)
		qsort(set->leases, set->n, sizeof(*set->leases), compare_ids);
	for (size_t i = 0; i < set->n; i++) {
		const struct lease *lease = &set->leases[i];
		uint8_t id[ID_BYTES];
		int r;

		if (!is_there(set, lease))
			continue;
		format_id(lease->id, id);
		r = bulk_add(bulk, (struct bytes){.data = id, .len = sizeof(id)},
		             (struct bytes){.data = lease->value, .len = lease->value_len});
		if (r < 0)
			return r;
		n++;
	}
	*ret_n = n;
	return 0;
}
