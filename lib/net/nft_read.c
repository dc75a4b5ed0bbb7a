/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of sets, as the kernel shows them, for nftgate.c. An answer is collected as a whole
 * before the caller sees any of it, since a dump that a transaction disturbed is made again.
 */
#include "net/nft_read.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/set.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "net/netlink.h"

#define DUMP_ATTEMPTS_MAX 10
/* Far more than the gate ever puts there; who put in more sees the rest passed over. */
#define ELEMENTS_MAX 4096
#define KEY_MAX 16

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
	struct nftnl_set *set = mem_expect(nftnl_set_alloc());
	struct nftnl_set_elem *elem;
	int r = -EAGAIN;

	(void) nftnl_set_set_str(set, NFTNL_SET_TABLE, e->table);
	(void) nftnl_set_set_str(set, NFTNL_SET_NAME, e->set);
	if (!all) {
		elem = mem_expect(nftnl_set_elem_alloc());
		(void) nftnl_set_elem_set(elem, NFTNL_SET_ELEM_KEY, e->key, e->key_len);
		nftnl_set_elem_add(set, elem);
	}
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
