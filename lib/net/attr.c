/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of netlink messages. Whatever the kernel says is measured before it is read. */
#include "net/attr.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <string.h>

/* --- reading --- */

struct table {
	const struct nlattr **table;
	size_t n;
};

static int take(const struct nlattr *attr, void *data)
{
	const struct table *t = data;

	if (mnl_attr_get_type(attr) < t->n)
		t->table[mnl_attr_get_type(attr)] = attr;
	return MNL_CB_OK;
}

bool attr_header(const struct nlmsghdr *nlh, void *ret, size_t len)
{
	if (mnl_nlmsg_get_payload_len(nlh) < len)
		return false;
	memcpy(ret, mnl_nlmsg_get_payload(nlh), len);
	return true;
}

int attr_read(const struct nlmsghdr *nlh, size_t header, const struct nlattr **table, size_t n)
{
	struct table t = {table, n};

	memset(table, 0, n * sizeof(*table));
	/* libmnl would read on to the next multiple, where a cut message has nothing. */
	if (mnl_nlmsg_get_payload_len(nlh) < header || nlh->nlmsg_len % NLMSG_ALIGNTO != 0)
		return -EBADMSG;
	return mnl_attr_parse(nlh, (unsigned) header, take, &t) < 0 ? -EBADMSG : 0;
}

int attr_read_nested(const struct nlattr *nest, const struct nlattr **table, size_t n)
{
	struct table t = {table, n};

	memset(table, 0, n * sizeof(*table));
	if (nest == NULL)
		return 0;
	return mnl_attr_parse_nested(nest, take, &t) < 0 ? -EBADMSG : 0;
}

struct visit {
	attr_fn fn;
	void *userdata;
};

static int visit(const struct nlattr *attr, void *data)
{
	const struct visit *v = data;

	v->fn(attr, mnl_attr_get_type(attr), v->userdata);
	return MNL_CB_OK;
}

void attr_for_each(const struct nlattr *nest, attr_fn fn, void *userdata)
{
	struct visit v = {fn, userdata};

	if (nest != NULL)
		(void) mnl_attr_parse_nested(nest, visit, &v);
}

bool attr_bytes(const struct nlattr *attr, void *ret, size_t len)
{
	if (attr_len(attr) < len)
		return false;
	memcpy(ret, mnl_attr_get_payload(attr), len);
	return true;
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
	if (len == 0 || len > room || memchr(mnl_attr_get_payload(attr), '\0', len) == NULL)
		return buf;
	memcpy(buf, mnl_attr_get_payload(attr), len);
	return buf;
}

const void *attr_data(const struct nlattr *attr)
{
	return mnl_attr_get_payload(attr);
}

size_t attr_len(const struct nlattr *attr)
{
	return attr != NULL ? mnl_attr_get_payload_len(attr) : 0;
}

/* --- writing --- */

void message_begin(struct message *m, uint16_t type, uint16_t flags, const void *fixed, size_t len)
{
	struct nlmsghdr *nlh;

	/* libmnl 1.0.4 leaves what pads an attribute as it was, and the kernel would be told of our
	 * stack.
	 */
	memset(m->bytes, 0, sizeof(m->bytes));
	nlh = mnl_nlmsg_put_header(m->bytes);
	m->is_full = false;
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = (uint16_t) (NLM_F_REQUEST | flags);
	if ((flags & NLM_F_DUMP) != NLM_F_DUMP)
		nlh->nlmsg_flags |= NLM_F_ACK;
	memcpy(mnl_nlmsg_put_extra_header(nlh, len), fixed, len);
}

void message_begin_generic(struct message *m, uint16_t family, uint8_t command, uint8_t version)
{
	const struct genlmsghdr header = {.cmd = command, .version = version};

	message_begin(m, family, 0, &header, sizeof(header));
}

void message_bytes(struct message *m, uint16_t type, const void *data, size_t len)
{
	if (!m->is_full)
		m->is_full = !mnl_attr_put_check(&m->header, sizeof(m->bytes), type, len, data);
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
	size_t end = NLMSG_ALIGN(m->header.nlmsg_len) + NLMSG_ALIGN(len);

	m->is_full = m->is_full || end > sizeof(m->bytes);
	if (!m->is_full)
		memcpy(mnl_nlmsg_put_extra_header(&m->header, len), data, len);
}

struct nlattr *message_nest(struct message *m, uint16_t type)
{
	struct nlattr *nest = NULL;

	if (!m->is_full)
		nest = mnl_attr_nest_start_check(&m->header, sizeof(m->bytes), type);
	m->is_full = m->is_full || nest == NULL;
	return nest;
}

void message_end(struct message *m, struct nlattr *nest)
{
	if (nest != NULL)
		mnl_attr_nest_end(&m->header, nest);
}

size_t message_len(const struct message *m)
{
	return m->header.nlmsg_len;
}

int message_check(const struct message *m)
{
	return m->is_full ? -EMSGSIZE : 0;
}
