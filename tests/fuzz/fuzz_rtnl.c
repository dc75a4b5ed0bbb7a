/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for what the kernel tells of links and addresses, and for its verdicts,
 * one message: it is refused or it parses within its bounds; and an address that was read is the
 * same when it is written and read again.
 */
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "net/netlink.h"
#include "net/rtnl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_link(const struct nlmsghdr *nlh)
{
	struct rtnl_msg_link link;

	if (rtnl_msg_parse_link(nlh, &link) < 0)
		return;
	if (link.link.ifindex <= 0 || link.link.name[0] == '\0' ||
	    memchr(link.link.name, '\0', sizeof(link.link.name)) == NULL ||
	    link.n_altnames > RTNL_ALTNAMES_MAX || !rtnl_msg_link_equal(&link, &link) ||
	    !rtnl_msg_link_has_name(&link, link.link.name))
		abort();
	rtnl_msg_link_fini(&link);
}

static void try_address(const struct nlmsghdr *nlh)
{
	AUTO(message_free) struct message *m = NULL;
	char text[PREFIX_TEXT_MAX];
	struct rtnl_addr a, b;

	if (rtnl_msg_parse_addr(nlh, &a) < 0)
		return;
	(void) prefix_format(&a.prefix, text);
	m = rtnl_msg_new_addr(&a, 0);
	if (rtnl_msg_parse_addr(message_header(m), &b) < 0 || !prefix_equal(&a.prefix, &b.prefix) ||
	    a.ifindex != b.ifindex || a.proto != b.proto || a.valid_s != b.valid_s ||
	    a.preferred_s != b.preferred_s || a.no_prefix_route != b.no_prefix_route ||
	    a.no_dad != b.no_dad)
		abort();
}

static void try_verdict(struct nlmsghdr *nlh)
{
	char sentence[32] = "";

	if (nlh->nlmsg_type != NLMSG_ERROR && nlh->nlmsg_type != NLMSG_DONE)
		return;
	if (netlink_verdict(nlh) > 0)
		abort();
	netlink_verdict_text(nlh, sentence, sizeof(sentence));
	if (memchr(sentence, '\0', sizeof(sentence)) == NULL)
		abort();
}

/* In memory of its own, as long as it says and what the kernel pads it with. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) struct nlmsghdr *nlh = NULL;
	struct nlmsghdr header;

	if (size < sizeof(header))
		return 0;
	memcpy(&header, data, sizeof(header));
	header.nlmsg_len = (uint32_t) size;
	nlh = xcalloc(1, NLMSG_ALIGN(size));
	memcpy(nlh, data, size);
	*nlh = header;
	try_link(nlh);
	try_address(nlh);
	try_verdict(nlh);
	return 0;
}
