/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's chains, sets and rules as three tables of constants, written into a batch with
 * libnftnl for nftgate.c, and read back when a process starts and when another program has touched
 * them. Rules are compared by libnftnl's text of their expressions, ours and the kernel's alike:
 * one that was inserted, lost or changed shows there.
 *
 * Priorities: `input` and `output` come before everything (the lowest that others use is -400, for
 * defragmentation). A packet that will be dropped then makes no connection-tracking entry, is not
 * queued and is not logged as accepted. `translated` comes after every chain that can translate a
 * destination (dstnat is -100, and a chain of type nat may have any priority above -200).
 */
#include "net/nftgate_rules.h"

/* Before the kernel's headers, which then leave out what it defines. */
#include <netinet/in.h>

#include <errno.h>
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
#include "net/netlink.h"

#define PRIORITY_FIRST (-1000)
#define PRIORITY_LAST 1000
/* The types by the numbers that nft(8) gives them, so that it can show the elements. */
#define NFT_TYPE_IPADDR 7
#define NFT_TYPE_IP6ADDR 8
#define NFT_TYPE_MARK 19
#define NFT_TYPE_IFINDEX 20

static const uint8_t families[] = {NFPROTO_ARP, NFPROTO_INET};

enum gate_chain { ARP_INPUT, ARP_OUTPUT, INPUT, OUTPUT, TRANSLATED, REPLIES, CHAINS };

static const struct chain {
	uint8_t family;
	const char *name;
	uint32_t hook;
	int32_t priority;
} chains[CHAINS] = {
    [ARP_INPUT] = {NFPROTO_ARP, "input", NF_ARP_IN, PRIORITY_FIRST},
    [ARP_OUTPUT] = {NFPROTO_ARP, "output", NF_ARP_OUT, PRIORITY_FIRST},
    [INPUT] = {NFPROTO_INET, "input", NF_INET_LOCAL_IN, PRIORITY_FIRST},
    [OUTPUT] = {NFPROTO_INET, "output", NF_INET_LOCAL_OUT, PRIORITY_FIRST},
    [TRANSLATED] = {NFPROTO_INET, "translated", NF_INET_PRE_ROUTING, PRIORITY_LAST},
    [REPLIES] = {NFPROTO_INET, "replies", NF_INET_POST_ROUTING, PRIORITY_LAST},
};

static const struct set {
	uint8_t family;
	const char *name;
	uint32_t key_type, key_len;
	uint32_t flags;
} sets[] = {
    {NFPROTO_ARP, NFTGATE_SET_GUARDED4, NFT_TYPE_IPADDR, 4, 0},
    {NFPROTO_ARP, NFTGATE_SET_LIVE4, NFT_TYPE_IPADDR, 4, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_GUARDED4, NFT_TYPE_IPADDR, 4, 0},
    {NFPROTO_INET, NFTGATE_SET_LIVE4, NFT_TYPE_IPADDR, 4, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_GUARDED6, NFT_TYPE_IP6ADDR, 16, 0},
    {NFPROTO_INET, NFTGATE_SET_LIVE6, NFT_TYPE_IP6ADDR, 16, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_TICKETS, NFT_TYPE_MARK, NFTGATE_TICKET_BYTES, NFT_SET_TIMEOUT},
    {NFPROTO_INET, NFTGATE_SET_LINKS, NFT_TYPE_IFINDEX, NFTGATE_LINK_BYTES, 0},
};

