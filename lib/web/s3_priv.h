/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Between the files of the S3 client: what one call is, and how it is carried out. s3.c and
 * s3_upload.c say what is asked, s3_request.c tries until it is answered or given up, s3_transfer.c
 * is one attempt.
 */

#include <curl/curl.h>

#include "web/s3.h"
#include "web/s3_upload.h"
#include "web/sigv4.h"

#define S3_QUERY_MAX 6
/* A page of 1000 keys of 1024 bytes, encoded, with what stands around them. */
#define S3_BODY_MAX ((size_t) 8 << 20)
/* Of one list. */
#define S3_PAGES_MAX 10000

struct s3 {
	const struct s3_ops *ops;
	void *store; /* of other ops than S3's own; all that follows is then unset, but for the error */
	CURL *easy;
	char *url;  /* scheme, host and port */
	char *host; /* the Host header */
	char *root; /* "/bucket", or "" when the host says it */
	char *bucket;
	struct sigv4_key key;
	char *access_key; /* what `key` points to */
	char *secret_key;
	char *region;
	char *session_token; /* or NULL */
	int64_t expires_s;   /* of the keys; 0: never */
	s3_renew_fn renew;   /* or NULL */
	void *renew_userdata;
	void (*renew_free)(void *userdata);
	int64_t renewed_us; /* when it was tried last; 0: never */
	char *ca_file;      /* or NULL */
	char *proxy;        /* or NULL */
	char *kms_key;      /* or NULL */
	char *customer_key; /* in base64, or NULL; with its MD5 */
	char *customer_key_md5;
	unsigned connect_timeout_ms;
	unsigned stall_timeout_ms;
	unsigned attempts;
	unsigned backoff_ms;
	bool (*is_cancelled)(void);
	s3_sent_fn sent; /* or NULL */
	void *sent_userdata;
	struct s3_error error;
	bool clock_known;
	int64_t clock_ahead_s;
};

/* Which headers of encryption a call has (Amazon S3 API reference): what makes an object says how
 * it is encrypted, and a customer's key goes with all that reads or writes data. */
enum s3_crypt {
	S3_CRYPT_NONE,
	S3_CRYPT_MAKES,
	S3_CRYPT_USES,
};

struct s3_call {
	const char *method;
	const char *key; /* NULL: the bucket */
	struct sigv4_pair query[S3_QUERY_MAX];
	size_t n_query;
	enum s3_crypt crypt;
	/* What is sent: a text, or a piece of a file, or nothing. */
	const char *text;
	const struct s3_piece *piece;
	/* Where what comes goes, from `offset` of the object on; without it, it is kept. */
	s3_data_fn data;
	void *userdata;
	uint64_t offset;
	unsigned patience; /* how many times the usual a server may be silent; 0 is 1 */
};

/* Of the object that is being fetched, over all attempts. */
struct s3_fetch {
	uint64_t offset; /* what comes next */
	bool known;      /* since the first answer */
	struct s3_object object;
};

extern const struct s3_ops s3_own_ops; /* s3.c */

struct s3_answer {
	char *body; /* with a NUL behind; NULL when there was none */
	size_t body_len;
	char etag[S3_ETAG_MAX]; /* "" without */
	uint64_t n_bytes;       /* Content-Length */
	bool encrypted;         /* as was asked */
	unsigned retry_after_s; /* 0 without */
};

void s3_answer_fini(struct s3_answer *answer);

/* One attempt; fills s3->error on failure, but for its reason. A zeroed answer, which the caller
 * ends with s3_answer_fini() in any case. */
int s3_transfer(struct s3 *s3, const struct s3_call *call, struct s3_fetch *fetch,
                struct s3_answer *answer);

/* As many as it takes. `ret_answer` is the caller's to end when this returned 0. */
int s3_request(struct s3 *s3, const struct s3_call *call, struct s3_fetch *fetch,
               struct s3_answer *ret_answer);

/* An answer that was understood too little: sets the error, returns -EPROTO. */
int s3_fail_protocol(struct s3 *s3, const struct s3_call *call, const char *what);

/* --- what an answer means, whether trying again can help, and when; pure --- */

/* S3 takes what was signed 15 minutes ago or in 15 minutes. */
#define S3_CLOCK_LIMIT_S 900

/*
 * `code` is the error's own, "" without one. `clock_ahead_s` is by how much the server is ahead of
 * us, 0 when that is unknown: servers name a wrong clock in several ways, also as a wrong
 * signature.
 */
enum s3_failure s3_judge_status(int status, const char *code, int64_t clock_ahead_s);

/*
 * Before the attempt that follows `n_failed` of them. Between half of the doubled base and all of
 * it, where `random` says, so that many who failed together do not come back together; or what the
 * server asked for, within a limit.
 */
#define S3_DELAY_MAX_MS 20000
#define S3_RETRY_AFTER_MAX_S 60
unsigned s3_judge_delay_ms(unsigned n_failed, unsigned base_ms, unsigned retry_after_s,
                           uint32_t random);
