/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries and other objects are gathered as they come, and matched at the end. An entry that cannot
 * be read may stand for a snapshot that is whole: by its key it keeps that from being a stray.
 */
#include "etcdwatch/target/inventory.h"

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define ODD_MAX 20
/* Beyond them nothing is remembered, and the entries that they belong to do not count. */
#define OBJECTS_MAX 100000

/* Entries, read or not, and bytes of those that are kept: a store must not fill the memory. */
#define ENTRIES_BYTES_MAX (32u << 20)

struct object {
	char *key;
	int64_t bytes;
};

struct item {
	struct catalog_entry *entry;
	bool is_trusted;
	size_t n_bytes; /* of its text */
};

struct inventory {
	const struct config_target *target;
	char *job;
	struct item *items;
	size_t n, n_bytes;
	char *overfull; /* NULL, or the sentence */
	/* Of the items, after the last line. */
	const struct catalog_entry **entries, **trusted;
	bool *untrusted;
	size_t n_trusted;
	struct object *objects; /* but entries */
	size_t n_objects;
	struct names unread; /* keys of entries, without their ending */
	struct names strays, odd;
};

/* --- keys --- */

char *inventory_folder(const struct config_target *target, uint64_t cluster_id)
{
	return xasprintf("%s%016llx/", target->prefix, (unsigned long long) cluster_id);
}

char *inventory_file_key(const struct config_target *target, const struct catalog_entry *entry)
{
	AUTO(free) char *folder = inventory_folder(target, entry->cluster_id);

	return xasprintf("%s%s", folder, entry->file);
}

char *inventory_entry_key(const struct config_target *target, const struct catalog_entry *entry)
{
	AUTO(free) char *folder = inventory_folder(target, entry->cluster_id);

	return xasprintf("%s%s" LISTING_ENTRY_SUFFIX, folder, entry->id);
}

/* --- lines --- */

struct inventory *inventory_new(const struct config_target *target, const char *job)
{
	struct inventory *inv = NEW0(struct inventory);

	inv->target = target;
	inv->job = xstrdup(job);
	return inv;
}

void inventory_free(struct inventory *inv)
{
	if (inv == NULL)
		return;
	for (size_t i = 0; i < inv->n; i++)
		catalog_entry_free(inv->items[i].entry);
	for (size_t i = 0; i < inv->n_objects; i++)
		free(inv->objects[i].key);
	free(inv->overfull);
	free(inv->items);
	free(inv->entries);
	free(inv->trusted);
	free(inv->untrusted);
	free(inv->objects);
	names_fini(&inv->unread);
	names_fini(&inv->strays);
	names_fini(&inv->odd);
	free(inv->job);
	free(inv);
}

static void add_odd(struct inventory *inv, char *text)
{
	if (inv->odd.n < ODD_MAX)
		names_add(&inv->odd, text);
	else
		free(text);
}

static const char *last_part(const char *key)
{
	const char *slash = strrchr(key, '/');

	return slash != NULL ? slash + 1 : key;
}

static bool is_entry_key(const char *key)
{
	size_t len = strlen(key), suffix = strlen(LISTING_ENTRY_SUFFIX);

	return len > suffix && strcmp(key + len - suffix, LISTING_ENTRY_SUFFIX) == 0;
}

/* NULL, or what is wrong with it. The entry is the caller's. */
static char *read_entry(const struct inventory *inv, const char *key, const json_t *content,
                        struct item *ret_item)
{
	const struct trust *trust = inv->target->trust;
	enum trust_verdict verdict;
	AUTO(free) char *text = json_dumps(content, JSON_COMPACT);
	AUTO(catalog_entry_free) struct catalog_entry *e = NULL;
	AUTO(free) char *right_key = NULL;
	char error[CATALOG_ERROR_MAX];

