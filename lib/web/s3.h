/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Objects in one store: a bucket of an S3-compatible server (s3_new()), or what other functions
 * reach (s3_new_of()). For an S3-compatible server: put, get, head, list, delete, and uploads in
 * parts (s3_upload.h). Blocking, by libcurl's easy interface: for workers and the CLI, not for a
 * loop.
 *
 * Every request is signed (sigv4.h) with the true SHA-256 of its body; pieces of files also carry
 * Content-MD5. What may pass is tried again, with a growing and jittered pause: connections that
 * fail or stand still, 429, 500, 502, 503, 504, and the errors that S3 names as passing. The rest
 * is told at once. Proxies in the environment are ignored, redirects are not followed. Memory does
 * not grow with the objects. Where encryption by the server is asked for and its answer does not
 * confirm it, the request has failed (S3_REFUSED).
 *
 * Functions return 0 or -errno: -ENOENT (no such key, bucket or upload), -EACCES (credentials,
 * rights, clock), -ETIMEDOUT, -EAGAIN (server overloaded), -ECANCELED, -EPROTO, -EIO, ..., or
 * the error of the local file. s3_get_error() has the details.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "web/digest.h"

/*
 * A run of bytes of a local file, hashed, on its way to S3. It is sent from the file, not from
 * memory; should the file change after it was hashed, the server refuses what does not fit the
 * hash.
 */

struct s3_piece {
	int fd;           /* borrowed */
	const char *path; /* of the file, borrowed; NULL: not told */
	uint64_t offset;
	uint64_t n_bytes;
	bool is_new; /* it replaces nothing: If-None-Match; programs and some servers ignore it */
	uint8_t sha256[DIGEST_SHA256_BYTES];
	uint8_t md5[DIGEST_MD5_BYTES];
};

/*
 * Reads and hashes it. `whole`, if not NULL, gets the same bytes: pieces one after the other make
 * the file's own digest. 0; -ENODATA when the file ends before; or the error of reading.
 */
int s3_piece_hash(int fd, uint64_t offset, uint64_t n_bytes, struct digest *whole,
                  struct s3_piece *ret_piece);

/* Whether an ETag, with its quotes or without, is the MD5 of the piece, as that of a part is on
 * servers that do not encrypt with keys of their own. */
bool s3_piece_has_etag(const struct s3_piece *piece, const char *etag);

#define S3_CODE_MAX 64
#define S3_REASON_MAX 640
#define S3_ETAG_MAX 130
/* "2026-11-21T20:30:00.000Z" */
#define S3_TIME_MAX 40
#define S3_CUSTOMER_KEY_BYTES 32 /* AES-256 */

/* Copied, and overwritten when others take their place. */
struct s3_keys {
	const char *access_key;
	const char *secret_key;
	const char *session_token; /* or NULL */
	int64_t expires_s;         /* since 1970; 0: never */
};

struct s3;
/* Sets other keys by s3_set_keys(), before those of now expire; blocking. 0, or -errno and a
 * sentence. Those of now go on as long as they are good. */
typedef int (*s3_renew_fn)(struct s3 *s3, char ret_reason[static S3_REASON_MAX], void *userdata);

struct s3_config {
	const char *endpoint; /* "https://s3.example.com:9000"; no path */
	const char *bucket;
	const char *region; /* NULL: us-east-1 */
	/* https://bucket.s3.example.com/key instead of https://s3.example.com/bucket/key */
	bool virtual_host;
	struct s3_keys keys;
	s3_renew_fn renew;    /* NULL: they stay */
	void *renew_userdata; /* s3_free() frees it by this, or nothing */
	void (*renew_free)(void *userdata);
	const char *ca_file; /* verify the server against this; NULL: the system's store */
	const char *proxy;   /* "http://HOST:PORT", with CONNECT for https; NULL: none */
	/* The server encrypts each object: with a key of its KMS, or with this one, which it does not
	 * keep. At most one of them; NULL: as the bucket's default is. */
	const char *kms_key;
	const uint8_t *customer_key; /* S3_CUSTOMER_KEY_BYTES; each request has it in clear */
	/* Zero: the default. */
	unsigned connect_timeout_ms; /* 10 s */
	unsigned stall_timeout_ms;   /* nothing moves for so long: 60 s; looked at once a second */
	unsigned attempts;           /* of each request: 6 */
	unsigned backoff_ms;         /* before the second attempt, then doubling: 500 */
	/* Asked at least once a second; true ends what is under way with -ECANCELED. May be NULL. */
	bool (*is_cancelled)(void);
};

enum s3_failure {
	S3_OK,
	S3_UNREACHABLE, /* no such host, or no connection */
	S3_TIMEOUT,     /* nothing moved */
	S3_TLS,         /* the server's certificate or name is wrong, or our CA file unusable */
	S3_CUT,         /* the connection broke off in the middle */
	S3_DENIED,      /* credentials, rights */
	S3_CLOCK,       /* refused because our clock and the server's differ */
	S3_NOT_FOUND,
	S3_BUSY,     /* asked to slow down */
	S3_SERVER,   /* an error of its own, also one that comes with status 200 */
	S3_EXISTS,   /* the key has an object, and what is put is to be new */
	S3_REFUSED,  /* any other 4xx or 3xx, or not implemented */
	S3_PROTOCOL, /* not what an S3 server answers */
	S3_CHANGED,  /* the object was replaced while it was read */
	S3_PROGRAM,  /* the program that reaches the store failed (s3_new_of()) */
	S3_LOCAL,    /* our own file: the function's result says what */
	S3_CANCELLED,
};

