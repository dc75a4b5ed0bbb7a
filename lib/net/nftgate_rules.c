/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's chains, sets and rules as three tables of constants, written into a batch with
 * libnftnl for nftgate.c.
 *
 * Priorities: `input` and `output` come before everything (the lowest that others use is -400, for
 * defragmentation). A packet that will be dropped then makes no connection-tracking entry, is not
 * queued and is not logged as accepted. `translated` comes after every chain that can translate a
 * destination (dstnat is -100, and a chain of type nat may have any priority above -200).
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
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tuple_common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_arp.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

#define CHAIN_INPUT "input"
#define CHAIN_OUTPUT "output"
#define CHAIN_TRANSLATED "translated"
#define CHAIN_REPLIES "replies"
#define PRIORITY_FIRST (-1000)
#define PRIORITY_LAST 1000
/* The types by the numbers that nft(8) gives them, so that it can show the elements. */
#define NFT_TYPE_IPADDR 7
#define NFT_TYPE_IP6ADDR 8
#define NFT_TYPE_MARK 19
#define NFT_TYPE_IFINDEX 20

const uint8_t nftgate_families[NFTGATE_FAMILIES] = {NFPROTO_ARP, NFPROTO_INET};

const struct nftgate_chain nftgate_chains[NFTGATE_CHAINS] = {
    {NFPROTO_ARP, CHAIN_INPUT, NF_ARP_IN, PRIORITY_FIRST},
    {NFPROTO_ARP, CHAIN_OUTPUT, NF_ARP_OUT, PRIORITY_FIRST},
    {NFPROTO_INET, CHAIN_INPUT, NF_INET_LOCAL_IN, PRIORITY_FIRST},
    {NFPROTO_INET, CHAIN_OUTPUT, NF_INET_LOCAL_OUT, PRIORITY_FIRST},
    {NFPROTO_INET, CHAIN_TRANSLATED, NF_INET_PRE_ROUTING, PRIORITY_LAST},
    {NFPROTO_INET, CHAIN_REPLIES, NF_INET_POST_ROUTING, PRIORITY_LAST},
};

const struct nftgate_set nftgate_sets[NFTGATE_SETS] = {
    {NFPROTO_ARP, NFTGATE_SET_GUARDED4, NFT_TYPE_IPADDR, 4, 0},
    {NFPROTO_ARP, NFTGATE_SET_LIVE4, NFT_TYPE_IPADDR, 4, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_GUARDED4, NFT_TYPE_IPADDR, 4, 0},
    {NFPROTO_INET, NFTGATE_SET_LIVE4, NFT_TYPE_IPADDR, 4, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_GUARDED6, NFT_TYPE_IP6ADDR, 16, 0},
    {NFPROTO_INET, NFTGATE_SET_LIVE6, NFT_TYPE_IP6ADDR, 16, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_TICKETS, NFT_TYPE_MARK, NFTGATE_TICKET_BYTES, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_LINKS, NFT_TYPE_IFINDEX, NFTGATE_LINK_BYTES, 0},
};

enum source { SOURCE_NONE, SOURCE_META, SOURCE_NET, SOURCE_TRANSPORT, SOURCE_CT };
enum test { TEST_IS, TEST_IS_NOT, TEST_IN, TEST_NOT_IN };

/* One condition of a rule: loads `len` bytes and tests them. */
struct match {
	enum source source;
	uint32_t what; /* a key of meta or ct, or the offset in the header */
	uint32_t len;
	uint8_t direction; /* of a tuple of ct */
	enum test test;
	uint32_t mask;    /* 0: all bits */
	uint32_t value;   /* in the byte order of this machine, unless `text` */
	const char *text; /* `len` bytes, padded with zeroes */
	const char *set;  /* of TEST_IN and TEST_NOT_IN */
};

#define META(key, n) .source = SOURCE_META, .what = (key), .len = (n)
#define NET(offset, n) .source = SOURCE_NET, .what = (offset), .len = (n)
#define TRANSPORT(offset, n) .source = SOURCE_TRANSPORT, .what = (offset), .len = (n)
#define CT(key, n) .source = SOURCE_CT, .what = (key), .len = (n)
#define CT_DST4(dir) CT(NFT_CT_DST_IP, 4), .direction = (dir)
#define CT_DST6(dir) CT(NFT_CT_DST_IP6, 16), .direction = (dir)
#define IS(load, v)        \
	{                      \
		load, .value = (v) \
	}
#define HAS(load, bits)                       \
	{                                         \
		load, .mask = (bits), .value = (bits) \
	}
#define LACKS(load, bits)    \
	{                        \
		load, .mask = (bits) \
	}
