/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Asks members for their page /metrics, each by a connection of its own, and takes from the answer
 * what the page says, which certificate was presented, and what the member's clock was. A host with
 * a name is dialled at the address that was found for it last (hostnames.h).
 */

#include <ev.h>

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
