/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's chains, sets and rules as three tables of constants, written into a batch with
 * libnftnl for nftgate.c.
 *
 * Priority: before everything (the lowest that others use is -400, for defragmentation). A packet
 * that will be dropped then makes no connection-tracking entry, is not queued and is not logged as
 * accepted.
 */
#include "net/nftgate_rules.h"

/* Before the kernel's headers, which then leave out what it defines. */
#include <netinet/in.h>

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_arp.h>
#include <netinet/icmp6.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define CHAIN_INPUT "input"
#define CHAIN_OUTPUT "output"
/* The types by the numbers that nft(8) gives them, so that it can show the elements. */
#define NFT_TYPE_IPADDR 7
#define NFT_TYPE_IP6ADDR 8
#define NFT_TYPE_MARK 19
#define TCP_FLAG_RST_BYTE 0x04

const uint8_t nftgate_families[NFTGATE_FAMILIES] = {NFPROTO_ARP, NFPROTO_INET};

const struct nftgate_chain nftgate_chains[NFTGATE_CHAINS] = {
    {NFPROTO_ARP, CHAIN_INPUT, NF_ARP_IN},
    {NFPROTO_ARP, CHAIN_OUTPUT, NF_ARP_OUT},
    {NFPROTO_INET, CHAIN_INPUT, NF_INET_LOCAL_IN},
    {NFPROTO_INET, CHAIN_OUTPUT, NF_INET_LOCAL_OUT},
};

const struct nftgate_set nftgate_sets[NFTGATE_SETS] = {
    {NFPROTO_ARP, NFTGATE_SET_GUARDED4, NFT_TYPE_IPADDR, 4, 0},
    {NFPROTO_ARP, NFTGATE_SET_LIVE4, NFT_TYPE_IPADDR, 4, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_GUARDED4, NFT_TYPE_IPADDR, 4, 0},
    {NFPROTO_INET, NFTGATE_SET_LIVE4, NFT_TYPE_IPADDR, 4, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_GUARDED6, NFT_TYPE_IP6ADDR, 16, 0},
    {NFPROTO_INET, NFTGATE_SET_LIVE6, NFT_TYPE_IP6ADDR, 16, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_TICKETS, NFT_TYPE_MARK, NFTGATE_TICKET_BYTES, NFT_SET_TIMEOUT},
};

/* Bytes of a packet; len 0 for none. */
struct field {
	uint32_t base, offset, len;
};

#define FIELD_NET(off, n)                      \
	{                                          \
		NFT_PAYLOAD_NETWORK_HEADER, (off), (n) \
	}
#define FIELD_TRANSPORT(off, n)                  \
	{                                            \
		NFT_PAYLOAD_TRANSPORT_HEADER, (off), (n) \
	}

/*
 * Each row is one rule: packets of this nfproto and l4proto (0: any) whose `only` bytes, masked,
 * are `value`, are dropped when `addr` is guarded and not live. A row without `addr` accepts.
 *
 * - An ARP request whose *sender* is guarded passes the input: it is another node's announcement of
 *   the address, or is sent in its name, and this node's own neighbour table must hear of it.
 * Should it make the kernel answer, the answer is stopped at the output.
 * - A TCP reset passes the output: it draws no traffic here, and it is how the clients of a
 *   connection that this node has lost hear of it (sockdestroy.h).
 * - Neighbour discovery has the address in its target, 8 bytes into the message (RFC 4861
 * section 4.3 and 4.4).
 */
