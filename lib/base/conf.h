/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Configuration files: YAML read into a tree that knows where everything stands, and the tree read
 * into structs by tables. Every daemon reads the same files and names the kinds of document that it
 * takes; documents of other kinds that fairlead or Talos know are passed over.
 *
 *	conf_new -> conf_add_path ... -> conf_read -> (own checks) -> conf_finish -> conf_free
 *
 * Nothing stops at the first error: each is noted with its place, and conf_finish() hands all of
 * them over in the order of the files, as "file:line:col: path: what is wrong: 'value' (what to
 * do)".
 *
 * Scalars have no type of their own; the target's type decides. `1000` is a string where a name is
 * wanted, `on` is a string where a string is wanted. What is accepted follows Talos, that is Go's
 * yaml v3: booleans are true/false and also y/yes/on and n/no/off (in lower, Title and UPPER case),
 * durations are Go's (1m30s, 250ms); `null`, `~` and nothing at all mean "no value", which a list
 * or a map takes as empty. Stricter than Go: quoted numbers and booleans are refused, and so are
 * integers in any spelling but plain decimal, because 010 and 1_000 mean different things to
 * different readers.
 *
 * A struct conf and its nodes are used by one thread. Nodes live until conf_free().
 *
 * A table has all that is to be said of a key, and each function below that takes `fields` does its
 * work by it. A new key is a member of a struct and a row:
 *
 *	struct config_check { bool enabled; char *url; int64_t interval_us; };
 *	#define CHECK(member) offsetof(struct config_check, member)
 *	static const struct conf_field check_fields[] = {
 *		CONF_ROW("enabled", conf_bool, CHECK(enabled), "true", "Whether it is checked."),
 *		CONF_ROW("url", conf_string, CHECK(url), NULL, "What is asked.", .check = check_url),
 *		CONF_ROW("interval", conf_duration, CHECK(interval_us), "10s", "How often.",
 *		         .min = US_PER_S, .max = 60 * US_PER_S),
 *		{0},
 *	};
 *
 * A nested map is a row of conf_map with its .fields, a list of structs one of conf_list. What is
 * read differently brings its own .set, which finds its surroundings with CONTAINER_OF(slot, ...);
 * what is printed differently as well brings a struct conf_type, whose functions may call those of
 * a type here: conf_map.print_block(field, slot, printer). A row with .set alone is read and no
 * more. Where the reading needs more than the finished configuration has, let its struct begin with
 * the configuration: then one table serves both. Defaults that depend on other things are set by
 * code before or after reading; what does not go together is checked by code after it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define CONF_FILE_BYTES_MAX (4u << 20)
#define CONF_FILES_MAX 256      /* in one struct conf, those of a directory included */
#define CONF_DOCUMENTS_MAX 1024 /* of all files */
#define CONF_DEPTH_MAX 64
#define CONF_NODES_MAX 200000 /* of one file; an alias counts as all that it stands for */
#define CONF_MAP_KEYS_MAX 1024
#define CONF_ANCHORS_MAX 256   /* of one document */
#define CONF_PROBLEMS_MAX 1000 /* more are counted, not kept */

struct conf;

enum conf_shape {
	CONF_SCALAR,
	CONF_LIST,
	CONF_MAP,
};

/* Read-only for everyone but conf_tree.c. An alias is the node that it stands for, so a tree may
 * share nodes; merge keys (<<) are resolved. */
struct conf_node {
	enum conf_shape shape;
	bool quoted;               /* scalar: not plain, so never null, a number or a boolean */
	unsigned file;             /* index, for conf_file_name() */
	unsigned line;             /* 1-based */
	unsigned col;              /* 1-based, in characters */
	size_t begin, end;         /* scalar: where it is written, in characters of the file's text */
	char *text;                /* scalar: without NULs, valid UTF-8 */
	size_t n;                  /* list, map: how many */
	struct conf_node **keys;   /* map: scalars, no two equal */
	struct conf_node **values; /* list, map */
	bool is_document;          /* the map at the top of a document */
	size_t weight;             /* nodes in it with every alias counted in full */
};

/* --- tables --- */

struct conf_field;
struct conf_printer;

/*
 * Stores `value` at `slot` (target + field->offset), or reports what is wrong with conf_error() and
 * leaves the slot alone. Called in the order of the table's rows, once a key at most.
 */
typedef void (*conf_set_fn)(struct conf *conf, const struct conf_field *field,
                            const struct conf_node *value, void *slot);

/* NULL if the text will do; else what is wrong with it ("is not an address"), with *ret_hint set or
 * left alone. Both are constants or live in `scratch`. */
#define CONF_SCRATCH_BYTES 256
typedef const char *(*conf_check_fn)(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                     const char **ret_hint);

