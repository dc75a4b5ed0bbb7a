/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each call is one run of a program (filter.h), whose output goes to a sink: the data to who asked
 * for them, the lines of a list into memory. A list is used when its program has succeeded, so that
 * half of one is never taken for all.
 */
#include "etcdwatch/worker/store/storeprogram.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/worker/common/filter.h"

#define CODE "PROGRAM"
#define WORDS_MAX 32
#define BUFFER_BYTES (64 * 1024)
#define LINE_BYTES_MAX (STOREPROGRAM_KEY_MAX + 128)
#define OBJECTS_MAX 1000000
/* A program may read or write ahead, and be silent while it talks to the store. */
#define LIST_MS (10 * 60 * 1000u)
#define SLOWEST_BYTES_PER_MS 20
#define UPLOAD_MS_MAX (24 * 60 * 60 * 1000u)

enum verb {
	VERB_UPLOAD,
	VERB_DOWNLOAD,
	VERB_LIST,
	VERB_DELETE,
	VERBS,
};

static const char *const verb_names[VERBS] = {"upload", "download", "list", "delete"};

struct store {
	json_t *programs;
	const char *words[VERBS][WORDS_MAX + 1]; /* in `programs`; NULL behind the last */
};

static void store_free(void *userdata)
{
	struct store *store = userdata;

	json_decref(store->programs);
	free(store);
}

bool storeprogram_key_is_good(const char *key)
{
	size_t len = strlen(key);

	if (len == 0 || len > STOREPROGRAM_KEY_MAX || key[0] == '-')
		return false;
	for (const char *p = key; *p != '\0'; p++) {
		if ((unsigned char) *p < ' ' || *p == 0x7f)
			return false;
	}
	for (const char *part = key;; part = strchr(part, '/') + 1) {
		size_t n = strcspn(part, "/");

		if (n == 0 || (n == 1 && part[0] == '.') || (n == 2 && memcmp(part, "..", 2) == 0))
			return false;
		if (part[n] == '\0')
			return true;
	}
}

/* --- one run --- */

struct run {
	enum verb verb;
	const char *key;  /* or the prefix */
	const char *file; /* for an upload, or NULL */
	unsigned stall_ms;
	struct problem problem;
};

/* `word` with `value` for each `mark`; to be freed. */
static char *replace(const char *word, const char *mark, const char *value)
{
	char *out = xstrdup(word);
	size_t done = 0;

	for (;;) {
		char *at = strstr(out + done, mark), *longer;

		if (at == NULL)
			return out;
		longer = xasprintf("%.*s%s%s", (int) (at - out), out, value, at + strlen(mark));
		done = (size_t) (at - out) + strlen(value);
		free(out);
		out = longer;
	}
}

static bool takes_file(const struct store *store)
{
	for (const char *const *word = store->words[VERB_UPLOAD]; *word != NULL; word++) {
		if (strstr(*word, "{file}") != NULL)
			return true;
	}
	return false;
}

/* Starts it. `next` borrows nothing of ours, and is freed in any case. */
static int begin(const struct store *store, struct run *run, struct sink *next,
                 struct sink **ret_sink)
{
	const char *argv[WORDS_MAX + 1] = {NULL};
	char *owned[WORDS_MAX] = {NULL};
	const struct filter_program program = {
	    .argv = argv,
	    .extra_fd = -1,
	    .stall_ms = run->stall_ms,
	    .last_words = true,
	    .code = CODE,
	    .missing_code = CODE,
	};
	int r;

	for (size_t i = 0; store->words[run->verb][i] != NULL; i++) {
		AUTO(free)
		char *word = replace(store->words[run->verb][i],
		                     run->verb == VERB_LIST ? "{prefix}" : "{key}", run->key);

		argv[i] = owned[i] = replace(word, "{file}", run->file != NULL ? run->file : "{file}");
	}
	r = filter_new(&program, next, &run->problem, ret_sink);
	for (size_t i = 0; i < WORDS_MAX; i++)
		free(owned[i]);
	return r;
}

