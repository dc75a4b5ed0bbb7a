/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves that stand anywhere, as bbolt leaves them behind after years of filling gaps, and go on
 * for any number of pages: whatever is read ahead of them, they are found in order and whole. What
 * is drawn is drawn from SEED of the environment, or a fixed number.
 */
#include <stdio.h>

#include "bolt/crc32c.h"
#include "bolt/walk.h"
#include "tests/unit/boltfile.h"
#include "tests/unit/check.h"

#define N_LEAVES 90u
#define VALUE_BYTES_MAX (10u * 4096)
#define N_FILES 12

static uint8_t noise[2 * VALUE_BYTES_MAX];

struct leaf {
	char keys[2][8];
	struct boltfile_entry entries[2];
	size_t n_entries;
};

static unsigned draw(unsigned n)
{
	return (unsigned) rand() % n;
}

/* Mostly of one page. The last digit of a key is that of the entry. */
static struct leaf draw_leaf(unsigned number)
{
	struct leaf leaf = {.n_entries = 1 + draw(2)};

	for (unsigned i = 0; i < leaf.n_entries; i++) {
		size_t len = draw(4) != 0 ? draw(1000) : draw(VALUE_BYTES_MAX);

		(void) snprintf(leaf.keys[i], sizeof(leaf.keys[i]), "%05u%u", number % 100000, i % 10);
		leaf.entries[i].key_len = 6;
		leaf.entries[i].value = noise + draw(VALUE_BYTES_MAX);
		leaf.entries[i].value_len = len;
	}
	return leaf;
}

/* The order in which leaves are put into the file: by turns from so many places, each going on in
 * order, with something else in between now and then. */
static void draw_order(unsigned n_places, unsigned order[static N_LEAVES])
{
	unsigned next[8], end[8], n = 0;

	for (unsigned i = 0; i < n_places; i++) {
		next[i] = N_LEAVES * i / n_places;
		end[i] = N_LEAVES * (i + 1) / n_places;
	}
	while (n < N_LEAVES) {
		unsigned place = draw(n_places);

		if (next[place] < end[place])
			order[n++] = next[place]++;
	}
}

static struct boltfile draw_file(uint32_t page_bytes, unsigned n_places, uint32_t *ret_crc)
{
	static struct leaf leaves[N_LEAVES];
	struct boltfile f = boltfile_new(page_bytes);
	struct boltfile_child children[N_LEAVES];
	unsigned order[N_LEAVES];
	struct boltfile_entry bucket;
	uint8_t value[16];
	uint32_t crc = 0;

	draw_order(n_places, order);
	for (unsigned i = 0; i < N_LEAVES; i++)
		leaves[i] = draw_leaf(i);
	for (unsigned i = 0; i < N_LEAVES; i++) {
		struct leaf *leaf = &leaves[order[i]];

		for (size_t k = 0; k < leaf->n_entries; k++)
			leaf->entries[k].key = leaf->keys[k];
		if (draw(8) == 0)
			(void) boltfile_add(&f, 1 + draw(6));
		children[order[i]] = (struct boltfile_child){
		    leaf->keys[0], 6, boltfile_leaf(&f, leaf->entries, leaf->n_entries)};
	}
	for (unsigned i = 0; i < N_LEAVES; i++) {
		for (size_t k = 0; k < leaves[i].n_entries; k++) {
			const struct boltfile_entry *e = &leaves[i].entries[k];

			crc = crc32c_update_by(CRC32C_TABLES, crc, e->key, e->key_len);
			crc = crc32c_update_by(CRC32C_TABLES, crc, e->value, e->value_len);
		}
	}
	bucket = boltfile_bucket("b", boltfile_branch(&f, children, N_LEAVES), value);
	boltfile_seal(&f, boltfile_leaf(&f, &bucket, 1), BOLT_NO_FREELIST);
	*ret_crc = crc;
	return f;
}

static int on_entry(const struct cursor_entry *entry, void *userdata)
{
	struct crc32c_run *run = userdata;

	crc32c_run_add(run, entry->key);
	crc32c_run_add(run, entry->value);
	if (entry->ends_page)
		(void) crc32c_run_end(run);
	return 0;
}

static bool walk_file(const struct boltfile *f, uint32_t want)
{
	struct crc32c_run run = {0};
	struct walk_visitor visitor = {.on_entry = on_entry, .userdata = &run};
	struct bolt_fault fault = {.what = "nothing"};
	struct walk_result result = {0};
	struct bolt *db = NULL;
	int fd = boltfile_fd(f);
	int r = bolt_open(fd, f->n_pages * f->page_bytes, &fault, &db);

	if (r >= 0)
		r = walk_all(db, &visitor, &result);
	bolt_close(db);
	(void) close(fd);
	return CHECK_EQ_STR(fault.what, "nothing") && CHECK_EQ_INT(r, 0) &&
	       CHECK_EQ_INT((long long) result.n_leaves, N_LEAVES + 1) &&
	       CHECK_EQ_INT(run.pending.len == 0, true) && CHECK_EQ_INT(run.crc, want);
}

int main(void)
{
	const char *seed = getenv("SEED");

	srand(seed != NULL ? (unsigned) atoi(seed) : 1);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (uint8_t) rand();
	for (unsigned i = 0; i < N_FILES; i++) {
		uint32_t crc;
		struct boltfile f = draw_file(i % 4 == 3 ? 65536 : 4096, 1 + draw(8), &crc);
		bool holds = walk_file(&f, crc);

		boltfile_free(&f);
		if (!holds) {
			(void) fprintf(stderr, "file %u of SEED=%s\n", i, seed != NULL ? seed : "1");
			break;
		}
	}
	return check_result();
}
