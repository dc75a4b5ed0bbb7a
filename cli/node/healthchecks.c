/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of checks, in the order in which things stand on each other: the network, etcd, the
 * API servers, the VIPs. A field that is missing is not good: who cannot tell, has not told.
 */
#include "cli/node/healthchecks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "cli/common/fields.h"
#include "cli/common/upstream.h"
#include "cli/status/node.h"

static bool say(char reason[static HEALTHCHECKS_REASON_MAX], const char *what, const char *more)
{
	(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s%s", what, more);
	return false;
}

static bool is_text(const json_t *object, const char *key, const char *want)
{
	const char *text = field_text(object, key);

	return text != NULL && strcmp(text, want) == 0;
}

/* --- network --- */

static bool look_change(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *status = json_array_get(objects, 0);
	const json_t *change = json_object_get(status, "change");

	if (change == NULL)
		return say(reason, "netconf does not tell", "");
	if (!json_is_null(change))
		return say(reason, "a change is ", field_text_or_dash(change, "phase"));
	if (!json_is_null(json_object_get(status, "blocked")))
		return say(reason, "netconf changes nothing: ",
		           field_text_or_dash(json_object_get(status, "blocked"), "reason"));
	return true;
}

static bool look_drift(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *drift = json_object_get(json_array_get(objects, 0), "drift");

	if (is_text(drift, "state", "none") || is_text(drift, "state", "off"))
		return true;
	return say(reason, "the network and what was confirmed: ", field_text_or_dash(drift, "state"));
}

/* --- etcd --- */

static bool look_members(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *summary = json_array_get(objects, 0);
	long long answer = field_integer(summary, "answer"), all = field_integer(summary, "members");

	if (all == 0)
		return say(reason, "nobody has been asked yet", "");
	if (answer == all)
		return true;
	(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%lld of %lld members answer", answer, all);
	return false;
}

bool healthchecks_is_since(const json_t *objects, int64_t second)
{
	return field_integer(json_array_get(objects, 0), "looked_s") > second;
}

/* The first finding that is critical stands for all. */
static bool look_findings(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *object;
	size_t i;

	if (is_text(json_array_get(objects, 0), "status", "unknown"))
		return say(reason, "nobody has been asked yet", "");
	json_array_foreach(objects, i, object)
	{
		if (is_text(object, "severity", "critical"))
			return say(reason, "", field_text_or_dash(object, "sentence"));
	}
	if (json_array_size(objects) == 0)
		return say(reason, "etcdwatch does not tell", "");
	return true;
}

/* --- API servers --- */

static bool look_reachable(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	if (field_integer(json_array_get(objects, 0), "usable") > 0)
		return true;
	return say(reason, "prism knows none that is worth trying", "");
}

static bool look_good(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	bool is_checked = upstream_is_checked(json_array_get(objects, 0));
	const json_t *object;
	size_t i;

	if (json_array_size(objects) < 2)
		return say(reason, "prism knows none", "");
	json_array_foreach(objects, i, object)
	{
		if (i == 0 || upstream_is_good(object, is_checked) || field_is_true(object, "drained"))
			continue;
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s is %s",
		                field_text_or_dash(object, "upstream"),
		                field_text_or_dash(object, "state"));
		return false;
	}
	return true;
}

static bool say_unknown(const char *unknown, char reason[static HEALTHCHECKS_REASON_MAX])
{
	if (unknown == NULL)
		return true;
	(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s%s. %s", UPSTREAM_UNKNOWN_TEXT, unknown,
	                UPSTREAM_UNKNOWN_TO_DO);
	return false;
}

static bool look_told(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	return say_unknown(upstream_unknown(objects, "reason"), reason);
}

static bool look_vip_told(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	return say_unknown(upstream_unknown(objects, "health_reason"), reason);
}

/* --- VIPs --- */

static bool look_owned(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		if (field_text(object, "owner") != NULL && field_is_true(object, "etcd_ok"))
			continue;
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s %s", field_text_or_dash(object, "vip"),
		                field_is_true(object, "etcd_ok") ? "has no owner" : "cannot ask etcd");
		return false;
	}
	return true;
}

static bool look_candidates(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		if (json_array_size(json_object_get(object, "candidates")) >= 2)
			continue;
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "nobody could take %s over",
		                field_text_or_dash(object, "vip"));
		return false;
	}
	return true;
}

/* As the owner counts: more than half of the nodes in the race besides itself (vipd/outside.h). */
static bool look_outside(const json_t *objects, char reason[static HEALTHCHECKS_REASON_MAX])
{
	const json_t *object;
	size_t i;

	json_array_foreach(objects, i, object)
	{
		int64_t unreached = field_integer(object, "outside_unreached");
		int64_t nodes = (int64_t) json_array_size(json_object_get(object, "candidates"));

		if (unreached <= 0 || 2 * unreached < nodes)
			continue;
		(void) snprintf(
		    reason, HEALTHCHECKS_REASON_MAX,
		    "%lld of %lld nodes cannot connect to %s on its owner, %s: a firewall there?",
		    (long long) unreached, (long long) nodes - 1, field_text_or_dash(object, "vip"),
		    field_text_or_dash(object, "owner"));
		return false;
	}
	return true;
}

const struct healthcheck healthchecks[] = {
    {"the network is not being changed", "netconf", {"net", "status"}, look_change, false, false},
    {"the network is as it was confirmed", "netconf", {"net", "status"}, look_drift, false, false},
    {"all members of etcd answer", "etcdwatch", {"etcd", "health"}, look_members, true, false},
    {"nothing about etcd is critical", "etcdwatch", {"etcd", "health"}, look_findings, true, false},
    {"an API server can be reached", "prism", {"prism", "status"}, look_reachable, false, false},
    {"all API servers are good", "prism", {"prism", "status"}, look_good, false, false},
    {"prism is told whether API servers are ready",
     "prism",
     {"prism", "status"},
     look_told,
     false,
     true},
    {"vipd is told whether the API server is ready",
     "vipd",
     {"vip", "status"},
     look_vip_told,
     false,
     true},
    {"every VIP has an owner", "vipd", {"vip", "status"}, look_owned, false, false},
    {"every VIP has somebody to take it over",
     "vipd",
     {"vip", "status"},
     look_candidates,
     false,
     false},
    {"other nodes reach every VIP", "vipd", {"vip", "status"}, look_outside, false, false},
};
const size_t healthchecks_n = ARRAY_SIZE(healthchecks);

/* --- asking --- */

enum healthcheck_result healthchecks_judge(const struct healthcheck *check, int r,
                                           const struct client_answer *answer, const char *units,
                                           char reason[static HEALTHCHECKS_REASON_MAX])
{
	r = node_judge(r, check->daemon, units);
	if (r == -ENOENT)
		return HEALTHCHECK_NOT_HERE;
	if (r == -EACCES)
		return HEALTHCHECK_DENIED;
	if (r == -ESRCH)
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s does not run, and should",
		                check->daemon);
	else if (r < 0)
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s does not answer: %s", check->daemon,
		                strerror(-r));
	else if (answer->error != NULL)
		(void) snprintf(reason, HEALTHCHECKS_REASON_MAX, "%s: %s", check->daemon, answer->sentence);
	else if (check->look(answer->objects, reason))
		return HEALTHCHECK_GOOD;
	else if (check->warns)
		return HEALTHCHECK_WARNED;
	return HEALTHCHECK_BAD;
}
