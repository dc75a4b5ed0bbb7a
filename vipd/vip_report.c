/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers what there is to say about one VIP, and words the warnings. Only reads. */
#include "vipd/vip_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "base/mono.h"
#include "net/bypass.h"
#include "vipd/timing.h"

static void add_warning(struct vip_report_room *room, struct vip_report *report, const char *fmt,
                        ...) PRINTF_LIKE(3, 4);

static void add_warning(struct vip_report_room *room, struct vip_report *report, const char *fmt,
                        ...)
{
	size_t i = report->n_warnings;
	va_list ap;

	if (i == ARRAY_SIZE(room->warnings))
		return;
	va_start(ap, fmt);
	(void) vsnprintf(room->warning_text[i], sizeof(room->warning_text[i]), fmt, ap);
	va_end(ap);
	room->warnings[i] = room->warning_text[i];
	report->n_warnings++;
}

static void add_trouble(const struct vip *v, struct vip_report_room *room,
                        struct vip_report *report)
{
	const struct ledger_trouble *trouble = ledger_trouble(v->ledger);

	if (vip_etcd_is_full(v))
		add_warning(
		    room, report,
		    "etcd refuses writes: database space exceeded; its owner keeps the VIP, no other "
		    "node can take it, and a vipd that starts cannot take part, until you run: "
		    "fairlead etcd recover-space");
	else if (trouble != NULL)
		add_warning(room, report, "etcd does not answer: %s", trouble->text);
}

static void add_clusters(const struct vip *v, struct vip_report_room *room,
                         struct vip_report *report)
{
	char text[sizeof(room->warning_text[0])];

	if (clusterid_warning(v->env->cluster, text, sizeof(text)))
		add_warning(room, report, "%s", text);
}

static void add_cloud_trouble(const struct vip *v, struct vip_report_room *room,
                              struct vip_report *report)
{
	struct hcloud_report cloud = hcloud_report(v->hcloud);

	if (cloud.trouble[0] != '\0')
		add_warning(room, report, "Hetzner Cloud: %s; tried again in %lld s", cloud.trouble,
		            (long long) ((cloud.again_us + US_PER_S - 1) / US_PER_S));
}

/* Gate and lifetime of the address are nothing to what takes its packets before them. */
static void add_bypasses(const struct vip *v, struct vip_report_room *room,
                         struct vip_report *report)
{
	const struct rtnl_link *link = rtnl_link_by_name(v->env->rtnl, v->config->link);
	char text[256];

	if (link == NULL)
		return;
	bypass_describe(link->ifindex, text, sizeof(text));
	if (text[0] != '\0')
		add_warning(room, report,
		            "not fenced, and may go on answering for the address after this node has lost "
		            "it: %s; see limits.md, \"before netfilter\"",
		            text);
}

static void add_outside(const struct vip *v, struct vip_report_room *room,
                        struct vip_report *report)
{
	struct outside_count count = outside_count(&v->facts);
	const char *stays;

	report->outside_reached = count.reached;
	report->outside_unreached = count.unreached;
	if (!v->outside.cut_off)
		return;
	stays = vip_outside_stays(v);
	add_warning(room, report,
	            "%u of %u other nodes cannot connect to the VIP on this node, which can itself: "
	            "does a firewall drop its port here? %s%s",
	            count.unreached, count.others, stays != NULL ? "It stays: " : "It is about to move",
	            stays != NULL ? stays : "");
}

static void add_warnings(const struct vip *v, struct vip_report_room *room,
                         struct vip_report *report)
{
	int64_t advised_us = timing_window_advised_us(v->election_timeout_us);
	char buf[RECORD_REASON_MAX + 1];
	const char *unfit = vip_unfit_because(v, buf, sizeof(buf));

	if (unfit != NULL)
		add_warning(room, report, "takes no part: %s", unfit);
	add_clusters(v, room, report);
	if (report->link_problem != NULL && v->link != VIP_LINK_ABSENT)
		add_warning(room, report, "%s", report->link_problem);
	if (v->onlink.is_own || v->onlink.is_put)
		add_warning(room, report,
		            "another program has put the address on %s of this node, whose own traffic to "
		            "the VIP is dropped: ip address del %s dev %s",
		            v->onlink.ifname, prefix_format(&v->onlink.found.prefix, buf),
		            v->onlink.ifname);
	if (v->config->policy.fence != CONFIG_FENCE_LIFETIME && v->env->gate_error < 0)
		add_warning(room, report,
		            "the gate is tried again by itself; does another program own a table "
		            "fairlead-vip (nft list tables), or may vipd not change nftables?");
	if (v->link == VIP_LINK_DOWN)
		add_warning(room, report, "link %s is down or has no carrier", v->config->link);
	if (v->make_link_error < 0)
		add_warning(room, report,
		            "link %s could not be made: %s; make it yourself: a dummy, or a bridge without "
		            "ports",
		            v->config->link, strerror(-v->make_link_error));
	if (v->health == HEALTH_UNCHECKED && v->config->policy.health.enabled)
		add_warning(room, report,
		            "the API server of this node is not checked: %s; where there is none, set "
		            "healthCheck.enabled to false",
		            v->health_reason);
	if (v->probed.is_unknown)
		add_warning(room, report,
		            "the API server of this node does not tell whether it is ready (%s): give its "
		            "probes a certificate: fairlead init --probe-certificate",
		            v->probed_reason);
	if (v->hcloud != NULL)
		add_cloud_trouble(v, room, report);
	if (announcer_error(v->conflict.announcer) < 0)
		add_warning(room, report, "cannot announce on %s: %s", v->config->link,
		            strerror(-announcer_error(v->conflict.announcer)));
	if (election_window_us(v->election) < advised_us)
		add_warning(
		    room, report,
		    "fenceWindow of %lld ms is shorter than 2.5 x etcd's election timeout of %lld ms: "
		    "an etcd election may interrupt the address",
		    (long long) (election_window_us(v->election) / US_PER_MS),
		    (long long) (v->election_timeout_us / US_PER_MS));
	if (v->granted_lease_s * US_PER_S > v->env->lease_ttl_us)
		add_warning(room, report, "etcd raised the lease TTL from %lld s to %lld s",
		            (long long) (v->env->lease_ttl_us / US_PER_S), (long long) v->granted_lease_s);
	if (fence_kind(v->fence) == FENCE_LIFETIME &&
	    v->config->policy.fence != CONFIG_FENCE_LIFETIME && v->env->gate_error == 0)
		add_warning(room, report,
		            "no nftables in this kernel: the address lifetime is the only fence");
	if (v->on_hold && election_state(v->election) == ELECTION_OWNER)
		add_warning(room, report, "on hold, but no other node can take the address");
	if (v->sockets_unsupported)
		add_warning(room, report,
		            "this kernel cannot end the connections to a lost address (SOCK_DESTROY)");
	add_outside(v, room, report);
	add_trouble(v, room, report);
	add_bypasses(v, room, report);
	report->warnings = room->warnings;
}