static const struct gate_rule {
	uint8_t family;
	const char *chain;
	uint8_t nfproto, l4proto;
	struct field only;
	uint8_t mask, value; /* of the last byte of `only`; the ones before it are zero */
	struct field unless_guarded;
	struct field addr;
} rules[] = {
    {.family = NFPROTO_ARP,
     .chain = CHAIN_INPUT,
     .only = FIELD_NET(6, 2), /* operation */
     .mask = 0xff,
     .value = 1, /* request */
     .unless_guarded = FIELD_NET(14, 4),
     .addr = FIELD_NET(24, 4)},
    {.family = NFPROTO_ARP, .chain = CHAIN_OUTPUT, .addr = FIELD_NET(14, 4)},
    {.family = NFPROTO_INET,
     .chain = CHAIN_INPUT,
     .nfproto = NFPROTO_IPV4,
     .addr = FIELD_NET(16, 4)},
    {.family = NFPROTO_INET,
     .chain = CHAIN_INPUT,
     .nfproto = NFPROTO_IPV6,
     .addr = FIELD_NET(24, 16)},
    {.family = NFPROTO_INET,
     .chain = CHAIN_INPUT,
     .nfproto = NFPROTO_IPV6,
     .l4proto = IPPROTO_ICMPV6,
     .only = FIELD_TRANSPORT(0, 1),
     .mask = 0xff,
     .value = ND_NEIGHBOR_SOLICIT,
     .addr = FIELD_TRANSPORT(8, 16)},
    {.family = NFPROTO_INET,
     .chain = CHAIN_OUTPUT,
     .l4proto = IPPROTO_TCP,
     .only = FIELD_TRANSPORT(13, 1), /* flags */
     .mask = TCP_FLAG_RST_BYTE,
     .value = TCP_FLAG_RST_BYTE},
    {.family = NFPROTO_INET,
     .chain = CHAIN_OUTPUT,
     .nfproto = NFPROTO_IPV4,
     .addr = FIELD_NET(12, 4)},
    {.family = NFPROTO_INET,
     .chain = CHAIN_OUTPUT,
     .nfproto = NFPROTO_IPV6,
     .addr = FIELD_NET(8, 16)},
    {.family = NFPROTO_INET,
     .chain = CHAIN_OUTPUT,
     .nfproto = NFPROTO_IPV6,
     .l4proto = IPPROTO_ICMPV6,
     .only = FIELD_TRANSPORT(0, 1),
     .mask = 0xff,
     .value = ND_NEIGHBOR_ADVERT,
     .addr = FIELD_TRANSPORT(8, 16)},
};

/* --- writing --- */

static struct nftnl_expr *add_expr(struct nftnl_rule *rule, const char *name)
{
	struct nftnl_expr *e = mem_expect(nftnl_expr_alloc(name));

	nftnl_rule_add_expr(rule, e);
	return e;
}

static void add_load(struct nftnl_rule *rule, const struct field *f)
{
	struct nftnl_expr *e = add_expr(rule, "payload");

	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE, f->base);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, f->offset);
	nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, f->len);
}

static void add_equals(struct nftnl_rule *rule, const void *value, uint32_t len)
{
	struct nftnl_expr *e = add_expr(rule, "cmp");

	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
	(void) nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA, value, len);
}

static void add_meta_equals(struct nftnl_rule *rule, uint32_t key, uint8_t value)
{
	struct nftnl_expr *e = add_expr(rule, "meta");

	nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
	add_equals(rule, &value, sizeof(value));
}

static void add_field_equals(struct nftnl_rule *rule, const struct gate_rule *spec)
{
	const uint8_t bytes[2] = {0, spec->value};

	add_load(rule, &spec->only);
	if (spec->mask != 0xff) {
		struct nftnl_expr *e = add_expr(rule, "bitwise");
		const uint8_t zero = 0;

		nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
		nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
		nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, sizeof(spec->mask));
		(void) nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, &spec->mask, sizeof(spec->mask));
		(void) nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, &zero, sizeof(zero));
	}
	add_equals(rule, bytes + sizeof(bytes) - spec->only.len, spec->only.len);
}

static void add_lookup(struct nftnl_rule *rule, const char *set, bool inverted)
{
	struct nftnl_expr *e = add_expr(rule, "lookup");

	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	(void) nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, set);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_FLAGS, inverted ? NFT_LOOKUP_F_INV : 0);
}

static void add_verdict(struct nftnl_rule *rule, uint32_t verdict)
{
	struct nftnl_expr *e = add_expr(rule, "immediate");

	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(e, NFTNL_EXPR_IMM_VERDICT, verdict);
}

static struct nftnl_rule *build_rule(const struct gate_rule *spec, const char *table)
{
	struct nftnl_rule *rule = mem_expect(nftnl_rule_alloc());
	const bool is_v6 = spec->addr.len == 16;

	nftnl_rule_set_u32(rule, NFTNL_RULE_FAMILY, spec->family);
	(void) nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, table);
	(void) nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, spec->chain);
	if (spec->nfproto != 0)
		add_meta_equals(rule, NFT_META_NFPROTO, spec->nfproto);
	if (spec->l4proto != 0)
		add_meta_equals(rule, NFT_META_L4PROTO, spec->l4proto);
	if (spec->only.len > 0)
		add_field_equals(rule, spec);
	if (spec->unless_guarded.len > 0) {
		add_load(rule, &spec->unless_guarded);
		add_lookup(rule, NFTGATE_SET_GUARDED4, true);
	}
	if (spec->addr.len > 0) {
		add_load(rule, &spec->addr);
		add_lookup(rule, is_v6 ? NFTGATE_SET_GUARDED6 : NFTGATE_SET_GUARDED4, false);
		add_lookup(rule, is_v6 ? NFTGATE_SET_LIVE6 : NFTGATE_SET_LIVE4, true);
	}
	add_verdict(rule, spec->addr.len > 0 ? NF_DROP : NF_ACCEPT);
	return rule;
}

