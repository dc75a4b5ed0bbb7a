/* SPDX-License-Identifier: Apache-2.0 */
/* The next request, in the order in which a pass goes. No I/O, no clock; answers are taken in by
 * hcloud_answer.c. */
#include "vipd/hcloud_plan.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
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
