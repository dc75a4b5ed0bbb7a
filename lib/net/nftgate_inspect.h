/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Are the gate's tables in the kernel as nftgate_rules.h writes them? Private to lib/net.
 */

struct netlink;

enum nftgate_found {
	NFTGATE_ABSENT, /* neither table is there */
	NFTGATE_SOUND,  /* both, with these chains, sets and rules and no others in our chains */
	NFTGATE_BROKEN, /* anything else */
};

/* 0 or -errno. */
int nftgate_inspect(struct netlink *nl, const char *table, enum nftgate_found *ret_found);
