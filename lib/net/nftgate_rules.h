/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the gate's tables contain: how they are written, and whether those in the kernel are still
 * so. Private to lib/net; nftgate.h says what the rules are for.
 */

#include <stdint.h>

#include "base/addr.h"
#include "net/nft_batch.h"

struct netlink;

#define NFTGATE_SET_GUARDED4 "guarded4"
#define NFTGATE_SET_GUARDED6 "guarded6"
#define NFTGATE_SET_LIVE4 "live4"
#define NFTGATE_SET_LIVE6 "live6"
/* Elements of the tickets of nftgate_open_until(); in the table of family inet. */
#define NFTGATE_SET_TICKETS "tickets"
#define NFTGATE_TICKET_BYTES 4

/* Both tables anew, with empty sets; whatever stands there under this name goes, in the same batch.
 */
void nftgate_rules_create(struct nft_batch *b, const char *table);
/* Both tables away, whether they are there or not. */
void nftgate_rules_remove(struct nft_batch *b, const char *table);

enum nftgate_found {
	NFTGATE_ABSENT, /* neither table is there */
	NFTGATE_SOUND,  /* both, with these chains, sets and rules and no others in our chains */
	NFTGATE_BROKEN, /* anything else */
};

/* 0 or -errno. */
int nftgate_rules_inspect(struct netlink *nl, const char *table, enum nftgate_found *ret_found);
