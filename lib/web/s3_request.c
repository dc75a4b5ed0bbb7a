/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client itself: what it is made from, and the loop around single attempts. Each attempt is
 * signed anew, as a signature is good for some minutes only. One that brought data on is not a
 * failed one: an object of any size arrives over a connection that breaks again and again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/base64.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/printable.h"
#include "web/s3_priv.h"

#define CONNECT_TIMEOUT_MS 10000
#define STALL_TIMEOUT_MS 60000
#define ATTEMPTS 6
#define BACKOFF_MS 500
#define PAUSE_STEP_MS 100
/* As much data makes up for the attempts before. */
#define PROGRESS_BYTES ((uint64_t) 1 << 20)
/* An instance's role has new keys at least five minutes before the old ones expire ("IAM roles for
 * Amazon EC2"). Who has none then is asked again after a while. */
#define RENEW_BEFORE_S 240
#define RENEW_AGAIN_US (30 * US_PER_S)

/* --- what an answer means --- */

/*
 * Codes are those of S3's list of error responses. Where a status says enough, the code is not
 * looked at: servers differ in their codes more than in their statuses.
 */
static bool is_one_of(const char *code, const char *const *codes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(code, codes[i]) == 0)
			return true;
	}
	return false;
}

static bool is_clock(int status, const char *code, int64_t clock_ahead_s)
{
	static const char *const codes[] = {"RequestTimeTooSkewed", "RequestExpired"};

	if (is_one_of(code, codes, ARRAY_SIZE(codes)))
		return true;
	/* So far off, nothing that we sign can be right. */
	return (status == 400 || status == 401 || status == 403) &&
	       llabs(clock_ahead_s) > S3_CLOCK_LIMIT_S;
}

enum s3_failure s3_judge_status(int status, const char *code, int64_t clock_ahead_s)
{
	static const char *const busy[] = {"SlowDown", "ServiceUnavailable", "Throttling",
	                                   "TooManyRequests"};

	if (is_one_of(code, busy, ARRAY_SIZE(busy)) || status == 429 || status == 503)
		return S3_BUSY;
	/* In the body of an answer whose status had to be sent before anything was known. */
	if (status >= 200 && status < 300)
		return code[0] != '\0' ? S3_SERVER : S3_OK;
	/* What it does not implement, it will not implement in a minute. */
	if (status >= 500 && status < 600 && status != 501)
		return S3_SERVER;
	if (is_clock(status, code, clock_ahead_s))
		return S3_CLOCK;
	if (status == 401 || status == 403)
		return S3_DENIED;
	if (status == 404)
		return S3_NOT_FOUND;
	if (status == 412)
		return S3_EXISTS;
	return status == 501 || (status >= 300 && status < 500) ? S3_REFUSED : S3_PROTOCOL;
}

bool s3_judge_is_passing(enum s3_failure failure, const char *code)
{
	/* Damaged or cut on its way to the server, or in the way of another request. */
	static const char *const codes[] = {"RequestTimeout",   "IncompleteBody",
	                                    "BadDigest",        "XAmzContentSHA256Mismatch",
	                                    "OperationAborted", "ConditionalRequestConflict"};

	return failure == S3_UNREACHABLE || failure == S3_TIMEOUT || failure == S3_CUT ||
	       failure == S3_BUSY || failure == S3_SERVER ||
	       (failure == S3_REFUSED && is_one_of(code, codes, ARRAY_SIZE(codes)));
}

unsigned s3_judge_delay_ms(unsigned n_failed, unsigned base_ms, unsigned retry_after_s,
                           uint32_t random)
{
	uint64_t full = base_ms;

	for (unsigned i = 1; i < n_failed && full < S3_DELAY_MAX_MS; i++)
		full *= 2;
	full = MIN(full, (uint64_t) S3_DELAY_MAX_MS);
	full = full / 2 + (full - full / 2) * random / UINT32_MAX;
	return (unsigned) MAX(full, MIN(retry_after_s, S3_RETRY_AFTER_MAX_S) * UINT64_C(1000));
}

