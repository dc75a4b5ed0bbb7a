/* SPDX-License-Identifier: Apache-2.0 */
/* What a target holds: whole snapshots count, halves and what belongs to others do not. */
#include "etcdwatch/target/inventory.h"

#include <string.h>

#include "base/macro.h"
#include "etcdwatch/catalog/catalog.h"
#include "tests/unit/check.h"
#include "tests/unit/entries.h"
#include "tests/unit/scratch.h"

#define CLUSTER UINT64_C(0xcdf818194e3a8c32)
#define FOLDER "p/cdf818194e3a8c32/"

static char prefix[] = "p/";
static const struct config_target target = {.prefix = prefix};

static void test_keys(void)
{
	AUTO(catalog_entry_free) struct catalog_entry *e = entries_new("a", CLUSTER, 1000, 7);
	AUTO(free) char *folder = inventory_folder(&target, 0xab);
	AUTO(free) char *file = inventory_file_key(&target, e);
	AUTO(free) char *entry = inventory_entry_key(&target, e);

	CHECK_EQ_STR(folder, "p/00000000000000ab/");
	CHECK_EQ_STR(file, FOLDER "19700101T001640Z-a-n1-r7.db");
	CHECK_EQ_STR(entry, FOLDER "19700101T001640Z-a-n1-r7.json");
}

static void test_whole(void)
{
	AUTO(inventory_free) struct inventory *inv = inventory_new(&target, "a");
	AUTO(catalog_entry_free) struct catalog_entry *late = entries_new("a", CLUSTER, 2000, 9);
	AUTO(catalog_entry_free) struct catalog_entry *early = entries_new("a", CLUSTER, 1000, 7);
	AUTO(catalog_entry_free) struct catalog_entry *other = entries_new("a-b", CLUSTER, 1500, 8);

	entries_store(inv, &target, late);
	entries_store(inv, &target, other);
	entries_store(inv, &target, early);
	inventory_finish(inv);
	if (CHECK_EQ_INT(inventory_n(inv), 2)) {
		CHECK_EQ_INT(inventory_entries(inv)[0]->revision, 7);
		CHECK_EQ_INT(inventory_entries(inv)[1]->revision, 9);
	}
	CHECK(inventory_find(inv, early->id) != NULL && inventory_find(inv, other->id) == NULL);
	CHECK_EQ_INT(inventory_odd(inv)->n, 0);
}

