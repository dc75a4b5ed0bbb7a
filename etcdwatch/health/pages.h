/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks members for their page /metrics, each by a connection of its own, and takes from the answer
 * what the page says, which certificate was presented, and what the member's clock was. A host with
 * a name is dialled at the address that was found for it last (pages.h).
 */

#include <ev.h>
#include <stdbool.h>

#include "base/addr.h"
#include "base/cleanup.h"
#include "etcd/etcdconf.h"
#include "etcdwatch/rules/pagefigures.h"

struct pages;

struct page {
	bool known;
	struct pagefigures figures;
	int64_t not_after_s; /* 0: no certificate was seen */
	bool clock_known;
	int64_t ahead_least_us, ahead_most_us; /* as in observation.h */
};

/* Borrows the configuration: of the certificates and the deadline. 0 or -errno. */
int pages_new(struct ev_loop *ev, const struct etcdconf *config, struct pages **ret_pages);
void pages_free(struct pages *pages); /* what is under way is given up */
DEFINE_AUTO(struct pages, pages_free);

typedef void (*pages_done_fn)(void *userdata);

/* Of the member at this URL ("https://cp1:2379"). 0, and ret_page, which is borrowed, is filled in
 * when `done` is called, once and never from inside; or -errno: it cannot be asked, -EAGAIN not
 * yet. */
int pages_ask(struct pages *pages, const char *url, struct page *ret_page, pages_done_fn done,
              void *userdata);

/* --- hostnames --- */

/*
 * The addresses of hosts that are known by a name, for one who asks them again and again and never
 * waits: each is resolved by a thread of its own when it is asked for, one after the other, and
 * what was found last counts until there is something newer. A resolver may hang for as long as it
 * likes; then nothing new comes.
 */

#define HOSTNAMES_MAX 32
/* A name is resolved anew when it is asked for so long after the last time. */
#define HOSTNAMES_AGAIN_US (60 * INT64_C(1000000))

struct hostnames;

struct hostnames *hostnames_new(struct ev_loop *ev);
/* Does not wait for the thread: what it still finds is dropped. NULL is fine. */
void hostnames_free(struct hostnames *names);
DEFINE_AUTO(struct hostnames, hostnames_free);

/* One that is not known yet will be, if it can be: false until then. */
bool hostnames_find(struct hostnames *names, const char *host, struct addr *ret_addr);
/* Nobody answered there: another of its addresses is told next, if it has more than one. */
void hostnames_failed(struct hostnames *names, const char *host);
