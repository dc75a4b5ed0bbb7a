/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Good entries of a catalogue for tests, and the lines that a list of a target has of them. */

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/target/inventory.h"

#define ENTRIES_SHA "0000000000000000000000000000000000000000000000000000000000000000"
#define ENTRIES_BYTES 1000

static inline UNUSED void entries_set(char **slot, const char *text)
{
	free(*slot);
	*slot = xstrdup(text);
}

/* Of member and node "n1", 100 keys. The caller frees it. */
static inline UNUSED struct catalog_entry *entries_new(const char *job, uint64_t cluster_id,
                                                       int64_t started_s, int64_t revision)
{
	struct catalog_entry *e = catalog_entry_new();

	entries_set(&e->job, job);
	entries_set(&e->member_name, "n1");
	entries_set(&e->server_version, "3.5.16");
	e->node = xstrdup("n1");
	e->cluster_id = cluster_id;
	e->started_s = started_s;
	e->finished_s = started_s + 1;
	e->revision = revision;
	e->live_keys = 100;
	e->file_bytes = ENTRIES_BYTES;
	(void) snprintf(e->file_sha256, sizeof(e->file_sha256), ENTRIES_SHA);
	(void) snprintf(e->db_sha256, sizeof(e->db_sha256), ENTRIES_SHA);
	e->digest_verified = true;
	e->tree_verified = true;
	free(e->id);
	e->id = catalog_build_id(started_s, job, "n1", "n1", revision);
	free(e->file);
	e->file = catalog_file_name(e);
	return e;
}

/* Takes `content`, which may be NULL. */
static inline UNUSED void entries_list(struct inventory *inventory, const char *key, int64_t bytes,
                                       json_t *content)
{
	json_t *line =
	    json_pack("{s:s, s:I, s:o*}", "key", key, "bytes", (json_int_t) bytes, "content", content);

	inventory_add(inventory, line);
	json_decref(line);
}

static inline UNUSED json_t *entries_json(const struct catalog_entry *entry)
{
	AUTO(free) char *text = catalog_print(entry);

	return json_loads(text, 0, NULL);
}

/* Both objects of it. */
static inline UNUSED void entries_store(struct inventory *inventory,
                                        const struct config_target *target,
                                        const struct catalog_entry *entry)
{
	AUTO(free) char *file = inventory_file_key(target, entry);
	AUTO(free) char *key = inventory_entry_key(target, entry);

	entries_list(inventory, file, entry->file_bytes, NULL);
	entries_list(inventory, key, 1, entries_json(entry));
}
