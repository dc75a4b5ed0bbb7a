/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the messages of a transaction in one buffer for nftgate.c and nftgate_rules.c, and hands
 * it to netlink_call().
 */
#include "net/nft_batch.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <linux/netfilter/nf_tables.h>

#include "base/mem.h"
#include "net/netlink.h"

void nft_batch_init(struct nft_batch *b)
{
	const struct nlmsghdr *nlh;

	*b = (struct nft_batch){.buf = xcalloc(1, NFT_BATCH_MAX_BYTES)};
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
	if (b->len + NFT_BATCH_MESSAGE_MAX_BYTES > NFT_BATCH_MAX_BYTES) {
		b->full = true;
		return NULL;
	}
	return nftnl_nlmsg_build_hdr((char *) b->buf + b->len, type, family, flags, 0);
}

void nft_batch_close(struct nft_batch *b, const struct nlmsghdr *nlh)
{
	b->last = b->len;
	b->len += nlh->nlmsg_len;
}

static void put_element(struct nft_batch *b, uint16_t type, uint16_t flags,
                        const struct nft_element *e)
{
	struct nlmsghdr *nlh = nft_batch_open(b, type, e->family, flags);
	struct nftnl_set *set;
	struct nftnl_set_elem *elem;

	if (nlh == NULL)
		return;
	set = mem_expect(nftnl_set_alloc());
	elem = mem_expect(nftnl_set_elem_alloc());
	(void) nftnl_set_set_str(set, NFTNL_SET_TABLE, e->table);
	(void) nftnl_set_set_str(set, NFTNL_SET_NAME, e->set);
	(void) nftnl_set_elem_set(elem, NFTNL_SET_ELEM_KEY, e->key, e->key_len);
	if (e->timeout_ms > 0)
		nftnl_set_elem_set_u64(elem, NFTNL_SET_ELEM_TIMEOUT, e->timeout_ms);
	nftnl_set_elem_add(set, elem);
	nftnl_set_elems_nlmsg_build_payload(nlh, set);
	nftnl_set_free(set);
	nft_batch_close(b, nlh);
}

void nft_batch_add_element(struct nft_batch *b, const struct nft_element *e)
{
	put_element(b, NFT_MSG_NEWSETELEM, NLM_F_CREATE, e);
}

void nft_batch_delete_element(struct nft_batch *b, const struct nft_element *e)
{
	struct nft_element plain = *e;

	plain.timeout_ms = 0;
	put_element(b, NFT_MSG_DELSETELEM, 0, &plain);
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