	if (text == NULL)
		return xstrdup("holds no entry");
	if (catalog_parse(text, strlen(text), &e, error) < 0)
		return xstrdup(error);
	right_key = inventory_entry_key(inv->target, e);
	if (strcmp(key, right_key) != 0)
		return xstrdup("is the entry of another snapshot");
	verdict = trust_judge(e, trust);
	if (verdict == TRUST_WRONG)
		return xstrdup("its signature is wrong");
	ret_item->n_bytes = strlen(text);
	ret_item->is_trusted = trust == NULL || trust_allows_chosen(trust, verdict);
	ret_item->entry = TAKE_PTR(e);
	return NULL;
}

static bool is_full(struct inventory *inv)
{
	if (inv->overfull == NULL &&
	    (inv->n + inv->unread.n == INVENTORY_ENTRIES_MAX || inv->n_bytes > ENTRIES_BYTES_MAX))
		inv->overfull = xasprintf("below '%s' there are more than %d entries of job '%s', or more "
		                          "than %u MiB of them: remove there what is not of this cluster",
		                          inv->target->prefix, INVENTORY_ENTRIES_MAX, inv->job,
		                          ENTRIES_BYTES_MAX >> 20);
	return inv->overfull != NULL;
}

static void add_entry(struct inventory *inv, const char *key, const json_t *content)
{
	struct item item = {.entry = NULL};
	AUTO(free) char *wrong = NULL;

	if (is_full(inv))
		return;
	wrong = read_entry(inv, key, content, &item);
	if (item.entry == NULL) {
		add_odd(inv, xasprintf("%s: %s", key, wrong));
		names_add(&inv->unread, xstrndup(key, strlen(key) - strlen(LISTING_ENTRY_SUFFIX)));
		return;
	}
	/* Of a job whose name begins with this one's. */
	if (strcmp(item.entry->job, inv->job) != 0) {
		catalog_entry_free(item.entry);
		return;
	}
	inv->items = xreallocarray(inv->items, inv->n + 1, sizeof(inv->items[0]));
	inv->items[inv->n++] = item;
	inv->n_bytes += item.n_bytes;
}

static void add_object(struct inventory *inv, const char *key, int64_t bytes)
{
	if (inv->n_objects == OBJECTS_MAX)
		return;
	inv->objects = xreallocarray(inv->objects, inv->n_objects + 1, sizeof(inv->objects[0]));
	inv->objects[inv->n_objects++] = (struct object){.key = xstrdup(key), .bytes = bytes};
}

void inventory_add(struct inventory *inv, const json_t *line)
{
	const char *key = json_string_value(json_object_get(line, "key"));

	if (key == NULL || strlen(key) > CATALOG_KEY_MAX ||
	    strncmp(key, inv->target->prefix, strlen(inv->target->prefix)) != 0 ||
	    !listing_is_of_job(last_part(key), inv->job))
		return;
	if (is_entry_key(key))
		add_entry(inv, key, json_object_get(line, "content"));
	else
		add_object(inv, key, json_integer_value(json_object_get(line, "bytes")));
}

/* --- matching --- */

static int compare_objects(const void *a, const void *b)
{
	return strcmp(((const struct object *) a)->key, ((const struct object *) b)->key);
}

static int compare_items(const void *a, const void *b)
{
	const struct catalog_entry *x = ((const struct item *) a)->entry;
	const struct catalog_entry *y = ((const struct item *) b)->entry;

	if (x->started_s != y->started_s)
		return x->started_s < y->started_s ? -1 : 1;
	return strcmp(x->id, y->id);
}

static struct object *find_object(const struct inventory *inv, char *key)
{
	const struct object wanted = {.key = key};

	if (inv->n_objects == 0)
		return NULL;
	return bsearch(&wanted, inv->objects, inv->n_objects, sizeof(wanted), compare_objects);
}

