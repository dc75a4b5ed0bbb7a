/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What is restored from: found by its name, fetched, decrypted, unpacked, compared with what the
 * catalogue knows of it, and proven, until it is a plain file that etcd's tool can read. Whatever
 * does not fit is a refusal.
 *
 * A name is a path (it has a slash, or is there), or the id of a snapshot in `directory` or in S3,
 * or "latest": the newest that counts (catalog_is_good()), by its revision, not its clock.
 *
 * What a catalogue entry says of the sizes is the bound of what is fetched and unpacked.
 *
 * Where snapshots are encrypted, one that is not proves nothing: a store can put any database in
 * the place of another. It is never the "latest", and refused when it is named without
 * `allow_plain`.
 *
 * What comes from a store must be signed (catalog.h): "latest" is one by a key that is
 * trusted, and of what is named a wrong signature is refused, and one by a strange key where keys
 * are configured. What this node's own catalogue knows of the id must agree.
 *
 * Codes of a refusal, besides those of what is used: NOT_FOUND; TOO_MANY, entries in S3; REJECTED,
 * the catalogue says it is no snapshot; PLAIN, it is not encrypted; UNTRUSTED, its signature;
 * MISMATCH; NO_SPACE; DIGEST, TREE; NO_DIGEST, it is a database from a data directory and
 * skip_digest was not said; IN_USE, etcd runs on it.
 */

#include <stdbool.h>

#include "base/cleanup.h"
#include "bolt/dbinfo.h"
#include "bolt/snapshot.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/worker/common/options.h"
#include "etcdwatch/worker/common/result.h"
#include "web/digest.h"
#include "web/s3.h"

/* Digests of an entry that was chosen from a list (sourcefind_list()). */
struct source_chosen {
	char file_sha256[CATALOG_SHA256_TEXT];
	char db_sha256[CATALOG_SHA256_TEXT];
};

/* All borrowed. */
struct source_request {
	const char *name;
	const char *directory; /* for ids; NULL: none */
	const char *job;       /* for "latest"; NULL: of any job */
	struct s3 *s3;         /* instead of the directory; NULL */
	const char *s3_prefix; /* "" or "cluster-a/" */
	const char *const *identities;
	size_t n_identities;
	bool encrypted;     /* the job encrypts, or an identity was given */
	bool allow_plain;   /* all the same, of one that is named */
	const char *sha256; /* that the database in it has to have, or NULL */
	bool skip_digest;
	struct trust trust;
	const char *known;    /* the directory of the job on this node, with S3; NULL: there is none */
	bool unproven;        /* its content is not read: the restore proves it (restore.h) */
	const char *fetched;  /* where what comes from S3 goes, ... */
	const char *unpacked; /* ... and what had to be unpacked, */
	const int *unpacked_fd; /* or an open file without a name for that (unpack.h); NULL */
	/* The name was chosen by these: what is taken must be allowed like that; NULL: it was named. */
	const struct source_chosen *chosen;
	bool rejected_too; /* the catalogue may call it no snapshot */
};

/* Verified snapshots that "latest" does not stand for. */
struct source_passed {
	size_t n_plain;    /* not encrypted, where snapshots are */
	size_t n_unsigned; /* from here on: by their signature (catalog.h) */
	size_t n_unknown;
	size_t n_wrong;
	size_t n_newer;
};

struct source {
	char *origin;                /* the path or the key that it was found at */
	char *id;                    /* NULL: it has none */
	char *path;                  /* of the plain file: the origin, or `unpacked` */
	bool is_ours;                /* it was made here, and can go when it was restored */
	struct catalog_entry *entry; /* NULL: there is none beside it */
	struct source_passed passed; /* of "latest" */
	enum trust_verdict verdict;  /* on the entry, if there is one */
	bool is_named;               /* else it was the latest */
	struct catalog_entry *newer; /* that this node knows, of the same job; NULL: none */
	char sha256[DIGEST_HEX_MAX]; /* of the database, without the digest behind it */
	bool has_digest;
	struct snapshot_content content; /* unproven: only `reach` and `n_bytes` */
	struct dbinfo *info;
};

/* Finds it and makes it plain. It is what the catalogue says as far as a packed file's SHA-256, or
 * the digest at the end of a plain file, tells; it is not proven. */
int source_open(const struct source_request *request, struct problem *problem,
                struct source **ret_source);
int source_take(const struct source_request *request, struct problem *problem,
                struct source **ret_source);
void source_free(struct source *source);
DEFINE_AUTO(struct source, source_free);

/*
 * Where a snapshot is looked for and what it must be, as the options of a command say (source.h):
 *
 *   [--directory DIR] [--job NAME] [--s3-prefix TEXT] [--identity FILE]... [--skip-hash-check]
 *   [--encrypted] [--plain] [--trust KEY]... [--own-key KEY] [--known DIR]
 */

struct sourcewords {
	const char *directory;
	const char *job;
	const char *s3_prefix;
	struct options_list identities;
	bool skip_hash_check;
	bool encrypted;
	bool plain;
	struct options_list trusted; /* public keys */
	const char *own_key;         /* trusted where no other one is */
	const char *known;           /* the job's directory on this node */
};

#define SOURCEWORDS_OPTIONS 10

/* For options_parse(), of struct sourcewords. */
extern const struct options_entry sourcewords_options[SOURCEWORDS_OPTIONS];
/* What they ask for; the words are borrowed. The store is the caller's to add. */
int sourcewords_request(const struct sourcewords *words, const char *name, struct problem *problem,
                        struct source_request *ret_request);
/* The keys must be such. */
int sourcewords_check_keys(const struct options_list *keys, struct problem *problem);