static void put_table(struct nft_batch *b, uint16_t type, uint8_t family, const char *name)
{
	struct nlmsghdr *nlh =
	    nft_batch_open(b, type, family, type == NFT_MSG_NEWTABLE ? NLM_F_CREATE : 0);
	struct nftnl_table *table;

	if (nlh == NULL)
		return;
	table = mem_expect(nftnl_table_alloc());
	(void) nftnl_table_set_str(table, NFTNL_TABLE_NAME, name);
	nftnl_table_nlmsg_build_payload(nlh, table);
	nftnl_table_free(table);
	nft_batch_close(b, nlh);
}

static void put_chain(struct nft_batch *b, const struct nftgate_chain *spec, const char *table)
{
	struct nlmsghdr *nlh = nft_batch_open(b, NFT_MSG_NEWCHAIN, spec->family, NLM_F_CREATE);
	struct nftnl_chain *chain;

	if (nlh == NULL)
		return;
	chain = mem_expect(nftnl_chain_alloc());
	(void) nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, table);
	(void) nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, spec->name);
	(void) nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, "filter");
	nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, spec->hook);
	nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, NFTGATE_PRIORITY);
	nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, NF_ACCEPT);
	nftnl_chain_nlmsg_build_payload(nlh, chain);
	nftnl_chain_free(chain);
	nft_batch_close(b, nlh);
}

static void put_set(struct nft_batch *b, const struct nftgate_set *spec, const char *table)
{
	struct nlmsghdr *nlh = nft_batch_open(b, NFT_MSG_NEWSET, spec->family, NLM_F_CREATE);
	struct nftnl_set *set;

	if (nlh == NULL)
		return;
	set = mem_expect(nftnl_set_alloc());
	(void) nftnl_set_set_str(set, NFTNL_SET_TABLE, table);
	(void) nftnl_set_set_str(set, NFTNL_SET_NAME, spec->name);
	nftnl_set_set_u32(set, NFTNL_SET_FAMILY, spec->family);
	/* Required and local to the batch; any number that differs from its neighbours'. */
	nftnl_set_set_u32(set, NFTNL_SET_ID, (uint32_t) (spec - nftgate_sets) + 1);
	nftnl_set_set_u32(set, NFTNL_SET_KEY_TYPE, spec->key_type);
	nftnl_set_set_u32(set, NFTNL_SET_KEY_LEN, spec->key_len);
	nftnl_set_set_u32(set, NFTNL_SET_FLAGS, spec->flags);
	nftnl_set_nlmsg_build_payload(nlh, set);
	nftnl_set_free(set);
	nft_batch_close(b, nlh);
}

static void put_rule(struct nft_batch *b, const struct gate_rule *spec, const char *table)
{
	struct nlmsghdr *nlh =
	    nft_batch_open(b, NFT_MSG_NEWRULE, spec->family, NLM_F_CREATE | NLM_F_APPEND);
	struct nftnl_rule *rule;

	if (nlh == NULL)
		return;
	rule = build_rule(spec, table);
	nftnl_rule_nlmsg_build_payload(nlh, rule);
	nftnl_rule_free(rule);
	nft_batch_close(b, nlh);
}

void nftgate_rules_remove(struct nft_batch *b, const char *table)
{
	/* Adding first makes the deletion succeed when there is none. */
	for (size_t i = 0; i < ARRAY_SIZE(nftgate_families); i++) {
		put_table(b, NFT_MSG_NEWTABLE, nftgate_families[i], table);
		put_table(b, NFT_MSG_DELTABLE, nftgate_families[i], table);
	}
}

void nftgate_rules_create(struct nft_batch *b, const char *table)
{
	nftgate_rules_remove(b, table);
	for (size_t i = 0; i < ARRAY_SIZE(nftgate_families); i++)
		put_table(b, NFT_MSG_NEWTABLE, nftgate_families[i], table);
	for (size_t i = 0; i < ARRAY_SIZE(nftgate_sets); i++)
		put_set(b, &nftgate_sets[i], table);
	for (size_t i = 0; i < ARRAY_SIZE(nftgate_chains); i++)
		put_chain(b, &nftgate_chains[i], table);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		put_rule(b, &rules[i], table);
}

struct nftnl_rule *nftgate_rules_nth(const struct nftgate_chain *chain, unsigned n,
                                     const char *table)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].family == chain->family && strcmp(rules[i].chain, chain->name) == 0 &&
		    n-- == 0)
			return build_rule(&rules[i], table);
	}
	return NULL;
}
