/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locally, names are looked up in a directory; in S3 below a prefix, wherever there. An entry's
 * file is beside it in both. What "latest" means is decided by the entries alone: of the line
 * (catalog.h) that was written to last, the newest that counts.
 */
#include "etcdwatch/worker/source/sourcefind.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/sink.h"
#include "etcdwatch/worker/store/s3target.h"

#define LATEST "latest"
#define ENTRY_SUFFIX ".json"
#define REJECTED "rejected"
#define DB_IN_DIR "member/snap/db"
/* So many that count are enough for the newest one; names begin with the time. */
#define LATEST_MAX 500
#define FOLDER_LEN 16 /* of a cluster, in hexadecimal */
#define KEYS_ROOM_MIN 64

void sourcefound_fini(struct sourcefound *found)
{
	free(found->origin);
	catalog_entry_free(found->entry);
}

static bool ends_with(const char *text, const char *suffix)
{
	size_t len = strlen(text), n = strlen(suffix);

	return len > n && strcmp(text + len - n, suffix) == 0;
}

/* `name` in the place of what is behind the last slash; to be freed. */
static char *beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return xasprintf("%.*s%s", slash != NULL ? (int) (slash + 1 - path) : 0, path, name);
}

/* Takes an entry, which was at that path or key. Whether it is one that may be chosen. */
typedef bool (*take_fn)(struct catalog_entry *entry, const char *at, void *userdata);

/* --- the newest of entries --- */

struct newest {
	const struct source_request *request;
	struct catalog_entry *entry;
	char *entry_at;
	size_t n_seen;
	struct source_passed passed;
};

/* By its signature; what is not chosen is counted. */
static bool is_signed_well(const struct source_request *q, const struct catalog_entry *entry,
                           struct source_passed *passed)
{
	enum trust_verdict verdict = trust_judge(entry, &q->trust);

	if (trust_allows_chosen(&q->trust, verdict))
		return true;
	switch (verdict) {
	case TRUST_GOOD:
		return true;
	case TRUST_NONE:
		if (q->s3 == NULL && !q->trust.is_configured)
			return true;
		passed->n_unsigned++;
		return false;
	case TRUST_UNKNOWN:
		passed->n_unknown++;
		return false;
	case TRUST_WRONG:
		passed->n_wrong++;
		return false;
	case TRUST_NEWER:
		passed->n_newer++;
		return false;
	}
	return false;
}

bool sourcefind_may_choose(const struct source_request *q, const struct catalog_entry *entry)
{
	struct source_passed passed = {0};

	return is_signed_well(q, entry, &passed);
}

/* Of the job, and nothing against it. */
static bool counts(const struct source_request *q, const struct catalog_entry *entry,
                   struct source_passed *passed)
{
	if (!catalog_is_good(entry) || (q->job != NULL && strcmp(entry->job, q->job) != 0))
		return false;
	if (q->encrypted && !entry->age) {
		passed->n_plain++;
		return false;
	}
	return is_signed_well(q, entry, passed);
}

char *sourcefind_describe_passed(const struct source_passed *passed)
{
	const struct {
		size_t n;
		const char *what;
	} kinds[] = {
	    {passed->n_plain, "not encrypted (to take one, name it, with --plain)"},
	    {passed->n_unsigned, "not signed (to take one, name it)"},
	    {passed->n_unknown, "signed by keys that are not trusted"},
	    {passed->n_wrong, "with a wrong signature"},
	    {passed->n_newer, "signed in a format of a newer version (use that version)"},
	};
	char *text = xstrdup("");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		AUTO(free) char *before = NULL;

		if (kinds[i].n == 0)
			continue;
		before = text;
		text = xasprintf("%s%s%zu %s", before,
		                 before[0] == '\0' ? ", of which these are passed over: " : ", ",
		                 kinds[i].n, kinds[i].what);
	}
	return text;
}

/* One of the line that was written to last is newer than one of any other. */
static bool is_newer(const struct catalog_entry *entry, const struct catalog_entry *than)
{
	if (catalog_same_line(than, entry))
		return catalog_compare(than, entry) < 0;
	return than->finished_s < entry->finished_s;
}

