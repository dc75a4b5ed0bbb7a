/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What to ask Hetzner Cloud next, so that it sends a VIP's packets to this server, and what its
 * answers mean. Pure: texts in, texts out; hcloud.c does the asking. The API is that of
 * docs.hetzner.cloud, version 1.
 *
 * A private address is an alias IP of this server in the private network whose range holds it; any
 * other is a floating IP. Nothing is believed for longer than a pass: each begins by reading how it
 * is, and is over when what was read is as it should be, so a pass can be begun at any time and
 * again. A request that sets alias IPs replaces all of a server's, so it repeats those that were
 * read just before, of whoever they are.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

#define HCLOUD_ALIASES_MAX 64  /* of one server in one network; more are an error */
#define HCLOUD_NETWORKS_MAX 16 /* of this server */
#define HCLOUD_PAGES_MAX 100   /* of a list, 50 items each */
#define HCLOUD_CHANGES_MAX 4   /* in a pass: else two fight, or the API tells nonsense */
#define HCLOUD_MOVED_ODD 3     /* times that it is moved away; so often is no late request */
#define HCLOUD_PATH_MAX 128
#define HCLOUD_TEXT_MAX 256

struct hcloud_aliases {
	int64_t server; /* 0: of nobody */
	size_t n;
	struct addr addrs[HCLOUD_ALIASES_MAX];
};

/* What is known. The first part stays from pass to pass, the rest is of this one. */
struct hcloud_seen {
	struct addr vip;
	int64_t me;       /* this server; 0: not known yet */
	int64_t floating; /* the floating IP's id; 0: not known yet */
	int64_t network;  /* whose range holds the VIP; 0: not known yet */

	unsigned changes; /* made in this pass */
	unsigned page;    /* of the list that is being read, from 1; 0: read to its end */
	bool floating_known;
	int64_t floating_server; /* 0: nobody's */
	bool mine_known;
	struct hcloud_aliases mine;
	int64_t networks[HCLOUD_NETWORKS_MAX]; /* of this server */
	size_t n_networks, n_networks_asked;
	struct hcloud_aliases holder; /* another server that has it */
};

enum hcloud_ask {
	HCLOUD_ASK_DONE, /* it is as it should be */
	HCLOUD_ASK_FAIL, /* it cannot be: `text` says why */
	HCLOUD_ASK_ME,   /* the metadata service */
	HCLOUD_ASK_FLOATING_IPS,
	HCLOUD_ASK_FLOATING_IP,
	HCLOUD_ASK_SERVERS,
	HCLOUD_ASK_SERVER,
	HCLOUD_ASK_NETWORK,
	HCLOUD_ASK_ASSIGN, /* this one and those below change something */
	HCLOUD_ASK_REMOVE_ALIAS,
	HCLOUD_ASK_ADD_ALIAS,
};

struct hcloud_step {
	enum hcloud_ask ask;
	char path[HCLOUD_PATH_MAX]; /* behind the endpoint; "" for HCLOUD_ASK_ME */
	char *body;                 /* JSON of a change, the caller's to free; else NULL */
	char text[HCLOUD_TEXT_MAX];
};

void hcloud_begin_pass(struct hcloud_seen *seen);
/* Something was not found: the ids may be of what is not there any more. */
void hcloud_forget_ids(struct hcloud_seen *seen);
void hcloud_next(const struct hcloud_seen *seen, struct hcloud_step *ret_step);
/* What it sets is set together with that of other VIPs. */
bool hcloud_is_alias(const struct hcloud_seen *seen);
bool hcloud_is_change(enum hcloud_ask ask);
const char *hcloud_ask_name(enum hcloud_ask ask); /* "assign the floating IP" */

/* Takes in the answer to a step that changes nothing. 0, or -EBADMSG with a sentence. */
int hcloud_take(struct hcloud_seen *seen, enum hcloud_ask ask, const char *body,
                char ret_text[static HCLOUD_TEXT_MAX]);
/* A change has come to its end: what was read before it is not true any more. */
void hcloud_changed(struct hcloud_seen *seen);

enum hcloud_progress {
	HCLOUD_RUNNING,
	HCLOUD_SUCCEEDED,
	HCLOUD_FAILED, /* ret_text says why */
};

/* The answer to a change, or to a question for its action. 0 or -EBADMSG. */
int hcloud_take_action(const char *body, int64_t *ret_id, enum hcloud_progress *ret_progress,
                       char ret_text[static HCLOUD_TEXT_MAX]);

/* A status that is no success, in words, with what the API says in its body and what to do. */
void hcloud_explain(int status, const char *body, char ret_text[static HCLOUD_TEXT_MAX]);

/* How long to wait after the n-th failure on end (from 1). status 0: there was no answer. */
int64_t hcloud_pause_us(unsigned n, int status, unsigned retry_after_s);
/* How long to wait before looking again, after n looks on end that found it right (from 1): soon at
 * first, since a request of the owner before may still come to pass. Not so soon once it has been
 * moved away again and again: somebody else thinks that it is theirs. */
int64_t hcloud_check_us(unsigned n, unsigned moved);
