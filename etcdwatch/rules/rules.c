/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of what is watched for. Times: an alarm of etcd stands or does not, so it counts at
 * once; what a restart, an upgrade or a busy minute also does must last longer than those take.
 */
#include "etcdwatch/rules/rules_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct rules_rule rules[RULES_N] = {
    [RULE_NO_LEADER] = {"no-leader", RULES_CRITICAL, 60, 30, rules_no_leader, -1,
                        "no member that answers follows a leader",
                        "Nothing can be written. See which members are down or cut off from their "
                        "peers, and start "
                        "enough of them for a quorum."},
    [RULE_QUORUM_LOST] =
        {"quorum-lost", RULES_CRITICAL, 180, 30, rules_quorum_lost, -1,
         "fewer voting members answer than a quorum takes",
         "Start members until a quorum is back. If they cannot come back, 'fairlead etcd rescue' "
         "finds the best data that is left."},
    [RULE_READS_FAIL] =
        {"reads-fail", RULES_CRITICAL, 30, 30, rules_reads_fail, -1,
         "members answer, and none can do a linearizable read",
         "The cluster has no working quorum, whatever its members say. Look at the links between "
         "them, and at their disks."},
    [RULE_MEMBER_DOWN] =
        {"member-down", RULES_WARNING, 30, 30, rules_member_down, -1,
         "a member does not answer on any of its client URLs",
         "See whether its node and its etcd run, and whether this node reaches its client port."},
    [RULE_MEMBER_CUT_OFF] =
        {"member-cut-off", RULES_WARNING, 30, 30, rules_member_cut_off, -1,
         "a member answers, but cannot do a linearizable read that others can",
         "It does not reach the leader: look at its peer port, and at its log."},
    [RULE_LEADERS_DIFFER] =
        {"leaders-differ", RULES_WARNING, 30, 30, rules_leaders_differ, -1,
         "a member follows another leader, or is in another term, than most",
         "It is cut off from the others, or does not keep up: look at its peer port, its disk and "
         "its log."},
    [RULE_APPLIED_LAG] =
        {"applied-lag", RULES_WARNING, 60, 60, rules_applied_lag, -1,
         "a member has applied 2000 entries fewer than are committed",
         "Its disk or its processor is too slow, or it is catching up after a long absence."},
    [RULE_ELECTIONS] =
        {"leader-changes", RULES_WARNING, 0, 60, rules_elections, -1,
         "four or more elections in 15 minutes",
         "Look for slow disks and lost packets between the members, and for a heartbeat interval "
         "that is too short for the network."},
    [RULE_MEMBER_NOT_STARTED] = {"member-not-started", RULES_WARNING, 300, 30, rules_not_started,
                                 -1, "a member was added and has never been started",
                                 "Start it, or remove it: it counts for the quorum already."},
    [RULE_LEARNER_STAYS] =
        {"learner-stays", RULES_WARNING, 600, 30, rules_learner, -1,
         "a member is still a learner after ten minutes",
         "Promote it ('etcdctl member promote') when it has caught up, or remove it."},
    [RULE_EVEN_MEMBERS] =
        {"even-members", RULES_WARNING, 600, 30, rules_even, -1,
         "the number of voting members is even",
         "Add a member or remove one: an even number bears no more failures than the odd number "
         "below it."},
    [RULE_VERSIONS_DIFFER] = {"versions-differ", RULES_WARNING, 3600, 60, rules_versions, -1,
                              "members run different versions, longer than an upgrade takes",
                              "Finish the upgrade, or take it back."},
    [RULE_LISTS_DIFFER] =
        {"member-lists-differ", RULES_CRITICAL, 60, 60, rules_lists, -1,
         "a member has another list of members than most",
         "It has missed a change, or belongs to another cluster: look at its log. If that stays, "
         "remove it and add it anew with an empty data directory."},
    [RULE_STORED_MEMBERS_DIFFER] =
        {"stored-members-differ", RULES_WARNING, 0, 0, rules_stored_members, -1,
         "the member list in etcd's database, as the newest snapshot has it, is not etcd's own",
         "Before you upgrade to etcd 3.6, which goes by the database: upgrade every member to the "
         "newest release of 3.5 (3.5.26 or later), which mends the database, see that all are "
         "healthy, and take a snapshot (etcd#19557, #20793)."},
    [RULE_CLUSTER_IDS_DIFFER] =
        {"cluster-ids-differ", RULES_CRITICAL, 0, 60, rules_cluster_ids, -1,
         "endpoints belong to different clusters",
         "Correct the endpoints of EtcdClientConfig, or the member that was bootstrapped anew: API "
         "servers that use both would lose writes."},
    [RULE_MEMBER_UNEXPECTED] =
        {"member-unexpected", RULES_WARNING, 300, 30, rules_unexpected, -1,
         "a member is not among those of `members` in EtcdWatchConfig",
         "Remove it if it is not meant to be there, else write it into `members`."},
    [RULE_MEMBER_MISSING] = {"member-missing", RULES_WARNING, 300, 30, rules_missing, -1,
                             "one of `members` in EtcdWatchConfig is not a member",
                             "Add it to the cluster, or take it out of `members`."},
    [RULE_NO_SPACE] =
        {"no-space", RULES_CRITICAL, 0, 30, rules_no_space, -1, "the alarm NOSPACE stands",
         "etcd takes no writes. 'fairlead etcd recover-space' compacts, defragments and "
         "disarms the alarm."},
    [RULE_CORRUPT] =
        {"corrupt", RULES_CRITICAL, 0, 60, rules_corrupt, -1, "the alarm CORRUPT stands",
         "Keep a snapshot of each member, find the one that differs, and replace it: remove it, "
         "clear its data directory, add it anew. Only then disarm it: 'fairlead etcd alarm disarm "
         "--corrupt-too'."},
    [RULE_DATA_DIFFERS] =
        {"data-differs", RULES_CRITICAL, 0, 0, rules_data, -1,
         "a member holds other data than the others at the same revision, found twice in a row",
         "Keep a snapshot of each member ('fairlead etcd snapshot save' on each node), find the "
         "one that is wrong, and replace it: 'fairlead etcd remove-member', clear its data "
         "directory, add it anew. No snapshot is deleted until then."},
    [RULE_QUOTA_LOW] = {"quota-low", RULES_CRITICAL, 60, 60, rules_quota, -1,
                        "a database is larger than 95 % of its quota",
                        "'fairlead etcd recover-space' compacts and defragments; or raise "
                        "--quota-backend-bytes on "
                        "all members: a full one stops all writes."},
    [RULE_QUOTA_RUNWAY] = {"quota-runway", RULES_WARNING, 600, 600, rules_runway, RULE_QUOTA_LOW,
                           "at its present growth a database reaches its quota within four hours",
                           "Find out what writes so much ('fairlead etcd snapshot usage latest'), "
                           "and see that compaction runs."},
    [RULE_FRAGMENTED] = {"fragmented", RULES_WARNING, 600, 600, rules_fragmented, -1,
                         "less than half of a database is in use, and more than 100 MiB of it",
                         "'fairlead etcd defrag' writes it anew, when all members are well."},
    [RULE_FSYNC_SLOW] =
        {"fsync-slow", RULES_WARNING, 120, 300, rules_fsync, RULE_FSYNC_VERY_SLOW,
         "the write-ahead log's fsync takes longer than 0.5 s (99th percentile of 5 minutes)",
         "Its disk is too slow or too busy: give etcd a fast disk of its own."},
    [RULE_FSYNC_VERY_SLOW] =
        {"fsync-very-slow", RULES_CRITICAL, 120, 300, rules_fsync, -1, "the same, longer than 1 s",
         "Its disk is too slow or too busy: elections follow. Give etcd a fast disk of its own."},
    [RULE_COMMIT_SLOW] =
        {"commit-slow", RULES_WARNING, 300, 300, rules_commit, -1,
         "a commit of the database takes longer than 0.25 s (99th percentile of 5 minutes)",
         "Its disk is too slow or too busy, or its database is large and fragmented."},
    [RULE_PROPOSALS_FAIL] =
        {"proposals-fail", RULES_WARNING, 60, 300, rules_proposals, -1,
         "more than five proposals a second fail (over 5 minutes)",
         "Clients' writes are lost for want of a leader or of room: see the other findings."},
    [RULE_CERTIFICATE_EXPIRES] =
        {"certificate-expires", RULES_WARNING, 0, 60, rules_certificate,
         RULE_CERTIFICATE_EXPIRES_SOON,
         "a certificate on disk, or one that a member presents, ends within 14 days",
         "Renew it (kubeadm: 'kubeadm certs renew'; that of the health checks: 'fairlead init "
         "--probe-certificate'). A member reads a new one by itself."},
    [RULE_CERTIFICATE_EXPIRES_SOON] =
        {"certificate-expires-soon", RULES_CRITICAL, 0, 60, rules_certificate, -1,
         "the same, within 7 days, or it is over",
         "Renew it now (kubeadm: 'kubeadm certs renew'; that of the health checks: 'fairlead init "
         "--probe-certificate'). A member reads a new one by itself."},
    [RULE_CLOCK_SKEW] =
        {"clock-skew", RULES_WARNING, 60, 60, rules_clock, -1,
         "a member's clock and this node's certainly differ by more than a second",
         "See that chrony or another NTP client runs on both nodes and has a source."},
    [RULE_DISK_LOW] =
        {"disk-low", RULES_WARNING, 60, 60, rules_disk, RULE_DISK_VERY_LOW,
         "less than 10 % of the file system of the data directory is free, or less than a "
         "defragmentation takes",
         "Make room: old snapshots, logs, images."},
    [RULE_DISK_VERY_LOW] = {"disk-very-low", RULES_CRITICAL, 60, 60, rules_disk, -1,
                            "less than 2 % of it, or less than 256 MiB, is free",
                            "Make room now: a member whose disk is full stops."},
    [RULE_SNAPSHOT_OVERDUE] =
        {"snapshot-overdue", RULES_WARNING, 0, 60, rules_snapshot, -1,
         "a job has missed a snapshot: none was proven for longer than its schedule says, twice",
         "See 'fairlead etcd snapshot jobs' for what keeps it."},
    [RULE_DRILL_OVERDUE] = {"drill-overdue", RULES_WARNING, 0, 60, rules_drill, -1,
                            "the last drill of a job failed, or none has gone well in time",
                            "Run 'fairlead etcd drill' and read what it says."},
    [RULE_RECORD_GAP] =
        {"record-gap", RULES_WARNING, 60, 0, rules_record_gap, -1,
         "changes are missing between the newest proven snapshot of this node and what it records, "
         "or it has no snapshot",
         "Until there is a snapshot behind the gap, nothing that is recorded now can be restored. "
         "Take one ('fairlead etcd snapshot save'); 'fairlead etcd snapshot jobs' says what keeps "
         "the jobs from it."},
    [RULE_RECORD_BEHIND] =
        {"record-behind", RULES_WARNING, 30, 30, rules_record_behind, RULE_RECORD_FAR_BEHIND,
         "what is recorded ends more than a minute ago",
         "See 'fairlead etcd record status' for what keeps it: the disk, or etcd."},
    [RULE_RECORD_FAR_BEHIND] =
        {"record-far-behind", RULES_CRITICAL, 30, 30, rules_record_behind, -1,
         "the same, more than four minutes ago",
         "Make it record now: kube-apiserver has compacted what is older than five to ten minutes, "
         "and what is not recorded by then is lost to the record. 'fairlead etcd record status' "
         "says what keeps it."},
    [RULE_RECORD_TARGET_BEHIND] =
        {"record-target-behind", RULES_WARNING, 30, 30, rules_record_target, -1,
         "a target lacks what was recorded longer ago than three times `uploadEvery` and 30 s",
         "See 'fairlead etcd record status' for what keeps the upload. What the target lacks is "
         "lost if all nodes are."},
};

