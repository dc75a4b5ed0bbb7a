/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the gate's sets in the kernel and remembers which addresses are guarded, so that the tables
 * can be made anew. What the tables contain, and whether the kernel still has it so, is in
 * nftgate_rules.c. vipd's fence calls this.
 *
 * Every change is one transaction over both tables, so ARP and IP open and shut at one instant. The
 * timeout of an element cannot be changed in place before kernel 6.12, so opening is add, delete,
 * add: the first makes the deletion succeed when there is no element, or one that has timed out and
 * is not collected yet (such a one is invisible to the deletion). The deleted and the new element
 * change places at the commit, between two packets. An element that times out between the first add
 * and the deletion, on a kernel that reads the clock for each message, fails the transaction as a
 * whole: it is made again.
 *
 * A transaction knows no deadline, only a timeout that counts from its own beginning, and a process
 * may be stopped for any time between reading the clock and entering the kernel.
 * nftgate_open_until() closes that hole with a ticket: an element with a number of its own and a
 * short timeout is added first, then the clock is read, and the transaction that opens also deletes
 * the ticket: if that has timed out meanwhile, the deletion fails and nothing is opened. So an
 * address is never live for longer than the deadline and NFTGATE_TICKET_MS.
 *
 * Somebody else's changes are heard from the monitor as hints only: at the end of a transaction
 * that touched our tables, the tables are read and compared. Our own changes pass that test.
 */
#include "net/nftgate.h"

#include <assert.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>
#include <sys/random.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "net/netlink.h"
#include "net/nft.h"
#include "net/nftgate_rules.h"

#define OPEN_ATTEMPTS_MAX 3

struct nftgate {
	struct netlink *nl;
	char *table;
	struct nft_batch batch;
	struct addr guarded[NFTGATE_ADDRS_MAX];
	size_t n_guarded;
	uint32_t links[NFTGATE_LINKS_MAX]; /* index numbers */
	size_t n_links;
	uint32_t ticket; /* the next one's number */
	uint32_t flags;  /* of the tables: NFTGATE_OWNED, or 0 where the kernel has no such */
	bool removed;    /* by nftgate_destroy() */
	bool suspect;    /* the transaction that is being notified touched our tables */
	nftgate_lost_fn lost;
	void *lost_userdata;
};

/* --- where an address has its elements --- */

#define PLACES_MAX 2

enum set_kind { SET_GUARDED, SET_LIVE };

/* The element of addr in each table that has one; returns how many. */
static size_t places_of(const struct nftgate *gate, const struct addr *addr, enum set_kind kind,
                        struct nft_element ret[static PLACES_MAX])
{
	const struct nft_element e = {.family = NFPROTO_INET,
	                              .table = gate->table,
	                              .key = addr->bytes,
	                              .key_len = (uint32_t) addr_len_bytes(addr)};

	assert(addr_is_set(addr));
	ret[0] = e;
	if (addr->family == AF_INET6) {
		ret[0].set = kind == SET_LIVE ? NFTGATE_SET_LIVE6 : NFTGATE_SET_GUARDED6;
		return 1;
	}
	ret[0].set = kind == SET_LIVE ? NFTGATE_SET_LIVE4 : NFTGATE_SET_GUARDED4;
	ret[1] = ret[0];
	ret[1].family = NFPROTO_ARP;
	return 2;
}

static void put_guard(struct nftgate *gate, const struct addr *addr)
{
	struct nft_element places[PLACES_MAX];
	size_t n = places_of(gate, addr, SET_GUARDED, places);

	for (size_t i = 0; i < n; i++)
		nft_batch_add_element(&gate->batch, &places[i]);
}

static void put_link(struct nftgate *gate, uint32_t ifindex)
{
	const struct nft_element e = {.family = NFPROTO_INET,
	                              .table = gate->table,
	                              .set = NFTGATE_SET_LINKS,
	                              .key = &ifindex,
	                              .key_len = NFTGATE_LINK_BYTES};

	nft_batch_add_element(&gate->batch, &e);
}

static void put_absent(struct nftgate *gate, const struct addr *addr, enum set_kind kind)
{
	struct nft_element places[PLACES_MAX];
	size_t n = places_of(gate, addr, kind, places);

	for (size_t i = 0; i < n; i++) {
		nft_batch_add_element(&gate->batch, &places[i]);
		nft_batch_delete_element(&gate->batch, &places[i]);
	}
}

static void put_live(struct nftgate *gate, const struct addr *addr, int64_t timeout_us)
{
	struct nft_element places[PLACES_MAX];
	size_t n = places_of(gate, addr, SET_LIVE, places);

	for (size_t i = 0; i < n; i++) {
		places[i].timeout_ms = (uint64_t) (timeout_us / US_PER_MS);
		nft_batch_add_element(&gate->batch, &places[i]);
		nft_batch_delete_element(&gate->batch, &places[i]);
		nft_batch_add_element(&gate->batch, &places[i]);
	}
}

