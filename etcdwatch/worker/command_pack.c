/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack FILE [--level N] [--recipient R]... [--recipients-file F]... [--extra PATH]... [--sha256
 * HEX]
 *      [--name NAME] [--keep]
 * unpack FILE [--to FILE] [--identity F]... [--extra-to DIRECTORY] [--sha256 HEX]
 *      [--plain-sha256 HEX]
 *
 * "plain_bytes" and "plain_sha256" are of the file that is packed, to its last byte. Of a snapshot
 * that includes the digest at its end, so they are not the "db_bytes" and "db_sha256" of its
 * catalogue entry.
 */
#include "etcdwatch/worker/commands.h"

#include <stdlib.h>

#include "base/jsonval.h"
#include "etcdwatch/worker/pack/pack.h"
#include "etcdwatch/worker/pack/unpack.h"
#include "etcdwatch/worker/pack/codec.h"

struct pack_words {
	struct words common;
	struct options_list recipients, recipients_files, extra;
	int64_t level;
	const char *sha256;
	const char *name;
	bool keep;
};

static const struct options_entry pack_options[] = {
    OPTION_NUMBER("--level", struct pack_words, level, 0, ZSTDFLOW_LEVEL_MAX, 0),
    OPTION("--recipient", LIST, struct pack_words, recipients),
    OPTION("--recipients-file", LIST, struct pack_words, recipients_files),
    OPTION("--extra", LIST, struct pack_words, extra),
    OPTION("--sha256", TEXT, struct pack_words, sha256),
    OPTION("--name", TEXT, struct pack_words, name),
    OPTION("--keep", FLAG, struct pack_words, keep),
};

static json_t *describe(const char *path, const struct tap_result *packed,
                        const struct tap_result *plain, bool zstd, bool age)
{
	return json_pack("{s:o, s:I, s:s, s:I, s:s, s:s, s:s}", "file", jsonval_text(path),
	                 "file_bytes", (json_int_t) packed->n_bytes, "file_sha256", packed->sha256,
	                 "plain_bytes", (json_int_t) plain->n_bytes, "plain_sha256", plain->sha256,
	                 "compression", zstd ? "zstd" : "none", "encryption", age ? "age" : "none");
}

static int pack(void *words, struct problem *problem, json_t **ret_fields)
{
	const struct pack_words *w = words;
	const struct pack_request request = {
	    .path = w->common.rest.values[0],
	    .level = (int) w->level,
	    .recipients = {w->recipients.values, w->recipients.n, w->recipients_files.values,
	                   w->recipients_files.n},
	    .extra = w->extra.values,
	    .n_extra = w->extra.n,
	    .sha256 = w->sha256,
	    .name = w->name,
	    .keep_plain = w->keep,
	};
	struct pack_result result = {0};
	json_t *extra = json_array();
	int r = pack_run(&request, problem, &result);

	for (size_t i = 0; i < w->extra.n; i++)
		(void) json_array_append_new(extra, jsonval_text(w->extra.values[i]));
	if (r == 0) {
		*ret_fields = describe(result.path, &result.packed, &result.plain, w->level > 0,
		                       w->recipients.n + w->recipients_files.n > 0);
		(void) json_object_set(*ret_fields, "extra", extra);
		(void) json_object_set_new(*ret_fields, "plain_removed",
		                           json_boolean(result.plain_removed));
	}
	json_decref(extra);
	free(result.path);
	return r;
}

struct unpack_words {
	struct words common;
	struct options_list identities;
	struct unpack_request request;
};

static const struct options_entry unpack_options[] = {
    OPTION("--to", TEXT, struct unpack_words, request.to),
    OPTION("--identity", LIST, struct unpack_words, identities),
    OPTION("--extra-to", TEXT, struct unpack_words, request.extra_dir),
    OPTION("--sha256", TEXT, struct unpack_words, request.packed_sha256),
    OPTION("--plain-sha256", TEXT, struct unpack_words, request.plain_sha256),
};

static int unpack(void *words, struct problem *problem, json_t **ret_fields)
{
	struct unpack_words *w = words;
	struct unpack_result result = {0};
	int r;

	w->request.path = w->common.rest.values[0];
	w->request.keys = (struct opener_keys){w->identities.values, w->identities.n, NULL};
	r = unpack_run(&w->request, problem, &result);
	if (r < 0)
		return r;
	*ret_fields =
	    describe(result.path, &result.packed, &result.plain, result.found.zstd, result.found.age);
	(void) json_object_set_new(*ret_fields, "bundle", json_boolean(result.found.bundle));
	free(result.path);
	return 0;
}

const struct command pack_commands[] = {
    {"pack", COMMAND_TIMED, 1, 1, sizeof(struct pack_words), COMMAND_OPTIONS(pack_options),
     .run = pack},
    {"unpack", COMMAND_TIMED, 1, 1, sizeof(struct unpack_words), COMMAND_OPTIONS(unpack_options),
     .run = unpack},
    {.name = NULL},
};
