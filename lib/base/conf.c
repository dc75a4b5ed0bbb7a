/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reading of the configuration: which files, and everything that is wrong with them. The other
 * conf_*.c files do the work between: conf_tree.c turns text into nodes, conf_kind.c gives each
 * document to whoever reads its kind, conf_table.c and conf_type.c carry nodes into structs,
 * conf_value.c understands scalars and writes them.
 *
 * Messages are kept until conf_finish(), because they are found in another order than people read:
 * cross checks come last, and a person fixes a file from its top.
 */
#include "base/conf_priv.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"

#define VALUE_SHOWN_BYTES 80

#define VPRINTF_LIKE(fmt) __attribute__((format(printf, fmt, 0)))

struct conf *conf_new(void)
{
	return NEW0(struct conf);
}

static void node_free(struct conf_node *node)
{
	free(node->text);
	free(node->keys);
	free(node->values);
	free(node);
}

void conf_free(struct conf *conf)
{
	if (conf == NULL)
		return;
	for (unsigned i = 0; i < conf->n_files; i++)
		free(conf->files[i]);
	for (size_t i = 0; i < conf->n_nodes; i++)
		node_free(conf->nodes[i]);
	for (size_t i = 0; i < conf->n_problems; i++)
		free(conf->problems[i].text);
	free(conf->files);
	free(conf->nodes);
	free(conf->documents);
	free(conf->problems);
	free(conf);
}

struct conf_node *conf_node_new(struct conf *conf, enum conf_shape shape, struct conf_place place)
{
	struct conf_node *node = NEW0(struct conf_node);

	node->shape = shape;
	node->file = place.file;
	node->line = place.line;
	node->col = place.col;
	node->weight = 1;
	if (conf->n_nodes == conf->cap_nodes) {
		conf->cap_nodes = MAX(conf->cap_nodes * 2, (size_t) 256);
		conf->nodes = xreallocarray(conf->nodes, conf->cap_nodes, sizeof(*conf->nodes));
	}
	conf->nodes[conf->n_nodes++] = node;
	return node;
}

void conf_document_add(struct conf *conf, struct conf_node *root)
{
	root->is_document = true;
	conf->documents =
	    xreallocarray(conf->documents, conf->n_documents + 1, sizeof(*conf->documents));
	conf->documents[conf->n_documents++] = root;
}

/* --- messages --- */

/* The first line is enough to recognise a text by, and what follows "-----BEGIN PRIVATE KEY-----"
 * is nobody's business. Neither is what stands before the '@' of a URL. */
static void write_value(FILE *out, const char *value)
{
	AUTO(free) char *line = xstrndup(value, strcspn(value, "\n"));
	char *login = strstr(line, "://");
	const char *host = strrchr(line, '@');

	if (login != NULL && host != NULL && host > login + 3) {
		login[3] = '\0';
		conf_write_visible(out, line, VALUE_SHOWN_BYTES);
		(void) fputs("...", out);
		conf_write_visible(out, host, VALUE_SHOWN_BYTES);
	} else {
		conf_write_visible(out, line, VALUE_SHOWN_BYTES);
		if (strlen(line) < strlen(value))
			(void) fputs("...", out);
	}
}

/* "file:line:col: path: what: 'value' (hint)" */
static VPRINTF_LIKE(5) char *format_problem(const struct conf *conf, struct conf_place place,
                                            const char *value, const char *hint, const char *fmt,
                                            va_list ap)
{
	/* Whatever a message quotes is text from outside: a tag of YAML may have any byte, as %1B. */
	AUTO(free) char *what = xvasprintf(fmt, ap);
	char *text = NULL;
	size_t len = 0;
	FILE *out = xmemstream_open(&text, &len);
	if (place.file < conf->n_files) {
		conf_write_visible(out, conf->files[place.file], PATH_MAX);
		if (place.line > 0)
			(void) fprintf(out, ":%u:%u", place.line, place.col);
		(void) fputs(": ", out);
	}
	if (conf->path_len > 0)
		(void) fprintf(out, "%s: ", conf->path);
	conf_write_visible(out, what, SIZE_MAX);
	if (value != NULL) {
		(void) fputs(": '", out);
		write_value(out, value);
		(void) fputc('\'', out);
	}
	if (hint != NULL)
		(void) fprintf(out, " (%s)", hint);
	xmemstream_close(out);
	return text;
}

static VPRINTF_LIKE(6) void add_problem(struct conf *conf, bool is_note, struct conf_place place,
                                        const char *value, const char *hint, const char *fmt,
                                        va_list ap)
{
	if (!is_note)
		conf->n_errors++;
	if (conf->n_problems == CONF_PROBLEMS_MAX) {
		conf->n_dropped++;
		return;
	}
	if (conf->n_problems == conf->cap_problems) {
		conf->cap_problems = MAX(conf->cap_problems * 2, (size_t) 16);
		conf->problems = xreallocarray(conf->problems, conf->cap_problems, sizeof(*conf->problems));
	}
	conf->problems[conf->n_problems] = (struct conf_problem){
	    .file = place.file,
	    .line = place.line,
	    .col = place.col,
	    .seq = conf->n_problems,
	    .is_note = is_note,
	    .text = format_problem(conf, place, value, hint, fmt, ap),
	};
	conf->n_problems++;
}

