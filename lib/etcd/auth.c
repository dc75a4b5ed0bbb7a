/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the token. etcd's simple tokens live for five minutes after their last use and die with the
 * member, and every change of users or roles makes all of them old; so a refusal is ordinary, and
 * is answered with one Authenticate for all who wait. A wrong password is asked about once a second
 * at most: each try costs the server a bcrypt.
 */
#include "etcd/auth.h"

#include <errno.h>
#include <ev.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "etcd/call.h"
#include "etcd/client.h"
#include "etcd/proto/etcd.pb-c.h"

#define ASK_INTERVAL_US (1 * US_PER_S)
#define TOKEN_MAX_BYTES (16 * 1024)

enum auth_state {
	AUTH_NONE,
	AUTH_ASKING,
	AUTH_HAVE,
};

struct auth {
	struct etcd *etcd;
	char *user;
	char *password;
	enum auth_state state;
	char *token; /* NULL in AUTH_HAVE: the server has authentication switched off */
	unsigned generation;
	int64_t not_before_us; /* after a failure */
	ev_timer timer;
	TAILQ_HEAD(, auth_wait) waiting;
};

static void wake_all(struct auth *auth, int r, const char *text)
{
	/* Those that come back while this runs wait for the next turn. */
	size_t n = 0;
	struct auth_wait *wait;

	TAILQ_FOREACH (wait, &auth->waiting, entry)
		n++;
	for (; n > 0; n--) {
		wait = TAILQ_FIRST(&auth->waiting);
		if (wait == NULL)
			break;
		auth_unwait(auth, wait);
		wait->fn(wait, r, text);
	}
}

/* gRPC takes nothing else into a header, and to be refused by it there is a fault of ours. */
static bool is_header(const char *text)
{
	for (const char *p = text; *p != '\0'; p++) {
		if (*p < 0x20 || *p > 0x7e)
			return false;
	}
	return strlen(text) <= TOKEN_MAX_BYTES;
}

static void on_answer(const struct etcd_outcome *outcome, const ProtobufCMessage *response,
                      call_user_fn fn UNUSED, void *userdata)
{
	struct auth *auth = userdata;
	const Pb__AuthenticateResponse *answer = (const void *) response;
	const char *text = outcome->text;
	int r = outcome->r;

	if (r < 0 && strstr(outcome->text, "authentication is not enabled") != NULL) {
		/* It may be switched on later; what is refused then leads back here: auth_may_help(). */
		r = 0;
	} else if (r == 0 && is_header(answer->token)) {
		auth->token = xstrdup(answer->token);
	} else if (r == 0) {
		r = -EPROTO;
		text = "a token that cannot be one";
	}
	log_debug("etcd_authenticated", "user=%s r=%d text=\"%s\"", auth->user, r, text);
	auth->not_before_us = r < 0 ? mono_now_us() + ASK_INTERVAL_US : 0;
	auth->state = r == 0 ? AUTH_HAVE : AUTH_NONE;
	wake_all(auth, r, text);
}

static void ask_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct auth *auth = CONTAINER_OF(w, struct auth, timer);
	Pb__AuthenticateRequest request;
	struct call_spec spec = {
	    .method = "/etcdserverpb.Auth/Authenticate",
	    .request = &request.base,
	    .response = &pb__authenticate_response__descriptor,
	    .flags = CALL_REPEATABLE | CALL_NO_TOKEN,
	    .deliver = on_answer,
	};

	pb__authenticate_request__init(&request);
	request.name = auth->user;
	request.password = auth->password;
	call_start(auth->etcd, &spec, NULL, auth, NULL);
}

struct auth *auth_new(struct etcd *etcd, const char *user, const char *password)
{
	struct auth *auth = NEW0(struct auth);

	auth->etcd = etcd;
	auth->user = xstrdup(user);
	auth->password = xstrdup(password != NULL ? password : "");
	TAILQ_INIT(&auth->waiting);
	ev_timer_init(&auth->timer, ask_cb, 0., 0.);
	return auth;
}

static void forget_token(struct auth *auth)
{
	if (auth->token != NULL)
		OPENSSL_cleanse(auth->token, strlen(auth->token));
	free(auth->token);
	auth->token = NULL;
}

void auth_free(struct auth *auth)
{
	if (auth == NULL)
		return;
	ev_timer_stop(auth->etcd->ev, &auth->timer);
	forget_token(auth);
	OPENSSL_cleanse(auth->password, strlen(auth->password));
	free(auth->password);
	free(auth->user);
	free(auth);
}

bool auth_token(const struct auth *auth, const char **ret_token, unsigned *ret_generation)
{
	if (auth->state != AUTH_HAVE)
		return false;
	*ret_token = auth->token;
	*ret_generation = auth->generation;
	return true;
}

void auth_wait(struct auth *auth, struct auth_wait *wait)
{
	wait->waiting = true;
	TAILQ_INSERT_TAIL(&auth->waiting, wait, entry);
	if (auth->state != AUTH_NONE)
		return;
	auth->state = AUTH_ASKING;
	ev_timer_set(&auth->timer, mono_to_ev(auth->not_before_us - mono_now_us()), 0.);
	ev_timer_start(auth->etcd->ev, &auth->timer);
}

void auth_unwait(struct auth *auth, struct auth_wait *wait)
{
	if (auth == NULL || !wait->waiting)
		return;
	wait->waiting = false;
	TAILQ_REMOVE(&auth->waiting, wait, entry);
}

bool auth_may_help(const struct auth *auth, const struct verdict *verdict, bool sent_token)
{
	return auth != NULL &&
	       (verdict->kind == VERDICT_NO_AUTH || (verdict->r == -EACCES && !sent_token));
}

void auth_refused(struct auth *auth, unsigned generation)
{
	if (auth->state != AUTH_HAVE || generation != auth->generation)
		return;
	forget_token(auth);
	auth->generation++;
	auth->state = AUTH_NONE;
}
