/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the links as a whole, follows them from the one that is asked about to its ports and to
 * what is below it, and asks each of these what is attached. Holds no state; vipd's report calls
 * it.
 */
#include "net/bypass.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macro.h"
#include "net/attr.h"
#include "net/netlink.h"

#define DUMP_ATTEMPTS_MAX 3
#define LINKS_MAX 32
#define TCX_PROGRAMS_MAX 8
/* Of linux/bpf.h from kernel 6.6 on; an older kernel refuses it with EINVAL. */
#define ATTACH_TCX_INGRESS 46

struct look {
	struct {
		int ifindex;
		char name[IFNAMSIZ];
	} links[LINKS_MAX];
	size_t n_links;
	size_t at; /* the one that is being looked at */
	char *buf;
	size_t size, len;
};

static void add(struct look *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add(struct look *l, const char *fmt, ...)
{
	char item[128];
	va_list ap;
	int n;

	va_start(ap, fmt);
	(void) vsnprintf(item, sizeof(item), fmt, ap);
	va_end(ap);
	n = snprintf(l->buf + l->len, l->size - l->len, "%s%s", l->len > 0 ? ", " : "", item);
	if (n > 0 && (size_t) n < l->size - l->len)
		l->len += (size_t) n;
	else
		l->buf[l->len] = '\0';
}

/* What a disturbed dump has added is taken back. */
static void ask(struct netlink *nl, struct message *m, netlink_message_fn fn, struct look *l)
{
	size_t len = l->len;
	int r = -EAGAIN;

	for (int i = 0; r == -EAGAIN && i < DUMP_ATTEMPTS_MAX; i++) {
		l->len = len;
		l->buf[len] = '\0';
		r = netlink_ask(nl, m, fn, l);
	}
}

/* --- links --- */

/* With more than one program attached IFLA_XDP_PROG_ID is missing. */
static uint32_t xdp_id(const struct nlattr *nest)
{
	static const uint16_t ids[] = {IFLA_XDP_PROG_ID, IFLA_XDP_HW_PROG_ID, IFLA_XDP_DRV_PROG_ID,
	                               IFLA_XDP_SKB_PROG_ID};
	const struct nlattr *xdp[IFLA_XDP_MAX + 1];
	uint32_t id = 0;

	attr_read_nested(nest, xdp, ARRAY_SIZE(xdp));
	for (size_t i = 0; i < ARRAY_SIZE(ids) && id == 0; i++)
		id = attr_u32(xdp[ids[i]], 0);
	return id;
}

/* The other end of a veth is no link below it. */
static int lower_of(const struct nlattr *const *table)
{
	const struct nlattr *info[IFLA_INFO_KIND + 1];
	char kind[16];

	attr_read_nested(table[IFLA_LINKINFO], info, ARRAY_SIZE(info));
	if (table[IFLA_LINK_NETNSID] != NULL ||
	    strcmp(attr_text(info[IFLA_INFO_KIND], kind, sizeof(kind)), "veth") == 0)
		return 0;
	return (int) attr_u32(table[IFLA_LINK], 0);
}

static void add_link(struct look *l, int ifindex)
{
	if (ifindex <= 0 || l->n_links == ARRAY_SIZE(l->links))
		return;
	for (size_t i = 0; i < l->n_links; i++) {
		if (l->links[i].ifindex == ifindex)
			return;
	}
	l->links[l->n_links++].ifindex = ifindex;
}

static void link_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct look *l = userdata;
	const struct nlattr *table[IFLA_XDP + 1];
	char *name = l->links[l->at].name;
	uint32_t id;

	if (nlh->nlmsg_type != RTM_NEWLINK ||
	    !attr_read(nlh, NULL, sizeof(struct ifinfomsg), table, ARRAY_SIZE(table)))
		return;
	(void) attr_text(table[IFLA_IFNAME], name, IFNAMSIZ);
	id = xdp_id(table[IFLA_XDP]);
	if (id != 0)
		add(l, "XDP program %u on %s", id, name);
	add_link(l, lower_of(table));
}

static void port_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct ifinfomsg ifi;

	if (nlh->nlmsg_type == RTM_NEWLINK && attr_header(nlh, &ifi, sizeof(ifi)))
		add_link(userdata, ifi.ifi_index);
}

