/* SPDX-License-Identifier: Apache-2.0 */
/* Who belongs to the cluster, by its own list, by each member's, and by the configuration. */
#include "etcdwatch/rules/rules_priv.h"

#include <string.h>

void rules_not_started(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!a->o->list_known)
			rules_unknown_member(a, m);
		else if (m->listed && m->name[0] == '\0')
			rules_hit_member(a, m, "member %s was added and has not been started",
			                 rules_name(m, name));
	}
}

void rules_learner(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!a->o->list_known)
			rules_unknown_member(a, m);
		else if (m->listed && m->learner)
			rules_hit_member(a, m, "%s is still a learner, and does not vote", rules_name(m, name));
	}
}

void rules_even(const struct rules_asked *a)
{
	size_t voters = rules_count_voters(a->o);

	if (!a->o->list_known)
		rules_unknown_cluster(a);
	else if (voters == 2)
		rules_hit_cluster(a, "there are two voting members: the loss of either stops the cluster");
	else if (voters > 0 && voters % 2 == 0)
		rules_hit_cluster(a, "there are %zu voting members, which bear the loss of %zu, as %zu do",
		                  voters, voters / 2 - 1, voters - 1);
}

void rules_versions(const struct rules_asked *a)
{
	const struct observation_member *first = NULL;
	bool silent = false;
	char name[VIEW_NAME_MAX], other[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		silent |= !rules_answers(m);
		if (!rules_answers(m) || m->version[0] == '\0')
			continue;
		if (first == NULL)
			first = m;
		if (strcmp(m->version, first->version) == 0)
			continue;
		rules_hit_cluster(a, "%s runs etcd %s, %s runs %s", rules_name(first, name), first->version,
		                  rules_name(m, other), m->version);
		return;
	}
	if (silent)
		rules_unknown_cluster(a);
}

/* Which of them most have; NULL: there is no most. */
static const struct observation_member *most_lists(const struct observation *o)
{
	for (size_t i = 0; i < o->n_members; i++) {
		size_t same = 0, n = 0;

		for (size_t k = 0; k < o->n_members; k++) {
			n += o->members[k].list_known ? 1 : 0;
			same +=
			    o->members[k].list_known && o->members[k].list_digest == o->members[i].list_digest
			        ? 1
			        : 0;
		}
		if (o->members[i].list_known && 2 * same > n)
			return &o->members[i];
	}
	return NULL;
}

void rules_lists(const struct rules_asked *a)
{
	const struct observation_member *most = most_lists(a->o);
	char name[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!m->list_known)
			rules_unknown_member(a, m);
		else if (most == NULL)
			rules_hit_member(a, m,
			                 "%s has another list of members than the others, and so has each",
			                 rules_name(m, name));
		else if (m->list_digest != most->list_digest && m->n_list != most->n_list)
			rules_hit_member(a, m, "%s knows %zu members, most others know %zu",
			                 rules_name(m, name), m->n_list, most->n_list);
		else if (m->list_digest != most->list_digest)
			rules_hit_member(a, m,
			                 "%s has other ids, names, peer URLs or learners in its list of "
			                 "members than most others",
			                 rules_name(m, name));
	}
}

void rules_cluster_ids(const struct rules_asked *a)
{
	const struct observation_member *first = NULL;
	char name[VIEW_NAME_MAX], other[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!rules_answers(m))
			continue;
		if (first == NULL)
			first = m;
		if (m->cluster_id == first->cluster_id)
			continue;
		rules_hit_cluster(a, "%s is in cluster %llx, %s is in cluster %llx",
		                  rules_name(first, name), (unsigned long long) first->cluster_id,
		                  rules_name(m, other), (unsigned long long) m->cluster_id);
		return;
	}
	if (first == NULL)
		rules_unknown_cluster(a);
}

void rules_unexpected(const struct rules_asked *a)
{
	for (size_t i = 0; i < a->o->n_members && a->o->n_expected > 0; i++) {
		const struct observation_member *m = &a->o->members[i];
		bool expected = false;

		/* One that was never started has no name yet. */
		if (!m->listed || m->name[0] == '\0')
			continue;
		for (size_t k = 0; k < a->o->n_expected; k++)
			expected |= strcmp(a->o->expected[k], m->name) == 0;
		if (expected)
			continue;
		if (a->o->list_known)
			rules_hit_member(a, m, "%s is a member and is not one of those configured", m->name);
		else
			rules_unknown_member(a, m);
	}
}

void rules_missing(const struct rules_asked *a)
{
	for (size_t k = 0; k < a->o->n_expected; k++) {
		const char *name = a->o->expected[k];
		bool there = false;

		for (size_t i = 0; i < a->o->n_members; i++)
			there |= a->o->members[i].listed && strcmp(name, a->o->members[i].name) == 0;
		if (there)
			continue;
		if (a->o->list_known)
			rules_hit_name(a, name, "%s is not a member of the cluster", name);
		else
			rules_unknown_name(a, name);
	}
}

void rules_stored_members(const struct rules_asked *a)
{
	if (a->o->members_differ != NULL)
		rules_hit_cluster(a,
		                  "the member list in the database differs from etcd's (snapshot %s): %s",
		                  a->o->members_differ_in, a->o->members_differ);
}

/* --- rules_quorum --- */