static int fail(struct s3 *s3, const struct run *run, int r)
{
	AUTO(free)
	char *reason = xasprintf("%s '%s': %s", verb_names[run->verb], run->key, run->problem.reason);

	return s3_fail(s3, r, r == -ECANCELED ? S3_CANCELLED : S3_PROGRAM, reason);
}

static int refuse_key(struct s3 *s3, const char *key)
{
	AUTO(free)
	char *reason = xasprintf("'%s' cannot be a key in a store that programs reach: it has an empty "
	                         "part, '.' or '..', or characters that are not printable",
	                         key);

	return s3_fail(s3, -EINVAL, S3_REFUSED, reason);
}

/* --- listing --- */

struct item {
	char *key;
	uint64_t n_bytes;
};

struct lister {
	struct sink sink;
	const char *prefix;
	struct problem *problem;
	struct item *items;
	size_t n, room;
	size_t n_lines;
	size_t len;
	char line[LINE_BYTES_MAX];
};

static int refuse_line(struct lister *l, const char *why)
{
	return problem_set(l->problem, -EPROTO, CODE, "line %zu of its list %s", l->n_lines, why);
}

static void add_item(struct lister *l, const char *key, uint64_t n_bytes)
{
	if (l->n == l->room) {
		l->room = l->room > 0 ? 2 * l->room : 64;
		l->items = xreallocarray(l->items, l->room, sizeof(*l->items));
	}
	l->items[l->n++] = (struct item){.key = xstrdup(key), .n_bytes = n_bytes};
}

/* "123;cluster-a/x.db" */
static int take_line(struct lister *l)
{
	uint64_t n_bytes;
	char *end;

	l->n_lines++;
	if (l->line[l->len - 1] == '\r')
		l->len--;
	l->line[l->len] = '\0';
	if (strlen(l->line) < l->len)
		return refuse_line(l, "has a NUL in it");
	errno = 0;
	n_bytes = strtoull(l->line, &end, 10);
	if (l->line[0] < '0' || l->line[0] > '9' || *end == '\0' || strchr("\t ;", *end) == NULL ||
	    errno != 0)
		return refuse_line(l, "is not a size in bytes, a tab, a space or a ';', and a key");
	if (l->n_lines > OBJECTS_MAX)
		return refuse_line(l, "is one too many: it is about one cluster's objects");
	/* Others in that store are not ours. */
	if (strncmp(end + 1, l->prefix, strlen(l->prefix)) == 0 && storeprogram_key_is_good(end + 1))
		add_item(l, end + 1, n_bytes);
	return 0;
}

static int lister_write(struct sink *sink, const void *data, size_t len)
{
	struct lister *l = CONTAINER_OF(sink, struct lister, sink);
	const char *p = data;

	for (size_t i = 0; i < len; i++) {
		int r = 0;

		if (p[i] != '\n' && l->len == sizeof(l->line) - 1) {
			l->n_lines++;
			return refuse_line(l, "is too long");
		}
		if (p[i] != '\n') {
			l->line[l->len++] = p[i];
			continue;
		}
		if (l->len > 0)
			r = take_line(l);
		if (r < 0)
			return r;
		l->len = 0;
	}
	return 0;
}

static int lister_finish(struct sink *sink)
{
	struct lister *l = CONTAINER_OF(sink, struct lister, sink);

	return l->len > 0 ? take_line(l) : 0;
}

static void lister_fini(struct lister *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->items[i].key);
	free(l->items);
}

/* `l` is the caller's to end in any case. */
static int run_list(struct s3 *s3, const char *prefix, struct lister *l)
{
	struct run run = {.verb = VERB_LIST, .key = prefix, .stall_ms = LIST_MS};
	AUTO(sink_free) struct sink *filter = NULL;
	int r;

	*l = (struct lister){.sink = {lister_write, lister_finish, sink_free_nothing},
	                     .prefix = prefix,
	                     .problem = &run.problem};
	r = begin(s3_store(s3), &run, &l->sink, &filter);
	if (r == 0)
		r = sink_finish(filter);
	return r < 0 ? fail(s3, &run, r) : 0;
}