static bool consider(struct catalog_entry *entry, const char *entry_at, void *userdata)
{
	struct newest *newest = userdata;
	const struct catalog_entry *before = newest->entry;
	bool is_one = counts(newest->request, entry, &newest->passed);

	newest->n_seen++;
	if (!is_one || (before != NULL && !is_newer(entry, before))) {
		catalog_entry_free(entry);
		return is_one;
	}
	catalog_entry_free(newest->entry);
	free(newest->entry_at);
	newest->entry = entry;
	newest->entry_at = xstrdup(entry_at);
	return true;
}

static int settle_newest(struct newest *newest, const char *where, struct problem *problem,
                         struct sourcefound *ret_found)
{
	if (newest->entry == NULL) {
		AUTO(free) char *passed = sourcefind_describe_passed(&newest->passed);

		return problem_set(problem, -ENOENT, "NOT_FOUND",
		                   "there is no verified snapshot in '%s', among %zu entries%s", where,
		                   newest->n_seen, passed);
	}
	ret_found->passed = newest->passed;
	ret_found->origin = beside(newest->entry_at, newest->entry->file);
	ret_found->entry = TAKE_PTR(newest->entry);
	free(newest->entry_at);
	return 0;
}

/* --- local --- */

/* 0, and NULL if there is none; one that cannot be read is a refusal: it may be about this file. */
static int read_entry(const char *path, struct problem *problem, struct catalog_entry **ret_entry)
{
	char error[CATALOG_ERROR_MAX];
	int r = catalog_read(path, ret_entry, error);

	if (r == -ENOENT) {
		*ret_entry = NULL;
		return 0;
	}
	return r < 0 ? problem_set(problem, r, "MISMATCH", "%s", error) : 0;
}

/* Of a snapshot's file; what is before it, the node's name with it, may have such a thing too. */
static const char *find_suffix(const char *name)
{
	const char *last = NULL;

	for (const char *p = strstr(name, ".db"); p != NULL; p = strstr(p + 1, ".db"))
		last = p;
	return last;
}

/* The entry beside a file, if it is about this one. */
static int find_entry_of(const char *path, struct problem *problem,
                         struct catalog_entry **ret_entry)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	const char *end = find_suffix(name);
	AUTO(free) char *id = end != NULL ? xstrndup(name, (size_t) (end - name)) : NULL;
	AUTO(free) char *entry_name = id != NULL ? xasprintf("%s" ENTRY_SUFFIX, id) : NULL;
	AUTO(free) char *entry_path = id != NULL ? beside(path, entry_name) : NULL;

	*ret_entry = NULL;
	if (id == NULL || !catalog_id_is_good(id))
		return 0;
	return read_entry(entry_path, problem, ret_entry);
}

static int take_path(const char *path, struct problem *problem, struct sourcefound *ret_found)
{
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return problem_set_errno(problem, -errno, "cannot read '%s'", path);
	ret_found->origin = S_ISDIR(st.st_mode) ? xasprintf("%s/" DB_IN_DIR, path) : xstrdup(path);
	r = find_entry_of(ret_found->origin, problem, &ret_found->entry);
	if (r == 0 && ret_found->entry != NULL && !ends_with(ret_found->origin, ret_found->entry->file))
		r = problem_set(problem, -EBADMSG, "MISMATCH",
		                "the entry beside '%s' is about '%s': move the one that is wrong away",
		                path, ret_found->entry->file);
	return r;
}

static int visit_directory(const struct source_request *q, struct problem *problem, take_fn take,
                           void *userdata)
{
	DIR *stream = opendir(q->directory);
	const struct dirent *listed;

	if (stream == NULL)
		return problem_set_errno(problem, -errno, "cannot look into '%s'", q->directory);
	while ((listed = readdir(stream)) != NULL) {
		AUTO(free) char *path = xasprintf("%s/%s", q->directory, listed->d_name);
		struct catalog_entry *entry = NULL;
		char error[CATALOG_ERROR_MAX];

		/* What cannot be read is not the newest that counts. */
		if (ends_with(listed->d_name, ENTRY_SUFFIX) && catalog_read(path, &entry, error) == 0)
			(void) take(entry, path, userdata);
	}
	(void) closedir(stream);
	return 0;
}

static int find_latest(const struct source_request *q, struct problem *problem,
                       struct sourcefound *ret_found)
{
	struct newest newest = {.request = q};
	int r = visit_directory(q, problem, consider, &newest);

	return r < 0 ? r : settle_newest(&newest, q->directory, problem, ret_found);
}