/*
 * Who is there, and whether they agree. A member's status is no proof of anything but itself: a
 * leader that was deposed while it stood still goes on to answer. What counts for the cluster is
 * what most of those that answer say, and whether a linearizable read goes through.
 */

/* As many entries as can be between two answers of one round, in a busy cluster. */
#define LAG_MAX 2000
#define ELECTIONS_MAX 3

void rules_no_leader(const struct rules_asked *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!rules_answers(m))
			continue;
		if (m->leader_id != 0)
			return;
		n++;
	}
	if (n == 0)
		rules_unknown_cluster(a);
	else
		rules_hit_cluster(
		    a, "the cluster has no leader: of its %zu members %zu answer, and none follows one",
		    a->o->n_members, n);
}

void rules_quorum_lost(const struct rules_asked *a)
{
	size_t voters = rules_count_voters(a->o), up = 0, perhaps = 0;
	size_t quorum = voters / 2 + 1;

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!m->listed || m->learner)
			continue;
		up += m->answer == OBSERVED_GOOD ? 1 : 0;
		perhaps += m->answer == OBSERVED_NOTHING ? 1 : 0;
	}
	if (voters == 0 || (up < quorum && up + perhaps >= quorum))
		rules_unknown_cluster(a);
	else if (up < quorum)
		rules_hit_cluster(a, "%zu of %zu voting members answer, a quorum is %zu", up, voters,
		                  quorum);
}

void rules_reads_fail(const struct rules_asked *a)
{
	const struct observation_member *bad = NULL;

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (m->linearizable == OBSERVED_GOOD)
			return;
		if (rules_answers(m) && m->linearizable == OBSERVED_BAD)
			bad = m;
	}
	if (bad == NULL)
		rules_unknown_cluster(a);
	else
		rules_hit_cluster(a, "no member can do a linearizable read: %s", bad->read_error);
}

void rules_member_down(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (m->answer == OBSERVED_NOTHING)
			rules_unknown_member(a, m);
		else if (m->answer == OBSERVED_BAD)
			rules_hit_member(a, m, m->denied ? "%s %s" : "%s does not answer: %s",
			                 rules_name(m, name), m->error);
	}
}

void rules_member_cut_off(const struct rules_asked *a)
{
	char name[VIEW_NAME_MAX];
	bool others = false;

	for (size_t i = 0; i < a->o->n_members; i++)
		others |= a->o->members[i].linearizable == OBSERVED_GOOD;
	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		/* Learners refuse them. */
		if (m->linearizable == OBSERVED_GOOD || m->learner)
			continue;
		if (!rules_answers(m) || !others || m->linearizable == OBSERVED_NOTHING)
			rules_unknown_member(a, m);
		else
			rules_hit_member(a, m, "%s answers, but has no part in the quorum: %s",
			                 rules_name(m, name), m->read_error);
	}
}

/* The leader and term of most; NULL: there is no most. */
static const struct observation_member *typical(const struct observation *o)
{
	for (size_t i = 0; i < o->n_members; i++) {
		const struct observation_member *m = &o->members[i];
		size_t same = 0, n = 0;

		for (size_t k = 0; k < o->n_members; k++) {
			const struct observation_member *other = &o->members[k];

			if (!rules_answers(other))
				continue;
			n++;
			same += other->leader_id == m->leader_id && other->raft_term == m->raft_term ? 1 : 0;
		}
		if (rules_answers(m) && m->leader_id != 0 && 2 * same > n)
			return m;
	}
	return NULL;
}

void rules_leaders_differ(const struct rules_asked *a)
{
	const struct observation_member *most = typical(a->o);
	char name[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!rules_answers(m) || most == NULL)
			rules_unknown_member(a, m);
		else if (m->leader_id == 0)
			rules_hit_member(a, m, "%s follows no leader, others do", rules_name(m, name));
		else if (m->leader_id != most->leader_id || m->raft_term != most->raft_term)
			rules_hit_member(a, m, "%s follows %llx in term %llu, most follow %llx in term %llu",
			                 rules_name(m, name), (unsigned long long) m->leader_id,
			                 (unsigned long long) m->raft_term,
			                 (unsigned long long) most->leader_id,
			                 (unsigned long long) most->raft_term);
	}
}

void rules_applied_lag(const struct rules_asked *a)
{
	const struct observation_member *most = typical(a->o);
	uint64_t committed = 0;
	char name[VIEW_NAME_MAX];

	for (size_t i = 0; i < a->o->n_members; i++) {
		if (most != NULL && rules_answers(&a->o->members[i]) &&
		    a->o->members[i].cluster_id == most->cluster_id)
			committed = MAX(committed, a->o->members[i].committed);
	}
	for (size_t i = 0; i < a->o->n_members; i++) {
		const struct observation_member *m = &a->o->members[i];

		if (!rules_answers(m) || most == NULL || m->cluster_id != most->cluster_id)
			rules_unknown_member(a, m);
		else if (m->applied + LAG_MAX < committed)
			rules_hit_member(a, m, "%s has applied %llu entries fewer than are committed",
			                 rules_name(m, name), (unsigned long long) (committed - m->applied));
	}
}

void rules_elections(const struct rules_asked *a)
{
	uint64_t n;

	if (!trend_elections(a->trend, &n))
		rules_unknown_cluster(a);
	else if (n > ELECTIONS_MAX)
		rules_hit_cluster(a, "%llu elections in the last 15 minutes", (unsigned long long) n);
}
