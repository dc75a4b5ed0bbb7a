/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate's chains, sets and rules as three tables of constants, written into a batch with
 * libnftnl and compared with what the kernel shows. Rules are compared by libnftnl's text of their
 * expressions, ours and the kernel's alike: a rule that was inserted, lost or changed shows there.
 *
 * Priority: before everything (the lowest that others use is -400, for defragmentation). A packet
 * that will be dropped then makes no connection-tracking entry, is not queued and is not logged as
 * accepted. An address has the one meaning everywhere, so it matters little that fragments have
 * been put together by then.
 */
#include "net/nftgate_rules.h"

#include <errno.h>
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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "net/netlink.h"

#define GATE_PRIORITY (-1000)
#define CHAIN_INPUT "input"
#define CHAIN_OUTPUT "output"
/* The types by the numbers that nft(8) gives them, so that it can show the elements. */
#define NFT_TYPE_IPADDR 7
#define NFT_TYPE_IP6ADDR 8
#define NFT_TYPE_MARK 19
#define RULE_TEXT_MAX 1024
#define INSPECT_ATTEMPTS_MAX 10
#define TCP_FLAG_RST_BYTE 0x04

static const uint8_t families[] = {NFPROTO_ARP, NFPROTO_INET};

static const struct gate_chain {
	uint8_t family;
	const char *name;
	uint32_t hook;
} chains[] = {
    {NFPROTO_ARP, CHAIN_INPUT, NF_ARP_IN},
    {NFPROTO_ARP, CHAIN_OUTPUT, NF_ARP_OUT},
    {NFPROTO_INET, CHAIN_INPUT, NF_INET_LOCAL_IN},
    {NFPROTO_INET, CHAIN_OUTPUT, NF_INET_LOCAL_OUT},
};

static const struct gate_set {
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

/* libnftnl's constructors fail for want of memory alone. */
static void *must(void *p)
{
	if (p == NULL)
		abort();
	return p;
}

static struct nftnl_expr *add_expr(struct nftnl_rule *rule, const char *name)
{
	struct nftnl_expr *e = must(nftnl_expr_alloc(name));

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
	struct nftnl_rule *rule = must(nftnl_rule_alloc());
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
	table = must(nftnl_table_alloc());
	(void) nftnl_table_set_str(table, NFTNL_TABLE_NAME, name);
	nftnl_table_nlmsg_build_payload(nlh, table);
	nftnl_table_free(table);
	nft_batch_close(b, nlh);
}

static void put_chain(struct nft_batch *b, const struct gate_chain *spec, const char *table)
{
	struct nlmsghdr *nlh = nft_batch_open(b, NFT_MSG_NEWCHAIN, spec->family, NLM_F_CREATE);
	struct nftnl_chain *chain;

	if (nlh == NULL)
		return;
	chain = must(nftnl_chain_alloc());
	(void) nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, table);
	(void) nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, spec->name);
	(void) nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, "filter");
	nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, spec->hook);
	nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, GATE_PRIORITY);
	nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, NF_ACCEPT);
	nftnl_chain_nlmsg_build_payload(nlh, chain);
	nftnl_chain_free(chain);
	nft_batch_close(b, nlh);
}

static void put_set(struct nft_batch *b, const struct gate_set *spec, const char *table)
{
	struct nlmsghdr *nlh = nft_batch_open(b, NFT_MSG_NEWSET, spec->family, NLM_F_CREATE);
	struct nftnl_set *set;

	if (nlh == NULL)
		return;
	set = must(nftnl_set_alloc());
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
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		put_table(b, NFT_MSG_NEWTABLE, families[i], table);
		put_table(b, NFT_MSG_DELTABLE, families[i], table);
	}
}

void nftgate_rules_create(struct nft_batch *b, const char *table)
{
	nftgate_rules_remove(b, table);
	for (size_t i = 0; i < ARRAY_SIZE(families); i++)
		put_table(b, NFT_MSG_NEWTABLE, families[i], table);
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		put_set(b, &sets[i], table);
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
		put_chain(b, &chains[i], table);
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		put_rule(b, &rules[i], table);
}

/* --- comparing --- */

struct inspection {
	const char *table;
	uint8_t family;
	bool wrong;
	unsigned met[ARRAY_SIZE(chains)]; /* rules met in each chain so far */
	const struct gate_chain *chain;
	const struct gate_set *set;
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

/* The n-th row of `rules` that belongs to this chain. */
static const struct gate_rule *rule_of_chain(const struct gate_chain *chain, unsigned n)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		if (rules[i].family == chain->family && strcmp(rules[i].chain, chain->name) == 0 &&
		    n-- == 0)
			return &rules[i];
	}
	return NULL;
}

static bool rule_is(struct nftnl_rule *got, const struct gate_rule *spec, const char *table)
{
	struct nftnl_rule *want = build_rule(spec, table);
	struct text a, b;

	rule_text(got, &a);
	rule_text(want, &b);
	nftnl_rule_free(want);
	return strcmp(a.buf, b.buf) == 0;
}