static const struct {
	const char *name;
	int r;
} failures[] = {
    [S3_OK] = {"ok", -EREMOTEIO},
    [S3_UNREACHABLE] = {"unreachable", -EHOSTUNREACH},
    [S3_TIMEOUT] = {"timeout", -ETIMEDOUT},
    [S3_TLS] = {"tls", -EKEYREJECTED},
    [S3_CUT] = {"cut", -ECONNRESET},
    [S3_DENIED] = {"denied", -EACCES},
    [S3_CLOCK] = {"clock", -EACCES},
    [S3_NOT_FOUND] = {"not-found", -ENOENT},
    [S3_BUSY] = {"busy", -EAGAIN},
    [S3_SERVER] = {"server", -EREMOTEIO},
    [S3_EXISTS] = {"exists", -EEXIST},
    [S3_REFUSED] = {"refused", -EINVAL},
    [S3_PROTOCOL] = {"protocol", -EPROTO},
    [S3_CHANGED] = {"changed", -ESTALE},
    [S3_PROGRAM] = {"program", -EREMOTEIO},
    [S3_LOCAL] = {"local", -EREMOTEIO},
    [S3_CANCELLED] = {"cancelled", -ECANCELED},
};

int s3_judge_errno(enum s3_failure failure)
{
	return failures[failure].r;
}

const char *s3_failure_name(enum s3_failure failure)
{
	return failures[failure].name;
}

/* --- the client --- */

/* What can stand in a header. */
static bool is_visible(const char *text)
{
	return text[0] != '\0' && printable_is_word(text);
}

static const char *check_keys(const struct s3_keys *k)
{
	if (!is_visible(k->access_key) || !is_visible(k->secret_key))
		return "the access key or the secret key is empty, or not printable";
	if (k->session_token != NULL && !is_visible(k->session_token))
		return "the session token is empty, or not printable";
	return NULL;
}

static const char *check_config(const struct s3_config *c)
{
	const char *why = check_keys(&c->keys);

	if (why != NULL)
		return why;
	if (c->region != NULL && !is_visible(c->region))
		return "the region is empty, or not printable";
	if (c->kms_key != NULL && !is_visible(c->kms_key))
		return "the name of the KMS key is empty, or not printable";
	if (c->kms_key != NULL && c->customer_key != NULL)
		return "the server encrypts with a key of its KMS or with the customer's, not with both";
	if (!is_visible(c->bucket) || strpbrk(c->bucket, "/?#@:") != NULL)
		return "the bucket's name is empty, or has characters that no bucket has";
	return NULL;
}

/* The endpoint's parts, with the bucket's name before the host if it belongs there. */
static int take_endpoint(CURLU *url, const struct s3_config *c, struct s3 *s3)
{
	char *scheme = NULL, *host = NULL, *port = NULL, *path = NULL, *rest = NULL;
	int r = -EINVAL;

	if (curl_url_set(url, CURLUPART_URL, c->endpoint, 0) == CURLUE_OK &&
	    curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
	    curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
	    curl_url_get(url, CURLUPART_PATH, &path, 0) == CURLUE_OK && strcmp(path, "/") == 0 &&
	    curl_url_get(url, CURLUPART_QUERY, &rest, 0) == CURLUE_NO_QUERY &&
	    curl_url_get(url, CURLUPART_FRAGMENT, &rest, 0) == CURLUE_NO_FRAGMENT &&
	    curl_url_get(url, CURLUPART_USER, &rest, 0) == CURLUE_NO_USER &&
	    (strcmp(scheme, "https") == 0 || strcmp(scheme, "http") == 0)) {
		/* The port of the scheme itself is not named in Host, and is signed so. */
		if (curl_url_get(url, CURLUPART_PORT, &port, CURLU_NO_DEFAULT_PORT) != CURLUE_OK)
			port = NULL;
		s3->host =
		    xasprintf("%s%s%s%s%s", c->virtual_host ? c->bucket : "", c->virtual_host ? "." : "",
		              host, port != NULL ? ":" : "", port != NULL ? port : "");
		s3->url = xasprintf("%s://%s", scheme, s3->host);
		s3->root = c->virtual_host ? xstrdup("") : xasprintf("/%s", c->bucket);
		r = 0;
	}
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_free(path);
	curl_free(rest);
	return r;
}

static int parse_endpoint(const struct s3_config *c, struct s3 *s3)
{
	CURLU *url = curl_url();
	int r;

	if (url == NULL)
		return -ENOMEM;
	r = take_endpoint(url, c, s3);
	curl_url_cleanup(url);
	return r;
}

