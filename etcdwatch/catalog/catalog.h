/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The catalogue: one small JSON file beside each snapshot, with all that is known of it. Local and
 * remote lists, retention, restore and drills go by these, never by names or times of files.
 *
 * Reading is strict, because what is read decides which files are deleted: each field must be there
 * and within its bounds, and `file` must be the name that the id and the packing make. Fields that
 * are not known are passed over and lost when the entry is written again. Nothing here does more
 * than read one file; who writes them is store.c.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "web/signature.h"

#define CATALOG_ENTRY_BYTES_MAX (64u << 10)
#define CATALOG_ID_MAX 200
#define CATALOG_TEXT_MAX 255 /* bytes of a name or a path */
#define CATALOG_KEY_MAX 1024 /* bytes of a key in S3 */
#define CATALOG_EXTRA_MAX 64
#define CATALOG_COPIES_MAX 16
#define CATALOG_PARTS_MAX 10
#define CATALOG_MEMBERS_MAX 16
/* Of a member's URLs of one kind: how many, and bytes of all, joined by commas. */
#define CATALOG_URLS_MAX 16
#define CATALOG_URLS_TEXT_MAX 511
#define CATALOG_TIMELINE_MAX 1000000000
#define CATALOG_SHA256_TEXT 65
#define CATALOG_ERROR_MAX 768

/* A copy somewhere else, read back and found the same. */
struct catalog_copy {
	char *target; /* its name in the configuration */
	char *key;
	int64_t bytes;
	char sha256[CATALOG_SHA256_TEXT];
	int64_t at_s;
};

/* Keys that begin alike, and the bytes of them and their values, of all revisions. */
struct catalog_part {
	char *prefix; /* without control characters */
	int64_t bytes;
};

/* What fills the database. */
struct catalog_usage {
	int64_t bytes;                                /* of all keys and values */
	int64_t missing;                              /* no part has more than so many beyond its own */
	struct catalog_part parts[CATALOG_PARTS_MAX]; /* the largest first */
	size_t n_parts;
};

/* A member as MemberList had it. */
struct catalog_member {
	uint64_t id;
	char *name;        /* NULL: it was not started yet */
	char *peer_urls;   /* "https://10.0.0.1:2380,..." */
	char *client_urls; /* "": none, as long as it was not started */
	bool learner;
};

/* Texts are owned and never NULL, unless it says so. Times are seconds since 1970-01-01 UTC. */
struct catalog_entry {
	char *id;
	char *job;
	uint64_t cluster_id;
	int64_t timeline; /* from 1; goes up when the cluster's revision went back: it was restored */
	uint64_t member_id;
	char *member_name;
	struct catalog_member *members; /* of the cluster, as the snapshot was begun */
	size_t n_members;               /* 0: the list is not known, as in old entries */
	char *members_differ;           /* the database's list from it (proof.h); NULL: it does not */
	char *node;                     /* that took it; NULL: not told, as in old entries */
	char *server_version;
	int64_t period_s; /* for which it was taken, claimed through etcd; 0: nobody was elected */
	int64_t revision; /* read from the file */
	int64_t compact_revision; /* -1: never */
	uint32_t hash;            /* as `snapshot status` has it; differs between members */
	uint32_t hashkv;
	int64_t hashkv_revision;
	int64_t total_key;           /* as etcd 3.4 and 3.5 count: every revision, and more */
	int64_t live_keys;           /* as people do */
	int64_t db_bytes;            /* without the 32 of the digest behind it */
	struct catalog_usage *usage; /* NULL: it was not counted, as in old entries */
	char *file;                  /* beside the entry; no path */
	int64_t file_bytes;
	char file_sha256[CATALOG_SHA256_TEXT]; /* in lower case */
	/* Of the database alone, so it is the digest behind it. */
	char db_sha256[CATALOG_SHA256_TEXT];
	bool zstd; /* else not compressed */
	bool age;  /* else not encrypted */
	unsigned recipients;
	int64_t started_s;
	int64_t finished_s;
	int64_t took_ms;
	bool digest_verified;
	bool tree_verified;
	char *hashkv_verified; /* name of the other member that agreed; NULL: none was asked */
	char **extra;          /* paths of the files that are in it */
	size_t n_extra;
	struct catalog_copy *copies;
	size_t n_copies;
	char *rejected;  /* why it is no snapshot; NULL: it is one */
	char *signature; /* over catalog_signed_text(), and the public key that it is by (catalog.h) */
	char *key;       /* NULL: it is not signed, as old entries are not */
};

struct catalog_entry *catalog_entry_new(void); /* texts empty, timeline 1 */
void catalog_entry_free(struct catalog_entry *entry);
DEFINE_AUTO(struct catalog_entry, catalog_entry_free);

/* --- names --- */

/* "20261121T203000Z-hourly-cp-1-r8123". A node whose name is not its member's is named behind it,
 * as two nodes may take from one member in the same second. What of the names cannot stand in the
 * name of a file becomes '-'. The caller frees it. */