static void rule_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct inspection *in = userdata;
	struct nftnl_rule *rule = must(nftnl_rule_alloc());
	const char *table, *chain;

	if (nftnl_rule_nlmsg_parse(nlh, rule) < 0)
		in->wrong = true;
	table = nftnl_rule_get_str(rule, NFTNL_RULE_TABLE);
	chain = nftnl_rule_get_str(rule, NFTNL_RULE_CHAIN);
	/* Old kernels do not filter by table. */
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		const struct gate_rule *spec;

		if (table == NULL || chain == NULL || strcmp(table, in->table) != 0 ||
		    chains[i].family != in->family || strcmp(chains[i].name, chain) != 0)
			continue;
		spec = rule_of_chain(&chains[i], in->met[i]++);
		if (spec == NULL || !rule_is(rule, spec, in->table))
			in->wrong = true;
	}
	nftnl_rule_free(rule);
}

static void table_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct inspection *in = userdata;
	struct nftnl_table *table = must(nftnl_table_alloc());

	/* A dormant table is one whose chains are not hooked. */
	if (nftnl_table_nlmsg_parse(nlh, table) < 0 ||
	    (nftnl_table_get_u32(table, NFTNL_TABLE_FLAGS) & NFT_TABLE_F_DORMANT) != 0)
		in->wrong = true;
	nftnl_table_free(table);
}

static void chain_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct inspection *in = userdata;
	struct nftnl_chain *chain = must(nftnl_chain_alloc());
	const char *type;

	if (nftnl_chain_nlmsg_parse(nlh, chain) < 0)
		in->wrong = true;
	type = nftnl_chain_get_str(chain, NFTNL_CHAIN_TYPE);
	if (type == NULL || strcmp(type, "filter") != 0 ||
	    nftnl_chain_get_u32(chain, NFTNL_CHAIN_HOOKNUM) != in->chain->hook ||
	    nftnl_chain_get_s32(chain, NFTNL_CHAIN_PRIO) != GATE_PRIORITY ||
	    nftnl_chain_get_u32(chain, NFTNL_CHAIN_POLICY) != NF_ACCEPT)
		in->wrong = true;
	nftnl_chain_free(chain);
}

static void set_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct inspection *in = userdata;
	struct nftnl_set *set = must(nftnl_set_alloc());

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
	uint8_t buf[512];
	const uint16_t flags = type == NFT_MSG_GETRULE ? NLM_F_DUMP : NLM_F_ACK;
	struct nlmsghdr *nlh = nftnl_nlmsg_build_hdr((char *) buf, type, in->family, flags, 0);

	mnl_attr_put_strz(nlh, NFTA_TABLE_NAME, in->table);
	if (name != NULL)
		mnl_attr_put_strz(nlh, type == NFT_MSG_GETSET ? NFTA_SET_NAME : NFTA_CHAIN_NAME, name);
	return netlink_call(nl, nlh, nlh->nlmsg_len, fn, in);
}

/* The same for something that must be there. */
static int ask_for_part(struct netlink *nl, struct inspection *in, uint16_t type, const char *name,
                        netlink_message_fn fn)
{
	int r = ask(nl, in, type, name, fn);

	if (r == -ENOENT)
		in->wrong = true;
	return r == -ENOENT ? 0 : r;
}

static int inspect_parts(struct netlink *nl, struct inspection *in)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		in->chain = &chains[i];
		in->family = chains[i].family;
		r = ask_for_part(nl, in, NFT_MSG_GETCHAIN, chains[i].name, chain_cb);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(sets); i++) {
		in->set = &sets[i];
		in->family = sets[i].family;
		r = ask_for_part(nl, in, NFT_MSG_GETSET, sets[i].name, set_cb);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		in->family = families[i];
		r = ask_for_part(nl, in, NFT_MSG_GETRULE, NULL, rule_cb);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		if (rule_of_chain(&chains[i], in->met[i]) != NULL)
			in->wrong = true;
	}
	return 0;
}

static int inspect_once(struct netlink *nl, const char *table, enum nftgate_found *ret_found)
{
	struct inspection in = {.table = table};
	unsigned n_tables = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(families); i++) {
		in.family = families[i];
		r = ask(nl, &in, NFT_MSG_GETTABLE, NULL, table_cb);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0)
			n_tables++;
	}
	if (n_tables == ARRAY_SIZE(families)) {
		r = inspect_parts(nl, &in);
		if (r < 0)
			return r;
	}
	if (n_tables == 0)
		*ret_found = NFTGATE_ABSENT;
	else
		*ret_found = n_tables == ARRAY_SIZE(families) && !in.wrong ? NFTGATE_SOUND : NFTGATE_BROKEN;
	return 0;
}

int nftgate_rules_inspect(struct netlink *nl, const char *table, enum nftgate_found *ret_found)
{
	int r = -EAGAIN;

	/* A dump is disturbed by every transaction of anybody. */
	for (int i = 0; r == -EAGAIN && i < INSPECT_ATTEMPTS_MAX; i++)
		r = inspect_once(nl, table, ret_found);
	return r;
}
