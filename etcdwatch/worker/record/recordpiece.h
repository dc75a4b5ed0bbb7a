/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The record in a target. A piece is a range of bytes of one segment (record/segment.h): two
 * objects, its bytes packed by zstd and age, and a manifest that describes them. The manifest is
 * put last and removed first, so a manifest stands for a whole piece.
 *
 *	<prefix>record/<node>/<segment>/<from>-<to>.zst[.age]   the bytes from <from> up to <to>
 *	<prefix>record/<node>/<segment>/<from>-<to>.json        its manifest
 *	<prefix>record/<node>/<segment>/whole.zst[.age], whole.json
 *
 * <segment> is the file's name without ".rec", and with "-begins" where the segment begins a chain,
 * so that a listing tells which segments make one history. <from> and <to> are 16 digits. Pieces of
 * an open segment follow each other without a gap. Once it is closed, one object replaces them.
 * Pure.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/nodeconf.h"
#include "etcdwatch/record/segment.h"
#include "web/digest.h"
#include "web/signature.h"

#define RECORDPIECE_FOLDER "record/"
#define RECORDPIECE_FILE_MAX 64 /* "0000000000000000-0000000000000000.zst.age" */
#define RECORDPIECE_ERROR_MAX 320
/* A segment is closed at 64 MiB, behind a batch of at most as much again and one revision. */
#define RECORDPIECE_BYTES_MAX ((uint64_t) 1 << 30)

/* What the key of an object says. */
struct recordkey {
	char node[NODECONF_NAME_MAX + 1];
	char segment[RECORD_NAME_MAX];
	struct record_header named; /* record_name_parse() */
	bool begins;                /* a chain */
	bool is_whole;
	uint64_t from, to; /* 0 of a whole one */
	bool is_manifest;
};

/* What a segment is called in a target; returns `buf`. */
const char *recordpiece_segment(const struct record_header *header,
                                char buf[static RECORD_NAME_MAX]);
/* The file's name, from that; to be freed. */
char *recordpiece_record_file(const char *segment);

/* false: it is no object of a record below the prefix. */
bool recordkey_parse(const char *key, const char *prefix, struct recordkey *ret_key);

struct recordpiece {
	char node[NODECONF_NAME_MAX + 1];
	char segment[RECORD_NAME_MAX];
	bool is_whole;  /* the segment is closed, and this is all of it */
	bool is_closed; /* and these are its last bytes; a piece of an older version does not say so */
	uint64_t from, to;
	char sha256[DIGEST_HEX_MAX];         /* of these bytes */
	char through_sha256[DIGEST_HEX_MAX]; /* of all bytes of the segment up to `to` */
	char file[RECORDPIECE_FILE_MAX];     /* the object, in the manifest's folder */
	uint64_t file_bytes;
	char file_sha256[DIGEST_HEX_MAX];
	/* The segment's header; the last revision in these bytes or before; until when they have all
	 * changes. */
	int64_t begin_us, last_revision, until_us;
	char signer[SIGNATURE_PUBLIC_MAX]; /* the public key whose signature it has; "": none */
};

/* "<from>-<to>" or "whole", with `suffix` behind it. */
void recordpiece_set_file(struct recordpiece *piece, const char *suffix);
/* To be freed. */
char *recordpiece_folder(const char *prefix, const char *node, const char *segment);
char *recordpiece_manifest_key(const char *prefix, const struct recordpiece *piece);
char *recordpiece_file_key(const char *prefix, const struct recordpiece *piece);

/* The manifest; with a signature unless the key is NULL. To be freed. */
char *recordpiece_print(const struct recordpiece *piece, const struct signature_key *key);
/* What the object under that key holds. 0, or -EINVAL with a sentence: it is no manifest, or not
 * the one of this key, or its signature is wrong. */
int recordpiece_parse(const char *text, size_t len, const struct recordkey *key,
                      struct recordpiece *ret_piece, char ret_error[static RECORDPIECE_ERROR_MAX]);

/*
 * What is to be done with one segment of this node in a target, from what is on the disk and what
 * the target lists. Pure.
 */

/* The objects of one segment in a target. {0} is none. */
struct recordstored {
	char segment[RECORD_NAME_MAX];
	struct record_header named;
	bool begins; /* a chain */
	struct recordstored_range {
		uint64_t from, to;
	} * ranges; /* of manifests; by where they begin, the longest first */
	size_t n_ranges, ranges_room;
	size_t n_objects; /* but "whole.json" and its object */
	bool is_whole;    /* its manifest is there */
};

/* All segments of one node in a target, in the order of their sequence. {0} is none. */
struct recordlisting {
	struct recordstored *items;
	size_t n, room;
};

void recordlisting_fini(struct recordlisting *listing);
/* What was listed, in any order; in that of the keys it takes the least memory. */
void recordlisting_add(struct recordlisting *listing, const struct recordkey *key);
void recordlisting_finish(struct recordlisting *listing);
/* Takes all of `from`, which is {0} then; before recordlisting_finish(). */
void recordlisting_move(struct recordlisting *listing, struct recordlisting *from);
/* NULL: nothing of it is there. */
struct recordstored *recordlisting_find(const struct recordlisting *listing, uint64_t sequence,
                                        const char *segment);

/* Up to there pieces follow each other from the first byte on; NULL: 0. */
uint64_t recordstored_reach(const struct recordstored *stored);

/* The pieces that lead there, in order; each is taken that reaches furthest. To be freed; NULL:
 * none. */
struct recordstored_range *recordstored_row(const struct recordstored *stored, size_t *ret_n);

/* That manifest counts for nothing. */
void recordstored_drop(struct recordstored *stored, const struct recordstored_range *range);
/* The same of the one that is whole, or else of the last in the row; false: there is none. */
bool recordstored_drop_last(struct recordstored *stored);

/* Of a segment with more manifests that are refused, none counts. */
#define RECORDSTORED_REFUSED_MAX 100

/* What a segment has on the disk: bytes that are synced. */
struct recordplan_local {
	uint64_t bytes;
	bool is_closed;
};

enum recordplan_step {
	RECORDPLAN_NOTHING,
	RECORDPLAN_PIECE, /* the bytes from recordstored_reach() on */
	RECORDPLAN_WHOLE, /* all of it, as one object */
	RECORDPLAN_CLEAR, /* the pieces, which that object replaces, are removed */
};

/* First, what is not in the target in any form; only when no segment lacks that, what makes its
 * objects fewer (`tidies`), so that this does not delay new changes. */
enum recordplan_step recordplan_next(const struct recordplan_local *local,
                                     const struct recordstored *stored, bool tidies);