#define RULE_TEXT_MAX 2048
#define INSPECT_ATTEMPTS_MAX 10

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
	enum gate_chain chain;
	uint32_t verdict;
	struct match matches[MATCHES_MAX];
} rules[] = {
    {ARP_INPUT,
     NF_DROP,
     {IS(NET(7, 1), ARPOP_REQUEST), NOT_IN(NET(14, 4), NFTGATE_SET_GUARDED4),
      SILENT(NET(24, 4), 4)}},
    {ARP_OUTPUT, NF_DROP, {SILENT(NET(14, 4), 4)}},

    {INPUT, NF_DROP, {IS_PROTO(NFPROTO_IPV4), SILENT(NET(16, 4), 4)}},
    {INPUT, NF_DROP, {IS_PROTO(NFPROTO_IPV6), SILENT(NET(24, 16), 6)}},
    {INPUT,
     NF_DROP,
     {IS_PROTO(NFPROTO_IPV6), IS_L4PROTO(IPPROTO_ICMPV6), IS(TRANSPORT(0, 1), ND_NEIGHBOR_SOLICIT),
      SILENT(TRANSPORT(8, 16), 6)}},

    {OUTPUT, NF_ACCEPT, {IS_L4PROTO(IPPROTO_TCP), HAS(TRANSPORT(13, 1), TH_RST)}},
    {OUTPUT, NF_DROP, {IS_PROTO(NFPROTO_IPV4), SILENT(NET(12, 4), 4)}},
    {OUTPUT, NF_DROP, {IS_PROTO(NFPROTO_IPV6), SILENT(NET(8, 16), 6)}},
    {OUTPUT,
     NF_DROP,
     {IS_PROTO(NFPROTO_IPV6), IS_L4PROTO(IPPROTO_ICMPV6), IS(TRANSPORT(0, 1), ND_NEIGHBOR_ADVERT),
      SILENT(TRANSPORT(8, 16), 6)}},

    {TRANSLATED, NF_ACCEPT, {LACKS(CT(NFT_CT_STATUS, 4), IPS_NAT_MASK)}},
    {TRANSLATED, NF_ACCEPT, {IS_LOOPBACK(NFT_META_IIFTYPE)}},
    {TRANSLATED, NF_ACCEPT, {LEADS_INSIDE(NFT_META_IIF, NFT_META_IIFKIND)}},
    {TRANSLATED, NF_DROP, {TO_VIP(IP_CT_DIR_ORIGINAL), SILENT(CT_DST4(IP_CT_DIR_ORIGINAL), 4)}},
    {TRANSLATED, NF_DROP, {TO_VIP(IP_CT_DIR_ORIGINAL), SILENT(CT_DST6(IP_CT_DIR_ORIGINAL), 6)}},
    {TRANSLATED, NF_DROP, {FROM_VIP(IP_CT_DIR_REPLY), SILENT(CT_DST4(IP_CT_DIR_REPLY), 4)}},
    {TRANSLATED, NF_DROP, {FROM_VIP(IP_CT_DIR_REPLY), SILENT(CT_DST6(IP_CT_DIR_REPLY), 6)}},

    {REPLIES, NF_ACCEPT, {LACKS(CT(NFT_CT_STATUS, 4), IPS_NAT_MASK)}},
    {REPLIES, NF_ACCEPT, {IS_LOOPBACK(NFT_META_OIFTYPE)}},
    {REPLIES, NF_ACCEPT, {LEADS_INSIDE(NFT_META_OIF, NFT_META_OIFKIND)}},
    {REPLIES, NF_DROP, {TO_VIP(IP_CT_DIR_REPLY), SILENT(CT_DST4(IP_CT_DIR_ORIGINAL), 4)}},
    {REPLIES, NF_DROP, {TO_VIP(IP_CT_DIR_REPLY), SILENT(CT_DST6(IP_CT_DIR_ORIGINAL), 6)}},
    {REPLIES, NF_DROP, {FROM_VIP(IP_CT_DIR_ORIGINAL), SILENT(CT_DST4(IP_CT_DIR_REPLY), 4)}},
    {REPLIES, NF_DROP, {FROM_VIP(IP_CT_DIR_ORIGINAL), SILENT(CT_DST6(IP_CT_DIR_REPLY), 6)}},
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

	nftnl_rule_set_u32(rule, NFTNL_RULE_FAMILY, chains[spec->chain].family);
	(void) nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, table);
	(void) nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chains[spec->chain].name);
	for (size_t i = 0; i < MATCHES_MAX && spec->matches[i].source != SOURCE_NONE; i++)
		add_match(rule, &spec->matches[i]);
	add_verdict(rule, spec->verdict);
	return rule;
}

static void put_table(struct nft_batch *b, uint16_t type, uint8_t family, const char *name,
                      uint32_t flags)
{
	struct nlmsghdr *nlh =
	    nft_batch_open(b, type, family, type == NFT_MSG_NEWTABLE ? NLM_F_CREATE : 0);
	struct nftnl_table *table;

	table = mem_expect(nftnl_table_alloc());
	(void) nftnl_table_set_str(table, NFTNL_TABLE_NAME, name);
	if (flags != 0)
		nftnl_table_set_u32(table, NFTNL_TABLE_FLAGS, flags);
	nftnl_table_nlmsg_build_payload(nlh, table);
	nftnl_table_free(table);
	nft_batch_close(b, nlh);
}

