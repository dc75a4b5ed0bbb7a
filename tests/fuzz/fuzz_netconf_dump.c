/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for what the kernel dumps, as a row of messages: links, addresses,
 * routes, rules. Whatever they are, the network that is made of them can be written down for a
 * change's undoing and read back, and is the same then. max_len: 16384
 */
#include <jansson.h>
#include <linux/rtnetlink.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netconf/change/modeljson.h"
#include "netconf/kernel/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef void (*take_fn)(const struct nlmsghdr *nlh, void *decoder);

/* Each message in memory of its own, as long as it says: what reads behind it is seen. */
static void each(struct decoder *decoder, const uint8_t *data, size_t size, uint16_t type,
                 take_fn take)
{
	while (size >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr header, *nlh;

		memcpy(&header, data, sizeof(header));
		if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > size)
			return;
		if (header.nlmsg_type == type) {
			nlh = malloc(header.nlmsg_len);
			memcpy(nlh, data, header.nlmsg_len);
			take(nlh, decoder);
			free(nlh);
		}
		if (NLMSG_ALIGN(header.nlmsg_len) >= size)
			return;
		data += NLMSG_ALIGN(header.nlmsg_len);
		size -= NLMSG_ALIGN(header.nlmsg_len);
	}
}

static void write_and_read(const struct model *model)
{
	AUTO(model_free) struct model *again = NULL;
	char *text = model_to_text(model), *text_again;
	json_t *json = json_loads(text, 0, NULL);

	if (json == NULL || model_from_json(json, &again) < 0)
		abort();
	text_again = model_to_text(again);
	if (strcmp(text, text_again) != 0)
		abort();
	free(text);
	free(text_again);
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(model_free) struct model *model = model_new();
	struct decoder *decoder = decoder_new(model);

	each(decoder, data, size, RTM_NEWLINK, decoder_link);
	decoder_links_end(decoder);
	each(decoder, data, size, RTM_NEWADDR, decoder_address);
	each(decoder, data, size, RTM_NEWROUTE, decoder_route);
	each(decoder, data, size, RTM_NEWRULE, decoder_rule);
	decoder_free(decoder);
	model_normalise(model);
	write_and_read(model);
	return 0;
}