/* A signature is right under any name: a store may show an old entry under a newer one's. */
static int check_id(const struct source_request *q, const struct catalog_entry *entry,
                    const char *at, struct problem *problem)
{
	if (strcmp(entry->id, q->name) == 0)
		return 0;
	return problem_set(problem, -EBADMSG, "MISMATCH",
	                   "'%s' is the entry of another snapshot, '%s': name the one that is meant",
	                   at, entry->id);
}

static int find_id(const struct source_request *q, struct problem *problem,
                   struct sourcefound *ret_found)
{
	AUTO(free) char *path = xasprintf("%s/%s" ENTRY_SUFFIX, q->directory, q->name);
	AUTO(free)
	char *rejected = xasprintf("%s/" REJECTED "/%s" ENTRY_SUFFIX, q->directory, q->name);
	const char *at = path;
	int r = read_entry(at, problem, &ret_found->entry);

	if (r == 0 && ret_found->entry == NULL) {
		at = rejected;
		r = read_entry(at, problem, &ret_found->entry);
	}
	if (r < 0)
		return r;
	if (ret_found->entry == NULL)
		return problem_set(problem, -ENOENT, "NOT_FOUND", "there is no snapshot '%s' in '%s'",
		                   q->name, q->directory);
	ret_found->origin = beside(at, ret_found->entry->file);
	return check_id(q, ret_found->entry, at, problem);
}

bool sourcefind_is_latest(const struct source_request *q)
{
	return strcmp(q->name, LATEST) == 0;
}

int sourcefind_known(const struct source_request *q, const struct catalog_entry *entry,
                     struct problem *problem, struct catalog_entry **ret_known,
                     struct catalog_entry **ret_newer)
{
	const struct source_request here = {.directory = q->known, .job = entry->job};
	AUTO(free) char *path = xasprintf("%s/%s" ENTRY_SUFFIX, q->known, entry->id);
	struct newest newest = {.request = &here};
	int r;

	/* A new machine has no directory yet. */
	if (access(q->known, F_OK) < 0 && errno == ENOENT)
		return 0;
	r = read_entry(path, problem, ret_known);
	if (r == 0)
		r = visit_directory(&here, problem, consider, &newest);
	free(newest.entry_at);
	if (newest.entry != NULL && newest.entry->cluster_id == entry->cluster_id &&
	    is_newer(newest.entry, entry))
		*ret_newer = TAKE_PTR(newest.entry);
	catalog_entry_free(newest.entry);
	return r;
}

int sourcefind_local(const struct source_request *q, struct problem *problem,
                     struct sourcefound *ret_found)
{
	if (strchr(q->name, '/') != NULL || access(q->name, F_OK) == 0)
		return take_path(q->name, problem, ret_found);
	if (q->directory == NULL)
		return problem_set(problem, -ENOENT, "NOT_FOUND",
		                   "there is no file '%s', and no directory to look for such a snapshot",
		                   q->name);
	if (sourcefind_is_latest(q))
		return find_latest(q, problem, ret_found);
	if (!catalog_id_is_good(q->name))
		return problem_set(problem, -EINVAL, "NOT_FOUND",
		                   "'%s' is no file, and cannot be the id of a snapshot", q->name);
	return find_id(q, problem, ret_found);
}

/* --- S3 --- */

struct keys {
	char **items;
	size_t n, room;
	const char *pattern; /* of the names that are looked for */
};

static const char *name_of(const char *key)
{
	const char *slash = strrchr(key, '/');

	return slash != NULL ? slash + 1 : key;
}

/* Of an entry, as etcdwatch writes it: in the folder of a cluster (target/inventory.h), and no
 * larger. Others may write there what they like, which then takes no place. */
static bool is_entry(const struct s3_listed *listed, const char *pattern)
{
	const char *name = name_of(listed->key);
	size_t len = strlen(name), before = (size_t) (name - listed->key);
	AUTO(free) char *id = NULL;

	/* Longer keys S3 does not have. */
	if (strlen(listed->key) > CATALOG_KEY_MAX || listed->n_bytes > CATALOG_ENTRY_BYTES_MAX ||
	    fnmatch(pattern, name, 0) != 0)
		return false;
	if (before < FOLDER_LEN + 1 ||
	    strspn(name - FOLDER_LEN - 1, "0123456789abcdef") != FOLDER_LEN ||
	    (before > FOLDER_LEN + 1 && name[-FOLDER_LEN - 2] != '/'))
		return false;
	id = xstrndup(name, len - strlen(ENTRY_SUFFIX));
	return catalog_id_is_good(id);
}

