/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes is described in the same words as the manifest has; at the end both must be the same.
 * So a file that is missing, is one too many or was changed is found, whatever its place.
 */
#include "etcdwatch/worker/pack/unbundle.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/pack/bundle.h"
#include "etcdwatch/worker/pack/tarread.h"
#include "web/digest.h"

/* 10000 files with paths of 1024 bytes. */
#define MANIFEST_BYTES_MAX ((uint64_t) 16 << 20)

enum what {
	NOTHING, /* the snapshot comes first */
	SNAPSHOT,
	EXTRA,
	MANIFEST, /* nothing comes behind it */
};

struct unbundle {
	struct sink *next;
	struct extract *extract;
	struct problem *problem;
	enum what now;
	struct tar_entry entry;
	struct digest *digest;
	json_t *snapshot;
	json_t *extra;
	unsigned n_files;
	char *manifest;
	size_t manifest_len;
};

static int corrupt(struct unbundle *u, const char *what)
{
	return problem_set(u->problem, -EBADMSG, "CORRUPT", "the bundle is damaged: %s", what);
}

static int begin_manifest(struct unbundle *u)
{
	if (u->entry.n_bytes > MANIFEST_BYTES_MAX)
		return corrupt(u, "its manifest is too long");
	u->manifest = xcalloc(u->entry.n_bytes + 1, 1);
	return 0;
}

static int on_entry(const struct tar_entry *entry, void *userdata)
{
	static const char dir[] = BUNDLE_EXTRA_DIR "/";
	struct unbundle *u = userdata;
	const char *path = entry->path;

	u->entry = *entry;
	if (u->now == MANIFEST)
		return corrupt(u, "something follows its manifest");
	if (u->now == NOTHING) {
		u->now = SNAPSHOT;
		return entry->type == TAR_FILE && strchr(path, '/') == NULL
		           ? 0
		           : corrupt(u, "it does not begin with a snapshot");
	}
	if (entry->type == TAR_FILE && strcmp(path, BUNDLE_MANIFEST) == 0) {
		u->now = MANIFEST;
		return begin_manifest(u);
	}
	u->now = EXTRA;
	if (strncmp(path, dir, sizeof(dir) - 1) != 0)
		return corrupt(u, "it has a file that does not belong there");
	if (++u->n_files > BUNDLE_FILES_MAX)
		return corrupt(u, "it has too many files");
	/* From here on the path is the one that it had. */
	memmove(u->entry.path, path + sizeof(dir) - 2, strlen(path + sizeof(dir) - 2) + 1);
	return u->extract != NULL ? extract_begin(u->extract, &u->entry) : 0;
}

static int on_data(const void *data, size_t len, void *userdata)
{
	struct unbundle *u = userdata;

	if (u->now == MANIFEST) {
		memcpy(u->manifest + u->manifest_len, data, len);
		u->manifest_len += len;
		return 0;
	}
	digest_update(u->digest, data, len);
	if (u->now == SNAPSHOT)
		return sink_write(u->next, data, len);
	return u->extract != NULL ? extract_data(u->extract, data, len) : 0;
}

static int on_end(void *userdata)
{
	struct unbundle *u = userdata;
	char hex[DIGEST_HEX_MAX];
	json_t *object;

	if (u->now == MANIFEST)
		return 0;
	object = bundle_describe(u->entry.path, (char) u->entry.type, u->entry.n_bytes,
	                         digest_finish_hex(u->digest, hex), u->entry.link);
	if (object == NULL)
		return corrupt(u, "a name in it is not UTF-8");
	if (u->now == SNAPSHOT) {
		u->snapshot = object;
		return 0;
	}
	(void) json_array_append_new(u->extra, object);
	return u->extract != NULL ? extract_end(u->extract) : 0;
}

static int on_finish(void *userdata)
{
	struct unbundle *u = userdata;
	json_t *manifest;
	bool same, known;

	if (u->now != MANIFEST)
		return corrupt(u, "it has no manifest");
	manifest = json_loadb(u->manifest, u->manifest_len, JSON_REJECT_DUPLICATES, NULL);
	known = json_integer_value(json_object_get(manifest, "version")) == BUNDLE_VERSION;
	same = json_equal(json_object_get(manifest, "snapshot"), u->snapshot) != 0 &&
	       json_equal(json_object_get(manifest, "extra"), u->extra) != 0;
	json_decref(manifest);
	if (!known)
		return corrupt(u, "its manifest is not one of version 1");
	if (!same)
		return corrupt(u, "its files are not those of its manifest");
	return sink_finish(u->next);
}

static void on_free(void *userdata)
{
	struct unbundle *u = userdata;

	sink_free(u->next);
	digest_free(u->digest);
	json_decref(u->snapshot);
	json_decref(u->extra);
	free(u->manifest);
	free(u);
}

struct sink *unbundle_new(struct sink *snapshot, struct extract *extract, struct problem *problem)
{
	static const struct tarread_callbacks callbacks = {on_entry, on_data, on_end, on_finish,
	                                                   on_free};
	struct unbundle *u = NEW0(struct unbundle);

	u->next = snapshot;
	u->extract = extract;
	u->problem = problem;
	u->digest = digest_new(DIGEST_SHA256);
	u->extra = json_array();
	return tarread_new(&callbacks, u, problem);
}
