/* SPDX-License-Identifier: Apache-2.0 */
/* VIPs, a line each: who owns it, how long its fence lets the owner be, and who else could. */
#include "cli/status/board.h"

#include <string.h>

#include "cli/common/fields.h"

static bool is_text(const json_t *object, const char *key, const char *want)
{
	const char *text = field_text(object, key);

	return text != NULL && strcmp(text, want) == 0;
}

static void say_times(struct board *board, const json_t *vip)
{
	const json_t *left = json_object_get(vip, "fence_left_ms");
	const json_t *bound = json_object_get(vip, "bound_ms");

	if (json_is_number(left))
		board_say(board, "fence in %.1fs", json_number_value(left) / 1000);
	if (json_is_number(bound))
		board_say(board, "bound %.1fs", json_number_value(bound) / 1000);
}

static void judge_etcd(struct board *board, const json_t *vip)
{
	static const char to_do[] = "See whether etcd runs and has a quorum: fairlead etcd health";
	const char *address = field_text_or_dash(vip, "vip");
	const char *endpoint = field_text(vip, "etcd_endpoint");

	if (endpoint != NULL && endpoint[0] != '\0')
		board_matter(board, BOARD_FAILED, to_do,
		             "%s: etcd does not answer vipd; the last endpoint tried is %s", address,
		             endpoint);
	else
		board_matter(board, BOARD_FAILED, to_do, "%s: etcd has not answered vipd yet", address);
}

/* While nothing else works either, a wrong configuration is the first thing to look at. */
static void judge_link(struct board *board, const json_t *vip)
{
	const char *problem = field_text(vip, "link_problem");

	if (problem != NULL)
		board_matter(board, field_is_false(vip, "etcd_ok") ? BOARD_FAILED : BOARD_WARNED,
		             "See which links and addresses the node has (ip address), and correct the "
		             "VIP's document",
		             "%s: %s", field_text_or_dash(vip, "vip"), problem);
}

static void judge_owner(struct board *board, const json_t *vip)
{
	const char *address = field_text_or_dash(vip, "vip");

	if (field_text(vip, "link_problem") != NULL && field_text(vip, "etcd_endpoint") == NULL)
		; /* vipd has not asked etcd for it */
	else if (field_is_false(vip, "etcd_ok"))
		judge_etcd(board, vip);
	else if (field_text(vip, "owner") == NULL)
		board_matter(board, BOARD_FAILED,
		             "See why no node takes it: fairlead vip status, on each of them",
		             "%s: nobody owns it", address);
	if (is_text(vip, "state", "down"))
		board_matter(board, BOARD_WARNED, "", "%s: this node takes no part: %s", address,
		             field_text_or_dash(vip, "reason"));
}

static void judge_node(struct board *board, const json_t *vip)
{
	const json_t *candidates = json_object_get(vip, "candidates");
	const char *address = field_text_or_dash(vip, "vip");

	if (field_is_true(vip, "hold"))
		board_matter(board, BOARD_WARNED, "When the maintenance is over: fairlead vip unhold",
		             "%s: this node is on hold", address);
	if (is_text(vip, "health", "bad"))
		board_matter(board, BOARD_WARNED, "Look at kube-apiserver of this node, and at its log",
		             "%s: the API server of this node is not healthy: %s", address,
		             field_text_or_dash(vip, "health_reason"));
	/* Who else takes part, etcd alone knows. */
	if (!field_is_false(vip, "etcd_ok") && json_is_array(candidates) &&
	    json_array_size(candidates) < 2)
		board_matter(board, BOARD_WARNED, "See that vipd runs on the other nodes",
		             "%s: no other node could take it over", address);
	if (field_text(vip, "foreign_mac") != NULL)
		board_matter(board, field_is_true(vip, "in_use") ? BOARD_FAILED : BOARD_WARNED,
		             "Find the host, and take the address from it",
		             "%s: a host that is not the owner has claimed it: %s%s%s", address,
		             field_text(vip, "foreign_mac"),
		             field_text(vip, "foreign_node") != NULL ? ", node " : "",
		             field_text(vip, "foreign_node") != NULL ? field_text(vip, "foreign_node")
		                                                     : "");
}

static void add_vip(struct board *board, const json_t *vip)
{
	const char *owner = field_text(vip, "owner");
	const char *nobody = field_is_false(vip, "etcd_ok") ? "owner not known" : "nobody";
	const json_t *warning;
	size_t i;

	board_begin(board, "vip");
	board_say(board, "%s on %s: %s%s", field_text_or_dash(vip, "vip"),
	          field_text_or_dash(vip, "link"), owner != NULL ? owner : nobody,
	          is_text(vip, "state", "owner") ? " (this node)" : "");
	say_times(board, vip);
	if (!is_text(vip, "state", "owner"))
		board_say(board, "%s here", field_text_or_dash(vip, "state"));
	judge_link(board, vip);
	judge_owner(board, vip);
	judge_node(board, vip);
	json_array_foreach(json_object_get(vip, "warnings"), i, warning)
	{
		if (json_is_string(warning) && !is_text(vip, "link_problem", json_string_value(warning)))
			board_matter(board, BOARD_WARNED, "", "%s: %s", field_text_or_dash(vip, "vip"),
			             json_string_value(warning));
	}
}

void board_vip(struct board *board, const json_t *objects)
{
	const json_t *vip;
	size_t i;

	json_array_foreach(objects, i, vip) add_vip(board, vip);
	if (json_array_size(objects) == 0) {
		board_begin(board, "vip");
		board_say(board, "none is configured");
	}
}