struct s3_error {
	enum s3_failure failure;
	int status;                 /* of HTTP; 0 without an answer */
	char code[S3_CODE_MAX];     /* S3's own, "NoSuchKey"; "" without */
	char reason[S3_REASON_MAX]; /* one sentence: what was done, and what came of it */
	unsigned attempts;          /* that were made */
};

/* Copies the configuration. -EINVAL when the endpoint or a credential cannot be one, and `ret_why`
 * says why in a constant sentence. */
int s3_new(const struct s3_config *config, const char **ret_why, struct s3 **ret_s3);
void s3_free(struct s3 *s3);
DEFINE_AUTO(struct s3, s3_free);

/* -EINVAL: they cannot stand in a header; then those before stay. */
int s3_set_keys(struct s3 *s3, const struct s3_keys *keys);

/* Of the last call that failed; valid until the next one. */
const struct s3_error *s3_get_error(const struct s3 *s3);
const char *s3_failure_name(enum s3_failure failure); /* "denied", "clock", ... */
/* -EACCES, -ENOENT, ...; not for S3_OK and S3_LOCAL. */
int s3_judge_errno(enum s3_failure failure);
/* Whether another attempt may succeed. */
bool s3_judge_is_passing(enum s3_failure failure, const char *code);

/* By how much the server's clock was ahead of ours in its last answer, to a second or two; false
 * when no answer has told. */
bool s3_get_clock_ahead_s(const struct s3 *s3, int64_t *ret_ahead_s);

/* So much of the piece that is under way (s3_put(), s3_upload_part()) has been sent: from 0 again
 * with each attempt. Called some times a second, and when all of it has. `userdata` is borrowed
 * until another is told; NULL: nobody hears of it. */
typedef void (*s3_sent_fn)(uint64_t n_bytes, void *userdata);
void s3_on_sent(struct s3 *s3, s3_sent_fn fn, void *userdata);

/* --- another store --- */

struct s3_object;
struct s3_listed;
typedef int (*s3_data_fn)(const void *data, size_t len, void *userdata);
typedef int (*s3_listed_fn)(const struct s3_listed *listed, void *userdata);

/* What each of the functions below does in that store, with their contracts. What fails returns
 * s3_fail(). */
struct s3_ops {
	int (*head)(struct s3 *s3, const char *key, struct s3_object *ret_object);
	int (*get)(struct s3 *s3, const char *key, uint64_t offset, s3_data_fn data, void *userdata,
	           struct s3_object *ret_object);
	int (*put)(struct s3 *s3, const char *key, const struct s3_piece *piece);
	int (*delete)(struct s3 *s3, const char *key);
	int (*list)(struct s3 *s3, const char *prefix, uint64_t max, s3_listed_fn listed,
	            void *userdata);
	void (*free)(void *store);
};

/* Takes `store`, which s3_store() gives back. It has no uploads in parts. */
struct s3 *s3_new_of(const struct s3_ops *ops, void *store);
void *s3_store(const struct s3 *s3);
bool s3_has_uploads(const struct s3 *s3);
/* For a store's own functions: sets the error; returns r. */
int s3_fail(struct s3 *s3, int r, enum s3_failure failure, const char *reason);
/* So much of the piece was sent. */
void s3_tell_sent(const struct s3 *s3, uint64_t n_bytes);

/* --- objects --- */

struct s3_object {
	uint64_t n_bytes;
	bool encrypted;         /* s3_head(): as the client asks for, or it asks for nothing */
	char etag[S3_ETAG_MAX]; /* with its quotes */
};

int s3_head(struct s3 *s3, const char *key, struct s3_object *ret_object);

/*
 * `data`: what is negative ends the transfer, and is what the function then returns. All from
 * `offset` on, in order; a connection that breaks off is taken up again where it was. `ret_object`
 * may be NULL. -ESTALE when the object was replaced meanwhile; -ERANGE when the offset is behind
 * its end.
 */
int s3_get(struct s3 *s3, const char *key, uint64_t offset, s3_data_fn data, void *userdata,
           struct s3_object *ret_object);

/* Replaces what the key had, unless the piece is to be new: -EEXIST. */
int s3_put(struct s3 *s3, const char *key, const struct s3_piece *piece);

/* No error when there is none. */
int s3_delete(struct s3 *s3, const char *key);

struct s3_listed {
	const char *key;
	uint64_t n_bytes;
	const char *etag;
	const char *modified; /* as the server writes it */
};

/* All keys that begin with `prefix`, in the server's order; at most `max` (0: all). The callback
 * may use the client. */
int s3_list(struct s3 *s3, const char *prefix, uint64_t max, s3_listed_fn listed, void *userdata);
