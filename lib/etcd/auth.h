/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The token of a user with a password. Calls and watches that need one wait here until it is there;
 * whoever is refused with it says so, and the next one asks anew.
 */

#include <stdbool.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcd/rpc.h"

struct auth;

/* Embedded in who waits. */
struct auth_wait {
	/* r is 0, or as in struct etcd_outcome. */
	void (*fn)(struct auth_wait *wait, int r, const char *text);
	bool waiting;
	TAILQ_ENTRY(auth_wait) entry;
};

struct auth *auth_new(struct etcd *etcd, const char *user, const char *password);
void auth_free(struct auth *auth); /* all calls must be gone */
DEFINE_AUTO(struct auth, auth_free);

/* True: *ret_token is what to send, NULL if the server wants none; borrowed. False: wait. */
bool auth_token(const struct auth *auth, const char **ret_token, unsigned *ret_generation);

/* wait->fn runs once, and not before this returned. */
void auth_wait(struct auth *auth, struct auth_wait *wait);
void auth_unwait(struct auth *auth, struct auth_wait *wait); /* fine if it does not wait */

/* Whether to authenticate and try again after this end of an attempt: its token was refused, or it
 * carried none and was denied. With client certificates etcd takes the certificate's CN for the
 * user where there is no token, and denies it like any user without a role. auth may be NULL. */
bool auth_may_help(const struct auth *auth, const struct verdict *verdict, bool sent_token);

/* The token of that generation, or having none in it, was refused. */
void auth_refused(struct auth *auth, unsigned generation);