const char *rules_severity_name(enum rules_severity severity)
{
	switch (severity) {
	case RULES_WARNING:
		return "warning";
	case RULES_CRITICAL:
		return "critical";
	}
	return "unknown";
}

enum rules_id rules_find(const char *id)
{
	for (size_t i = 0; i < RULES_N; i++) {
		if (strcmp(rules[i].id, id) == 0)
			return (enum rules_id) i;
	}
	return RULES_N;
}

void rules_look(const struct observation *o, const struct trend *trend, struct rules_hits *ret)
{
	struct rules_asked asked = {.o = o, .trend = trend, .hits = ret};

	ret->n = 0;
	for (size_t i = 0; i < RULES_N; i++) {
		asked.rule = (enum rules_id) i;
		rules[i].look(&asked);
	}
}

/* --- for the looks --- */

static struct rules_hit *add(const struct rules_asked *a, uint64_t subject, const char *name)
{
	struct rules_hit *hit;

	if (a->hits->n == RULES_HITS_MAX)
		return NULL;
	hit = &a->hits->items[a->hits->n++];
	hit->rule = a->rule;
	hit->subject = subject;
	(void) snprintf(hit->name, sizeof(hit->name), "%s", name);
	hit->unknown = false;
	hit->sentence[0] = '\0';
	return hit;
}

