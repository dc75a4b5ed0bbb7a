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