/* What a member can be. All but `word` may be NULL. */
struct conf_type {
	const char *word; /* for the reference page: "duration" */
	size_t size;      /* bytes at the slot; 0: field->size says */
	conf_set_fn set;  /* NULL: the row has its own */
	/* False: there is no value, so nothing is printed. NULL: there is always one. */
	bool (*is_set)(const struct conf_field *field, const void *slot);
	/* A scalar, behind "key: ". */
	void (*print)(const struct conf_field *field, const void *slot, FILE *out);
	/* Instead of `print`: the line of the key as well, begun by conf_print_key(). */
	void (*print_block)(const struct conf_field *field, const void *slot,
	                    struct conf_printer *printer);
	/* NULL: the bytes are compared and copied, and nothing is owned. Lists are freed, and so far
	 * neither compared nor copied. */
	bool (*equal)(const struct conf_field *field, const void *a, const void *b);
	void (*copy)(const struct conf_field *field, void *to, const void *from);
	void (*fini)(const struct conf_field *field, void *slot);
	/* The members are those of field->fields, and the functions on tables go into it. */
	bool is_map;
};

/* In brackets: the slot, and the members of the row that matter besides key, offset and flags. */
extern const struct conf_type conf_string; /* char *, owned, NULL: none [check] */
extern const struct conf_type
    conf_hidden;                         /* the same, printed as "(hidden)", overwritten [check] */
extern const struct conf_type conf_text; /* char[size] [size, check] */
extern const struct conf_type conf_strings;  /* struct conf_strings [min, max: items; check] */
extern const struct conf_type conf_bool;     /* bool */
extern const struct conf_type conf_int;      /* int [min, max] */
extern const struct conf_type conf_unsigned; /* unsigned [min, max] */
extern const struct conf_type conf_u16;      /* uint16_t [min, max] */
extern const struct conf_type conf_size;     /* size_t [min, max] */
extern const struct conf_type conf_int64;    /* int64_t [min, max] */
extern const struct conf_type conf_duration; /* int64_t, microseconds [min, max] */
extern const struct conf_type conf_bytes;    /* int64_t [min, max] */
extern const struct conf_type conf_choice;   /* int or an enum, index of choices [choices] */
extern const struct conf_type conf_addr;     /* struct addr; the row reads it [set] */
extern const struct conf_type conf_endpoint; /* struct endpoint; the row reads it [set] */
extern const struct conf_type conf_map;      /* members at the slot [fields] */
/* Items, and how many: a pointer that owns them, or with CONF_IN_PLACE an array. [item, size of one,
 * count, max, fields if they are maps] */
extern const struct conf_type conf_list;

enum {
	CONF_REQUIRED = 1 << 0,
	/* Known, but another daemon's or Talos's: the value is not looked at. */
	CONF_PASS = 1 << 1,
	/* Refused, with `refusal` as the reason. */
	CONF_REFUSED = 1 << 2,
	/* What stands there by mistake may be a secret: never shown. */
	CONF_SECRET = 1 << 3,
	/* conf_duration: 0 is allowed below min too, and means what the key says it means. */
	CONF_OR_ZERO = 1 << 4,
	/* 0 is no value, and not printed. */
	CONF_ZERO_IS_NONE = 1 << 5,
	/* conf_strings, conf_list: one without items is printed as "[]". */
	CONF_SHOW_EMPTY = 1 << 6,
	/* conf_list: the items are at the slot. */
	CONF_IN_PLACE = 1 << 7,
};

/* The key that stands for any other key of a map that is not ours alone. A near miss of a named key
 * is still an error. */
#define CONF_ANY_KEY "*"

/* A map is described by an array of these that ends with an empty one. */
struct conf_field {
	const char *key;
	const struct conf_type *type; /* NULL: only read, by `set` */
	conf_set_fn set;              /* NULL: the type's */
	size_t offset;
	unsigned flags;
	int64_t min, max;
	const char *const *choices; /* NULL at the end */
	conf_check_fn check;
	const struct conf_field *fields; /* also tells conf_read_map() what is nested */
	size_t size;
	const char *refusal; /* CONF_REFUSED */
	/* conf_list. count: where the size_t is that counts the items, from the slot. */
	const struct conf_type *item;
	ptrdiff_t count;
	/* False: the section is not printed. NULL: it is. */
	bool (*is_set)(const void *slot);
	const char *def; /* the default, as it would be written; NULL: zero, or set by code */
	/* For the reference pages, in Markdown: what the key does; and what stands there as type and
	 * default, where the rest of the row does not say it. */
	const char *doc, *word, *def_word;
};

