/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the messages of a transaction in one buffer for nftgate.c and nftgate_rules.c, and hands
 * it to netlink_call(). Reads elements of sets as the kernel shows them: an answer is collected as
 * a whole before the caller sees any of it, since a dump that a transaction disturbs is made again.
 */
#include "net/nft.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "base/mem.h"
#include "net/netlink.h"

#define DUMP_ATTEMPTS_MAX 10
/* Far more than the gate ever puts there; who put in more sees the rest passed over. */
#define ELEMENTS_MAX 4096
#define KEY_MAX 16

/* --- a transaction --- */

void nft_batch_init(struct nft_batch *b)
{
	const struct nlmsghdr *nlh;

	/* Behind it is room for one that does not fit. */
	*b = (struct nft_batch){.buf = xcalloc(1, NFT_BATCH_MAX_BYTES + NFT_BATCH_MESSAGE_MAX_BYTES)};
	/* netlink_call() gives the sequence numbers. */
	nlh = nftnl_batch_begin((char *) b->buf, 0);
	b->len = nlh->nlmsg_len;
}

void nft_batch_fini(struct nft_batch *b)
{
	free(b->buf);
	b->buf = NULL;
}

struct nlmsghdr *nft_batch_open(struct nft_batch *b, uint16_t type, uint8_t family, uint16_t flags)
{
	b->full = b->full || b->len + NFT_BATCH_MESSAGE_MAX_BYTES > NFT_BATCH_MAX_BYTES;
	return nftnl_nlmsg_build_hdr((char *) b->buf + (b->full ? NFT_BATCH_MAX_BYTES : b->len), type,
	                             family, flags, 0);
}

void nft_batch_close(struct nft_batch *b, const struct nlmsghdr *nlh)
{
	if (b->full)
		return;
	b->last = b->len;
	b->len += nlh->nlmsg_len;
}

/* --- elements --- */

/* The set of e, with e in it when it is asked for. */
static struct nftnl_set *set_of(const struct nft_element *e, bool with_element, uint64_t timeout_ms)
{
	struct nftnl_set *set = mem_expect(nftnl_set_alloc());
	struct nftnl_set_elem *elem;

	(void) nftnl_set_set_str(set, NFTNL_SET_TABLE, e->table);
	(void) nftnl_set_set_str(set, NFTNL_SET_NAME, e->set);
	if (!with_element)
		return set;
	elem = mem_expect(nftnl_set_elem_alloc());
	(void) nftnl_set_elem_set(elem, NFTNL_SET_ELEM_KEY, e->key, e->key_len);
	if (timeout_ms > 0)
		nftnl_set_elem_set_u64(elem, NFTNL_SET_ELEM_TIMEOUT, timeout_ms);
	nftnl_set_elem_add(set, elem);
	return set;
}

static void put_element(struct nft_batch *b, uint16_t type, uint16_t flags,
                        const struct nft_element *e, uint64_t timeout_ms)
{
	struct nlmsghdr *nlh = nft_batch_open(b, type, e->family, flags);
	struct nftnl_set *set = set_of(e, true, timeout_ms);

	nftnl_set_elems_nlmsg_build_payload(nlh, set);
	nftnl_set_free(set);
	nft_batch_close(b, nlh);
}

void nft_batch_add_element(struct nft_batch *b, const struct nft_element *e)
{
	put_element(b, NFT_MSG_NEWSETELEM, NLM_F_CREATE, e, e->timeout_ms);
}

void nft_batch_delete_element(struct nft_batch *b, const struct nft_element *e)
{
	put_element(b, NFT_MSG_DELSETELEM, 0, e, 0);
}

int nft_batch_commit(struct nft_batch *b, struct netlink *nl)
{
	const struct nlmsghdr *end;
	int r;

	if (b->full || b->last == 0) {
		r = b->full ? -EMSGSIZE : 0;
	} else {
		((struct nlmsghdr *) (void *) (b->buf + b->last))->nlmsg_flags |= NLM_F_ACK;
		end = nftnl_batch_end((char *) b->buf + b->len, 0);
		r = netlink_call(nl, b->buf, b->len + end->nlmsg_len, NULL, NULL);
	}
	b->len = ((const struct nlmsghdr *) (const void *) b->buf)->nlmsg_len;
	b->last = 0;
	b->full = false;
	return r;
}

/* --- reading --- */

struct element {
	uint8_t key[KEY_MAX];
	uint64_t timeout_ms, left_ms;
};

struct collected {
	uint32_t key_len;
	struct element *elements;
	size_t n;
};

/* 0 when it has none; libnftnl's own getter would read through NULL. */
static uint64_t number_of(struct nftnl_set_elem *elem, uint16_t attr)
{
	return nftnl_set_elem_is_set(elem, attr) ? nftnl_set_elem_get_u64(elem, attr) : 0;
}

static int collect_element(struct nftnl_set_elem *elem, void *data)
{
	struct collected *c = data;
	struct element *e;
	uint32_t len = 0;
	const void *key = nftnl_set_elem_get(elem, NFTNL_SET_ELEM_KEY, &len);

	if (key == NULL || len != c->key_len || len > KEY_MAX || c->n >= ELEMENTS_MAX)
		return 0;
	c->elements = xreallocarray(c->elements, c->n + 1, sizeof(*c->elements));
	e = &c->elements[c->n++];
	memcpy(e->key, key, len);
	e->timeout_ms = number_of(elem, NFTNL_SET_ELEM_TIMEOUT);
	e->left_ms = number_of(elem, NFTNL_SET_ELEM_EXPIRATION);
	return 0;
}

static void collect_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct nftnl_set *set = mem_expect(nftnl_set_alloc());

	if (nftnl_set_elems_nlmsg_parse(nlh, set) >= 0)
		(void) nftnl_set_elem_foreach(set, collect_element, userdata);
	nftnl_set_free(set);
}

static int fetch(struct netlink *nl, const struct nft_element *e, bool all, struct collected *c)
{
	uint8_t buf[1024] = {0}; /* libmnl 1.0.4 does not write what pads an attribute */
	struct nlmsghdr *nlh = nftnl_nlmsg_build_hdr((char *) buf, NFT_MSG_GETSETELEM, e->family,
	                                             all ? NLM_F_DUMP : NLM_F_ACK, 0);
	struct nftnl_set *set = set_of(e, !all, 0);
	int r = -EAGAIN;

	nftnl_set_elems_nlmsg_build_payload(nlh, set);
	nftnl_set_free(set);
	c->key_len = e->key_len;
	for (int i = 0; r == -EAGAIN && i < DUMP_ATTEMPTS_MAX; i++) {
		c->n = 0;
		r = netlink_call(nl, nlh, nlh->nlmsg_len, collect_cb, c);
	}
	return r;
}

int nft_read_set(struct netlink *nl, const struct nft_element *e, nft_element_fn fn, void *userdata)
{
	struct collected c = {0};
	int r;

	r = fetch(nl, e, true, &c);
	for (size_t i = 0; r == 0 && i < c.n; i++)
		fn(c.elements[i].key, c.elements[i].timeout_ms, c.elements[i].left_ms, userdata);
	free(c.elements);
	return r;
}

int nft_read_element(struct netlink *nl, const struct nft_element *e, uint64_t *ret_left_ms)
{
	struct collected c = {0};
	int r;

	r = fetch(nl, e, false, &c);
	if (r == 0 && c.n != 1)
		r = -ENOENT;
	if (r == 0)
		*ret_left_ms = c.elements[0].left_ms;
	free(c.elements);
	return r;
}