static void forget(char *secret)
{
	if (secret != NULL)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

int s3_set_keys(struct s3 *s3, const struct s3_keys *keys)
{
	if (check_keys(keys) != NULL)
		return -EINVAL;
	free(s3->access_key);
	forget(s3->secret_key);
	forget(s3->session_token);
	s3->access_key = xstrdup(keys->access_key);
	s3->secret_key = xstrdup(keys->secret_key);
	s3->session_token = keys->session_token != NULL ? xstrdup(keys->session_token) : NULL;
	s3->expires_s = keys->expires_s;
	s3->key = (struct sigv4_key){s3->access_key, s3->secret_key, s3->region};
	return 0;
}

static void copy_customer_key(struct s3 *s3, const uint8_t *key)
{
	AUTO(digest_free) struct digest *md5 = digest_new(DIGEST_MD5);
	uint8_t hash[DIGEST_MD5_BYTES];

	digest_update(md5, key, S3_CUSTOMER_KEY_BYTES);
	digest_finish(md5, hash);
	s3->customer_key = base64_encode(key, S3_CUSTOMER_KEY_BYTES);
	s3->customer_key_md5 = base64_encode(hash, sizeof(hash));
}

static void copy_config(struct s3 *s3, const struct s3_config *c)
{
	s3->bucket = xstrdup(c->bucket);
	s3->region = xstrdup(c->region != NULL ? c->region : "us-east-1");
	(void) s3_set_keys(s3, &c->keys);
	s3->renew = c->renew;
	s3->renew_userdata = c->renew_userdata;
	s3->renew_free = c->renew_free;
	s3->ca_file = c->ca_file != NULL ? xstrdup(c->ca_file) : NULL;
	s3->proxy = c->proxy != NULL ? xstrdup(c->proxy) : NULL;
	s3->kms_key = c->kms_key != NULL ? xstrdup(c->kms_key) : NULL;
	if (c->customer_key != NULL)
		copy_customer_key(s3, c->customer_key);
	s3->connect_timeout_ms = c->connect_timeout_ms > 0 ? c->connect_timeout_ms : CONNECT_TIMEOUT_MS;
	s3->stall_timeout_ms = c->stall_timeout_ms > 0 ? c->stall_timeout_ms : STALL_TIMEOUT_MS;
	s3->attempts = c->attempts > 0 ? c->attempts : ATTEMPTS;
	s3->backoff_ms = c->backoff_ms > 0 ? c->backoff_ms : BACKOFF_MS;
	s3->is_cancelled = c->is_cancelled;
}

int s3_new(const struct s3_config *config, const char **ret_why, struct s3 **ret_s3)
{
	const char *why = check_config(config);
	struct s3 *s3;

	if (why != NULL) {
		*ret_why = why;
		return -EINVAL;
	}
	/* Counted by libcurl: each has its curl_global_cleanup(). */
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		*ret_why = "libcurl cannot start";
		return -ENOMEM;
	}
	s3 = NEW0(struct s3);
	s3->ops = &s3_own_ops;
	copy_config(s3, config);
	s3->easy = curl_easy_init();
	if (s3->easy == NULL || parse_endpoint(config, s3) < 0) {
		s3_free(s3);
		*ret_why = "the endpoint is not 'https://HOST', 'https://HOST:PORT', or the same with http";
		return -EINVAL;
	}
	*ret_s3 = s3;
	return 0;
}

void s3_free(struct s3 *s3)
{
	if (s3 == NULL)
		return;
	if (s3->ops->free != NULL)
		s3->ops->free(s3->store);
	curl_easy_cleanup(s3->easy);
	if (s3->ops == &s3_own_ops)
		curl_global_cleanup();
	free(s3->url);
	free(s3->host);
	free(s3->root);
	free(s3->bucket);
	free(s3->access_key);
	forget(s3->secret_key);
	free(s3->region);
	forget(s3->session_token);
	free(s3->ca_file);
	free(s3->proxy);
	free(s3->kms_key);
	forget(s3->customer_key);
	free(s3->customer_key_md5);
	if (s3->renew_free != NULL)
		s3->renew_free(s3->renew_userdata);
	free(s3);
}

