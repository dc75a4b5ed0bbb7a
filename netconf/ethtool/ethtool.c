/* SPDX-License-Identifier: Apache-2.0 */
/* ethtool's family of generic netlink: asks for one section after the other, and sets one. */
#include "netconf/ethtool/ethtool.h"

#include <errno.h>
#include <linux/ethtool_netlink.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/netlink.h"
#include "netconf/ethtool/ethplan.h"

#define ERROR_TEXT_MAX 512

struct ethtool {
	struct netlink *nl;
	uint16_t family;
	char error_text[ERROR_TEXT_MAX];
};

int ethtool_new(struct ethtool **ret_ethtool)
{
	AUTO(ethtool_free) struct ethtool *ethtool = NEW0(struct ethtool);
	int r = netlink_new(NULL, NETLINK_GENERIC, &ethtool->nl);

	if (r == 0)
		r = netlink_find_family(ethtool->nl, ETHTOOL_GENL_NAME, &ethtool->family);
	if (r < 0)
		return r;
	*ret_ethtool = TAKE_PTR(ethtool);
	return 0;
}

void ethtool_free(struct ethtool *ethtool)
{
	if (ethtool == NULL)
		return;
	netlink_free(ethtool->nl);
	free(ethtool);
}

const char *ethtool_error_text(const struct ethtool *ethtool)
{
	return ethtool->error_text;
}

static int call(struct ethtool *ethtool, struct message *m, netlink_message_fn message,
                void *userdata)
{
	int r = netlink_ask(ethtool->nl, m, message, userdata);
	const char *said = netlink_error_text(ethtool->nl);

	if (r < 0)
		(void) snprintf(ethtool->error_text, sizeof(ethtool->error_text), "%s",
		                said[0] != '\0' ? said : strerror(-r));
	return r;
}

struct answer {
	enum ethstep_section section;
	struct ethstate *state;
};

static void on_answer(const struct nlmsghdr *nlh, void *userdata)
{
	const struct answer *answer = userdata;

	ethcode_take(nlh, answer->section, answer->state);
}

int ethtool_observe(struct ethtool *ethtool, const char *link, struct ethstate *ret_state)
{
	struct ethstate state = {0};

	for (unsigned i = ETHSTEP_FEATURES; i <= ETHSTEP_WAKE; i++) {
		struct answer answer = {.section = (enum ethstep_section) i, .state = &state};
		AUTO(message_free) struct message *m = message_new();
		int r;

		ethcode_get(ethtool->family, answer.section, link, m);
		r = call(ethtool, m, on_answer, &answer);
		/* A driver has what it has. */
		if (r < 0 && r != -EOPNOTSUPP) {
			ethstate_fini(&state);
			return r;
		}
	}
	*ret_state = state;
	return 0;
}

int ethtool_carry_out(struct ethtool *ethtool, const struct ethstep *step)
{
	AUTO(message_free) struct message *m = message_new();
	int r = ethcode_set(ethtool->family, step, m);

	ethtool->error_text[0] = '\0';
	if (r == 0)
		return call(ethtool, m, NULL, NULL);
	(void) snprintf(ethtool->error_text, sizeof(ethtool->error_text), "%s", strerror(-r));
	return r;
}