static void put_chain(struct nft_batch *b, const struct chain *spec, const char *table)
{
	struct nlmsghdr *nlh = nft_batch_open(b, NFT_MSG_NEWCHAIN, spec->family, NLM_F_CREATE);
	struct nftnl_chain *chain;

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

static void put_set(struct nft_batch *b, const struct set *spec, const char *table)
{
	struct nlmsghdr *nlh = nft_batch_open(b, NFT_MSG_NEWSET, spec->family, NLM_F_CREATE);
	struct nftnl_set *set;

	set = mem_expect(nftnl_set_alloc());
	(void) nftnl_set_set_str(set, NFTNL_SET_TABLE, table);
	(void) nftnl_set_set_str(set, NFTNL_SET_NAME, spec->name);
	nftnl_set_set_u32(set, NFTNL_SET_FAMILY, spec->family);
	/* Required and local to the batch; any number that differs from its neighbours'. */
	nftnl_set_set_u32(set, NFTNL_SET_ID, (uint32_t) (spec - sets) + 1);
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
	    nft_batch_open(b, NFT_MSG_NEWRULE, chains[spec->chain].family, NLM_F_CREATE | NLM_F_APPEND);
	struct nftnl_rule *rule;

	rule = build_rule(spec, table);
	nftnl_rule_nlmsg_build_payload(nlh, rule);
	nftnl_rule_free(rule);
	nft_batch_close(b, nlh);
}

void nftgate_rules_remove(struct nft_batch *b, const char *table)
{
	/* Adding first makes the deletion succeed when there is none. */
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		put_table(b, NFT_MSG_NEWTABLE, families[i], table, 0);
		put_table(b, NFT_MSG_DELTABLE, families[i], table, 0);
	}
}

void nftgate_rules_own(struct nft_batch *b, const char *table, uint32_t flags)
{
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		put_table(b, NFT_MSG_NEWTABLE, families[i], table, flags);
}

void nftgate_rules_create(struct nft_batch *b, const char *table, uint32_t flags)
{
	nftgate_rules_remove(b, table);
	nftgate_rules_own(b, table, flags);
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		put_set(b, &sets[i], table);
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
		put_chain(b, &chains[i], table);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		put_rule(b, &rules[i], table);
}

/* --- reading back --- */

static unsigned count_rules(size_t chain)
{
	unsigned n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		n += rules[i].chain == chain;
	return n;
}

struct inspection {
	const char *table;
	uint8_t family;
	unsigned n_tables;
	bool wrong;
	unsigned met[ARRAY_SIZE(chains)]; /* rules met in each chain so far */
	const struct chain *chain;
	const struct set *set;
};

struct text {
	char buf[RULE_TEXT_MAX];
	size_t len;
};

static int append_expr(struct nftnl_expr *e, void *data)
{
	struct text *t = data;
	int n =
	    nftnl_expr_snprintf(t->buf + t->len, sizeof(t->buf) - t->len, e, NFTNL_OUTPUT_DEFAULT, 0);

	if (n > 0)
		t->len = MIN(t->len + (size_t) n, sizeof(t->buf) - 1);
	return 0;
}

static void rule_text(struct nftnl_rule *rule, struct text *t)
{
	t->len = 0;
	t->buf[0] = '\0';
	(void) nftnl_expr_foreach(rule, append_expr, t);
}

/* Is it the n-th rule of the chain? */
static bool is_rule(struct nftnl_rule *got, size_t chain, unsigned n, const char *table)
{
	struct nftnl_rule *want = NULL;
	struct text a, b;

	for (size_t i = 0; i < ARRAY_SIZE(rules) && want == NULL; i++) {
		if (rules[i].chain == chain && n-- == 0)
			want = build_rule(&rules[i], table);
	}
	if (want == NULL)
		return false;
	rule_text(got, &a);
	rule_text(want, &b);
	nftnl_rule_free(want);
	return strcmp(a.buf, b.buf) == 0;
}

static void rule_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct inspection *in = userdata;
	struct nftnl_rule *rule = mem_expect(nftnl_rule_alloc());
	const char *table, *chain;

	if (nftnl_rule_nlmsg_parse(nlh, rule) < 0)
		in->wrong = true;
	table = nftnl_rule_get_str(rule, NFTNL_RULE_TABLE);
	chain = nftnl_rule_get_str(rule, NFTNL_RULE_CHAIN);
	/* Old kernels do not filter by table. */
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		if (table == NULL || chain == NULL || strcmp(table, in->table) != 0 ||
		    chains[i].family != in->family || strcmp(chains[i].name, chain) != 0)
			continue;
		if (!is_rule(rule, i, in->met[i]++, in->table))
			in->wrong = true;
	}
	nftnl_rule_free(rule);
}

static void table_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct inspection *in = userdata;
	struct nftnl_table *table = mem_expect(nftnl_table_alloc());

	in->n_tables++;
	/* A dormant table is one whose chains are not hooked. */
	if (nftnl_table_nlmsg_parse(nlh, table) < 0 ||
	    (nftnl_table_get_u32(table, NFTNL_TABLE_FLAGS) & NFT_TABLE_F_DORMANT) != 0)
		in->wrong = true;
	nftnl_table_free(table);
}