struct s3 *s3_new_of(const struct s3_ops *ops, void *store)
{
	struct s3 *s3 = NEW0(struct s3);

	s3->ops = ops;
	s3->store = store;
	return s3;
}

void *s3_store(const struct s3 *s3)
{
	return s3->store;
}

bool s3_has_uploads(const struct s3 *s3)
{
	return s3->ops == &s3_own_ops;
}

const struct s3_error *s3_get_error(const struct s3 *s3)
{
	return &s3->error;
}

void s3_on_sent(struct s3 *s3, s3_sent_fn fn, void *userdata)
{
	s3->sent = fn;
	s3->sent_userdata = userdata;
}

void s3_tell_sent(const struct s3 *s3, uint64_t n_bytes)
{
	if (s3->sent != NULL)
		s3->sent(n_bytes, s3->sent_userdata);
}

bool s3_get_clock_ahead_s(const struct s3 *s3, int64_t *ret_ahead_s)
{
	if (s3->clock_known)
		*ret_ahead_s = s3->clock_ahead_s;
	return s3->clock_known;
}

/* --- sentences --- */

static void describe_clock(const struct s3 *s3, char *out, size_t size)
{
	long long ahead_s = s3->clock_known ? s3->clock_ahead_s : 0;

	if (ahead_s == 0) {
		(void) snprintf(out, size, "this machine's clock and the server's differ too much");
		return;
	}
	(void) snprintf(out, size, "this machine's clock is %lld min %lld s %s the server's",
	                llabs(ahead_s) / 60, llabs(ahead_s) % 60, ahead_s > 0 ? "behind" : "ahead of");
}

/* For answers that say nothing themselves, as those to HEAD. */
static const char *explain(enum s3_failure failure)
{
	switch (failure) {
	case S3_DENIED:
		return "these credentials are not known, or may not do this";
	case S3_NOT_FOUND:
		return "there is no such object, or no such bucket";
	default:
		return s3_failure_name(failure);
	}
}

/* So much of a secret is never in a sentence by chance. */
#define TELLTALE_LEN 8

/* What a server says may repeat what it was sent: a token, also one that was cut on its way. */
static void hide(char *text, const char *secret)
{
	char start[TELLTALE_LEN + 1];

	if (secret == NULL)
		return;
	(void) snprintf(start, sizeof(start), "%s", secret);
	for (char *p = strstr(text, start); p != NULL; p = strstr(p, start)) {
		for (const char *s = secret; *s != '\0' && *p == *s; s++)
			*p++ = '*';
	}
}

/* "PUT https://host/bucket/key: 503 SlowDown: reduce your rate (tried 6 times)" */
static void describe(struct s3 *s3, const struct s3_call *call)
{
	struct s3_error *e = &s3->error;
	char said[S3_REASON_MAX], status[16] = "", tries[32] = "", clock[96] = "";

	memcpy(said, e->reason, sizeof(said));
	if (e->status > 0)
		(void) snprintf(status, sizeof(status), "%d ", e->status);
	if (e->attempts > 1)
		(void) snprintf(tries, sizeof(tries), " (tried %u times)", e->attempts);
	if (e->failure == S3_CLOCK) {
		describe_clock(s3, clock, sizeof(clock));
		(void) strcat(clock, ": ");
	}
	if (e->code[0] == '\0' && said[0] == '\0')
		(void) snprintf(said, sizeof(said), "%s", explain(e->failure));
	(void) snprintf(e->reason, sizeof(e->reason), "%s %s%s%s%.64s: %s%s%s%s%.400s%s", call->method,
	                s3->url, s3->root, call->key != NULL ? "/" : "",
	                call->key != NULL ? call->key : "", clock, status, e->code,
	                e->code[0] != '\0' && said[0] != '\0' ? ": " : "", said, tries);
	hide(e->reason, s3->secret_key);
	hide(e->reason, s3->session_token);
	hide(e->reason, s3->customer_key);
	printable_ascii(e->reason);
}

int s3_fail(struct s3 *s3, int r, enum s3_failure failure, const char *reason)
{
	s3->error = (struct s3_error){.failure = failure, .attempts = 1};
	(void) snprintf(s3->error.reason, sizeof(s3->error.reason), "%s", reason);
	return r;
}