static int program_list(struct s3 *s3, const char *prefix, uint64_t max, s3_listed_fn listed,
                        void *userdata)
{
	AUTO(free) struct lister *l = NEW0(struct lister);
	int r = run_list(s3, prefix, l);

	for (size_t i = 0; i < l->n && r == 0 && (max == 0 || i < max); i++) {
		const struct s3_listed one = {
		    .key = l->items[i].key,
		    .n_bytes = l->items[i].n_bytes,
		    .etag = "",
		    .modified = "",
		};

		r = listed(&one, userdata);
	}
	lister_fini(l);
	return r;
}

/* --- objects --- */

static int program_head(struct s3 *s3, const char *key, struct s3_object *ret_object)
{
	AUTO(free) struct lister *l = NULL;
	AUTO(free) char *reason = NULL;
	bool found = false;
	int r;

	if (!storeprogram_key_is_good(key))
		return refuse_key(s3, key);
	l = NEW0(struct lister);
	r = run_list(s3, key, l);
	for (size_t i = 0; i < l->n && r == 0 && !found; i++) {
		found = strcmp(l->items[i].key, key) == 0;
		if (found)
			*ret_object = (struct s3_object){.n_bytes = l->items[i].n_bytes, .encrypted = true};
	}
	lister_fini(l);
	if (r < 0 || found)
		return r;
	reason = xasprintf("there is no object '%s' in the list", key);
	return s3_fail(s3, -ENOENT, S3_NOT_FOUND, reason);
}

/* After a program has failed: whether because there is no such object; else its error stands. */
static bool is_missing(struct s3 *s3, const char *key)
{
	struct s3_error error = *s3_get_error(s3);
	struct s3_object object;

	if (error.failure != S3_PROGRAM)
		return false;
	if (program_head(s3, key, &object) == -ENOENT)
		return true;
	(void) s3_fail(s3, 0, error.failure, error.reason);
	return false;
}

struct taker {
	struct sink sink;
	s3_data_fn data;
	void *userdata;
	uint64_t skip; /* of the beginning */
	uint64_t n_bytes;
	int result; /* what the callback ended it with */
};

static int taker_write(struct sink *sink, const void *data, size_t len)
{
	struct taker *t = CONTAINER_OF(sink, struct taker, sink);
	size_t skipped = (size_t) MIN(t->skip, (uint64_t) len);
	int r = 0;

	t->n_bytes += len;
	t->skip -= skipped;
	if (skipped < len)
		r = t->data((const char *) data + skipped, len - skipped, t->userdata);
	t->result = r;
	return r;
}

static int program_get(struct s3 *s3, const char *key, uint64_t offset, s3_data_fn data,
                       void *userdata, struct s3_object *ret_object)
{
	struct run run = {.verb = VERB_DOWNLOAD, .key = key};
	struct taker taker = {.sink = {taker_write, sink_finish_nothing, sink_free_nothing},
	                      .data = data,
	                      .userdata = userdata,
	                      .skip = offset};
	AUTO(sink_free) struct sink *filter = NULL;
	int r;

	if (!storeprogram_key_is_good(key))
		return refuse_key(s3, key);
	r = begin(s3_store(s3), &run, &taker.sink, &filter);
	if (r == 0)
		r = sink_finish(filter);
	if (taker.result < 0)
		return s3_fail(s3, taker.result, S3_LOCAL, "what came could not be kept");
	if (r < 0) {
		r = fail(s3, &run, r);
		return is_missing(s3, key) ? -ENOENT : r;
	}
	if (taker.skip > 0)
		return s3_fail(s3, -ERANGE, S3_REFUSED, "the object ends before the offset");
	if (ret_object != NULL)
		*ret_object = (struct s3_object){.n_bytes = taker.n_bytes, .encrypted = true};
	return 0;
}

