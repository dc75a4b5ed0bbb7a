/* SPDX-License-Identifier: Apache-2.0 */
/* Counting voters: with n of them, n / 2 + 1 decide, and a learner counts for nothing. */
#include "etcdwatch/steer/quorumsafe.h"

#include <stdio.h>
#include <string.h>

#include "base/macro.h"

bool quorumsafe_is_healthy(const struct survey_member *member)
{
	return member->answer != NULL && member->answer->answers && member->answer->serves &&
	       !member->strays;
}

struct quorumsafe quorumsafe_count(const struct survey *survey)
{
	struct quorumsafe q = {0};

	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];

		if (m->learner || !m->listed)
			continue;
		q.n_voters++;
		q.n_healthy += quorumsafe_is_healthy(m);
	}
	return q;
}

size_t quorumsafe_majority(size_t n_voters)
{
	return n_voters / 2 + 1;
}

/* How many more may fail. */
static size_t spare(size_t n_voters, size_t n_healthy)
{
	return n_healthy - MIN(n_healthy, quorumsafe_majority(n_voters));
}

bool quorumsafe_may_go(const struct survey *survey, const struct survey_member *member,
                       char why[static QUORUMSAFE_TEXT_MAX])
{
	struct quorumsafe q = quorumsafe_count(survey);
	size_t n_left = q.n_voters - 1;
	size_t n_healthy_left = q.n_healthy - quorumsafe_is_healthy(member);

	why[0] = '\0';
	if (!member->listed) {
		(void) snprintf(why, QUORUMSAFE_TEXT_MAX,
		                "the cluster does not count it among its members");
		return false;
	}
	if (!survey->listed || q.n_healthy < quorumsafe_majority(q.n_voters)) {
		(void) snprintf(why, QUORUMSAFE_TEXT_MAX,
		                "the cluster has no majority now: %zu of %zu voters answer", q.n_healthy,
		                q.n_voters);
		return false;
	}
	if (member->learner)
		return true;
	if (n_left == 0) {
		(void) snprintf(why, QUORUMSAFE_TEXT_MAX, "it is the only voter: its data would be gone");
		return false;
	}
	if (n_healthy_left < quorumsafe_majority(n_left)) {
		(void) snprintf(
		    why, QUORUMSAFE_TEXT_MAX, "of the %zu voters that stay, %zu answer%s, and it takes %zu",
		    n_left, n_healthy_left, n_healthy_left == 1 ? "s" : "", quorumsafe_majority(n_left));
		return false;
	}
	if (spare(n_left, n_healthy_left) != spare(q.n_voters, q.n_healthy))
		(void) snprintf(why, QUORUMSAFE_TEXT_MAX,
		                "after that the cluster survives the loss of %zu member%s, now of %zu",
		                spare(n_left, n_healthy_left),
		                spare(n_left, n_healthy_left) == 1 ? "" : "s",
		                spare(q.n_voters, q.n_healthy));
	return true;
}

const struct survey_member *quorumsafe_successor(const struct survey *survey,
                                                 const struct survey_member *except)
{
	const struct survey_member *best = NULL;

	for (size_t i = 0; i < survey->n_members; i++) {
		const struct survey_member *m = &survey->members[i];

		if (m == except || m->learner || !m->listed || !quorumsafe_is_healthy(m) ||
		    survey_has_alarm(survey, m->id, ETCD_ALARM_CORRUPT))
			continue;
		if (best == NULL || m->answer->raft_applied_index > best->answer->raft_applied_index)
			best = m;
	}
	return best;
}
