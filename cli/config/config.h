/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the commands about the configuration share: asking a program about files, the documents that
 * it prints, and which program each document is for. The programs' own readers judge what stands in
 * them.
 */

#include <stdbool.h>

#include "base/conf.h"
#include "cli/common/texts.h"

struct parts;

/* `program MODE --config=FILE...`; what it printed is to be freed. CLI_OK with its exit code; else
 * it could not be run, which is said. */
int config_ask(const char *program, const char *mode, int argc, char **argv, bool with_errors,
               char **ret_text, int *ret_exit);

/* Says on standard error what nobody reads and is left out. */
void config_say_others(const struct parts *parts);

/* Adds the documents of a printed configuration that are not there yet; `kind`: only these; NULL:
 * all. */
void config_add_documents(struct texts *documents, const char *text, const char *kind);

enum part {
	PART_VIPD,
	PART_PRISM,
	PART_ETCDWATCH,
	PART_NETCONF,
	N_PARTS,
};

extern const char *const part_names[N_PARTS]; /* of the programs */

struct parts {
	size_t n_files;          /* that were read */
	char *first[N_PARTS];    /* what is this program's begins: "file:line: Kind"; NULL: nothing */
	bool is_legacy[N_PARTS]; /* something of it is said in the older style */
	struct conf_strings
	    others; /* what nobody reads: "file:line: Kind", "file:line: machine.x, ..." */
};

/* No paths: the default places. 0; or -EINVAL when files cannot be read, or have documents of which
 * nobody can tell whose they are: each error is told, and what can be told of the
 * rest is in *ret all the same. */
int parts_read(const char *const *paths, size_t n_paths, conf_message_fn error, void *userdata,
               struct parts *ret);

/* Whose documents of this kind are; N_PARTS: several read it, or nobody. */
enum part parts_of_kind(const char *kind);
bool parts_is_read(const char *kind);
void parts_fini(struct parts *parts);