/* FNV-1a. */
static uint64_t number_of(const char *name)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char) *name) * UINT64_C(1099511628211);
	return hash;
}

static void say(struct rules_hit *hit, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);
static void say(struct rules_hit *hit, const char *fmt, va_list ap)
{
	if (hit != NULL)
		(void) vsnprintf(hit->sentence, sizeof(hit->sentence), fmt, ap);
}

void rules_hit_cluster(const struct rules_asked *a, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(add(a, 0, ""), fmt, ap);
	va_end(ap);
}

void rules_hit_member(const struct rules_asked *a, const struct observation_member *m,
                      const char *fmt, ...)
{
	char name[VIEW_NAME_MAX];
	va_list ap;

	va_start(ap, fmt);
	say(add(a, m->id, rules_name(m, name)), fmt, ap);
	va_end(ap);
}

void rules_hit_name(const struct rules_asked *a, const char *name, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say(add(a, number_of(name), name), fmt, ap);
	va_end(ap);
}

void rules_unknown_cluster(const struct rules_asked *a)
{
	struct rules_hit *hit = add(a, 0, "");

	if (hit != NULL)
		hit->unknown = true;
}

void rules_unknown_member(const struct rules_asked *a, const struct observation_member *m)
{
	char name[VIEW_NAME_MAX];
	struct rules_hit *hit = add(a, m->id, rules_name(m, name));

	if (hit != NULL)
		hit->unknown = true;
}

void rules_unknown_name(const struct rules_asked *a, const char *name)
{
	struct rules_hit *hit = add(a, number_of(name), name);

	if (hit != NULL)
		hit->unknown = true;
}

const char *rules_name(const struct observation_member *m, char buf[static VIEW_NAME_MAX])
{
	if (m->name[0] != '\0')
		(void) snprintf(buf, VIEW_NAME_MAX, "%s", m->name);
	else
		(void) snprintf(buf, VIEW_NAME_MAX, "%llx", (unsigned long long) m->id);
	return buf;
}

bool rules_answers(const struct observation_member *m)
{
	return m->answer == OBSERVED_GOOD;
}

size_t rules_count_voters(const struct observation *o)
{
	size_t n = 0;

	for (size_t i = 0; i < o->n_members; i++)
		n += o->members[i].listed && !o->members[i].learner ? 1 : 0;
	return n;
}