static VPRINTF_LIKE(5) void add_problem_at_node(struct conf *conf, bool is_note,
                                                const struct conf_node *at, const char *hint,
                                                const char *fmt, va_list ap)
{
	struct conf_place place = {.file = UINT_MAX};
	const char *value = NULL;

	if (at != NULL) {
		place = (struct conf_place){at->file, at->line, at->col};
		if (at->shape == CONF_SCALAR && !conf_node_is_null(at))
			value = at->text;
	}
	add_problem(conf, is_note, place, value, hint, fmt, ap);
}

void conf_error(struct conf *conf, const struct conf_node *at, const char *hint, const char *fmt,
                ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_problem_at_node(conf, false, at, hint, fmt, ap);
	va_end(ap);
}

void conf_note(struct conf *conf, const struct conf_node *at, const char *hint, const char *fmt,
               ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_problem_at_node(conf, true, at, hint, fmt, ap);
	va_end(ap);
}

void conf_error_at(struct conf *conf, struct conf_place place, const char *hint, const char *fmt,
                   ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_problem(conf, false, place, NULL, hint, fmt, ap);
	va_end(ap);
}

size_t conf_error_count(const struct conf *conf)
{
	return conf->n_errors;
}

static int compare_problems(const void *a, const void *b)
{
	const struct conf_problem *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->col != y->col)
		return x->col < y->col ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

void conf_message_print(const char *message, void *userdata UNUSED)
{
	(void) fprintf(stderr, "%s\n", message);
}

void conf_message_log(const char *message, void *userdata UNUSED)
{
	log_error("config_error", "reason=\"%s\"", message);
}

int conf_finish(struct conf *conf, conf_message_fn error, void *userdata,
                struct conf_strings *notes)
{
	if (conf->n_problems > 0)
		qsort(conf->problems, conf->n_problems, sizeof(*conf->problems), compare_problems);
	for (size_t i = 0; i < conf->n_problems; i++) {
		const struct conf_problem *problem = &conf->problems[i];

		if (!problem->is_note && error != NULL)
			error(problem->text, userdata);
		if (problem->is_note && notes != NULL)
			conf_strings_add(notes, problem->text);
	}
	if (conf->n_dropped > 0 && error != NULL) {
		AUTO(free) char *text = xasprintf("%zu more messages are not shown", conf->n_dropped);

		error(text, userdata);
	}
	return conf->n_errors > 0 ? -EINVAL : 0;
}

/* --- the path --- */

/* All of ours, and nearly all others: a stream for each name would be a third of the reading. */
static bool is_visible_ascii(const char *text)
{
	const char *p = text;

	while (*p >= ' ' && *p <= '~')
		p++;
	return *p == '\0' && p - text <= VALUE_SHOWN_BYTES;
}

static void write_visible(char *buf, size_t room, const char *dot, const char *text)
{
	FILE *out = fmemopen(buf, room, "w");

	if (out == NULL)
		return;
	(void) setvbuf(out, NULL, _IONBF, 0);
	(void) fputs(dot, out);
	conf_write_visible(out, text, VALUE_SHOWN_BYTES);
	(void) fclose(out);
}

size_t conf_enter(struct conf *conf, const char *fmt, ...)
{
	size_t before = conf->path_len, room = sizeof(conf->path) - before;
	AUTO(free) char *raw = NULL;
	const char *dot;
	va_list ap;

	va_start(ap, fmt);
	raw = xvasprintf(fmt, ap);
	va_end(ap);
	dot = before > 0 && raw[0] != '[' ? "." : "";
	/* An unknown key is text from outside. What does not fit is cut: the place says where it is. */
	if (is_visible_ascii(raw))
		(void) snprintf(conf->path + before, room, "%s%s", dot, raw);
	else
		write_visible(conf->path + before, room, dot, raw);
	conf->path[sizeof(conf->path) - 1] = '\0';
	conf->path_len = strlen(conf->path);
	return before;
}

void conf_leave(struct conf *conf, size_t before)
{
	conf->path_len = before;
	conf->path[before] = '\0';
}

const char *conf_path(const struct conf *conf)
{
	return conf->path;
}

/* --- nodes --- */

bool conf_node_is_null(const struct conf_node *node)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

	if (node->shape != CONF_SCALAR || node->quoted)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(nulls); i++) {
		if (strcmp(node->text, nulls[i]) == 0)
			return true;
	}
	return false;
}

const struct conf_node *conf_document(const struct conf *conf, size_t i)
{
	return i < conf->n_documents ? conf->documents[i] : NULL;
}

bool conf_is_only_one(struct conf *conf, const struct conf_node *document,
                      const struct conf_node **first)
{
	AUTO(free) char *origin = NULL;

	if (*first == NULL) {
		*first = document;
		return true;
	}
	origin = conf_origin(conf, *first);
	conf_error(conf, document, "there may be one", "is here a second time, first at %s", origin);
	return false;
}