#define NOT_IN(load, name)                       \
	{                                            \
		load, .test = TEST_NOT_IN, .set = (name) \
	}
#define SILENT(load, v)                             \
	{load, .test = TEST_IN, .set = "guarded" #v},   \
	{                                               \
		load, .test = TEST_NOT_IN, .set = "live" #v \
	}
#define IS_PROTO(proto) IS(META(NFT_META_NFPROTO, 1), (proto))
#define IS_L4PROTO(proto) IS(META(NFT_META_L4PROTO, 1), (proto))
#define IS_LOOPBACK(key) IS(META((key), 2), ARPHRD_LOOPBACK)
#define IS_NOT_KIND(key, kind)                                     \
	{                                                              \
		META((key), IFNAMSIZ), .test = TEST_IS_NOT, .text = (kind) \
	}

/* Neither a VIP's link nor of a kind that leads off this machine. A device without a kind, that is
 * hardware, does not match: loading its kind ends the rule. */
#define LEADS_INSIDE(index, kind)                                                            \
	NOT_IN(META((index), NFTGATE_LINK_BYTES), NFTGATE_SET_LINKS), IS_NOT_KIND(kind, "bond"), \
	    IS_NOT_KIND(kind, "team"), IS_NOT_KIND(kind, "vlan"), IS_NOT_KIND(kind, "macvlan"),  \
	    IS_NOT_KIND(kind, "ipvlan"), IS_NOT_KIND(kind, "vrf")

/* Packets of this direction, of flows that were begun to a VIP and translated, or that leave with a
 * VIP as their translated source. The VIP is the destination of one of the flow's two tuples. */
#define TO_VIP(dir) HAS(CT(NFT_CT_STATUS, 4), IPS_DST_NAT), IS(CT(NFT_CT_DIRECTION, 1), (dir))
#define FROM_VIP(dir) HAS(CT(NFT_CT_STATUS, 4), IPS_SRC_NAT), IS(CT(NFT_CT_DIRECTION, 1), (dir))
#define MATCHES_MAX 8

/*
 * Each row is one rule: packets that meet all of its conditions are dropped, or accepted by this
 * chain.
 *
 * - An ARP request whose *sender* is guarded passes the input: it is another node's announcement of
 *   the address, or is sent in its name, and this node's own neighbour table must hear of it.
 *   Should it make the kernel answer, the answer is stopped at the output.
 * - A TCP reset passes the output: it draws no traffic here, and it is how the clients of a
 *   connection that this node has lost hear of it (sockdestroy.h).
 * - Neighbour discovery has the address in its target, 8 bytes into the message (RFC 4861
 *   section 4.3 and 4.4).
 * - A translated packet carries the address in its tracked flow only: where the destination was
 *   translated, in that of the first packet; where the source was, in that of the replies.
 *   `translated` stops what comes in, `replies` what goes out. Flows of this machine and of its
 * pods to the address pass, as kube-proxy translates a Service's externalIPs on every node.
 */
static const struct gate_rule {
	uint8_t family;
	const char *chain;
	bool accepts;
	struct match matches[MATCHES_MAX];
} rules[] = {
    {NFPROTO_ARP,
     CHAIN_INPUT,
     false,
     {IS(NET(7, 1), ARPOP_REQUEST), NOT_IN(NET(14, 4), NFTGATE_SET_GUARDED4),
      SILENT(NET(24, 4), 4)}},
    {NFPROTO_ARP, CHAIN_OUTPUT, false, {SILENT(NET(14, 4), 4)}},

    {NFPROTO_INET, CHAIN_INPUT, false, {IS_PROTO(NFPROTO_IPV4), SILENT(NET(16, 4), 4)}},
    {NFPROTO_INET, CHAIN_INPUT, false, {IS_PROTO(NFPROTO_IPV6), SILENT(NET(24, 16), 6)}},
    {NFPROTO_INET,
     CHAIN_INPUT,
     false,
     {IS_PROTO(NFPROTO_IPV6), IS_L4PROTO(IPPROTO_ICMPV6), IS(TRANSPORT(0, 1), ND_NEIGHBOR_SOLICIT),
      SILENT(TRANSPORT(8, 16), 6)}},

    {NFPROTO_INET, CHAIN_OUTPUT, true, {IS_L4PROTO(IPPROTO_TCP), HAS(TRANSPORT(13, 1), TH_RST)}},
    {NFPROTO_INET, CHAIN_OUTPUT, false, {IS_PROTO(NFPROTO_IPV4), SILENT(NET(12, 4), 4)}},
    {NFPROTO_INET, CHAIN_OUTPUT, false, {IS_PROTO(NFPROTO_IPV6), SILENT(NET(8, 16), 6)}},
    {NFPROTO_INET,
     CHAIN_OUTPUT,
     false,
     {IS_PROTO(NFPROTO_IPV6), IS_L4PROTO(IPPROTO_ICMPV6), IS(TRANSPORT(0, 1), ND_NEIGHBOR_ADVERT),
      SILENT(TRANSPORT(8, 16), 6)}},

    {NFPROTO_INET, CHAIN_TRANSLATED, true, {LACKS(CT(NFT_CT_STATUS, 4), IPS_NAT_MASK)}},
    {NFPROTO_INET, CHAIN_TRANSLATED, true, {IS_LOOPBACK(NFT_META_IIFTYPE)}},
    {NFPROTO_INET, CHAIN_TRANSLATED, true, {LEADS_INSIDE(NFT_META_IIF, NFT_META_IIFKIND)}},
    {NFPROTO_INET,
     CHAIN_TRANSLATED,
     false,
     {TO_VIP(IP_CT_DIR_ORIGINAL), SILENT(CT_DST4(IP_CT_DIR_ORIGINAL), 4)}},
    {NFPROTO_INET,
     CHAIN_TRANSLATED,
     false,
     {TO_VIP(IP_CT_DIR_ORIGINAL), SILENT(CT_DST6(IP_CT_DIR_ORIGINAL), 6)}},
    {NFPROTO_INET,
     CHAIN_TRANSLATED,
     false,
     {FROM_VIP(IP_CT_DIR_REPLY), SILENT(CT_DST4(IP_CT_DIR_REPLY), 4)}},
    {NFPROTO_INET,
     CHAIN_TRANSLATED,
     false,
     {FROM_VIP(IP_CT_DIR_REPLY), SILENT(CT_DST6(IP_CT_DIR_REPLY), 6)}},

    {NFPROTO_INET, CHAIN_REPLIES, true, {LACKS(CT(NFT_CT_STATUS, 4), IPS_NAT_MASK)}},
    {NFPROTO_INET, CHAIN_REPLIES, true, {IS_LOOPBACK(NFT_META_OIFTYPE)}},
    {NFPROTO_INET, CHAIN_REPLIES, true, {LEADS_INSIDE(NFT_META_OIF, NFT_META_OIFKIND)}},
    {NFPROTO_INET,
     CHAIN_REPLIES,
     false,
     {TO_VIP(IP_CT_DIR_REPLY), SILENT(CT_DST4(IP_CT_DIR_ORIGINAL), 4)}},
    {NFPROTO_INET,
     CHAIN_REPLIES,
     false,
     {TO_VIP(IP_CT_DIR_REPLY), SILENT(CT_DST6(IP_CT_DIR_ORIGINAL), 6)}},
    {NFPROTO_INET,
     CHAIN_REPLIES,
     false,
     {FROM_VIP(IP_CT_DIR_ORIGINAL), SILENT(CT_DST4(IP_CT_DIR_REPLY), 4)}},
    {NFPROTO_INET,
     CHAIN_REPLIES,
     false,
     {FROM_VIP(IP_CT_DIR_ORIGINAL), SILENT(CT_DST6(IP_CT_DIR_REPLY), 6)}},
};

/* --- writing --- */

static struct nftnl_expr *add_expr(struct nftnl_rule *rule, const char *name)
{
	struct nftnl_expr *e = mem_expect(nftnl_expr_alloc(name));

	nftnl_rule_add_expr(rule, e);
	return e;
}

static void add_load(struct nftnl_rule *rule, const struct match *m)
{
	struct nftnl_expr *e;

	switch (m->source) {
	case SOURCE_META:
		e = add_expr(rule, "meta");
		nftnl_expr_set_u32(e, NFTNL_EXPR_META_KEY, m->what);
		nftnl_expr_set_u32(e, NFTNL_EXPR_META_DREG, NFT_REG_1);
		return;
	case SOURCE_CT:
		e = add_expr(rule, "ct");
		nftnl_expr_set_u32(e, NFTNL_EXPR_CT_KEY, m->what);
		nftnl_expr_set_u32(e, NFTNL_EXPR_CT_DREG, NFT_REG_1);
		/* The kernel refuses a direction with keys that have none. */
		if (m->what == NFT_CT_DST_IP || m->what == NFT_CT_DST_IP6)
			nftnl_expr_set_u8(e, NFTNL_EXPR_CT_DIR, m->direction);
		return;
	case SOURCE_NET:
	case SOURCE_TRANSPORT:
		e = add_expr(rule, "payload");
		nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
		nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_BASE,
		                   m->source == SOURCE_NET ? NFT_PAYLOAD_NETWORK_HEADER
		                                           : NFT_PAYLOAD_TRANSPORT_HEADER);
		nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_OFFSET, m->what);
		nftnl_expr_set_u32(e, NFTNL_EXPR_PAYLOAD_LEN, m->len);
		return;
	case SOURCE_NONE:
		return;
	}
}

