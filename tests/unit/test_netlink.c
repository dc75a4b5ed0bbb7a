/* SPDX-License-Identifier: Apache-2.0 */
/* Against the real kernel, in a namespace of its own. */
#include "net/netlink.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/unit/check.h"
#include "tests/unit/netns.h"

struct result {
	unsigned messages;
	unsigned resyncs;
	uint16_t last_type;
	bool finished;
};

static void message_cb(const struct nlmsghdr *nlh, void *userdata)
{
	struct result *res = userdata;

	res->messages++;
	res->last_type = nlh->nlmsg_type;
	res->finished = true;
}

static void resync_cb(void *userdata)
{
	struct result *res = userdata;

	res->resyncs++;
	res->finished = true;
}

static struct nlmsghdr *get_link(void *buf, int ifindex)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *ifi;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));
	ifi->ifi_index = ifindex;
	return nlh;
}

static struct nlmsghdr *dump_links(void *buf)
{
	struct nlmsghdr *nlh = get_link(buf, 0);

	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	return nlh;
}

/* Setting the MTU is the smallest change that notifies. */
static struct nlmsghdr *set_mtu(void *buf, int ifindex, uint32_t mtu)
{
	struct nlmsghdr *nlh = get_link(buf, ifindex);

	nlh->nlmsg_type = RTM_NEWLINK;
	mnl_attr_put_u32(nlh, IFLA_MTU, mtu);
	return nlh;
}

static void test_call(struct netlink *nl, unsigned n_links)
{
	uint8_t buf[1024];
	struct nlmsghdr *nlh = get_link(buf, 1);
	struct result res = {0};

	CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len, message_cb, &res), 0);
	CHECK_EQ_INT(res.messages, 1);
	CHECK_EQ_INT(res.last_type, RTM_NEWLINK);
	CHECK_EQ_STR(netlink_error_text(nl), "");

	nlh = get_link(buf, 9999);
	CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len, message_cb, &res), -ENODEV);
	CHECK_EQ_INT(res.messages, 1);

	/* The kernel has a sentence for this one, and none for the next. */
	nlh = dump_links(buf);
	((struct ifinfomsg *) mnl_nlmsg_get_payload(nlh))->ifi_type = 1;
	CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len, NULL, NULL), -EINVAL);
	CHECK_EQ_STR(netlink_error_text(nl), "Invalid values in header for link dump request");
	nlh = get_link(buf, 9999);
	CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len, message_cb, &res), -ENODEV);
	CHECK_EQ_STR(netlink_error_text(nl), "");

	res.messages = 0;
	nlh = dump_links(buf);
	CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len, message_cb, &res), 0);
	CHECK_EQ_INT(res.messages, n_links);

	/* What cannot be answered is refused instead of waited for. */
	nlh = get_link(buf, 1);
	nlh->nlmsg_flags = NLM_F_REQUEST;
	CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len, message_cb, &res), -EINVAL);
	CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len - 4, message_cb, &res), -EINVAL);
}