static void look_at_link(struct netlink *nl, struct look *l)
{
	const struct ifinfomsg one = {.ifi_index = l->links[l->at].ifindex}, all = {0};
	AUTO(message_free) struct message *m = message_new();

	message_begin(m, RTM_GETLINK, 0, &one, sizeof(one));
	message_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	ask(nl, m, link_cb, l);
	message_begin(m, RTM_GETLINK, NLM_F_DUMP, &all, sizeof(all));
	message_u32(m, IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
	message_u32(m, IFLA_MASTER, (uint32_t) one.ifi_index);
	ask(nl, m, port_cb, l);
}

/* --- programs --- */

/* A filter comes twice: as the head of its priority, without options, and itself. */
static void filter_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct look *l = userdata;
	const struct nlattr *table[TCA_OPTIONS + 1], *options[TCA_BPF_ID + 1];
	char kind[16];
	uint32_t id;

	if (nlh->nlmsg_type != RTM_NEWTFILTER ||
	    !attr_read(nlh, NULL, sizeof(struct tcmsg), table, ARRAY_SIZE(table)) ||
	    strcmp(attr_text(table[TCA_KIND], kind, sizeof(kind)), "bpf") != 0 ||
	    table[TCA_OPTIONS] == NULL)
		return;
	attr_read_nested(table[TCA_OPTIONS], options, ARRAY_SIZE(options));
	id = attr_u32(options[TCA_BPF_ID], 0);
	if (id != 0)
		add(l, "tc program %u on %s", id, l->links[l->at].name);
	else
		add(l, "tc program on %s", l->links[l->at].name); /* classic BPF */
}

static void look_at_tc(struct netlink *nl, struct look *l)
{
	/* Of a qdisc `ingress` the kernel does not look at the minor number. */
	const struct tcmsg tcm = {
	    .tcm_ifindex = l->links[l->at].ifindex,
	    .tcm_parent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
	};
	AUTO(message_free) struct message *m = message_new();

	message_begin(m, RTM_GETTFILTER, NLM_F_DUMP, &tcm, sizeof(tcm));
	ask(nl, m, filter_cb, l);
}

static void look_at_tcx(struct look *l)
{
	uint32_t ids[TCX_PROGRAMS_MAX] = {0};
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (uint32_t) l->links[l->at].ifindex; /* target_ifindex, in a union */
	attr.query.attach_type = ATTACH_TCX_INGRESS;
	attr.query.prog_ids = (uintptr_t) ids;
	attr.query.prog_cnt = ARRAY_SIZE(ids);
	/* -ENOSPC: there are more than these. */
	if (syscall(SYS_bpf, BPF_PROG_QUERY, &attr, sizeof(attr)) < 0 && errno != ENOSPC)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(ids) && ids[i] != 0; i++)
		add(l, "tcx program %u on %s", ids[i], l->links[l->at].name);
}

/* --- flowtables --- */

/* What is no NFTA_DEVICE_NAME is the beginning of names (kernel 6.16 and later). */
static void add_flowtable(struct look *l, const struct nlattr *device, const char *what)
{
	char name[IFNAMSIZ];
	size_t len;

	(void) attr_text(device, name, sizeof(name));
	len = attr_type(device) == NFTA_DEVICE_NAME ? sizeof(name) : strlen(name);
	for (size_t i = 0; i < l->n_links; i++) {
		if (strncmp(l->links[i].name, name, len) == 0)
			add(l, "%s on %s", what, l->links[i].name);
	}
}

static void flowtable_cb(const struct nlmsghdr *nlh, void *userdata)
{
	const struct nlattr *table[NFTA_FLOWTABLE_HOOK + 1], *hook[NFTA_FLOWTABLE_HOOK_DEVS + 1], *dev;
	char name[64], owner[64], what[128];

	if (!attr_read(nlh, NULL, sizeof(struct nfgenmsg), table, ARRAY_SIZE(table)))
		return;
	attr_read_nested(table[NFTA_FLOWTABLE_HOOK], hook, ARRAY_SIZE(hook));
	(void) snprintf(what, sizeof(what), "flowtable %s of table %s",
	                attr_text(table[NFTA_FLOWTABLE_NAME], name, sizeof(name)),
	                attr_text(table[NFTA_FLOWTABLE_TABLE], owner, sizeof(owner)));
	ATTR_FOR_EACH(dev, hook[NFTA_FLOWTABLE_HOOK_DEVS])
	add_flowtable(userdata, dev, what);
}

static void look_at_flowtables(struct look *l)
{
	const struct nfgenmsg header = {.nfgen_family = AF_UNSPEC};
	AUTO(netlink_free) struct netlink *nl = NULL;
	AUTO(message_free) struct message *m = message_new();

	if (netlink_new(NULL, NETLINK_NETFILTER, &nl) < 0)
		return;
	message_begin(m, (NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETFLOWTABLE, NLM_F_DUMP, &header,
	              sizeof(header));
	ask(nl, m, flowtable_cb, l);
}

void bypass_describe(int ifindex, char *buf, size_t size)
{
	AUTO(netlink_free) struct netlink *nl = NULL;
	struct look l = {.buf = buf, .size = size};

	buf[0] = '\0';
	if (netlink_new(NULL, NETLINK_ROUTE, &nl) < 0)
		return;
	add_link(&l, ifindex);
	for (l.at = 0; l.at < l.n_links; l.at++) {
		look_at_link(nl, &l);
		look_at_tc(nl, &l);
		look_at_tcx(&l);
	}
	look_at_flowtables(&l);
}