/* A row as most are: key, type, offset, default, sentence, then others by name. */
#define CONF_ROW(key_, type_, offset_, def_, doc_, ...)                                         \
	{                                                                                           \
		.key = key_, .type = &(type_), .offset = offset_, .def = def_, .doc = doc_, __VA_ARGS__ \
	}

/* A row that is read and no more. */
#define CONF_READ(key_, set_, offset_, ...)                      \
	{                                                            \
		.key = key_, .set = set_, .offset = offset_, __VA_ARGS__ \
	}
/* A map of which no more than some keys are ours. */
#define CONF_REST                               \
	{                                           \
		.key = CONF_ANY_KEY, .flags = CONF_PASS \
	}

/* --- what is done by tables --- */

/* Every default that a row has. A default that does not read is an error of the program. */
void conf_set_defaults(const struct conf_field *fields, void *target);

/* Reads a map's keys into `target`; wrong ones are reported. Keys `apiVersion` and `kind` of a
 * document that has a kind are passed over. */
void conf_read_map(struct conf *conf, const struct conf_node *map, const struct conf_field *fields,
                   void *target);

/* Every row that has a type and a value, in the order of the table, so that it reads back as the
 * same struct. `margin` stands before each line. */
void conf_print(const struct conf_field *fields, const void *target, const char *margin, FILE *out);
/* Of one row. */
void conf_print_row(const struct conf_field *field, const void *target, const char *margin,
                    FILE *out);

/* Members that no row has are not looked at. copy: what `to` owned before is forgotten, so assign
 * the struct first, then copy what it owns. No two rows may own the same member. */
bool conf_equal(const struct conf_field *fields, const void *a, const void *b);
void conf_copy(const struct conf_field *fields, void *to, const void *from);
void conf_fini(const struct conf_field *fields, void *target);

/* For print_block: begins the line of a key, or of an item in a list if key is NULL; the caller
 * writes the rest with its newline. enter and leave: what is between is one level deeper. */
#define CONF_PREFIX_MAX 64
struct conf_printer {
	FILE *out;
	char prefix[CONF_PREFIX_MAX];
	bool is_item; /* the next line is the first one of an item */
};
void conf_print_key(struct conf_printer *printer, const char *key);
void conf_print_enter(struct conf_printer *printer);
void conf_print_leave(struct conf_printer *printer);

/* The `print` of conf_endpoint, for types of your own. */
void conf_print_endpoint(const struct conf_field *field, const void *slot, FILE *out);

/* Setters of types, for rows whose own setter adds something. */
void conf_set_string(struct conf *, const struct conf_field *, const struct conf_node *,
                     void *slot);
void conf_set_strings(struct conf *, const struct conf_field *, const struct conf_node *,
                      void *slot);
void conf_set_text(struct conf *, const struct conf_field *, const struct conf_node *, void *slot);
void conf_set_bool(struct conf *, const struct conf_field *, const struct conf_node *, void *slot);
void conf_set_unsigned(struct conf *, const struct conf_field *, const struct conf_node *,
                       void *slot);
void conf_set_duration(struct conf *, const struct conf_field *, const struct conf_node *,
                       void *slot);
void conf_set_choice(struct conf *, const struct conf_field *, const struct conf_node *,
                     void *slot);
void conf_set_map(struct conf *, const struct conf_field *, const struct conf_node *, void *slot);

/* What conf_set_strings() fills: owned, replaced as a whole. */
struct conf_strings {
	char **items;
	size_t n;
};
void conf_strings_add(struct conf_strings *strings, const char *text);
void conf_strings_fini(struct conf_strings *strings);

/* Calls fn for each item, with "[i]" in the path. A longer list than max, or none, is reported. */
typedef void (*conf_item_fn)(struct conf *conf, const struct conf_node *item, void *userdata);
void conf_read_list(struct conf *conf, const struct conf_node *list, size_t max, conf_item_fn fn,
                    void *userdata);

/* --- documents --- */

#define CONF_API_TALOS "v1alpha1"
#define CONF_API_FAIRLEAD "fairlead/v1"
#define CONF_KIND_LEGACY \
	"" /* Talos's first style: no kind, `machine:` and `cluster:` at the top \
	    */

struct conf_kind {
	const char *kind;                /* ends a table when NULL */
	const struct conf_field *fields; /* also for what walks the tables */
	/* NULL: the fields, with userdata as the target. */
	void (*read)(struct conf *conf, const struct conf_node *document, void *userdata);
};

/* Calls the read() of each document's kind, in the order of files and documents. */
void conf_read(struct conf *conf, const struct conf_kind *kinds, void *userdata);

/* --- reading --- */

typedef void (*conf_message_fn)(const char *message, void *userdata);
/* On stderr, for one who asked; and into the log. */
void conf_message_print(const char *message, void *userdata);
void conf_message_log(const char *message, void *userdata);