int s3_fail_protocol(struct s3 *s3, const struct s3_call *call, const char *what)
{
	s3->error = (struct s3_error){.failure = S3_PROTOCOL, .attempts = 1};
	(void) snprintf(s3->error.reason, sizeof(s3->error.reason), "%s", what);
	describe(s3, call);
	return s3_judge_errno(S3_PROTOCOL);
}

/* --- again and again --- */

static int pause_ms(struct s3 *s3, unsigned delay_ms)
{
	int64_t end_us = mono_now_us() + delay_ms * US_PER_MS;

	for (;;) {
		int64_t left_us = end_us - mono_now_us();
		struct timespec step;

		if (s3->is_cancelled != NULL && s3->is_cancelled())
			return -ECANCELED;
		if (left_us <= 0)
			return 0;
		left_us = MIN(left_us, PAUSE_STEP_MS * US_PER_MS);
		step = (struct timespec){.tv_nsec = (long) (left_us * 1000)};
		(void) nanosleep(&step, NULL);
	}
}

static uint32_t random_number(void)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t) sizeof(number))
		number = (uint32_t) mono_now_us();
	return number;
}

/* 0: the keys are good, or may be. Else an attempt with them makes no sense. */
static int renew_keys(struct s3 *s3, bool were_refused)
{
	int64_t now_s = time(NULL), now_us = mono_now_us();
	struct s3_error *e = &s3->error;
	char reason[S3_REASON_MAX] = "";
	int r;

	if (s3->renew == NULL ||
	    (!were_refused && (s3->expires_s == 0 || now_s < s3->expires_s - RENEW_BEFORE_S)))
		return 0;
	if (!were_refused && now_s < s3->expires_s && s3->renewed_us > 0 &&
	    now_us - s3->renewed_us < RENEW_AGAIN_US)
		return 0;
	s3->renewed_us = now_us;
	r = s3->renew(s3, reason, s3->renew_userdata);
	if (r == 0 || (!were_refused && now_s < s3->expires_s))
		return 0;
	*e = (struct s3_error){.failure = S3_DENIED, .attempts = e->attempts};
	(void) snprintf(e->reason, sizeof(e->reason),
	                "the credentials expired, and new ones cannot be had: %.500s", reason);
	return r;
}

/* By the server's word. */
static bool keys_expired(const struct s3 *s3)
{
	return s3->renew != NULL && s3->error.failure == S3_DENIED &&
	       (strcmp(s3->error.code, "ExpiredToken") == 0 ||
	        strcmp(s3->error.code, "TokenRefreshRequired") == 0);
}

static int attempt(struct s3 *s3, const struct s3_call *call, struct s3_fetch *fetch,
                   struct s3_answer *ret_answer, unsigned *ret_retry_after_s)
{
	struct s3_answer answer = {0};
	int r;

	s3->error.attempts++;
	r = s3_transfer(s3, call, fetch, &answer);
	if (r == 0) {
		*ret_answer = answer;
		return 0;
	}
	*ret_retry_after_s = answer.retry_after_s;
	s3_answer_fini(&answer);
	return r;
}

int s3_request(struct s3 *s3, const struct s3_call *call, struct s3_fetch *fetch,
               struct s3_answer *ret_answer)
{
	unsigned failed = 0, retry_after_s = 0;
	bool were_refused = false, must_renew = false;

	s3->error = (struct s3_error){0};
	for (;;) {
		uint64_t before = fetch != NULL ? fetch->offset : 0;
		int r = renew_keys(s3, must_renew);

		must_renew = false;
		if (r == 0)
			r = attempt(s3, call, fetch, ret_answer, &retry_after_s);
		if (r == 0)
			return 0;
		if (keys_expired(s3) && !were_refused) {
			were_refused = must_renew = true;
			continue;
		}
		if (fetch != NULL && fetch->offset - before >= PROGRESS_BYTES)
			failed = 0;
		failed++;
		if (!s3_judge_is_passing(s3->error.failure, s3->error.code) || failed >= s3->attempts) {
			describe(s3, call);
			return r;
		}
		r = pause_ms(s3, s3_judge_delay_ms(failed, s3->backoff_ms, retry_after_s, random_number()));
		if (r < 0) {
			s3->error.failure = S3_CANCELLED;
			describe(s3, call);
			return r;
		}
	}
}
