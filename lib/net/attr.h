/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Netlink messages and their attributes, both ways (libnl-3 inside): reading what the kernel said
 * without ever running over its end, and writing requests. Pure. Numbers are in host order, as
 * rtnetlink has them. Source: netlink(7).
 *
 * libnl's policies are not used: the length of an attribute is checked where its value is read, and
 * a kernel that gives one attribute another size does not lose the whole message. Nor are the
 * objects of libnl-route-3: its 3.7 (Debian 12) knows no IFA_PROTO, no alternative names, no
 * options of bonds and no WireGuard, and drops what it does not know, while a foreign route must
 * come back byte for byte.
 */

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/* --- reading --- */

/* The family's struct at the beginning. False: the message is shorter. */
bool attr_header(const struct nlmsghdr *nlh, void *ret, size_t len);

/*
 * The same, and fills table[type] with the attribute of each type below n behind that struct, NULL
 * where there is none; the last of several. Pointers are into the message. ret may be NULL. False:
 * as above.
 */
bool attr_read(const struct nlmsghdr *nlh, void *ret, size_t len, const struct nlattr **table,
               size_t n);
/* The attributes in a nest; none if it is NULL. */
void attr_read_nested(const struct nlattr *nest, const struct nlattr **table, size_t n);

/* Each attribute in a nest, in its order. NULL is an empty one. */
#define ATTR_FOR_EACH(attr, nest) \
	for ((attr) = attr_next((nest), NULL); (attr) != NULL; (attr) = attr_next((nest), (attr)))
const struct nlattr *attr_next(const struct nlattr *nest, const struct nlattr *last);
unsigned attr_type(const struct nlattr *attr);

/* `otherwise` if attr is NULL or too short. */
uint8_t attr_u8(const struct nlattr *attr, uint8_t otherwise);
uint16_t attr_u16(const struct nlattr *attr, uint16_t otherwise);
uint32_t attr_u32(const struct nlattr *attr, uint32_t otherwise);
/* False, and ret as it was, unless attr has at least len bytes. */
bool attr_bytes(const struct nlattr *attr, void *ret, size_t len);
/* The same, but exactly len bytes. */
bool attr_exactly(const struct nlattr *attr, void *ret, size_t len);
/* buf, with the text; "" if attr is NULL, does not end with a zero, or is longer. */
const char *attr_text(const struct nlattr *attr, char *buf, size_t room);
const void *attr_data(const struct nlattr *attr);
size_t attr_len(const struct nlattr *attr); /* 0 for NULL */

/* --- writing --- */

#define ATTR_MESSAGE_BYTES 8192

/* One request. When something does not fit, the whole is unusable, and message_check() says so. */
struct message;

/* Empty, for message_begin(). */
struct message *message_new(void);
/* Wipes what was in it: there may be keys. */
void message_free(struct message *m);
DEFINE_AUTO(struct message, message_free);

/* NLM_F_REQUEST and NLM_F_ACK are added unless it is a dump. `fixed` is the family's struct. What
 * was in m before is wiped. */
void message_begin(struct message *m, uint16_t type, uint16_t flags, const void *fixed, size_t len);
/* Of generic netlink: the number of the family instead of a type. */
void message_begin_generic(struct message *m, uint16_t family, uint16_t flags, uint8_t command,
                           uint8_t version);
/* A copy of a whole message, with its header. */
void message_begin_copy(struct message *m, const void *data, size_t len);
void message_u8(struct message *m, uint16_t type, uint8_t value);
void message_u16(struct message *m, uint16_t type, uint16_t value);
void message_u32(struct message *m, uint16_t type, uint32_t value);
void message_bytes(struct message *m, uint16_t type, const void *data, size_t len);
void message_text(struct message *m, uint16_t type, const char *text); /* with its zero */
/* Bytes that are no attribute: a struct at the beginning of a nest. */
void message_raw(struct message *m, const void *data, size_t len);
/* What comes between the two is inside. */
struct nlattr *message_nest(struct message *m, uint16_t type);
void message_end(struct message *m, struct nlattr *nest);

/* As it stands, until the next call that writes. */
struct nlmsghdr *message_header(const struct message *m);
/* An attribute of the message itself, for changing what is in it; NULL: there is none. */
struct nlattr *message_find(struct message *m, size_t header, uint16_t type);
int message_check(const struct message *m); /* 0, or -EMSGSIZE */
