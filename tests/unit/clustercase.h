/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A cluster in a line, for tables: "n1*@ n2 n3-". Behind a name: '*' it leads, '@' it is this
 * machine's, '-' it is silent, '~' it answers but not with a quorum, 'l' a learner, 'N' and 'C' its
 * alarms, '?' no endpoint leads to it, 'F' half of its 8 MB are free, '<' it lags a little, 'o' it
 * is an old version, '!' it strays from the others, '%' it is of another cluster. Ids count from 1,
 * and so does what they have applied.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "etcdwatch/cluster/survey.h"

static inline void clustercase_alarm(struct survey *s, uint64_t id, enum etcd_alarm_type type)
{
	s->alarms[s->n_alarms++] = (struct etcd_alarm){.member_id = id, .type = type};
}

static inline void clustercase_add(struct survey *s, const char *word, size_t len)
{
	size_t name_len = strcspn(word, "*@-~lNC?F<o!% ");
	struct survey_member *m = &s->members[s->n_members++];
	struct survey_answer *a = &s->answers[s->n_answers++];
	const char *flags = word + name_len;
	const char *end = word + len;

	*m = (struct survey_member){.id = s->n_members, .listed = true, .started = true, .answer = a};
	(void) snprintf(m->name, sizeof(m->name), "%.*s", (int) name_len, word);
	*a = (struct survey_answer){.answers = true,
	                            .serves = true,
	                            .member_id = m->id,
	                            .cluster_id = 1,
	                            .raft_applied_index = 1000 + m->id,
	                            .raft_index = 1000 + m->id,
	                            .revision = 50 + (int64_t) m->id,
	                            .db_bytes = 8000000,
	                            .in_use_bytes = 7500000};
	(void) snprintf(a->endpoint, sizeof(a->endpoint), "https://%.*s:2379", (int) name_len, word);
	(void) snprintf(a->version, sizeof(a->version), "3.5.30");
	for (; flags < end; flags++) {
		m->learner |= *flags == 'l';
		m->strays |= *flags == '!';
		a->cluster_id += *flags == '%';
		m->local |= *flags == '@';
		a->answers &= *flags != '-';
		a->serves &= *flags != '-' && *flags != '~' && *flags != 'l';
		if (*flags == '*')
			s->answers[0].leader_id = m->id; /* for all, below */
		if (*flags == '?')
			m->answer = NULL;
		if (*flags == 'F')
			a->in_use_bytes = 4000000;
		if (*flags == '<')
			a->raft_applied_index -= 200;
		if (*flags == 'o')
			(void) snprintf(a->version, sizeof(a->version), "3.4.23");
		if (*flags == 'N')
			clustercase_alarm(s, m->id, ETCD_ALARM_NOSPACE);
		if (*flags == 'C')
			clustercase_alarm(s, m->id, ETCD_ALARM_CORRUPT);
	}
	a->learner = m->learner;
}

static inline struct survey *clustercase(const char *text)
{
	struct survey *s = NEW0(struct survey);

	s->listed = true;
	s->alarms_known = true;
	s->cluster_id = 1;
	for (const char *p = text; *p != '\0'; p += strcspn(p, " "), p += strspn(p, " "))
		clustercase_add(s, p, strcspn(p, " "));
	for (size_t i = 1; i < s->n_answers; i++)
		s->answers[i].leader_id = s->answers[0].leader_id;
	return s;
}