static int commit(struct nftgate *gate)
{
	return nft_batch_commit(&gate->batch, gate->nl);
}

/* --- the memory of what is guarded --- */

static size_t guarded_index(const struct nftgate *gate, const struct addr *addr)
{
	size_t i = 0;

	while (i < gate->n_guarded && !addr_equal(&gate->guarded[i], addr))
		i++;
	return i;
}

static int remember(struct nftgate *gate, const struct addr *addr)
{
	if (guarded_index(gate, addr) < gate->n_guarded)
		return 0;
	if (gate->n_guarded == NFTGATE_ADDRS_MAX)
		return -ENOSPC;
	gate->guarded[gate->n_guarded++] = *addr;
	return 0;
}

static void forget(struct nftgate *gate, const struct addr *addr)
{
	size_t i = guarded_index(gate, addr);

	if (i < gate->n_guarded)
		gate->guarded[i] = gate->guarded[--gate->n_guarded];
}

struct reading {
	struct nftgate *gate;
	sa_family_t family;
	uint32_t key_len;
	bool is_live; /* of the live set, else of the guarded one */
	int r;
	bool endless; /* a live element without a timeout */
};

static void take_element_cb(const void *key, uint64_t timeout_ms, uint64_t left_ms UNUSED,
                            void *userdata)
{
	struct reading *rd = userdata;
	struct addr addr;
	int r;

	if (rd->is_live) {
		rd->endless = rd->endless || timeout_ms == 0;
		return;
	}
	r = addr_from_bytes(rd->family, key, rd->key_len, &addr);
	if (r >= 0)
		r = remember(rd->gate, &addr);
	if (r < 0)
		rd->r = r;
}

static const struct {
	uint8_t nfproto;
	const char *set;
	bool is_live;
	sa_family_t family;
	uint32_t key_len;
} learnt_sets[] = {
    {NFPROTO_ARP, NFTGATE_SET_GUARDED4, false, AF_INET, 4},
    {NFPROTO_ARP, NFTGATE_SET_LIVE4, true, AF_INET, 4},
    {NFPROTO_INET, NFTGATE_SET_GUARDED4, false, AF_INET, 4},
    {NFPROTO_INET, NFTGATE_SET_LIVE4, true, AF_INET, 4},
    {NFPROTO_INET, NFTGATE_SET_GUARDED6, false, AF_INET6, 16},
    {NFPROTO_INET, NFTGATE_SET_LIVE6, true, AF_INET6, 16},
};

/* Learns what an earlier process guarded. Sets that cannot be read are passed over: this also reads
 * tables that are not as they should be. */
