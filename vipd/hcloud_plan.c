/* SPDX-License-Identifier: Apache-2.0 */
/* The next request, in the order in which a pass goes, and what an answer says. No I/O, no clock. */
#include "vipd/hcloud_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define PAGE_ITEMS 50

static void forget_answers(struct hcloud_seen *seen)
{
	seen->page = 1;
	seen->floating_known = false;
	seen->floating_server = 0;
	seen->mine_known = false;
	seen->mine = (struct hcloud_aliases){0};
	seen->n_networks = 0;
	seen->n_networks_asked = 0;
	seen->holder = (struct hcloud_aliases){0};
}

void hcloud_begin_pass(struct hcloud_seen *seen)
{
	forget_answers(seen);
	seen->changes = 0;
}

void hcloud_changed(struct hcloud_seen *seen)
{
	forget_answers(seen);
	seen->changes++;
}

void hcloud_forget_ids(struct hcloud_seen *seen)
{
	seen->floating = 0;
	seen->network = 0;
}

bool hcloud_is_change(enum hcloud_ask ask)
{
	return ask >= HCLOUD_ASK_ASSIGN;
}

const char *hcloud_ask_name(enum hcloud_ask ask)
{
	static const char *const names[] = {
	    [HCLOUD_ASK_DONE] = "done",
	    [HCLOUD_ASK_FAIL] = "",
	    [HCLOUD_ASK_ME] = "ask for this server's id",
	    [HCLOUD_ASK_FLOATING_IPS] = "list the floating IPs",
	    [HCLOUD_ASK_FLOATING_IP] = "look at the floating IP",
	    [HCLOUD_ASK_SERVERS] = "list the servers",
	    [HCLOUD_ASK_SERVER] = "look at this server",
	    [HCLOUD_ASK_NETWORK] = "look at a private network",
	    [HCLOUD_ASK_ASSIGN] = "assign the floating IP",
	    [HCLOUD_ASK_REMOVE_ALIAS] = "take the alias IP from the server before",
	    [HCLOUD_ASK_ADD_ALIAS] = "add the alias IP",
	};

	return names[ask];
}

static void PRINTF_LIKE(3, 4)
    go_to(struct hcloud_step *step, enum hcloud_ask ask, const char *fmt, ...)
{
	va_list ap;

	step->ask = ask;
	va_start(ap, fmt);
	(void) vsnprintf(step->path, sizeof(step->path), fmt, ap);
	va_end(ap);
}

static void PRINTF_LIKE(2, 3) fail(struct hcloud_step *step, const char *fmt, ...)
{
	va_list ap;

	step->ask = HCLOUD_ASK_FAIL;
	va_start(ap, fmt);
	(void) vsnprintf(step->text, sizeof(step->text), fmt, ap);
	va_end(ap);
}

/* RFC 1918 and RFC 4193. */
static bool is_private(const struct addr *a)
{
	static const char *const ranges[] = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
	                                     "fc00::/7"};
	struct prefix range;

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		if (prefix_parse(ranges[i], &range) == 0 && prefix_contains(&range, a))
			return true;
	}
	return false;
}

bool hcloud_is_alias(const struct hcloud_seen *seen)
{
	return is_private(&seen->vip);
}

static bool has(const struct hcloud_aliases *aliases, const struct addr *vip)
{
	for (size_t i = 0; i < aliases->n; i++) {
		if (addr_equal(&aliases->addrs[i], vip))
			return true;
	}
	return false;
}

/* A server's alias IPs without the VIP, or with it. */
static char *alias_body(const struct hcloud_seen *seen, const struct hcloud_aliases *aliases,
                        bool with)
{
	json_t *json = json_object(), *list = json_array();
	char text[ADDR_TEXT_MAX], *body;

	for (size_t i = 0; i < aliases->n; i++) {
		if (!addr_equal(&aliases->addrs[i], &seen->vip))
			(void) json_array_append_new(list, json_string(addr_format(&aliases->addrs[i], text)));
	}
	if (with)
		(void) json_array_append_new(list, json_string(addr_format(&seen->vip, text)));
	(void) json_object_set_new(json, "network", json_integer(seen->network));
	(void) json_object_set_new(json, "alias_ips", list);
	body = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	return body;
}

