/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for JSON from outside: EndpointSlices, etcd's members in both forms, and
 * the messages between prism and its probe process. The first byte says which. Whatever the text
 * is, a list that is taken has somebody in it, nobody twice, and nobody who cannot be another host.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "prism/checker.h"
#include "prism/probe/members.h"
#include "prism/probe/wire.h"
#include "prism/probe/slices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const struct endpoints_list *list)
{
	if (list->n == 0 || list->n > ENDPOINTS_MAX)
		abort();
	for (size_t i = 0; i < list->n; i++) {
		const struct endpoint *e = &list->items[i];

		if (e->port == 0 || addr_is_loopback(&e->addr) || addr_is_linklocal(&e->addr) ||
		    addr_is_multicast(&e->addr) || addr_is_unspecified(&e->addr))
			abort();
		for (size_t k = 0; k < i; k++) {
			if (endpoint_equal(e, &list->items[k]))
				abort();
		}
	}
}

static void try_message(const char *text, size_t len)
{
	struct checkermsg m;

	if (checkermsg_parse(text, len, &m) < 0)
		return;
	if (m.type == CHECKERMSG_ENDPOINTS && (m.list.n == 0 || m.list.n > ENDPOINTS_MAX))
		abort();
	for (const char *p = m.text; *p != '\0'; p++) {
		if (*p < ' ' || *p >= 0x7f)
			abort();
	}
	if (m.type == CHECKERMSG_ERROR && m.text[0] == '\0')
		abort();
}

static void try_settings(const char *text, size_t len)
{
	json_t *json = json_loadb(text, len, 0, NULL);
	AUTO(settings_free) struct settings *settings = NULL;
	const char *error = NULL;
	int r = settings_parse(json, &settings, &error);

	if ((r < 0) != (error != NULL))
		abort();
	if (r == 0 && (settings->timeout_ms == 0 || settings->path == NULL))
		abort();
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(free) char *text = NULL;
	struct endpoints_list list;
	const char *error = NULL;

	if (size == 0)
		return 0;
	text = xstrndup((const char *) data + 1, size - 1);
	switch (data[0] % 5) {
	case 0:
		if (slicelist_parse(text, strlen(text), &list, &error) == 0)
			check_list(&list);
		break;
	case 1:
		if (memberlist_parse(text, strlen(text), 6443, &list, &error) == 0)
			check_list(&list);
		break;
	case 2:
		if (memberlist_parse_lines(text, 6443, &list, &error) == 0)
			check_list(&list);
		break;
	case 3:
		try_message(text, strlen(text));
		break;
	case 4:
		try_settings(text, strlen(text));
		break;
	}
	return 0;
}