static void chain_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct inspection *in = userdata;
	struct nftnl_chain *chain = mem_expect(nftnl_chain_alloc());
	const char *type;

	if (nftnl_chain_nlmsg_parse(nlh, chain) < 0)
		in->wrong = true;
	type = nftnl_chain_get_str(chain, NFTNL_CHAIN_TYPE);
	if (type == NULL || strcmp(type, "filter") != 0 ||
	    nftnl_chain_get_u32(chain, NFTNL_CHAIN_HOOKNUM) != in->chain->hook ||
	    nftnl_chain_get_s32(chain, NFTNL_CHAIN_PRIO) != in->chain->priority ||
	    nftnl_chain_get_u32(chain, NFTNL_CHAIN_POLICY) != NF_ACCEPT)
		in->wrong = true;
	nftnl_chain_free(chain);
}

static void set_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct inspection *in = userdata;
	struct nftnl_set *set = mem_expect(nftnl_set_alloc());

	if (nftnl_set_nlmsg_parse(nlh, set) < 0 ||
	    nftnl_set_get_u32(set, NFTNL_SET_FLAGS) != in->set->flags ||
	    nftnl_set_get_u32(set, NFTNL_SET_KEY_TYPE) != in->set->key_type ||
	    nftnl_set_get_u32(set, NFTNL_SET_KEY_LEN) != in->set->key_len ||
	    /* A default would be given to what is added without a timeout. */
	    nftnl_set_get_u64(set, NFTNL_SET_TIMEOUT) != 0)
		in->wrong = true;
	nftnl_set_free(set);
}

/* Asks for one object by name, or dumps the rules of a table. The names of a table's attribute and
 * of an object's are 1 and 2 for tables, chains, sets and rules alike
 * (linux/netfilter/nf_tables.h). */
static int ask(struct netlink *nl, struct inspection *in, uint16_t type, const char *name,
               netlink_message_fn fn)
{
	uint8_t buf[512] = {0}; /* libmnl 1.0.4 does not write what pads an attribute */
	const uint16_t flags = type == NFT_MSG_GETRULE ? NLM_F_DUMP : NLM_F_ACK;
	struct nlmsghdr *nlh = nftnl_nlmsg_build_hdr((char *) buf, type, in->family, flags, 0);
	int r;

	mnl_attr_put_strz(nlh, NFTA_TABLE_NAME, in->table);
	if (name != NULL)
		mnl_attr_put_strz(nlh, type == NFT_MSG_GETSET ? NFTA_SET_NAME : NFTA_CHAIN_NAME, name);
	r = netlink_call(nl, nlh, nlh->nlmsg_len, fn, in);
	/* It must be there. */
	if (r == -ENOENT)
		in->wrong = true;
	return r == -ENOENT ? 0 : r;
}

static int inspect_parts(struct netlink *nl, struct inspection *in)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(chains); i++) {
		in->chain = &chains[i];
		in->family = chains[i].family;
		r = ask(nl, in, NFT_MSG_GETCHAIN, chains[i].name, chain_cb);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(sets); i++) {
		in->set = &sets[i];
		in->family = sets[i].family;
		r = ask(nl, in, NFT_MSG_GETSET, sets[i].name, set_cb);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++) {
		in->family = families[i];
		r = ask(nl, in, NFT_MSG_GETRULE, NULL, rule_cb);
	}
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
		in->wrong = in->wrong || in->met[i] != count_rules(i);
	return r;
}

static int inspect_once(struct netlink *nl, const char *table, enum nftgate_found *ret_found)
{
	struct inspection in = {.table = table};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(families); i++) {
		in.family = families[i];
		r = ask(nl, &in, NFT_MSG_GETTABLE, NULL, table_cb);
	}
	if (r == 0 && in.n_tables == ARRAY_SIZE(families))
		r = inspect_parts(nl, &in);
	if (r < 0)
		return r;
	*ret_found = in.n_tables == 0 ? NFTGATE_ABSENT : in.wrong ? NFTGATE_BROKEN : NFTGATE_SOUND;
	return 0;
}

int nftgate_inspect(struct netlink *nl, const char *table, enum nftgate_found *ret_found)
{
	int r = -EAGAIN;

	/* A dump is disturbed by every transaction of anybody. */
	for (int i = 0; r == -EAGAIN && i < INSPECT_ATTEMPTS_MAX; i++)
		r = inspect_once(nl, table, ret_found);
	return r;
}