static int on_listed(const struct s3_listed *listed, void *userdata)
{
	struct keys *keys = userdata;

	if (!is_entry(listed, keys->pattern))
		return 0;
	if (keys->n == SOURCEFIND_KEYS_MAX)
		return -E2BIG;
	if (keys->n == keys->room) {
		keys->room = keys->room > 0 ? 2 * keys->room : KEYS_ROOM_MIN;
		keys->items = xreallocarray(keys->items, keys->room, sizeof(*keys->items));
	}
	keys->items[keys->n++] = xstrdup(listed->key);
	return 0;
}

static void keys_fini(struct keys *keys)
{
	for (size_t i = 0; i < keys->n; i++)
		free(keys->items[i]);
	free(keys->items);
}

static int list_keys(const struct source_request *q, struct keys *keys, struct problem *problem)
{
	int r = s3_list(q->s3, q->s3_prefix, 0, on_listed, keys);

	if (r == -E2BIG)
		return problem_set(problem, r, "TOO_MANY",
		                   "below '%s' in the bucket there are more than %d entries: use a prefix "
		                   "that is one cluster's",
		                   q->s3_prefix, SOURCEFIND_KEYS_MAX);
	return r < 0 ? s3target_fail(q->s3, r, problem) : 0;
}

/* The newest first, by the time that their names begin with, whatever is in front of them. */
static int compare_keys(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(name_of(*y), name_of(*x));
}

static int on_data(const void *data, size_t len, void *userdata)
{
	struct memsink *memory = userdata;

	return sink_write(&memory->sink, data, len);
}

static int read_object(const struct source_request *q, const char *key, struct problem *problem,
                       struct catalog_entry **ret_entry)
{
	AUTO(free) char *text = xcalloc(1, CATALOG_ENTRY_BYTES_MAX + 1);
	char error[CATALOG_ERROR_MAX];
	struct memsink memory;
	int r;

	memsink_init(&memory, text, CATALOG_ENTRY_BYTES_MAX + 1);
	r = s3_get(q->s3, key, 0, on_data, &memory, NULL);
	if (r == -EMSGSIZE)
		return problem_set(problem, r, "MISMATCH", "'%s' is no entry: it is too long", key);
	if (r < 0)
		return s3target_fail(q->s3, r, problem);
	r = catalog_parse(text, memory.len, ret_entry, error);
	return r < 0 ? problem_set(problem, r, "MISMATCH", "'%s': %s", key, error) : 0;
}

/* The folder is the cluster's (target/inventory.h); what is before it is the prefix, or a part. */
static int check_folder(const struct catalog_entry *entry, const char *key, struct problem *problem)
{
	AUTO(free)
	char *end =
	    xasprintf("%016llx/%s" ENTRY_SUFFIX, (unsigned long long) entry->cluster_id, entry->id);
	size_t len = strlen(key), n = strlen(end);

	if (len >= n && strcmp(key + len - n, end) == 0 && (len == n || key[len - n - 1] == '/'))
		return 0;
	return problem_set(
	    problem, -EBADMSG, "MISMATCH",
	    "'%s' is an entry of the cluster %016llx, and not in its folder: its key would "
	    "end with '%s'",
	    key, (unsigned long long) entry->cluster_id, end);
}

/* 1: what is there is no entry that may be taken. */
static int read_at(const struct source_request *q, const char *key, struct problem *problem,
                   struct catalog_entry **ret_entry)
{
	struct catalog_entry *entry = NULL;
	struct problem of_one = {0};
	int r = read_object(q, key, &of_one, &entry);

	if (r < 0 && strcmp(of_one.code, "MISMATCH") != 0 && strcmp(of_one.code, "S3_NOT_FOUND") != 0) {
		*problem = of_one;
		return r;
	}
	if (r == 0 && strncmp(name_of(key), entry->id, strlen(entry->id)) == 0 &&
	    strcmp(name_of(key) + strlen(entry->id), ENTRY_SUFFIX) == 0)
		r = check_folder(entry, key, &of_one);
	else
		r = -EBADMSG;
	if (r < 0) {
		catalog_entry_free(entry);
		return 1;
	}
	*ret_entry = entry;
	return 0;
}

/* The newest of them, until enough of those that may be chosen were seen. A copy of one in another
 * place is not another one. */