/* The piece, to the program's standard input. */
static int feed(struct s3 *s3, const struct s3_piece *piece, struct run *run, struct sink *filter)
{
	AUTO(free) char *buffer = xcalloc(1, BUFFER_BYTES);
	uint64_t done = 0;

	while (done < piece->n_bytes) {
		size_t want = (size_t) MIN(piece->n_bytes - done, (uint64_t) BUFFER_BYTES);
		ssize_t n = pread(piece->fd, buffer, want, (off_t) (piece->offset + done));
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return problem_set(&run->problem, n < 0 ? -errno : -ENODATA, CODE,
			                   "the file cannot be read: %s",
			                   n < 0 ? strerror(errno) : "it is shorter than it was");
		r = sink_write(filter, buffer, (size_t) n);
		if (r < 0)
			return r;
		done += (uint64_t) n;
		s3_tell_sent(s3, done);
	}
	return 0;
}

static int program_put(struct s3 *s3, const char *key, const struct s3_piece *piece)
{
	struct store *store = s3_store(s3);
	struct run run = {
	    .verb = VERB_UPLOAD,
	    .key = key,
	    .file = piece->path,
	    .stall_ms = (unsigned) MIN(LIST_MS + piece->n_bytes / SLOWEST_BYTES_PER_MS,
	                               (uint64_t) UPLOAD_MS_MAX),
	};
	/* What it prints is of no interest. */
	struct taker nothing = {.sink = {taker_write, sink_finish_nothing, sink_free_nothing},
	                        .skip = UINT64_MAX};
	AUTO(sink_free) struct sink *filter = NULL;
	int r;

	if (!storeprogram_key_is_good(key))
		return refuse_key(s3, key);
	r = begin(store, &run, &nothing.sink, &filter);
	if (r == 0 && !takes_file(store))
		r = feed(s3, piece, &run, filter);
	if (r == 0)
		r = sink_finish(filter);
	if (r < 0)
		return fail(s3, &run, r);
	s3_tell_sent(s3, piece->n_bytes);
	return 0;
}

static int program_delete(struct s3 *s3, const char *key)
{
	struct run run = {.verb = VERB_DELETE, .key = key, .stall_ms = LIST_MS};
	struct taker nothing = {.sink = {taker_write, sink_finish_nothing, sink_free_nothing},
	                        .skip = UINT64_MAX};
	AUTO(sink_free) struct sink *filter = NULL;
	int r;

	if (!storeprogram_key_is_good(key))
		return refuse_key(s3, key);
	r = begin(s3_store(s3), &run, &nothing.sink, &filter);
	if (r == 0)
		r = sink_finish(filter);
	if (r == 0)
		return 0;
	r = fail(s3, &run, r);
	return is_missing(s3, key) ? 0 : r;
}

/* --- the store --- */

static const struct s3_ops program_ops = {
    .head = program_head,
    .get = program_get,
    .put = program_put,
    .delete = program_delete,
    .list = program_list,
    .free = store_free,
};

static bool read_words(struct store *store, enum verb verb)
{
	const json_t *list = json_object_get(store->programs, verb_names[verb]);
	size_t n = json_array_size(list);

	if (n == 0 || n > WORDS_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		store->words[verb][i] = json_string_value(json_array_get(list, i));
		if (store->words[verb][i] == NULL)
			return false;
	}
	return true;
}

int storeprogram_open(const char *text, struct problem *problem, struct s3 **ret_s3)
{
	struct store *store = NEW0(struct store);

	store->programs = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	for (unsigned verb = 0; verb < VERBS; verb++) {
		if (read_words(store, (enum verb) verb))
			continue;
		store_free(store);
		return problem_set(problem, -EINVAL, "USAGE",
		                   "--command takes JSON with the lists upload, download, list and delete "
		                   "of 1 to %d words, and '%s' is none",
		                   WORDS_MAX, verb_names[verb]);
	}
	*ret_s3 = s3_new_of(&program_ops, store);
	return 0;
}
