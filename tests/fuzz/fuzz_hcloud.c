/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for a provider's API, Hetzner Cloud's. The bytes are its answers to one
 * pass after the other, with a NUL behind each; the first byte says for which VIP. Whatever they
 * are, requests are whole, changes are few, nothing else is touched than the VIP, and the pass
 * ends.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "vipd/hcloud_plan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool holds(const json_t *list, const struct addr *addr)
{
	char text[ADDR_TEXT_MAX];
	const json_t *item;
	size_t i;

	(void) addr_format(addr, text);
	json_array_foreach(list, i, item)
	{
		if (strcmp(json_string_value(item), text) == 0)
			return true;
	}
	return false;
}

/* All alias IPs of a server are replaced at once: those of others are said again. */
static void check_aliases(const struct hcloud_seen *seen, enum hcloud_ask ask, const json_t *body)
{
	const struct hcloud_aliases *before = ask == HCLOUD_ASK_ADD_ALIAS ? &seen->mine : &seen->holder;
	const json_t *list = json_object_get(body, "alias_ips");

	if (holds(list, &seen->vip) != (ask == HCLOUD_ASK_ADD_ALIAS))
		abort();
	for (size_t i = 0; i < before->n; i++) {
		if (!addr_equal(&before->addrs[i], &seen->vip) && !holds(list, &before->addrs[i]))
			abort();
	}
	if (json_integer_value(json_object_get(body, "network")) != seen->network)
		abort();
}

static void check_step(const struct hcloud_seen *seen, const struct hcloud_step *step)
{
	json_t *body = step->body != NULL ? json_loads(step->body, JSON_REJECT_DUPLICATES, NULL) : NULL;

	if (hcloud_is_change(step->ask) != json_is_object(body) || strlen(step->path) > 100 ||
	    (step->ask == HCLOUD_ASK_FAIL) != (step->text[0] != '\0'))
		abort();
	if (step->ask == HCLOUD_ASK_ADD_ALIAS || step->ask == HCLOUD_ASK_REMOVE_ALIAS)
		check_aliases(seen, step->ask, body);
	json_decref(body);
}

/* False: the pass is over. */
static bool take(struct hcloud_seen *seen, enum hcloud_ask ask, const char *answer)
{
	enum hcloud_progress progress = HCLOUD_RUNNING;
	char text[HCLOUD_TEXT_MAX] = "";
	int64_t id = 0;

	hcloud_explain(404, answer, text);
	if (text[0] == '\0')
		abort();
	if (ask == HCLOUD_ASK_DONE || ask == HCLOUD_ASK_FAIL)
		return false;
	if (!hcloud_is_change(ask))
		return hcloud_take(seen, ask, answer, text) == 0;
	if (hcloud_take_action(answer, &id, &progress, text) < 0 || id <= 0 ||
	    progress == HCLOUD_FAILED)
		return false;
	hcloud_changed(seen);
	if (seen->changes > HCLOUD_CHANGES_MAX)
		abort();
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const vips[] = {"10.0.0.5", "203.0.113.5", "2001:db8::5", "fd00::5"};
	AUTO(free) char *text = NULL;
	struct hcloud_seen seen = {0};
	const char *answer, *end;

	if (size == 0 || addr_parse(vips[data[0] % ARRAY_SIZE(vips)], &seen.vip) < 0)
		return 0;
	text = xcalloc(1, size);
	memcpy(text, data + 1, size - 1);
	end = text + size;
	hcloud_begin_pass(&seen);
	for (answer = text; answer < end; answer += strlen(answer) + 1) {
		struct hcloud_step step;
		bool goes_on;

		hcloud_next(&seen, &step);
		check_step(&seen, &step);
		goes_on = take(&seen, step.ask, answer);
		free(step.body);
		if (!goes_on)
			hcloud_begin_pass(&seen);
	}
	return 0;
}
