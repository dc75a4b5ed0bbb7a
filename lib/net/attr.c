/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages and attributes by libnl's nlmsg_ and nla_ functions, for lib/net and netconf. What the
 * kernel says is measured before it is read. What does not fit a request is remembered, so that the
 * caller checks once.
 */
#include "net/attr.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>

#include "base/mem.h"

/* --- reading --- */

/* libnl takes what it only reads without const. */
#define UNCONST(type, p) ((type) (uintptr_t) (p))

bool attr_header(const struct nlmsghdr *nlh, void *ret, size_t len)
{
	if (!nlmsg_valid_hdr(nlh, (int) len))
		return false;
	memcpy(ret, nlmsg_data(nlh), len);
	return true;
}

bool attr_read(const struct nlmsghdr *nlh, void *ret, size_t len, const struct nlattr **table,
               size_t n)
{
	if (nlmsg_parse(UNCONST(struct nlmsghdr *, nlh), (int) len, UNCONST(struct nlattr **, table),
	                (int) n - 1, NULL) < 0)
		return false;
	return ret == NULL || attr_header(nlh, ret, len);
}

void attr_read_nested(const struct nlattr *nest, const struct nlattr **table, size_t n)
{
	memset(table, 0, n * sizeof(*table));
	if (nest != NULL)
		(void) nla_parse_nested(UNCONST(struct nlattr **, table), (int) n - 1,
		                        UNCONST(struct nlattr *, nest), NULL);
}

const struct nlattr *attr_next(const struct nlattr *nest, const struct nlattr *last)
{
	const struct nlattr *attr;
	int left;

	if (nest == NULL)
		return NULL;
	attr = nla_data(nest);
	left = nla_len(nest);
	if (last != NULL) {
		left -= (int) ((const char *) last - (const char *) attr);
		attr = nla_next(last, &left);
	}
	return nla_ok(attr, left) ? attr : NULL;
}

unsigned attr_type(const struct nlattr *attr)
{
	return (unsigned) nla_type(attr);
}

bool attr_bytes(const struct nlattr *attr, void *ret, size_t len)
{
	if (attr_len(attr) < len)
		return false;
	memcpy(ret, nla_data(attr), len);
	return true;
}

bool attr_exactly(const struct nlattr *attr, void *ret, size_t len)
{
	return attr_len(attr) == len && attr_bytes(attr, ret, len);
}

uint8_t attr_u8(const struct nlattr *attr, uint8_t otherwise)
{
	(void) attr_bytes(attr, &otherwise, sizeof(otherwise));
	return otherwise;
}

uint16_t attr_u16(const struct nlattr *attr, uint16_t otherwise)
{
	(void) attr_bytes(attr, &otherwise, sizeof(otherwise));
	return otherwise;
}

uint32_t attr_u32(const struct nlattr *attr, uint32_t otherwise)
{
	(void) attr_bytes(attr, &otherwise, sizeof(otherwise));
	return otherwise;
}

const char *attr_text(const struct nlattr *attr, char *buf, size_t room)
{
	size_t len = attr_len(attr);

	buf[0] = '\0';
	if (len > 0 && len <= room && memchr(nla_data(attr), '\0', len) != NULL)
		memcpy(buf, nla_data(attr), len);
	return buf;
}

const void *attr_data(const struct nlattr *attr)
{
	return nla_data(attr);
}

size_t attr_len(const struct nlattr *attr)
{
	return attr != NULL ? (size_t) nla_len(attr) : 0;
}

/* --- writing --- */

struct message {
	struct nl_msg *nl; /* NULL before it is begun */
	bool is_full;
};

struct message *message_new(void)
{
	return NEW0(struct message);
}

static void wipe(struct message *m)
{
	if (m->nl != NULL)
		explicit_bzero(nlmsg_hdr(m->nl), nlmsg_hdr(m->nl)->nlmsg_len);
	nlmsg_free(m->nl);
	m->nl = NULL;
}

void message_free(struct message *m)
{
	if (m == NULL)
		return;
	wipe(m);
	free(m);
}

static struct nlmsghdr *begin(struct message *m, size_t size)
{
	wipe(m);
	m->nl = mem_expect(nlmsg_alloc_size(size));
	m->is_full = false;
	return nlmsg_hdr(m->nl);
}

void message_begin(struct message *m, uint16_t type, uint16_t flags, const void *fixed, size_t len)
{
	struct nlmsghdr *nlh = begin(m, ATTR_MESSAGE_BYTES);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = (uint16_t) (NLM_F_REQUEST | flags);
	if ((flags & NLM_F_DUMP) != NLM_F_DUMP)
		nlh->nlmsg_flags |= NLM_F_ACK;
	message_raw(m, fixed, len);
}

void message_begin_generic(struct message *m, uint16_t family, uint16_t flags, uint8_t command,
                           uint8_t version)
{
	const struct genlmsghdr header = {.cmd = command, .version = version};

	message_begin(m, family, flags, &header, sizeof(header));
}

void message_begin_copy(struct message *m, const void *data, size_t len)
{
	struct nlmsghdr *nlh = begin(m, len);

	memcpy(nlh, data, len);
	nlh->nlmsg_len = (uint32_t) len;
}

void message_bytes(struct message *m, uint16_t type, const void *data, size_t len)
{
	m->is_full = m->is_full || nla_put(m->nl, type, (int) len, data) < 0;
}

void message_u8(struct message *m, uint16_t type, uint8_t value)
{
	message_bytes(m, type, &value, sizeof(value));
}

void message_u16(struct message *m, uint16_t type, uint16_t value)
{
	message_bytes(m, type, &value, sizeof(value));
}

void message_u32(struct message *m, uint16_t type, uint32_t value)
{
	message_bytes(m, type, &value, sizeof(value));
}

void message_text(struct message *m, uint16_t type, const char *text)
{
	message_bytes(m, type, text, strlen(text) + 1);
}

void message_raw(struct message *m, const void *data, size_t len)
{
	void *at = nlmsg_reserve(m->nl, len, NLMSG_ALIGNTO);

	m->is_full = m->is_full || at == NULL;
	if (at != NULL)
		memcpy(at, data, len);
}

struct nlattr *message_nest(struct message *m, uint16_t type)
{
	struct nlattr *nest = nla_nest_start(m->nl, type);

	m->is_full = m->is_full || nest == NULL;
	return nest;
}

void message_end(struct message *m, struct nlattr *nest)
{
	/* An empty one says something, too: no targets, no bits. */
	if (nest != NULL)
		(void) nla_nest_end_keep_empty(m->nl, nest);
}

struct nlmsghdr *message_header(const struct message *m)
{
	return nlmsg_hdr(m->nl);
}

struct nlattr *message_find(struct message *m, size_t header, uint16_t type)
{
	return nlmsg_find_attr(nlmsg_hdr(m->nl), (int) header, type);
}

int message_check(const struct message *m)
{
	return m->is_full ? -EMSGSIZE : 0;
}