static int learn_guarded(struct nftgate *gate, bool *ret_endless)
{
	struct reading rd = {.gate = gate};

	for (size_t i = 0; i < ARRAY_SIZE(learnt_sets); i++) {
		const struct nft_element e = {.family = learnt_sets[i].nfproto,
		                              .table = gate->table,
		                              .set = learnt_sets[i].set,
		                              .key_len = learnt_sets[i].key_len};
		int r;

		rd.family = learnt_sets[i].family;
		rd.key_len = e.key_len;
		rd.is_live = learnt_sets[i].is_live;
		r = nft_read_set(gate->nl, &e, take_element_cb, &rd);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	*ret_endless = rd.endless;
	return rd.r;
}

/* --- the tables --- */

static void put_all_guards(struct nftgate *gate)
{
	for (size_t i = 0; i < gate->n_guarded; i++)
		put_guard(gate, &gate->guarded[i]);
	for (size_t i = 0; i < gate->n_links; i++)
		put_link(gate, gate->links[i]);
}

/* What a kernel without (a part of) nf_tables answers to what every other one accepts. */
static int say_unsupported(int r)
{
	return r == -ENOENT || r == -EINVAL || r == -EAFNOSUPPORT || r == -EPROTONOSUPPORT ? -EOPNOTSUPP
	                                                                                   : r;
}

static int create(struct nftgate *gate)
{
	nftgate_rules_create(&gate->batch, gate->table, gate->flags);
	put_all_guards(gate);
	return say_unsupported(commit(gate));
}

int nftgate_restore(struct nftgate *gate)
{
	int r;

	r = create(gate);
	if (r == -EOPNOTSUPP && gate->flags != 0) {
		gate->flags = 0;
		r = create(gate);
	}
	if (r == 0)
		gate->removed = false;
	return r;
}

static int adopt(struct nftgate *gate)
{
	nftgate_rules_own(&gate->batch, gate->table, gate->flags);
	/* Both tables guard the same; adding what is there is fine. */
	put_all_guards(gate);
	return say_unsupported(commit(gate));
}

/* Takes over what an earlier process left, or makes it. */
static int settle(struct nftgate *gate)
{
	enum nftgate_found found;
	bool endless = false;
	int r;

	r = nftgate_inspect(gate->nl, gate->table, &found);
	if (r < 0)
		return say_unsupported(r);
	if (found != NFTGATE_ABSENT) {
		r = learn_guarded(gate, &endless);
		if (r < 0)
			return r;
	}
	if (found != NFTGATE_SOUND || endless)
		return nftgate_restore(gate);
	r = adopt(gate);
	if (r != -EOPNOTSUPP)
		return r;
	/* An earlier version made them without an owner, or the kernel has none: then this fails as a
	 * whole. */
	r = create(gate);
	if (r != -EOPNOTSUPP)
		return r;
	gate->flags = 0;
	return adopt(gate);
}

/* --- hearing of others --- */

/* Is this about our tables' shape, or about guarded elements? The live ones come and go. In all of
 * these messages attribute 1 is the table's name. */
static bool touches_us(const struct nftgate *gate, const struct nlmsghdr *nlh)
{
	const struct nlattr *names[NFTA_SET_ELEM_LIST_SET + 1];
	char table[NFT_NAME_MAXLEN], set[NFT_NAME_MAXLEN];

	if (!attr_read(nlh, NULL, sizeof(struct nfgenmsg), names, ARRAY_SIZE(names)) ||
	    strcmp(attr_text(names[NFTA_SET_ELEM_LIST_TABLE], table, sizeof(table)), gate->table) != 0)
		return false;
	switch (NFNL_MSG_TYPE(nlh->nlmsg_type)) {
	case NFT_MSG_NEWSETELEM:
		return false;
	case NFT_MSG_DELSETELEM:
		(void) attr_text(names[NFTA_SET_ELEM_LIST_SET], set, sizeof(set));
		return strcmp(set, NFTGATE_SET_GUARDED4) == 0 || strcmp(set, NFTGATE_SET_GUARDED6) == 0;
	}
	return true;
}

/* Is everything in the kernel that should be? When it cannot be read, no. */
static bool is_whole(struct nftgate *gate)
{
	enum nftgate_found found;
	struct nft_element places[PLACES_MAX];

	if (nftgate_inspect(gate->nl, gate->table, &found) < 0 || found != NFTGATE_SOUND)
		return false;
	for (size_t i = 0; i < gate->n_guarded; i++) {
		size_t n = places_of(gate, &gate->guarded[i], SET_GUARDED, places);
		uint64_t left_ms;

		for (size_t k = 0; k < n; k++) {
			if (nft_read_element(gate->nl, &places[k], &left_ms) < 0)
				return false;
		}
	}
	return true;
}

static void check_cb(void *userdata)
{
	struct nftgate *gate = userdata;

	gate->suspect = false;
	if (gate->lost != NULL && !gate->removed && !is_whole(gate))
		gate->lost(gate->lost_userdata);
}

/* The kernel ends the notifications of every transaction with NFT_MSG_NEWGEN. */
static void notified_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct nftgate *gate = userdata;

	if (NFNL_SUBSYS_ID(nlh->nlmsg_type) != NFNL_SUBSYS_NFTABLES)
		return;
	if (NFNL_MSG_TYPE(nlh->nlmsg_type) != NFT_MSG_NEWGEN)
		gate->suspect = gate->suspect || touches_us(gate, nlh);
	else if (gate->suspect)
		check_cb(gate);
}

void nftgate_on_lost(struct nftgate *gate, nftgate_lost_fn fn, void *userdata)
{
	gate->lost = fn;
	gate->lost_userdata = userdata;
}

/* --- the object --- */

int nftgate_new(struct ev_loop *ev, const char *table_name, struct nftgate **ret_gate)
{
	static const unsigned groups[] = {NFNLGRP_NFTABLES};
	AUTO(nftgate_free) struct nftgate *gate = NEW0(struct nftgate);
	int r;

	gate->table = xstrdup(table_name);
	gate->flags = NFTGATE_OWNED;
	nft_batch_init(&gate->batch);
	/* Tickets of two processes must differ; should the kernel have no randomness yet, time does. */
	if (getrandom(&gate->ticket, sizeof(gate->ticket), GRND_NONBLOCK) < 0)
		gate->ticket = (uint32_t) mono_now_us();
	r = netlink_new(ev, NETLINK_NETFILTER, &gate->nl);
	if (r < 0)
		return say_unsupported(r);
	r = netlink_monitor(gate->nl, groups, ARRAY_SIZE(groups), notified_cb, check_cb, gate);
	if (r < 0)
		return say_unsupported(r);
	r = settle(gate);
	if (r == -EOPNOTSUPP) {
		/* Tables of an earlier version, which asked less of the kernel, would stay shut for ever.
		 */
		nftgate_rules_remove(&gate->batch, gate->table);
		(void) commit(gate);
	}
	if (r < 0)
		return r;
	*ret_gate = TAKE_PTR(gate);
	return 0;
}