/* The first error counts, wherever it stands, and the messages after it are carried out. */
static void test_batch(struct netlink *nl)
{
	static const struct {
		int ifindex[3];
		uint16_t flags[3];
		int want;
		unsigned messages;
	} cases[] = {
	    {{1, 1, 1}, {NLM_F_ACK, NLM_F_ACK, NLM_F_ACK}, 0, 3},
	    {{1, 1, 1}, {0, 0, NLM_F_ACK}, 0, 3},
	    {{1, 9999, 1}, {NLM_F_ACK, NLM_F_ACK, NLM_F_ACK}, -ENODEV, 2},
	    {{9999, 1, 1}, {0, 0, NLM_F_ACK}, -ENODEV, 2},
	    {{1, 1, 9999}, {NLM_F_ACK, 0, 0}, -ENODEV, 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t buf[1024];
		size_t len = 0;
		struct result res = {0};

		for (size_t k = 0; k < 3; k++) {
			struct nlmsghdr *nlh = get_link(buf + len, cases[i].ifindex[k]);

			nlh->nlmsg_flags = (uint16_t) (NLM_F_REQUEST | cases[i].flags[k]);
			len += nlh->nlmsg_len;
		}
		CHECK_EQ_INT(netlink_call(nl, buf, len, message_cb, &res), cases[i].want);
		CHECK_EQ_INT(res.messages, cases[i].messages);
	}
}

static void test_monitor(struct ev_loop *ev)
{
	static const unsigned groups[] = {RTNLGRP_LINK};
	AUTO(netlink_free) struct netlink *watcher = NULL;
	struct result seen = {0}, answer = {0};
	uint8_t buf[256];
	struct nlmsghdr *nlh;

	CHECK_EQ_INT(netlink_new(ev, NETLINK_ROUTE, &watcher), 0);
	CHECK_EQ_INT(netlink_monitor(watcher, groups, 1, message_cb, resync_cb, &seen), 0);
	CHECK_EQ_INT(netlink_monitor(watcher, groups, 1, message_cb, resync_cb, &seen), -EALREADY);

	/* Its own change is notified to the monitor and is not among the answers of the call. */
	nlh = set_mtu(buf, 1, 9000);
	CHECK_EQ_INT(netlink_call(watcher, nlh, nlh->nlmsg_len, message_cb, &answer), 0);
	CHECK_EQ_INT(answer.messages, 0);
	CHECK_EQ_INT(seen.messages, 0);
	CHECK(netns_run_until(ev, &seen.finished, 30));
	CHECK(seen.messages >= 1);
	CHECK_EQ_INT(seen.last_type, RTM_NEWLINK);
	CHECK_EQ_INT(seen.resyncs, 0);

	/* More notifications than its buffer holds: it says so once it reads. */
	for (uint32_t i = 0; i < 3000; i++) {
		nlh = set_mtu(buf, 1, 1500 + i);
		if (!CHECK_EQ_INT(netlink_call(watcher, nlh, nlh->nlmsg_len, NULL, NULL), 0))
			break;
	}
	seen.finished = false;
	while (seen.resyncs == 0 && netns_run_until(ev, &seen.finished, 30))
		seen.finished = false;
	CHECK(seen.resyncs >= 1);
}

static struct netlink *doomed;

static void free_on_message_cb(const struct nlmsghdr *nlh UNUSED, void *userdata)
{
	struct result *res = userdata;

	res->messages++;
	netlink_free(TAKE_PTR(doomed));
	res->finished = true;
}

/* The address sanitizer is the judge of this. */
static void test_free_inside(struct ev_loop *ev)
{
	static const unsigned groups[] = {RTNLGRP_LINK};
	struct result res = {0};
	uint8_t buf[256];

	CHECK_EQ_INT(netlink_new(ev, NETLINK_ROUTE, &doomed), 0);
	CHECK_EQ_INT(netlink_monitor(doomed, groups, 1, free_on_message_cb, NULL, &res), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct nlmsghdr *nlh = set_mtu(buf, 1, 20000 + i);

		CHECK_EQ_INT(netlink_call(doomed, nlh, nlh->nlmsg_len, NULL, NULL), 0);
	}
	CHECK(netns_run_until(ev, &res.finished, 30));
	CHECK(doomed == NULL);
	CHECK_EQ_INT(res.messages, 1);
}

static void test_family(void)
{
	AUTO(netlink_free) struct netlink *nl = NULL;
	uint16_t family = 0;

	CHECK_EQ_INT(netlink_new(NULL, NETLINK_GENERIC, &nl), 0);
	CHECK_EQ_INT(netlink_find_family(nl, "nonesuch", &family), -ENOENT);
	CHECK_EQ_INT(netlink_find_family(nl, "nlctrl", &family), 0);
	CHECK_EQ_INT(family, GENL_ID_CTRL);
}

static void take_port_cb(const struct nlmsghdr *nlh, void *userdata)
{
	*(uint32_t *) userdata = nlh->nlmsg_pid;
}

/* What another process sends is no answer, however long it is. */
static void test_stranger(struct netlink *nl)
{
	static uint8_t garbage[100000];
	uint8_t buf[256] = {0};
	struct sockaddr_nl to = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct nlmsghdr *nlh = get_link(buf, 1);

	CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len, take_port_cb, &to.nl_pid), 0);
	CHECK(to.nl_pid != 0);
	for (size_t len = 16; len <= sizeof(garbage); len = len * 10 + 1) {
		CHECK_EQ_INT(sendto(fd, garbage, len, 0, (const struct sockaddr *) &to, sizeof(to)), len);
		CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len, NULL, NULL), 0);
	}
	CHECK_EQ_INT(sendto(fd, garbage, sizeof(garbage), 0, (const struct sockaddr *) &to, sizeof(to)),
	             sizeof(garbage));
	CHECK_EQ_INT(netlink_call(nl, nlh, nlh->nlmsg_len, NULL, NULL), 0);
	(void) close(fd);
}

static void test_unknown_protocol(struct ev_loop *ev)
{
	struct netlink *nl = NULL;

	CHECK_EQ_INT(netlink_new(ev, 31, &nl), -EPROTONOSUPPORT);
	CHECK(nl == NULL);
	netlink_free(NULL);
}

int main(void)
{
	struct ev_loop *ev = ev_default_loop(EVFLAG_AUTO);
	AUTO(netlink_free) struct netlink *nl = NULL;
	const unsigned n_links = 201;

	(void) netns_enter_new();
	/* Enough links for a dump of several datagrams. */
	netns_run("for i in $(seq 100); do echo link add v$i type veth peer name w$i; done | ip -b -");
	CHECK_EQ_INT(netlink_new(ev, NETLINK_ROUTE, &nl), 0);
	test_call(nl, n_links);
	test_batch(nl);
	test_stranger(nl);
	test_monitor(ev);
	test_free_inside(ev);
	test_family();
	test_unknown_protocol(ev);
	return check_result();
}