/* A number of len bytes, as it lies in memory. */
static const void *bytes_of(uint32_t value, uint32_t len, uint8_t ret[static sizeof(value)])
{
	const uint16_t value16 = (uint16_t) value;

	ret[0] = (uint8_t) value;
	if (len == sizeof(value16))
		memcpy(ret, &value16, sizeof(value16));
	else if (len == sizeof(value))
		memcpy(ret, &value, sizeof(value));
	return ret;
}

static void add_mask(struct nftnl_rule *rule, const struct match *m)
{
	struct nftnl_expr *e = add_expr(rule, "bitwise");
	uint8_t bytes[sizeof(uint32_t)];

	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_BITWISE_LEN, m->len);
	(void) nftnl_expr_set(e, NFTNL_EXPR_BITWISE_MASK, bytes_of(m->mask, m->len, bytes), m->len);
	(void) nftnl_expr_set(e, NFTNL_EXPR_BITWISE_XOR, bytes_of(0, m->len, bytes), m->len);
}

static void add_compare(struct nftnl_rule *rule, const struct match *m)
{
	struct nftnl_expr *e = add_expr(rule, "cmp");
	char text[IFNAMSIZ] = "";
	uint8_t bytes[sizeof(uint32_t)];

	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(e, NFTNL_EXPR_CMP_OP, m->test == TEST_IS ? NFT_CMP_EQ : NFT_CMP_NEQ);
	if (m->text != NULL)
		(void) strncpy(text, m->text, sizeof(text) - 1);
	(void) nftnl_expr_set(e, NFTNL_EXPR_CMP_DATA,
	                      m->text != NULL ? text : bytes_of(m->value, m->len, bytes), m->len);
}