void nftgate_free(struct nftgate *gate)
{
	if (gate == NULL)
		return;
	netlink_free(gate->nl);
	nft_batch_fini(&gate->batch);
	free(gate->table);
	free(gate);
}

int nftgate_destroy(struct nftgate *gate)
{
	int r;

	nftgate_rules_remove(&gate->batch, gate->table);
	r = commit(gate);
	if (r == 0)
		gate->removed = true;
	return r;
}

int nftgate_guard(struct nftgate *gate, const struct addr *addr)
{
	int r;

	r = remember(gate, addr);
	if (r < 0)
		return r;
	put_guard(gate, addr);
	return commit(gate);
}

int nftgate_unguard(struct nftgate *gate, const struct addr *addr)
{
	forget(gate, addr);
	put_absent(gate, addr, SET_LIVE);
	put_absent(gate, addr, SET_GUARDED);
	return commit(gate);
}

int nftgate_add_link(struct nftgate *gate, int ifindex)
{
	const uint32_t number = (uint32_t) ifindex;
	size_t i = 0;

	while (i < gate->n_links && gate->links[i] != number)
		i++;
	if (i == NFTGATE_LINKS_MAX) {
		/* Links come and go; those of the oldest are gone. */
		memmove(gate->links, gate->links + 1, sizeof(gate->links) - sizeof(gate->links[0]));
		i = --gate->n_links;
	}
	gate->links[i] = number;
	gate->n_links = MAX(gate->n_links, i + 1);
	put_link(gate, number);
	return commit(gate);
}

size_t nftgate_guarded(const struct nftgate *gate, struct addr ret_addrs[static NFTGATE_ADDRS_MAX])
{
	memcpy(ret_addrs, gate->guarded, gate->n_guarded * sizeof(gate->guarded[0]));
	return gate->n_guarded;
}

int nftgate_open_until(struct nftgate *gate, const struct addr *addr, int64_t deadline_us)
{
	for (int i = 0; i < OPEN_ATTEMPTS_MAX; i++) {
		const uint32_t number = gate->ticket++;
		const struct nft_element ticket = {.family = NFPROTO_INET,
		                                   .table = gate->table,
		                                   .set = NFTGATE_SET_TICKETS,
		                                   .key = &number,
		                                   .key_len = NFTGATE_TICKET_BYTES,
		                                   .timeout_ms = NFTGATE_TICKET_MS};
		int64_t left_us;
		int r;

		nft_batch_add_element(&gate->batch, &ticket);
		r = commit(gate);
		if (r < 0)
			return r;
		left_us = deadline_us - mono_now_us();
		if (left_us < NFTGATE_TIMEOUT_MIN_MS * US_PER_MS)
			return -ETIME;
		nft_batch_delete_element(&gate->batch, &ticket);
		put_live(gate, addr, left_us);
		r = commit(gate);
		if (r != -ENOENT)
			return r;
	}
	return -EAGAIN;
}

int nftgate_shut(struct nftgate *gate, const struct addr *addr)
{
	int r = -ENOENT;

	for (int i = 0; r == -ENOENT && i < OPEN_ATTEMPTS_MAX; i++) {
		put_absent(gate, addr, SET_LIVE);
		r = commit(gate);
	}
	return r;
}

int nftgate_query(struct nftgate *gate, const struct addr *addr, bool *ret_guarded,
                  int64_t *ret_left_us)
{
	struct nft_element places[PLACES_MAX];
	bool guarded = true;
	uint64_t left_ms = UINT32_MAX;
	size_t n;
	int r;

	n = places_of(gate, addr, SET_GUARDED, places);
	for (size_t i = 0; i < n; i++) {
		uint64_t none;

		r = nft_read_element(gate->nl, &places[i], &none);
		if (r < 0 && r != -ENOENT)
			return r;
		guarded = guarded && r == 0;
	}
	n = places_of(gate, addr, SET_LIVE, places);
	for (size_t i = 0; i < n; i++) {
		uint64_t ms = 0;

		r = nft_read_element(gate->nl, &places[i], &ms);
		if (r < 0 && r != -ENOENT)
			return r;
		left_ms = MIN(left_ms, ms);
	}
	*ret_guarded = guarded;
	*ret_left_us = (int64_t) left_ms * US_PER_MS;
	return 0;
}

const char *nftgate_error_text(const struct nftgate *gate)
{
	return netlink_error_text(gate->nl);
}