static void next_floating(const struct hcloud_seen *seen, struct hcloud_step *step)
{
	char text[ADDR_TEXT_MAX];

	if (!seen->floating_known && seen->floating != 0)
		go_to(step, HCLOUD_ASK_FLOATING_IP, "/floating_ips/%" PRId64, seen->floating);
	else if (!seen->floating_known && seen->page > 0)
		go_to(step, HCLOUD_ASK_FLOATING_IPS, "/floating_ips?per_page=%d&page=%u", PAGE_ITEMS,
		      seen->page);
	else if (!seen->floating_known)
		fail(step,
		     "the project of this token has no floating IP %s: create it, or use its own token",
		     addr_format(&seen->vip, text));
	else if (seen->floating_server == seen->me)
		step->ask = HCLOUD_ASK_DONE;
	else if (seen->changes >= HCLOUD_CHANGES_MAX)
		fail(step, "assigned, and yet it is server %" PRId64 "'s: does somebody else move it?",
		     seen->floating_server);
	else {
		go_to(step, HCLOUD_ASK_ASSIGN, "/floating_ips/%" PRId64 "/actions/assign", seen->floating);
		step->body = xasprintf("{\"server\":%" PRId64 "}", seen->me);
	}
}

static void next_network(const struct hcloud_seen *seen, struct hcloud_step *step)
{
	char text[ADDR_TEXT_MAX];

	if (seen->n_networks_asked < seen->n_networks)
		go_to(step, HCLOUD_ASK_NETWORK, "/networks/%" PRId64,
		      seen->networks[seen->n_networks_asked]);
	else
		fail(step,
		     "%s is private, and no private network of server %" PRId64
		     " has it in its range: attach the server to the network",
		     addr_format(&seen->vip, text), seen->me);
}

static void next_alias(const struct hcloud_seen *seen, struct hcloud_step *step)
{
	const struct hcloud_aliases *holder = &seen->holder;

	if (!seen->mine_known)
		go_to(step, HCLOUD_ASK_SERVER, "/servers/%" PRId64, seen->me);
	else if (seen->network == 0)
		next_network(seen, step);
	else if (has(&seen->mine, &seen->vip))
		step->ask = HCLOUD_ASK_DONE;
	else if (seen->mine.server == 0)
		fail(step, "server %" PRId64 " is not in network %" PRId64 " any more: attach it", seen->me,
		     seen->network);
	else if (holder->server == 0 && seen->page > 0)
		go_to(step, HCLOUD_ASK_SERVERS, "/servers?per_page=%d&page=%u", PAGE_ITEMS, seen->page);
	else if (seen->changes >= HCLOUD_CHANGES_MAX)
		fail(step, "the alias IP was set, and yet it is not here: does somebody else set them?");
	else if (holder->server != 0) {
		go_to(step, HCLOUD_ASK_REMOVE_ALIAS, "/servers/%" PRId64 "/actions/change_alias_ips",
		      holder->server);
		step->body = alias_body(seen, holder, false);
	} else if (seen->mine.n == HCLOUD_ALIASES_MAX) {
		fail(step, "server %" PRId64 " has too many alias IPs", seen->me);
	} else {
		go_to(step, HCLOUD_ASK_ADD_ALIAS, "/servers/%" PRId64 "/actions/change_alias_ips",
		      seen->me);
		step->body = alias_body(seen, &seen->mine, true);
	}
}

void hcloud_next(const struct hcloud_seen *seen, struct hcloud_step *ret_step)
{
	*ret_step = (struct hcloud_step){.ask = HCLOUD_ASK_ME};
	if (seen->me == 0)
		return;
	if (hcloud_is_alias(seen))
		next_alias(seen, ret_step);
	else
		next_floating(seen, ret_step);
}

/* --- when --- */

int64_t hcloud_pause_us(unsigned n, int status, unsigned retry_after_s)
{
	int64_t pause_us = US_PER_S << MIN(n - 1, 5U);
	int64_t asked_us = MIN((int64_t) retry_after_s, 600) * US_PER_S;

	/* An hour's requests are used up, or the token is wrong: neither gets better at once. */
	if (status == 429 || status == 401 || status == 403)
		pause_us = MAX(pause_us, 5 * US_PER_S);
	return MAX(MIN(pause_us, 30 * US_PER_S), asked_us);
}

int64_t hcloud_check_us(unsigned n, unsigned moved)
{
	static const int64_t first_s[] = {2, 4, 8, 16, 30};

	if (n == 1 && moved >= HCLOUD_MOVED_ODD)
		n = MIN(moved - HCLOUD_MOVED_ODD + 2, (unsigned) ARRAY_SIZE(first_s));
	return (n <= ARRAY_SIZE(first_s) ? first_s[n - 1] : 60) * US_PER_S;
}

/* --- what an answer says --- */

/*
 * The answers of Hetzner Cloud, taken into what is known. What is not as the API is documented
 * makes the whole answer bad: alias IPs that were read by half would be lost when they are written
 * back.
 */

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