char *catalog_build_id(int64_t started_s, const char *job, const char *member_name,
                       const char *node, int64_t revision);
bool catalog_id_is_good(const char *id);
/* What the files of entries are called, for fnmatch(3): of one job, and perhaps of others whose
 * names begin with its; NULL: of all. The caller frees it. */
char *catalog_entry_pattern(const char *job);
/* "<id>.db[.tar][.zst][.age]", .tar when other files are in it; the caller frees it. */
char *catalog_file_name(const struct catalog_entry *entry);

/* Has no control characters, with which an entry cannot be read. */
bool catalog_text_is_clean(const char *text);

/* --- JSON --- */

/* 0, or -EINVAL, and -EPROTONOSUPPORT for the format of a newer program, with a sentence. */
int catalog_parse(const char *text, size_t len, struct catalog_entry **ret_entry,
                  char ret_error[static CATALOG_ERROR_MAX]);
/* As the entry has them; empty: the list is not known. */
json_t *catalog_members_json(const struct catalog_entry *entry);
/* The caller frees the text. */
char *catalog_print(const struct catalog_entry *entry);
/* The bytes that a signature of version 1 is over: the fields that do not change any more, in one
 * fixed form. The caller frees the text. */
char *catalog_signed_text(const struct catalog_entry *entry);
/* The same from a file, whose path begins the sentence; or -errno of reading it. Blocking. */
int catalog_read(const char *path, struct catalog_entry **ret_entry,
                 char ret_error[static CATALOG_ERROR_MAX]);

/* What stands there under "usage", as the worker says it too; 0 or -EINVAL with a sentence. */
int catalog_read_usage(const json_t *value, struct catalog_usage **ret_usage,
                       char ret_error[static CATALOG_ERROR_MAX]);
void catalog_usage_free(struct catalog_usage *usage);
DEFINE_AUTO(struct catalog_usage, catalog_usage_free);

/* --- entries and each other --- */

/* It counts: digest and tree were verified, and nothing was found against it. */
bool catalog_is_good(const struct catalog_entry *entry);

/* Same job, cluster and timeline: one can stand for the other. */
bool catalog_same_line(const struct catalog_entry *a, const struct catalog_entry *b);

/* A total order: lines together, and within a line by age, which is revision, then time, then id.
 * Clocks of nodes may be wrong; revisions are not. */
int catalog_compare(const struct catalog_entry *a, const struct catalog_entry *b);

/* None of these that is good and of its line is newer. */
bool catalog_is_newest(const struct catalog_entry *const *entries, size_t n,
                       const struct catalog_entry *entry);

/* The timeline of a snapshot of this cluster and revision, after these: that of the newest, or one
 * more if the revision went back. */
int64_t catalog_next_timeline(const struct catalog_entry *const *entries, size_t n,
                              uint64_t cluster_id, int64_t revision);

const struct catalog_copy *catalog_find_copy(const struct catalog_entry *entry, const char *target);
/* Copies the texts; replaces what was there of this target. -E2BIG beyond CATALOG_COPIES_MAX. */
int catalog_set_copy(struct catalog_entry *entry, const struct catalog_copy *copy);

/* --- trust --- */

/*
 * Signatures of entries: which node vouches for a snapshot, and whether that node is trusted. The
 * signature is over catalog_signed_text(), which has the digests of the stored file and of the
 * database, so without the key of a node an attacker can neither make an entry nor pass a file off
 * as the one of an entry. What it cannot show is that an entry is missing. Pure.
 *
 * In an entry: "signature": "v1:<base64>", "key": "ed25519:<base64>".
 */

/* Whom this node trusts. All borrowed. */
struct trust {
	const char *const *keys; /* public keys */
	size_t n;
	bool is_configured; /* else the only one is this node's own, and others are let pass */
};

enum trust_verdict {
	TRUST_GOOD,    /* signed by a key that is trusted */
	TRUST_NONE,    /* not signed, as by older versions */
	TRUST_UNKNOWN, /* signed by another key */
	TRUST_WRONG,   /* signed, but not this */
	TRUST_NEWER,   /* in a format of a newer version: it cannot be checked, so it proves nothing */
};

/* "trusted", "none", "unknown-key", "wrong", "newer-format". */
extern const char *const trust_verdict_words[];

/* Replaces the signature that is there. */
void trust_sign(struct catalog_entry *entry, const struct signature_key *key);
/* Where `trust` is NULL no key is trusted. */
enum trust_verdict trust_judge(const struct catalog_entry *entry, const struct trust *trust);

/* Of what has a right signature by that key; "": it has none. */
enum trust_verdict trust_judge_key(const char *key, const struct trust *trust);

/* It may be taken when it was named; and when it was chosen by a program, out of a store. */
bool trust_allows_named(const struct trust *trust, enum trust_verdict verdict);
bool trust_allows_chosen(const struct trust *trust, enum trust_verdict verdict);
