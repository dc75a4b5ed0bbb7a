/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this node does beside etcd: VIPs, a line each, with the owner, how long its fence lets it be,
 * and who else could own it; prism; the network.
 */
#include "cli/status/board.h"

#include <string.h>

#include "base/mem.h"
#include "base/mono.h"
#include "cli/common/fields.h"

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
	if (field_is(vip, "state", "down"))
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
	if (field_is(vip, "health", "bad"))
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
	          field_is(vip, "state", "owner") ? " (this node)" : "");
	say_times(board, vip);
	if (!field_is(vip, "state", "owner"))
		board_say(board, "%s here", field_text_or_dash(vip, "state"));
	judge_link(board, vip);
	judge_owner(board, vip);
	judge_node(board, vip);
	json_array_foreach(json_object_get(vip, "warnings"), i, warning)
	{
		if (json_is_string(warning) && !field_is(vip, "link_problem", json_string_value(warning)))
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

/* --- prism --- */

/* prism and its upstreams, on one line. */

static const char *to_do_about(const json_t *upstream)
{
	const char *state = field_text(upstream, "state");

	if (state != NULL && strcmp(state, "untrusted") == 0)
		return "Its certificate is not what prism was told to trust: look at both";
	return "Look at kube-apiserver there, at its log, and at the way to it";
}

static void judge_upstream(struct board *board, const json_t *upstream)
{
	double since_s = json_number_value(json_object_get(upstream, "since_s"));
	char age[FIELD_AGE_MAX];

	board_matter(board, BOARD_WARNED, to_do_about(upstream), "upstream %s has been %s for %s: %s",
	             field_text_or_dash(upstream, "upstream"), field_text_or_dash(upstream, "state"),
	             field_age((int64_t) (since_s * (double) US_PER_S), age),
	             field_text_or_dash(upstream, "reason"));
}

static void judge_sources(struct board *board, const json_t *overview)
{
	const json_t *source, *note;
	size_t i;

	json_array_foreach(json_object_get(overview, "sources"), i, source)
	{
		if (field_text(source, "error") != NULL)
			board_matter(board, BOARD_WARNED, "", "source %s cannot be read: %s",
			             field_text_or_dash(source, "source"), field_text(source, "error"));
	}
	json_array_foreach(json_object_get(overview, "notes"), i, note)
	{
		if (json_is_string(note))
			board_matter(board, BOARD_WARNED, "", "%s", json_string_value(note));
	}
}

static void judge_overview(struct board *board, const json_t *overview)
{
	if (field_integer(overview, "usable") == 0)
		board_matter(board, BOARD_FAILED, "See why: fairlead prism status",
		             "no API server is in good order, or none is known");
	if (field_is_false(overview, "accepting"))
		board_matter(board, BOARD_WARNED, "Raise limits.connections, or LimitNOFILE of its unit",
		             "there is no room for another connection");
	if (field_is_true(overview, "checks") && field_is_false(overview, "probing"))
		board_matter(board, BOARD_WARNED, "See why: journalctl -u fairlead-prism",
		             "the probe process does not run: health is judged by traffic alone");
	judge_sources(board, overview);
}

void board_prism(struct board *board, const json_t *objects)
{
	const json_t *overview = json_array_get(objects, 0), *upstream;
	const char *unknown = upstream_unknown(objects, "reason");
	bool is_checked = upstream_is_checked(overview);
	size_t n = 0, good = 0, drained = 0, i;

	board_begin(board, "prism");
	json_array_foreach(objects, i, upstream)
	{
		if (i == 0)
			continue;
		n++;
		good += upstream_is_good(upstream, is_checked) ? 1 : 0;
		drained += field_is_true(upstream, "drained") ? 1 : 0;
	}
	board_say(board, "%zu of %zu upstreams good", good, n);
	if (drained > 0)
		board_say(board, "%zu drained", drained);
	board_say(board, "%lld of %lld connections", (long long) field_integer(overview, "connections"),
	          (long long) field_integer(overview, "max_connections"));
	judge_overview(board, overview);
	if (unknown != NULL)
		board_matter(board, BOARD_WARNED, UPSTREAM_UNKNOWN_TO_DO, UPSTREAM_UNKNOWN_TEXT "%s",
		             unknown);
	json_array_foreach(objects, i, upstream)
	{
		if (i > 0 && !upstream_is_good(upstream, is_checked) && !field_is_true(upstream, "drained"))
			judge_upstream(board, upstream);
	}
}

/* --- the network --- */

/*
 * The network: the change that is under way, how it compares with what was confirmed, leases.
 */

static void add_change(struct board *board, const json_t *change)
{
	const char *id = field_text_or_dash(change, "id");
	const char *phase = field_text_or_dash(change, "phase");
	long long left_s = (long long) json_number_value(json_object_get(change, "left_s"));
	AUTO(free) char *confirm = xasprintf("If all is well: fairlead net confirm %s", id);
	AUTO(free)
	char *decide = xasprintf("fairlead net rollback %s tries again; fairlead net discard "
	                         "%s leaves it as it is",
	                         id, id);

	if (strcmp(phase, "awaiting") == 0) {
		board_say(board, "a change is not confirmed: %lld s left", left_s);
		board_matter(board, BOARD_WARNED, confirm,
		             "the change %s is undone in %lld s unless it is confirmed", id, left_s);
	} else if (strcmp(phase, "half-undone") == 0) {
		board_say(board, "a change could not be undone");
		board_matter(board, BOARD_FAILED, decide, "the change %s could not be undone: %s", id,
		             field_text_or_dash(change, "left_undone"));
	} else if (strcmp(phase, "rolling-back") == 0) {
		board_say(board, "a change is being undone");
		board_matter(board, BOARD_WARNED, "", "the change %s is being undone: %s", id,
		             field_text_or_dash(change, "reason"));
	} else {
		board_say(board, "a change is %s, %lld s left", phase, left_s);
	}
}

static void add_blocked(struct board *board, const json_t *blocked)
{
	const char *id = field_text(blocked, "id");
	AUTO(free)
	char *to_do =
	    xasprintf("To leave the network as it is: fairlead net discard %s", id != NULL ? id : "");

	board_say(board, "nothing can be changed");
	board_matter(board, BOARD_WARNED, id != NULL && id[0] != '\0' ? to_do : "",
	             "netconf changes nothing: %s", field_text_or_dash(blocked, "reason"));
}

static void add_drift(struct board *board, const json_t *drift)
{
	const char *state = field_text_or_dash(drift, "state");
	const char *duplicate = field_text(drift, "duplicate");
	bool is_fight = strcmp(state, "fight") == 0;

	if (strcmp(state, "none") == 0)
		board_say(board, "as it was confirmed");
	if (is_fight || strcmp(state, "differs") == 0) {
		board_say(board, "not as it was confirmed");
		board_matter(board, BOARD_WARNED,
		             is_fight ? "Find the program that does: another manager of the network?"
		                      : "fairlead net diff has all steps",
		             "the network differs by %lld steps%s, the first: %s",
		             (long long) field_integer(drift, "steps"),
		             is_fight ? ", and somebody sets it back" : "",
		             field_text_or_dash(drift, "first"));
	}
	if (field_integer(drift, "waiting") > 0)
		board_say(board, "%lld wait for a link", (long long) field_integer(drift, "waiting"));
	if (duplicate != NULL && duplicate[0] != '\0')
		board_matter(board, BOARD_WARNED, "Take it from that host, or from this one",
		             "another host has an address of this one: %s", duplicate);
}

static void add_leases(struct board *board, const json_t *leases)
{
	const json_t *lease;
	size_t i;

	json_array_foreach(leases, i, lease)
	{
		if (field_is_true(lease, "running") &&
		    json_array_size(json_object_get(lease, "addresses")) > 0)
			continue;
		board_matter(board, BOARD_WARNED, "Look at the DHCP server, and at the link",
		             "DHCP on %s has no IPv%lld lease%s", field_text_or_dash(lease, "link"),
		             (long long) field_integer(lease, "family"),
		             field_is_false(lease, "running") ? ", and its client does not run" : "");
	}
}

void board_net(struct board *board, const json_t *objects)
{
	const json_t *status = json_array_get(objects, 0);
	const json_t *change = json_object_get(status, "change");
	const json_t *blocked = json_object_get(status, "blocked");

	board_begin(board, "network");
	if (json_is_object(blocked))
		add_blocked(board, blocked);
	else if (json_is_object(change))
		add_change(board, change);
	else if (field_is_true(status, "preparing"))
		board_say(board, "a change is being prepared");
	else if (!field_is_true(status, "confirmed"))
		board_say(board, "nothing was ever confirmed: netconf leaves it alone");
	add_drift(board, json_object_get(status, "drift"));
	add_leases(board, json_object_get(status, "leases"));
}