const struct conf_node *conf_node_find(const struct conf_node *map, const char *key)
{
	if (map == NULL || map->shape != CONF_MAP)
		return NULL;
	for (size_t i = 0; i < map->n; i++) {
		if (strcmp(map->keys[i]->text, key) == 0)
			return map->values[i];
	}
	return NULL;
}

const char *conf_file_name(const struct conf *conf, const struct conf_node *node)
{
	return conf->files[node->file];
}

void conf_files(const struct conf *conf, struct conf_strings *ret_names)
{
	ret_names->items = xcalloc(conf->n_files + 1, sizeof(*ret_names->items));
	ret_names->n = conf->n_files;
	for (unsigned i = 0; i < conf->n_files; i++)
		ret_names->items[i] = xstrdup(conf->files[i]);
}

char *conf_origin(const struct conf *conf, const struct conf_node *node)
{
	return xasprintf("%s:%u", conf_file_name(conf, node), node->line);
}

bool conf_expect(struct conf *conf, const struct conf_node *node, enum conf_shape shape)
{
	static const char *const wanted[] = {"one value", "a list", "a map of keys"};
	static const char *const found[] = {"not a single value", "not a list", "not a map"};

	if (shape == CONF_SCALAR && conf_node_is_null(node)) {
		conf_error(conf, node, NULL, "has no value");
		return false;
	}
	if (node->shape == shape || conf_node_is_null(node))
		return true;
	conf_error(conf, node, NULL, "must be %s, %s", wanted[shape], found[node->shape]);
	return false;
}

/* --- files --- */

static unsigned add_file(struct conf *conf, const char *name)
{
	conf->files = xreallocarray(conf->files, conf->n_files + 1, sizeof(*conf->files));
	conf->files[conf->n_files] = xstrdup(name);
	return conf->n_files++;
}

void conf_add_text(struct conf *conf, const char *name, const char *text, size_t len)
{
	unsigned file = add_file(conf, name);
	struct conf_place place = {.file = file};

	if (file >= CONF_FILES_MAX)
		conf_error_at(conf, place, NULL, "more than %d files", CONF_FILES_MAX);
	else if (len > CONF_FILE_BYTES_MAX)
		conf_error_at(conf, place, NULL, "longer than %u bytes", CONF_FILE_BYTES_MAX);
	else
		conf_tree_read(conf, file, text, len);
}

static void report_unreadable(struct conf *conf, const char *path, int r)
{
	struct conf_place place = {.file = add_file(conf, path)};

	if (r == -EFBIG)
		conf_error_at(conf, place, NULL, "longer than %u bytes", CONF_FILE_BYTES_MAX);
	else if (r == -EOPNOTSUPP)
		conf_error_at(conf, place, NULL, "cannot be read: it is a FIFO, not a file");
	else
		conf_error_at(conf, place, NULL, "cannot be read: %s", strerror(-r));
}

static void add_one_file(struct conf *conf, const char *path)
{
	AUTO(free) char *text = NULL;
	size_t len;
	int r;

	r = file_read(path, CONF_FILE_BYTES_MAX, &text, &len);
	if (r < 0)
		report_unreadable(conf, path, r);
	else
		conf_add_text(conf, path, text, len);
}

static bool ends_in(const char *name, const char *suffix)
{
	size_t len = strlen(name), suffix_len = strlen(suffix);

	return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

/* Hidden names are what editors and package managers leave behind. */
static int select_yaml(const struct dirent *entry)
{
	return entry->d_name[0] != '.' &&
	       (ends_in(entry->d_name, ".yaml") || ends_in(entry->d_name, ".yml"));
}

/* By bytes: the order of files must not depend on the locale. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_directory(struct conf *conf, const char *path)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, select_yaml, compare_names);

	if (n < 0) {
		report_unreadable(conf, path, -errno);
		return;
	}
	for (int i = 0; i < n; i++) {
		AUTO(free) char *name = xasprintf("%s/%s", path, entries[i]->d_name);

		if (ends_in(entries[i]->d_name, ".yaml")) {
			if (conf->n_files <= CONF_FILES_MAX)
				add_one_file(conf, name);
		} else {
			conf_note(conf, NULL, "only names that end in .yaml are read", "%s is passed over",
			          name);
		}
		free(entries[i]);
	}
	free(entries);
}

void conf_add_path(struct conf *conf, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		report_unreadable(conf, path, -errno);
	else if (S_ISDIR(st.st_mode))
		add_directory(conf, path);
	else
		add_one_file(conf, path);
}

void conf_add_paths(struct conf *conf, const char *const *paths, size_t n_paths)
{
	static const char *const defaults[] = {CONF_DEFAULT_FILE, CONF_DEFAULT_DIRECTORY};

	for (size_t i = 0; i < n_paths; i++)
		conf_add_path(conf, paths[i]);
	for (size_t i = 0; i < ARRAY_SIZE(defaults) && n_paths == 0; i++) {
		if (access(defaults[i], F_OK) == 0)
			conf_add_path(conf, defaults[i]);
	}
}
