/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the controller, the one family whose number is fixed, for the others. */
#include "net/genl.h"

#include <errno.h>

void genl_begin(struct message *m, uint16_t family, uint8_t command, uint8_t version)
{
	const struct genlmsghdr header = {.cmd = command, .version = version};

	message_begin(m, family, 0, &header, sizeof(header));
}

static void on_family(const struct nlmsghdr *nlh, void *userdata)
{
	const struct nlattr *table[CTRL_ATTR_FAMILY_ID + 1];
	uint16_t *id = userdata;

	if (attr_read(nlh, sizeof(struct genlmsghdr), table, CTRL_ATTR_FAMILY_ID + 1) == 0)
		*id = attr_u16(table[CTRL_ATTR_FAMILY_ID], *id);
}

int genl_find_family(struct netlink *nl, const char *name, uint16_t *ret_family)
{
	struct message m;
	uint16_t id = 0;
	int r;

	genl_begin(&m, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 1);
	message_text(&m, CTRL_ATTR_FAMILY_NAME, name);
	r = netlink_call(nl, m.bytes, message_len(&m), on_family, &id);
	if (r < 0)
		return r;
	if (id == 0)
		return -ENOENT;
	*ret_family = id;
	return 0;
}