/* Each is one half, or two that do not belong together. */
static void test_halves(void)
{
	enum half {
		NO_ENTRY,
		NO_FILE,
		SHORT,
		BROKEN,
		EMPTY,
		OTHER_FOLDER,
		OTHER_NAME,
	};
	static const struct {
		enum half half;
		size_t strays;
		const char *odd;
	} cases[] = {
	    {NO_ENTRY, 1, NULL},
	    {NO_FILE, 0, "is not there, but has an entry"},
	    {SHORT, 0, "has 999 bytes, and by its entry 1000"},
	    {BROKEN, 0, "holds no entry"},
	    {EMPTY, 0, "version is missing"},
	    {OTHER_FOLDER, 0, "is the entry of another snapshot"},
	    {OTHER_NAME, 1, "is the entry of another snapshot"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(inventory_free) struct inventory *inv = inventory_new(&target, "a");
		AUTO(catalog_entry_free) struct catalog_entry *e = entries_new("a", CLUSTER, 1000, 7);
		AUTO(free) char *file = inventory_file_key(&target, e);
		AUTO(free) char *key = inventory_entry_key(&target, e);
		enum half half = cases[i].half;

		if (half == OTHER_FOLDER)
			e->cluster_id++;
		if (half != NO_FILE)
			entries_list(inv, file, half == SHORT ? 999 : 1000, NULL);
		if (half == BROKEN)
			entries_list(inv, key, 1, json_null());
		else if (half == EMPTY)
			entries_list(inv, key, 1, json_object());
		else if (half == OTHER_NAME)
			entries_list(inv, FOLDER "19700101T001641Z-a-n1-r7.json", 1, entries_json(e));
		else if (half != NO_ENTRY)
			entries_list(inv, key, 1, entries_json(e));
		inventory_finish(inv);
		CHECK_EQ_INT(inventory_n(inv), 0);
		CHECK_EQ_INT(inventory_strays(inv)->n, cases[i].strays);
		if (CHECK_EQ_INT(inventory_odd(inv)->n, cases[i].odd != NULL) && cases[i].odd != NULL)
			CHECK(strstr(inventory_odd(inv)->items[0], cases[i].odd) != NULL);
	}
}

/* Lines of the worker that say nothing of this job. */
static void test_passed_over(void)
{
	static const char *const keys[] = {
	    "p/readme",
	    "q/cdf818194e3a8c32/19700101T001640Z-a-n1-r7.db",
	    "p/",
	    FOLDER "19700101T001640Z-b-n1-r7.db",
	    FOLDER "19700101T001640Z-a-n1-r7.txt",
	    FOLDER "a.json",
	};
	AUTO(inventory_free) struct inventory *inv = inventory_new(&target, "a");
	json_t *no_key = json_pack("{s:b, s:i}", "ok", 1, "objects", 3);

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		entries_list(inv, keys[i], 1, NULL);
	inventory_add(inv, no_key);
	json_decref(no_key);
	inventory_finish(inv);
	CHECK_EQ_INT(inventory_n(inv), 0);
	CHECK_EQ_INT(inventory_strays(inv)->n, 0);
	CHECK_EQ_INT(inventory_odd(inv)->n, 0);
}

/* An entry that was changed after it was signed stands for nothing. */
static void test_signature(void)
{
	AUTO(inventory_free) struct inventory *inv = inventory_new(&target, "a");
	AUTO(catalog_entry_free) struct catalog_entry *good = entries_new("a", CLUSTER, 1000, 7);
	AUTO(catalog_entry_free) struct catalog_entry *changed = entries_new("a", CLUSTER, 2000, 9);
	AUTO(signature_key_free) struct signature_key *key = NULL;

	scratch_enter();
	CHECK_EQ_INT(signature_key_load_or_make("key", &key), 0);
	scratch_leave();
	trust_sign(good, key);
	trust_sign(changed, key);
	changed->live_keys++;
	entries_store(inv, &target, good);
	entries_store(inv, &target, changed);
	inventory_finish(inv);
	CHECK_EQ_INT(inventory_n(inv), 1);
	CHECK(inventory_find(inv, good->id) != NULL);
	if (CHECK_EQ_INT(inventory_odd(inv)->n, 1))
		CHECK(strstr(inventory_odd(inv)->items[0], "its signature is wrong") != NULL);
	CHECK_EQ_INT(inventory_strays(inv)->n, 0);
}

enum sign {
	SIGN_NONE,
	SIGN_KNOWN,
	SIGN_STRANGE,
	SIGN_NEWER,
};

/* Those that are trusted, as the sum of their revisions. */
static int64_t sum_trusted(const struct inventory *inv)
{
	size_t n;
	const struct catalog_entry *const *trusted = inventory_trusted(inv, &n);
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += trusted[i]->revision;
	return sum;
}

/* What may not be chosen is there, and nothing is decided by it. */
static void test_trust(void)
{
	AUTO(signature_key_free) struct signature_key *known = NULL, *strange = NULL;
	const char *key;
	struct trust trust = {.keys = &key, .n = 1};
	struct config_target judged = {.prefix = prefix, .trust = &trust};

	scratch_enter();
	CHECK_EQ_INT(signature_key_load_or_make("known", &known), 0);
	CHECK_EQ_INT(signature_key_load_or_make("strange", &strange), 0);
	scratch_leave();
	key = signature_key_public(known);
	for (int configured = 0; configured <= 1; configured++) {
		AUTO(inventory_free) struct inventory *inv = NULL;
		int64_t revision = 1;

		trust.is_configured = configured == 1;
		inv = inventory_new(&judged, "a");
		for (int i = SIGN_NONE; i <= SIGN_NEWER; i++, revision *= 10) {
			AUTO(catalog_entry_free)
			struct catalog_entry *e = entries_new("a", CLUSTER, 9000 - revision, revision);

			if (i != SIGN_NONE)
				trust_sign(e, i == SIGN_STRANGE ? strange : known);
			if (i == SIGN_NEWER)
				e->signature[1] = '2';
			entries_store(inv, &judged, e);
		}
		inventory_finish(inv);
		CHECK_EQ_INT(inventory_n(inv), 4);
		CHECK_EQ_INT(inventory_odd(inv)->n, 0);
		CHECK_EQ_INT(inventory_strays(inv)->n, 0);
		CHECK_EQ_INT(sum_trusted(inv), configured ? 10 : 110);
		for (size_t i = 0; i < inventory_n(inv); i++) {
			int64_t r = inventory_entries(inv)[i]->revision;

			CHECK_EQ_INT(inventory_untrusted(inv)[i],
			             r == 1 || r == 1000 || (r == 100 && configured));
		}
	}
}

/* So many that they are no snapshots of one cluster, whether they can be read or not. */
static void test_overfull(void)
{
	AUTO(inventory_free) struct inventory *inv = inventory_new(&target, "a");

	for (int64_t i = 0; i <= INVENTORY_ENTRIES_MAX; i++) {
		AUTO(catalog_entry_free) struct catalog_entry *e = entries_new("a", CLUSTER, 1000 + i, 7);
		AUTO(free) char *key = inventory_entry_key(&target, e);

		CHECK(inventory_overfull(inv) == NULL);
		entries_list(inv, key, 1, i % 2 == 0 ? json_null() : entries_json(e));
	}
	if (CHECK(inventory_overfull(inv) != NULL))
		CHECK(strstr(inventory_overfull(inv), "more than 10000 entries of job 'a'") != NULL);
	inventory_finish(inv);
}

/* Fewer, which would fill the memory all the same. */
static void test_overfull_bytes(void)
{
	AUTO(inventory_free) struct inventory *inv = inventory_new(&target, "a");
	AUTO(catalog_entry_free) struct catalog_entry *big = entries_new("a", CLUSTER, 1000, 7);
	size_t n = 0;
	json_t *json;

	big->extra = xcalloc(CATALOG_EXTRA_MAX, sizeof(big->extra[0]));
	for (; big->n_extra < CATALOG_EXTRA_MAX; big->n_extra++)
		big->extra[big->n_extra] = xasprintf("/%0250zu", big->n_extra);
	entries_set(&big->file, "f");
	json = entries_json(big);
	for (; n < INVENTORY_ENTRIES_MAX && inventory_overfull(inv) == NULL; n++) {
		AUTO(free) char *id = catalog_build_id(1000 + (int64_t) n, "a", "n1", "n1", 7);
		AUTO(free) char *key = xasprintf(FOLDER "%s.json", id);

		(void) json_object_set_new(json, "id", json_string(id));
		(void) json_object_set_new(json, "file", json_sprintf("%s.db.tar", id));
		entries_list(inv, key, 1, json_incref(json));
	}
	json_decref(json);
	CHECK(n > 1500 && n < 3000);
	inventory_finish(inv);
}

int main(void)
{
	test_keys();
	test_whole();
	test_halves();
	test_passed_over();
	test_signature();
	test_trust();
	test_overfull();
	test_overfull_bytes();
	return check_result();
}