static void add_candidates(const struct vip *v, struct vip_report_room *room,
                           struct vip_report *report)
{
	for (size_t i = 0; i < v->facts.n_nodes; i++)
		room->candidates[i] = (struct vip_report_candidate){
		    .node = v->facts.nodes[i].node,
		    .health = health_state_name(v->facts.nodes[i].health),
		    .priority = v->facts.nodes[i].priority,
		};
	report->candidates = room->candidates;
	report->n_candidates = v->facts.n_nodes;
}

void vip_fill_report(const struct vip *v, struct vip_report_room *room,
                     struct vip_report *ret_report)
{
	bool owner = election_state(v->election) == ELECTION_OWNER;
	int64_t now_us = mono_now_us();
	int64_t window_us, late_us;
	struct vip_report r = {
	    .vip = addr_format(&v->config->addr, room->vip),
	    .link = v->config->link,
	    .announce = v->outlet->name,
	    .node = v->me.node,
	    .state = election_state_name(election_state(v->election)),
	    .reason = election_reason(v->election),
	    .in_state_us = now_us - election_since_us(v->election),
	    .owner = vip_owner(v)[0] != '\0' ? vip_owner(v) : NULL,
	    .epoch = v->facts.owner.epoch,
	    .owner_revision = v->facts.owner_rev,
	    .fence = fence_kind(v->fence) == FENCE_NFTABLES ? "nftables" : "lifetime",
	    .fence_left_us = owner ? election_deadline_us(v->election) - now_us : REPORT_NONE,
	    .confirm_rtt_us = v->rtt_us,
	    .confirmations = v->confirmations,
	    .confirmation_failures = v->confirmation_failures,
	    .health = v->health,
	    .health_reason = v->health_reason,
	    .readiness_unknown = v->probed.is_unknown,
	    .priority = v->me.priority,
	    .hold = v->on_hold,
	    .etcd_leader = v->me.etcd_leader,
	    .etcd_endpoint = ledger_endpoint(v->ledger)[0] != '\0' ? ledger_endpoint(v->ledger) : NULL,
	    /* A refusal is an answer. */
	    .etcd_ok = v->etcd_ok || (v->facts.known && vip_etcd_is_full(v)),
	    .conflicts = v->conflict.count,
	    .in_use = vip_is_in_use(v),
	    .readds = v->readds.count,
	};

	room->link_problem[0] = '\0';
	if (v->link == VIP_LINK_ABSENT && v->make_link_error == 0)
		(void) snprintf(room->link_problem, sizeof(room->link_problem), "link %s does not exist",
		                v->config->link);
	else
		(void) onlink_outside(&v->onlink, v->config, room->link_problem);
	r.link_problem = room->link_problem[0] != '\0' ? room->link_problem : NULL;
	/* Before an owner is known, what has answered may be a node of ours. */
	if (v->conflict.foreign_us != 0 && (r.in_use || v->owner_seen)) {
		r.foreign_mac = mac_format(&v->conflict.foreign_mac, room->foreign_mac);
		r.foreign_node = facts_node_of_mac(&v->facts, &v->conflict.foreign_mac);
	}
	if (v->hcloud != NULL) {
		struct hcloud_report cloud = hcloud_report(v->hcloud);

		r.cloud = cloud.state;
		r.cloud_requests = cloud.requests;
		r.cloud_failures = cloud.failures;
	}
	/* What is in force is what the present owner recorded. */
	decide_awaited(&v->facts, election_window_us(v->election), election_late_us(v->election),
	               &window_us, &late_us);
	r.fence_window_us = window_us;
	r.fence_late_us = late_us;
	r.bound_us = timing_bound_us(window_us, late_us);
	history_report(&v->history, &r, room->counts);
	add_candidates(v, room, &r);
	add_warnings(v, room, &r);
	*ret_report = r;
}
