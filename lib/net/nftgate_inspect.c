/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the gate's tables back for nftgate.c: when a process starts, and when somebody has touched
 * them. Rules are compared by libnftnl's text of their expressions, ours and the kernel's alike:
 * one that was inserted, lost or changed shows there.
 */
#include "net/nftgate_inspect.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "net/netlink.h"
#include "net/nftgate_rules.h"

#define RULE_TEXT_MAX 2048
#define INSPECT_ATTEMPTS_MAX 10

struct inspection {
	const char *table;
	uint8_t family;
	bool wrong;
	unsigned met[ARRAY_SIZE(nftgate_chains)]; /* rules met in each chain so far */
	const struct nftgate_chain *chain;
	const struct nftgate_set *set;
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

/* want may be NULL: then no rule is right. */
static bool rules_equal(struct nftnl_rule *got, struct nftnl_rule *want)
{
	struct text a, b;

	if (want == NULL)
		return false;
	rule_text(got, &a);
	rule_text(want, &b);
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
	for (size_t i = 0; i < ARRAY_SIZE(nftgate_chains); i++) {
		struct nftnl_rule *want;

		if (table == NULL || chain == NULL || strcmp(table, in->table) != 0 ||
		    nftgate_chains[i].family != in->family || strcmp(nftgate_chains[i].name, chain) != 0)
			continue;
		want = nftgate_rules_nth(&nftgate_chains[i], in->met[i]++, in->table);
		if (!rules_equal(rule, want))
			in->wrong = true;
		if (want != NULL)
			nftnl_rule_free(want);
	}
	nftnl_rule_free(rule);
}

static void table_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct inspection *in = userdata;
	struct nftnl_table *table = mem_expect(nftnl_table_alloc());

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

	for (size_t i = 0; i < ARRAY_SIZE(nftgate_chains); i++) {
		in->chain = &nftgate_chains[i];
		in->family = nftgate_chains[i].family;
		r = ask_for_part(nl, in, NFT_MSG_GETCHAIN, nftgate_chains[i].name, chain_cb);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(nftgate_sets); i++) {
		in->set = &nftgate_sets[i];
		in->family = nftgate_sets[i].family;
		r = ask_for_part(nl, in, NFT_MSG_GETSET, nftgate_sets[i].name, set_cb);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(nftgate_families); i++) {
		in->family = nftgate_families[i];
		r = ask_for_part(nl, in, NFT_MSG_GETRULE, NULL, rule_cb);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(nftgate_chains); i++) {
		struct nftnl_rule *missing = nftgate_rules_nth(&nftgate_chains[i], in->met[i], in->table);

		if (missing == NULL)
			continue;
		nftnl_rule_free(missing);
		in->wrong = true;
	}
	return 0;
}

static int inspect_once(struct netlink *nl, const char *table, enum nftgate_found *ret_found)
{
	struct inspection in = {.table = table};
	unsigned n_tables = 0;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(nftgate_families); i++) {
		in.family = nftgate_families[i];
		r = ask(nl, &in, NFT_MSG_GETTABLE, NULL, table_cb);
		if (r < 0 && r != -ENOENT)
			return r;
		if (r == 0)
			n_tables++;
	}
	if (n_tables == ARRAY_SIZE(nftgate_families)) {
		r = inspect_parts(nl, &in);
		if (r < 0)
			return r;
	}
	if (n_tables == 0)
		*ret_found = NFTGATE_ABSENT;
	else
		*ret_found =
		    n_tables == ARRAY_SIZE(nftgate_families) && !in.wrong ? NFTGATE_SOUND : NFTGATE_BROKEN;
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
