/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for values of vipd's keys, which any other member of the race can write:
 * what is read is within its bounds, can stand in a log line, and is the same when it is written
 * and read again.
 */
#include "vipd/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mono.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t size)
{
	if (memchr(text, '\0', size) == NULL)
		abort();
	for (; *text != '\0'; text++) {
		if (*text < 0x20 || *text > 0x7e || *text == '"' || *text == '\\')
			abort();
	}
}

static void try_owner(const uint8_t *data, size_t size)
{
	struct record_owner o, again;
	AUTO(free) char *text = NULL;

	if (record_owner_parse(data, size, &o) < 0)
		return;
	check_text(o.node, sizeof(o.node));
	check_text(o.instance, sizeof(o.instance));
	check_text(o.successor, sizeof(o.successor));
	check_text(o.reason, sizeof(o.reason));
	/* There is a next epoch, and whoever waits for this owner does not wait for ever. */
	if (o.epoch < 1 || o.epoch == INT64_MAX || o.window_us <= 0 || o.late_us < 0 ||
	    o.window_us + o.late_us > 3600 * US_PER_S)
		abort();
	text = record_owner_format(&o);
	if (record_owner_parse(text, strlen(text), &again) < 0 || strcmp(o.node, again.node) != 0 ||
	    strcmp(o.instance, again.instance) != 0 || o.epoch != again.epoch ||
	    o.window_us != again.window_us || o.late_us != again.late_us ||
	    o.released != again.released || strcmp(o.successor, again.successor) != 0 ||
	    strcmp(o.reason, again.reason) != 0 || o.stamp_us != again.stamp_us)
		abort();
}

static void try_node(const uint8_t *data, size_t size)
{
	struct record_node n = {0}, again = {0};
	AUTO(free) char *text = NULL;

	if (record_node_name_parse((const char *) data, size, &n) == 0)
		check_text(n.node, sizeof(n.node));
	if (record_node_parse(data, size, &n) < 0)
		return;
	check_text(n.instance, sizeof(n.instance));
	text = record_node_format(&n);
	if (record_node_parse(text, strlen(text), &again) < 0 ||
	    strcmp(n.instance, again.instance) != 0 || n.priority != again.priority ||
	    n.health != again.health || n.ready != again.ready || n.eligible != again.eligible ||
	    n.etcd_leader != again.etcd_leader || n.owned != again.owned ||
	    n.answered != again.answered)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_owner(data, size);
	try_node(data, size);
	return 0;
}