static void add_lookup(struct nftnl_rule *rule, const struct match *m)
{
	struct nftnl_expr *e = add_expr(rule, "lookup");

	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
	(void) nftnl_expr_set_str(e, NFTNL_EXPR_LOOKUP_SET, m->set);
	nftnl_expr_set_u32(e, NFTNL_EXPR_LOOKUP_FLAGS, m->test == TEST_NOT_IN ? NFT_LOOKUP_F_INV : 0);
}

static void add_match(struct nftnl_rule *rule, const struct match *m)
{
	add_load(rule, m);
	if (m->mask != 0)
		add_mask(rule, m);
	if (m->set != NULL)
		add_lookup(rule, m);
	else
		add_compare(rule, m);
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

	nftnl_rule_set_u32(rule, NFTNL_RULE_FAMILY, spec->family);
	(void) nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, table);
	(void) nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, spec->chain);
	for (size_t i = 0; i < MATCHES_MAX && spec->matches[i].source != SOURCE_NONE; i++)
		add_match(rule, &spec->matches[i]);
	add_verdict(rule, spec->accepts ? NF_ACCEPT : NF_DROP);
	return rule;
}

static void put_table(struct nft_batch *b, uint16_t type, uint8_t family, const char *name,
                      uint32_t flags)
{
	struct nlmsghdr *nlh =
	    nft_batch_open(b, type, family, type == NFT_MSG_NEWTABLE ? NLM_F_CREATE : 0);
	struct nftnl_table *table;

	if (nlh == NULL)
		return;
	table = mem_expect(nftnl_table_alloc());
	(void) nftnl_table_set_str(table, NFTNL_TABLE_NAME, name);
	if (flags != 0)
		nftnl_table_set_u32(table, NFTNL_TABLE_FLAGS, flags);
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
	nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, spec->priority);
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
		put_table(b, NFT_MSG_NEWTABLE, nftgate_families[i], table, 0);
		put_table(b, NFT_MSG_DELTABLE, nftgate_families[i], table, 0);
	}
}

void nftgate_rules_own(struct nft_batch *b, const char *table, uint32_t flags)
{
	for (size_t i = 0; i < ARRAY_SIZE(nftgate_families); i++)
		put_table(b, NFT_MSG_NEWTABLE, nftgate_families[i], table, flags);
}

void nftgate_rules_create(struct nft_batch *b, const char *table, uint32_t flags)
{
	nftgate_rules_remove(b, table);
	nftgate_rules_own(b, table, flags);
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
