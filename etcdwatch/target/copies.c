/* SPDX-License-Identifier: Apache-2.0 */
/* One question asked of each snapshot of the directory. */
#include "etcdwatch/target/copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

/* Recorded, but the target has neither it nor what could stand for it. One that is not trusted, as
 * what older versions stored, stands only for itself. */
static bool is_lost(const struct copies_question *q, const struct catalog_entry *entry)
{
	const struct catalog_entry *const *trusted, *same;
	size_t n;

	if (q->there == NULL || q->there_of != entry->cluster_id ||
	    !catalog_is_newest(q->entries, q->n, entry))
		return false;
	same = inventory_find(q->there, entry->id);
	if (same != NULL && strcmp(same->file_sha256, entry->file_sha256) == 0)
		return false;
	trusted = inventory_trusted(q->there, &n);
	for (size_t i = 0; i < n; i++) {
		const struct catalog_entry *e = trusted[i];

		/* Its timeline may be a later one there. */
		if (catalog_is_good(e) &&
		    (e->timeline > entry->timeline ||
		     (e->timeline == entry->timeline && e->revision >= entry->revision)))
			return false;
	}
	return true;
}

static bool lacks(const struct copies_question *q, const struct catalog_entry *entry)
{
	if (!catalog_is_good(entry) || names_have(q->skipped, entry->id))
		return false;
	return catalog_find_copy(entry, q->target) == NULL || is_lost(q, entry);
}

const struct catalog_entry *copies_next(const struct copies_question *q)
{
	const struct catalog_entry *next = NULL;

	for (size_t i = 0; i < q->n; i++) {
		const struct catalog_entry *e = q->entries[i];

		if (lacks(q, e) && (next == NULL || e->started_s >= next->started_s))
			next = e;
	}
	return next;
}

size_t copies_count_lacking(const struct copies_question *q)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		n += lacks(q, q->entries[i]);
	return n;
}

int64_t copies_timeline(const struct inventory *there, const struct catalog_entry *entry)
{
	size_t n, n_before = 0;
	const struct catalog_entry *const *trusted = inventory_trusted(there, &n);
	AUTO(free) const struct catalog_entry **before = xcalloc(n + 1, sizeof(before[0]));

	for (size_t i = 0; i < n; i++) {
		const struct catalog_entry *e = trusted[i];

		if (e->started_s < entry->started_s)
			before[n_before++] = e;
	}
	return MAX(entry->timeline,
	           catalog_next_timeline(before, n_before, entry->cluster_id, entry->revision));
}