static int visit_objects(const struct source_request *q, struct keys *keys, struct problem *problem,
                         take_fn take, void *userdata)
{
	const char *last = "";
	size_t n_chosen = 0;
	int r = 0;

	qsort(keys->items, keys->n, sizeof(*keys->items), compare_keys);
	for (size_t i = 0; i < keys->n && n_chosen < LATEST_MAX && r >= 0; i++) {
		struct catalog_entry *entry = NULL;

		if (i == SOURCEFIND_READS_MAX)
			return problem_set(problem, -E2BIG, "TOO_MANY",
			                   "of the newest %d entries below '%s' in the bucket only %zu may be "
			                   "chosen: name a snapshot by its id, or remove what is not of this "
			                   "cluster",
			                   SOURCEFIND_READS_MAX, q->s3_prefix, n_chosen);
		r = read_at(q, keys->items[i], problem, &entry);
		if (r == 0 && take(entry, keys->items[i], userdata) &&
		    strcmp(name_of(keys->items[i]), last) != 0) {
			last = name_of(keys->items[i]);
			n_chosen++;
		}
	}
	return MIN(r, 0);
}

static int newest_object(const struct source_request *q, struct keys *keys, struct problem *problem,
                         struct sourcefound *ret_found)
{
	struct newest newest = {.request = q};
	int r = visit_objects(q, keys, problem, consider, &newest);

	if (r < 0) {
		catalog_entry_free(newest.entry);
		free(newest.entry_at);
		return r;
	}
	return settle_newest(&newest, q->s3_prefix, problem, ret_found);
}

static int one_object(const struct source_request *q, const struct keys *keys,
                      struct problem *problem, struct sourcefound *ret_found)
{
	int r;

	if (keys->n != 1)
		return problem_set(problem, -ENOENT, "NOT_FOUND",
		                   "there are %zu snapshots '%s' below '%s' in the bucket", keys->n,
		                   q->name, q->s3_prefix);
	r = read_object(q, keys->items[0], problem, &ret_found->entry);
	if (r == 0)
		r = check_id(q, ret_found->entry, keys->items[0], problem);
	if (r == 0)
		r = check_folder(ret_found->entry, keys->items[0], problem);
	if (r == 0)
		ret_found->origin = beside(keys->items[0], ret_found->entry->file);
	return r;
}

int sourcefind_s3(const struct source_request *q, struct problem *problem,
                  struct sourcefound *ret_found)
{
	bool latest = sourcefind_is_latest(q);
	/* An id has no letter that means something in a pattern. */
	AUTO(free)
	char *pattern = latest ? catalog_entry_pattern(q->job) : xasprintf("%s" ENTRY_SUFFIX, q->name);
	struct keys keys = {.pattern = pattern};
	int r;

	if (!latest && !catalog_id_is_good(q->name))
		return problem_set(problem, -EINVAL, "NOT_FOUND",
		                   "'%s' cannot be the id of a snapshot: in S3 they go by these", q->name);
	r = list_keys(q, &keys, problem);
	if (r == 0)
		r = latest ? newest_object(q, &keys, problem, ret_found)
		           : one_object(q, &keys, problem, ret_found);
	keys_fini(&keys);
	return r;
}

/* --- all of them --- */

struct listing {
	const struct source_request *request;
	struct source_passed passed;
	sourcefind_entry_fn fn;
	void *userdata;
};

static bool list_one(struct catalog_entry *entry, const char *at UNUSED, void *userdata)
{
	struct listing *listing = userdata;
	bool is_one = counts(listing->request, entry, &listing->passed);

	if (is_one)
		listing->fn(entry, listing->userdata);
	catalog_entry_free(entry);
	return is_one;
}

int sourcefind_list(const struct source_request *q, struct problem *problem, sourcefind_entry_fn fn,
                    void *userdata, struct source_passed *ret_passed)
{
	struct listing listing = {.request = q, .fn = fn, .userdata = userdata};
	AUTO(free) char *pattern = catalog_entry_pattern(q->job);
	struct keys keys = {.pattern = pattern};
	int r;

	if (q->s3 == NULL && q->directory == NULL)
		return problem_set(problem, -ENOENT, "NOT_FOUND",
		                   "there is no directory to look for snapshots");
	r = q->s3 != NULL ? list_keys(q, &keys, problem)
	                  : visit_directory(q, problem, list_one, &listing);
	if (r == 0 && q->s3 != NULL)
		r = visit_objects(q, &keys, problem, list_one, &listing);
	keys_fini(&keys);
	if (r == 0)
		*ret_passed = listing.passed;
	return r;
}
