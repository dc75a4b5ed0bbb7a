/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answers of Hetzner Cloud, taken into what is known. What is not as the API is documented
 * makes the whole answer bad: alias IPs that were read by half would be lost when they are written
 * back.
 */
#include "vipd/hcloud_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* --- reading --- */

static int64_t id_in(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static const char *text_in(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* Where the list goes on; 0: nowhere. */
static unsigned next_page(const json_t *root)
{
	int64_t page = id_in(json_object_get(json_object_get(root, "meta"), "pagination"), "next_page");

	return page > 0 && page <= HCLOUD_PAGES_MAX ? (unsigned) page : 0;
}

/* --- this server's id --- */

static int take_me(struct hcloud_seen *seen, const char *body)
{
	char *end;
	long long id;

	errno = 0;
	id = strtoll(body, &end, 10);
	end += strspn(end, " \r\n");
	if (errno != 0 || *end != '\0' || id <= 0)
		return -EBADMSG;
	seen->me = id;
	return 0;
}

/* --- floating IPs --- */

/* Of IPv6 the floating IP is a /64, of which the VIP is one address. */
static bool is_vip(const json_t *floating, const struct addr *vip)
{
	const char *text = text_in(floating, "ip");
	struct prefix range;
	struct addr addr;

	if (strchr(text, '/') != NULL)
		return prefix_parse(text, &range) == 0 && prefix_contains(&range, vip);
	return addr_parse(text, &addr) == 0 && addr_equal(&addr, vip);
}

static int take_floating_ip(struct hcloud_seen *seen, const json_t *floating)
{
	const json_t *server = json_object_get(floating, "server");

	if (id_in(floating, "id") <= 0 || !(json_is_null(server) || json_is_integer(server)))
		return -EBADMSG;
	seen->floating = id_in(floating, "id");
	seen->floating_server = json_integer_value(server);
	seen->floating_known = true;
	return 0;
}

static int take_floating_ips(struct hcloud_seen *seen, const json_t *root)
{
	const json_t *list = json_object_get(root, "floating_ips"), *floating;
	size_t i;

	if (!json_is_array(list))
		return -EBADMSG;
	json_array_foreach(list, i, floating)
	{
		if (is_vip(floating, &seen->vip))
			return take_floating_ip(seen, floating);
	}
	seen->page = next_page(root);
	return 0;
}

/* --- servers and networks --- */

static int take_aliases(const json_t *private_net, int64_t server, struct hcloud_aliases *ret)
{
	const json_t *list = json_object_get(private_net, "alias_ips"), *alias;
	struct hcloud_aliases aliases = {.server = server};
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > HCLOUD_ALIASES_MAX)
		return -EBADMSG;
	json_array_foreach(list, i, alias)
	{
		const char *text = json_string_value(alias);

		if (text == NULL || addr_parse(text, &aliases.addrs[aliases.n++]) < 0)
			return -EBADMSG;
	}
	*ret = aliases;
	return 0;
}

/* Its alias IPs in our network; none, with server 0, if it is not in it. */
static int take_server_aliases(const json_t *server, int64_t network, struct hcloud_aliases *ret)
{
	const json_t *list = json_object_get(server, "private_net"), *private_net;
	size_t i;

	*ret = (struct hcloud_aliases){0};
	if (!json_is_array(list) || id_in(server, "id") <= 0)
		return -EBADMSG;
	json_array_foreach(list, i, private_net)
	{
		if (id_in(private_net, "network") == network)
			return take_aliases(private_net, id_in(server, "id"), ret);
	}
	return 0;
}

static int take_server(struct hcloud_seen *seen, const json_t *root)
{
	const json_t *server = json_object_get(root, "server"), *private_net;
	size_t i;
	int r;

	r = take_server_aliases(server, seen->network, &seen->mine);
	if (r < 0 || id_in(server, "id") != seen->me)
		return -EBADMSG;
	seen->n_networks = 0;
	json_array_foreach(json_object_get(server, "private_net"), i, private_net)
	{
		if (seen->n_networks < HCLOUD_NETWORKS_MAX)
			seen->networks[seen->n_networks++] = id_in(private_net, "network");
	}
	seen->mine_known = true;
	return 0;
}

static int take_network(struct hcloud_seen *seen, const json_t *root)
{
	const json_t *network = json_object_get(root, "network");
	struct prefix range;

	if (id_in(network, "id") <= 0 || prefix_parse(text_in(network, "ip_range"), &range) < 0)
		return -EBADMSG;
	seen->n_networks_asked++;
	if (!prefix_contains(&range, &seen->vip))
		return 0;
	seen->network = id_in(network, "id");
	/* What was read of this server was read without knowing which network counts. */
	seen->mine_known = false;
	return 0;
}

static int take_servers(struct hcloud_seen *seen, const json_t *root)
{
	const json_t *list = json_object_get(root, "servers"), *server;
	struct hcloud_aliases aliases;
	size_t i;

	if (!json_is_array(list))
		return -EBADMSG;
	json_array_foreach(list, i, server)
	{
		if (take_server_aliases(server, seen->network, &aliases) < 0)
			return -EBADMSG;
		for (size_t j = 0; j < aliases.n && aliases.server != seen->me; j++) {
			if (addr_equal(&aliases.addrs[j], &seen->vip)) {
				seen->holder = aliases;
				return 0;
			}
		}
	}
	seen->page = next_page(root);
	return 0;
}

/* --- all --- */

static int take_json(struct hcloud_seen *seen, enum hcloud_ask ask, const json_t *root)
{
	switch (ask) {
	case HCLOUD_ASK_FLOATING_IPS:
		return take_floating_ips(seen, root);
	case HCLOUD_ASK_FLOATING_IP:
		return take_floating_ip(seen, json_object_get(root, "floating_ip"));
	case HCLOUD_ASK_SERVERS:
		return take_servers(seen, root);
	case HCLOUD_ASK_SERVER:
		return take_server(seen, root);
	case HCLOUD_ASK_NETWORK:
		return take_network(seen, root);
	case HCLOUD_ASK_DONE:
	case HCLOUD_ASK_FAIL:
	case HCLOUD_ASK_ME:
	case HCLOUD_ASK_ASSIGN:
	case HCLOUD_ASK_REMOVE_ALIAS:
	case HCLOUD_ASK_ADD_ALIAS:
		break;
	}
	return -EBADMSG;
}

int hcloud_take(struct hcloud_seen *seen, enum hcloud_ask ask, const char *body,
                char ret_text[static HCLOUD_TEXT_MAX])
{
	json_t *root;
	int r;

	if (ask == HCLOUD_ASK_ME) {
		r = take_me(seen, body);
	} else {
		root = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
		r = root != NULL ? take_json(seen, ask, root) : -EBADMSG;
		json_decref(root);
	}
	if (r < 0)
		(void) snprintf(ret_text, HCLOUD_TEXT_MAX, "the answer is not what the API promises");
	return r;
}

int hcloud_take_action(const char *body, int64_t *ret_id, enum hcloud_progress *ret_progress,
                       char ret_text[static HCLOUD_TEXT_MAX])
{
	json_t *root = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
	const json_t *action = json_object_get(root, "action");
	const json_t *error = json_object_get(action, "error");
	const char *status = text_in(action, "status");
	int64_t id = id_in(action, "id");
	int r = 0;

	if (id <= 0)
		r = -EBADMSG;
	else if (strcmp(status, "running") == 0)
		*ret_progress = HCLOUD_RUNNING;
	else if (strcmp(status, "success") == 0)
		*ret_progress = HCLOUD_SUCCEEDED;
	else if (strcmp(status, "error") == 0)
		*ret_progress = HCLOUD_FAILED;
	else
		r = -EBADMSG;
	if (r < 0)
		(void) snprintf(ret_text, HCLOUD_TEXT_MAX, "the answer is not what the API promises");
	else
		(void) snprintf(ret_text, HCLOUD_TEXT_MAX, "the action failed: %.60s (%.120s)",
		                text_in(error, "code"), text_in(error, "message"));
	if (r == 0)
		*ret_id = id;
	json_decref(root);
	return r;
}

static const char *advice(int status, const char *code)
{
	if (status == 401)
		return ": is the token right, and still valid?";
	if (status == 403 || strcmp(code, "token_readonly") == 0)
		return ": the token must be allowed to read and write";
	if (status == 404)
		return ": is the token that of this project, and serverID right?";
	if (status == 429)
		return ": the project's requests of this hour are used up; who else asks so much?";
	return "";
}

void hcloud_explain(int status, const char *body, char ret_text[static HCLOUD_TEXT_MAX])
{
	json_t *root = json_loads(body, 0, NULL);
	const json_t *error = json_object_get(root, "error");
	const char *code = text_in(error, "code");

	if (error != NULL)
		(void) snprintf(ret_text, HCLOUD_TEXT_MAX, "status %d, %.40s (%.100s)%s", status, code,
		                text_in(error, "message"), advice(status, code));
	else
		(void) snprintf(ret_text, HCLOUD_TEXT_MAX, "status %d%s", status, advice(status, code));
	json_decref(root);
}
