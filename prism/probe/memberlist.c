/* SPDX-License-Identifier: Apache-2.0 */
/*
 * etcdctl and the control sockets have the same facts under different keys; a table row for each
 * is all that differs. Member ids are unsigned 64-bit numbers, which jansson refuses to read as
 * integers: every number is read as a real one, because none matters here.
 */
#include "prism/probe/memberlist.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/conf_url.h"
#include "base/mem.h"
#include "prism/probe/found.h"

struct keys {
	const char *client_urls;
	const char *peer_urls;
};

static const struct keys etcdctl_keys = {"clientURLs", "peerURLs"};
static const struct keys control_keys = {"client_urls", "peer_urls"};

static bool add_urls(const json_t *urls, uint16_t port, struct endpoints_list *list)
{
	bool any = false;

	for (size_t i = 0; i < json_array_size(urls); i++) {
		const char *url = json_string_value(json_array_get(urls, i));
		struct addr addr;

		if (url != NULL && conf_url_addr(url, &addr) == 0 && found_add_remote(list, &addr, port))
			any = true;
	}
	return any;
}

static void add_member(const json_t *member, const struct keys *keys, uint16_t port,
                       struct endpoints_list *list)
{
	if (!add_urls(json_object_get(member, keys->client_urls), port, list))
		(void) add_urls(json_object_get(member, keys->peer_urls), port, list);
}

static int finish(const struct endpoints_list *list, size_t n_members,
                  struct endpoints_list *ret_list, const char **ret_error)
{
	if (list->n == 0) {
		*ret_error =
		    n_members == 0 ? "the list has no members" : "no member has an address in its URLs";
		return -EBADMSG;
	}
	*ret_list = *list;
	return 0;
}

int memberlist_parse(const char *text, size_t len, uint16_t port, struct endpoints_list *ret_list,
                     const char **ret_error)
{
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);
	const json_t *members = json_object_get(root, "members");
	struct endpoints_list list = {.n = 0};
	size_t n = json_array_size(members);
	bool good = json_is_array(members);

	for (size_t i = 0; i < n; i++)
		add_member(json_array_get(members, i), &etcdctl_keys, port, &list);
	json_decref(root);
	if (good)
		return finish(&list, n, ret_list, ret_error);
	*ret_error = "it is not what 'etcdctl member list -w json' prints";
	return -EBADMSG;
}

int memberlist_parse_lines(const char *text, uint16_t port, struct endpoints_list *ret_list,
                           const char **ret_error)
{
	struct endpoints_list list = {.n = 0};
	size_t n = 0;

	for (const char *line = text; *line != '\0'; n++) {
		size_t len = strcspn(line, "\n");
		json_t *member =
		    json_loadb(line, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL);

		if (!json_is_object(member)) {
			json_decref(member);
			*ret_error = "a line of the answer is not a JSON object";
			return -EBADMSG;
		}
		add_member(member, &control_keys, port, &list);
		json_decref(member);
		line += len;
		line += *line == '\n' ? 1 : 0;
	}
	return finish(&list, n, ret_list, ret_error);
}