struct conf *conf_new(void);
void conf_free(struct conf *conf);
DEFINE_AUTO(struct conf, conf_free);

/* A file, or the *.yaml files of a directory in the order of their names. What cannot be read is an
 * error like any other. */
void conf_add_path(struct conf *conf, const char *path);

/* These paths, which must exist; or, without any, the default places, which need not. */
#define CONF_DEFAULT_FILE "/etc/fairlead/config.yaml"
#define CONF_DEFAULT_DIRECTORY "/etc/fairlead/conf.d"
void conf_add_paths(struct conf *conf, const char *const *paths, size_t n_paths);

/* text need not end in a NUL. `name` stands for the file in messages. */
void conf_add_text(struct conf *conf, const char *name, const char *text, size_t len);

/* Hands over every error in the order of their places; 0, or -EINVAL if there was any. What is odd
 * but harmless is added to `notes`, which the caller frees. `error` and `notes` may be NULL. */
int conf_finish(struct conf *conf, conf_message_fn error, void *userdata,
                struct conf_strings *notes);

/* --- for setters and checks --- */

/*
 * Reports at a node: "file:line:col: path: <fmt>: 'value' (hint)", with the value if the node is a
 * scalar and with the current path. `at` NULL: no place. hint NULL: none.
 */
void conf_error(struct conf *conf, const struct conf_node *at, const char *hint, const char *fmt,
                ...) PRINTF_LIKE(4, 5);
void conf_note(struct conf *conf, const struct conf_node *at, const char *hint, const char *fmt,
               ...) PRINTF_LIKE(4, 5);
size_t conf_error_count(const struct conf *conf); /* so far */

/* Adds to the path: ".rise", or "[2]" when fmt begins with a bracket. Undo with what it returned.
 */
size_t conf_enter(struct conf *conf, const char *fmt, ...) PRINTF_LIKE(2, 3);
void conf_leave(struct conf *conf, size_t before);
const char *conf_path(const struct conf *conf); /* borrowed until the next of these */

/* The i-th document as it stands, for others' files, which have no table; NULL: there is none. */
const struct conf_node *conf_document(const struct conf *conf, size_t i);
/* For kinds of which there may be one document: true for the first, which is kept in *first; a
 * second is reported. */
bool conf_is_only_one(struct conf *conf, const struct conf_node *document,
                      const struct conf_node **first);
bool conf_node_is_null(const struct conf_node *node);
/* The value of a key, or NULL; `map` may be NULL too. */
const struct conf_node *conf_node_find(const struct conf_node *map, const char *key);
const char *conf_file_name(const struct conf *conf, const struct conf_node *node);
/* Every file that was read or given as a text, in the order of reading; the caller ends it. */
void conf_files(const struct conf *conf, struct conf_strings *ret_names);
/* "file:line"; the caller frees it. */
char *conf_origin(const struct conf *conf, const struct conf_node *node);

/* True if the node has this shape; else reports it. A null is an empty list or map, and no scalar.
 */
bool conf_expect(struct conf *conf, const struct conf_node *node, enum conf_shape shape);

/* --- scalars, also for others than setters --- */

#define CONF_DURATION_TEXT_MAX 48

/* Go's time.ParseDuration: "1m30s", "-1.5h", "250ms", "0". -EINVAL: not a duration; -ERANGE: too
 * large; -EDOM: finer than a microsecond. */
int conf_parse_duration(const char *text, int64_t *ret_us);
const char *conf_format_duration(int64_t us, char buf[static CONF_DURATION_TEXT_MAX]);
#define CONF_BYTES_TEXT_MAX 32
/* A size: whole bytes, or with a unit: KiB, MiB, GiB, TiB, for which Kubernetes writes Ki and so
 * on; kB, MB, GB, TB. -EINVAL or -ERANGE. */
int conf_parse_bytes(const char *text, int64_t *ret_bytes);
/* With the largest unit of KiB to TiB of which it is a whole number. */
const char *conf_format_bytes(int64_t bytes, char buf[static CONF_BYTES_TEXT_MAX]);
/* Plain decimal. -EINVAL or -ERANGE. */
int conf_parse_int(const char *text, int64_t *ret_value);
int conf_parse_bool(const char *text, bool *ret_value);

/* Writes text as a YAML scalar that reads back as exactly this string. */
void conf_write_string(FILE *out, const char *text);

/* Lines of a configuration that is printed. The key brings its indentation; without a value there
 * is no line. */
void conf_print_header(FILE *out, const char *api, const char *kind);
void conf_print_string(FILE *out, const char *key, const char *value);
void conf_print_bool(FILE *out, const char *key, bool value);
