/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for etcd's list of members, as netconf-probe is given it: the first byte
 * says who is well. Members and their URLs are whole, and a sentence that refuses a change fits.
 */
#include "netconf/probe/quorum.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct model *this_node(void)
{
	static struct model *model; /* for as long as the process lives */
	struct prefix prefix;

	if (model == NULL && prefix_parse("10.0.0.1/24", &prefix) == 0) {
		model = model_new();
		(void) model_add_address(model, "eth0", &prefix);
		model_normalise(model);
	}
	return model;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char reason[QUORUM_REASON_MAX];
	struct quorum quorum;

	if (size == 0 || quorum_read((const char *) data + 1, size - 1, this_node(), &quorum) < 0)
		return 0;
	if (quorum.n > QUORUM_MEMBERS_MAX)
		abort();
	for (size_t i = 0; i < quorum.n; i++) {
		struct quorum_member *m = &quorum.members[i];
		struct endpoint endpoint;

		m->is_well = (data[0] >> i % 8 & 1) != 0;
		if (m->name == NULL || (m->is_self && m->peer_url == NULL))
			abort();
		if (m->peer_url != NULL && quorum_endpoint(m->peer_url, &endpoint) == 0 &&
		    endpoint.port == 0)
			abort();
	}
	if (quorum_hangs_on_self(&quorum, reason) &&
	    (!quorum_has_others(&quorum) || memchr(reason, '\0', sizeof(reason)) == NULL))
		abort();
	quorum_fini(&quorum);
	return 0;
}