/* Leaves those whose snapshot is there. The objects of the others stay: the entry may be right. */
static void match(struct inventory *inv, bool *is_taken)
{
	size_t n = 0;

	for (size_t i = 0; i < inv->n; i++) {
		struct catalog_entry *e = inv->items[i].entry;
		AUTO(free) char *key = inventory_file_key(inv->target, e);
		const struct object *object = find_object(inv, key);

		if (object != NULL)
			is_taken[object - inv->objects] = true;
		if (object != NULL && object->bytes == e->file_bytes) {
			inv->items[n++] = inv->items[i];
			continue;
		}
		if (object == NULL)
			add_odd(inv, xasprintf("%s: is not there, but has an entry", key));
		else
			add_odd(inv, xasprintf("%s: has %lld bytes, and by its entry %lld", key,
			                       (long long) object->bytes, (long long) e->file_bytes));
		catalog_entry_free(e);
	}
	inv->n = n;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The entry that could not be read may be its. The name of a node may have ".db" in it too. */
static bool has_unread_entry(const struct inventory *inv, const char *key)
{
	for (const char *end = strstr(key, ".db"); end != NULL && inv->unread.n > 0;
	     end = strstr(end + 1, ".db")) {
		AUTO(free) char *wanted = xstrndup(key, (size_t) (end - key));

		if (bsearch(&wanted, inv->unread.items, inv->unread.n, sizeof(wanted), compare_texts) !=
		    NULL)
			return true;
	}
	return false;
}

static void sort_out(struct inventory *inv)
{
	if (inv->n > 0)
		qsort(inv->items, inv->n, sizeof(inv->items[0]), compare_items);
	inv->entries = xcalloc(inv->n + 1, sizeof(inv->entries[0]));
	inv->trusted = xcalloc(inv->n + 1, sizeof(inv->trusted[0]));
	inv->untrusted = xcalloc(inv->n + 1, sizeof(inv->untrusted[0]));
	for (size_t i = 0; i < inv->n; i++) {
		inv->entries[i] = inv->items[i].entry;
		inv->untrusted[i] = !inv->items[i].is_trusted;
		if (inv->items[i].is_trusted)
			inv->trusted[inv->n_trusted++] = inv->items[i].entry;
	}
}

void inventory_finish(struct inventory *inv)
{
	AUTO(free) bool *is_taken = xcalloc(inv->n_objects + 1, sizeof(is_taken[0]));

	if (inv->n_objects > 0)
		qsort(inv->objects, inv->n_objects, sizeof(inv->objects[0]), compare_objects);
	if (inv->unread.n > 0)
		qsort(inv->unread.items, inv->unread.n, sizeof(inv->unread.items[0]), compare_texts);
	match(inv, is_taken);
	for (size_t i = 0; i < inv->n_objects; i++) {
		if (!is_taken[i] && !has_unread_entry(inv, inv->objects[i].key))
			names_add(&inv->strays, xstrdup(inv->objects[i].key));
	}
	sort_out(inv);
}

/* --- what is there --- */

const char *inventory_overfull(const struct inventory *inv)
{
	return inv->overfull;
}

size_t inventory_n(const struct inventory *inv)
{
	return inv->n;
}

const struct catalog_entry *const *inventory_entries(const struct inventory *inv)
{
	return inv->entries;
}

const struct catalog_entry *const *inventory_trusted(const struct inventory *inv, size_t *ret_n)
{
	*ret_n = inv->n_trusted;
	return inv->trusted;
}

const bool *inventory_untrusted(const struct inventory *inv)
{
	return inv->untrusted;
}

const struct catalog_entry *inventory_find(const struct inventory *inv, const char *id)
{
	for (size_t i = 0; i < inv->n; i++) {
		if (strcmp(inv->items[i].entry->id, id) == 0)
			return inv->items[i].entry;
	}
	return NULL;
}

const struct names *inventory_strays(const struct inventory *inv)
{
	return &inv->strays;
}

const struct names *inventory_odd(const struct inventory *inv)
{
	return &inv->odd;
}

/* --- copies --- */

/* One question asked of each snapshot of the directory. */

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
