/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A survey, and beside it what the watchdog alone wants to know of each endpoint. When the last
 * question is answered, or has failed, members are made of it. While nobody tells who the members
 * are, they are those that were known last; and while nobody ever did, the endpoints stand for
 * themselves. Of a learner, which is none of the client's endpoints, there is the page, asked for
 * where the list that was known last says that clients reach it.
 */
#include "etcdwatch/health/probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/cluster/survey.h"
#include "etcdwatch/health/pages.h"

/* No key has this name; what matters is that it is answered. */
#define READ_KEY "health"

#define EXTRAS_MAX (ETCD_ENDPOINTS_MAX + SURVEY_MEMBERS_MAX)

/* Of one endpoint, or a learner's URL. */
struct extra {
	struct probe *probe;
	char endpoint[SURVEY_URL_MAX];
	struct etcd_call *read;
	enum observed serializable;
	int64_t serializable_us;
	struct page page;
};

struct known {
	uint64_t id;
	char name[SURVEY_NAME_MAX];
	bool learner;
	char endpoint[SURVEY_URL_MAX]; /* by which it was asked last, or a learner's URL; "": none */
	int64_t quota_bytes;           /* as its last page or status had it; 0: not told */
};

struct probe {
	struct probe_options options;
	struct pages *pages;
	char *read_key;
	struct survey_request *survey_request;
	struct survey survey;
	struct extra extras[EXTRAS_MAX];
	size_t n_extras;
	unsigned n_open;
	struct known known[SURVEY_MEMBERS_MAX]; /* the members by the last list */
	size_t n_known;
	struct observation *o;
	probe_done_fn done;
	void *userdata;
};

/* --- from answers to members --- */

static const struct extra *find_extra(const struct probe *p, const char *endpoint)
{
	for (size_t i = 0; i < p->n_extras; i++) {
		if (strcmp(p->extras[i].endpoint, endpoint) == 0)
			return &p->extras[i];
	}
	return NULL;
}

/* FNV-1a. */
static uint64_t add_to_digest(uint64_t digest, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++)
		digest = (digest ^ bytes[i]) * UINT64_C(1099511628211);
	return digest;
}

/* The survey has sorted it. */
static uint64_t digest_of(const struct survey_list *list)
{
	uint64_t digest = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < list->n; i++) {
		const struct survey_listed *l = &list->members[i];

		digest = add_to_digest(digest, &l->id, sizeof(l->id));
		digest = add_to_digest(digest, l->name, strlen(l->name) + 1);
		digest = add_to_digest(digest, l->peer_urls, strlen(l->peer_urls) + 1);
		digest = add_to_digest(digest, &l->learner, sizeof(l->learner));
	}
	return digest;
}

/* Who may not read does not learn whether it would work. */
static enum observed observe(bool good, bool denied)
{
	if (denied)
		return OBSERVED_NOTHING;
	return good ? OBSERVED_GOOD : OBSERVED_BAD;
}

static void fill_status(struct observation_member *m, const struct survey_answer *a)
{
	(void) snprintf(m->endpoint, sizeof(m->endpoint), "%s", a->endpoint);
	m->latency_us = a->status_latency_us;
	m->cluster_id = a->cluster_id;
	m->revision = a->revision;
	(void) snprintf(m->version, sizeof(m->version), "%s", a->version);
	m->leader_id = a->leader_id;
	m->raft_term = a->raft_term;
	m->committed = a->raft_index;
	m->applied = a->raft_applied_index;
	m->db_bytes = a->db_bytes;
	m->in_use_bytes = a->in_use_bytes;
	m->quota_bytes = a->quota_bytes;
	m->linearizable = observe(a->serves, a->serve_denied);
	m->linearizable_us = a->latency_us;
	(void) snprintf(m->read_error, sizeof(m->read_error), "%s", a->serve_error);
	m->list_known = a->list.known;
	m->n_list = a->list.n;
	m->list_digest = digest_of(&a->list);
}

static void fill_page(struct observation_member *m, const struct page *page)
{
	m->page_known = page->known;
	m->page = page->figures;
	m->clock_known = page->clock_known;
	m->ahead_least_us = page->ahead_least_us;
	m->ahead_most_us = page->ahead_most_us;
	if (m->quota_bytes == 0 && page->known && page->figures.has_quota)
		m->quota_bytes = page->figures.quota_bytes;
}

/* Nothing else is asked of it, so whether it answers stays unknown. */
static void fill_learner(const struct probe *p, struct observation_member *m, const char *url)
{
	const struct extra *extra = find_extra(p, url);

	if (extra == NULL)
		return;
	m->not_after_s = extra->page.not_after_s;
	fill_page(m, &extra->page);
}

/* a NULL: it was not asked. */
static void fill_answer(const struct probe *p, struct observation_member *m,
                        const struct survey_answer *a)
{
	const struct extra *extra = a != NULL ? find_extra(p, a->endpoint) : NULL;

	if (a == NULL)
		return;
	/* With one that is over it does not answer. */
	if (extra != NULL)
		m->not_after_s = extra->page.not_after_s;
	m->answer = a->answers ? OBSERVED_GOOD : OBSERVED_BAD;
	m->denied = a->denied;
	if (!a->answers)
		(void) snprintf(m->error, sizeof(m->error), "%s", a->error);
	else
		fill_status(m, a);
	if (!a->answers || extra == NULL)
		return;
	m->serializable = extra->serializable;
	m->serializable_us = extra->serializable_us;
	fill_page(m, &extra->page);
}

static struct observation_member *add_member(struct observation *o, uint64_t id, const char *name)
{
	struct observation_member *m;

	if (o->n_members == ARRAY_SIZE(o->members))
		return NULL;
	m = &o->members[o->n_members++];
	*m = (struct observation_member){.id = id};
	(void) snprintf(m->name, sizeof(m->name), "%s", name);
	return m;
}

/* --- who they are --- */

static int64_t known_quota(const struct known *known, size_t n, uint64_t id)
{
	for (size_t i = 0; i < n; i++) {
		if (known[i].id == id)
			return known[i].quota_bytes;
	}
	return 0;
}

/* At which clients reach it, by any list that has it. */
static void first_url(const struct survey *survey, uint64_t id, char url[static SURVEY_URL_MAX])
{
	for (size_t i = 0; i < survey->n_answers; i++) {
		const struct survey_list *list = &survey->answers[i].list;

		for (size_t k = 0; k < list->n; k++) {
			const char *urls = list->members[k].client_urls;
			size_t len = strcspn(urls, ",");

			if (list->members[k].id != id || len == 0 || len >= SURVEY_URL_MAX)
				continue;
			(void) snprintf(url, SURVEY_URL_MAX, "%.*s", (int) len, urls);
			return;
		}
	}
}

static void fill_from_survey(struct probe *p)
{
	struct known before[SURVEY_MEMBERS_MAX];
	size_t n_before = p->n_known;

	memcpy(before, p->known, sizeof(before));
	p->n_known = 0;
	for (size_t i = 0; i < p->survey.n_members; i++) {
		const struct survey_member *s = &p->survey.members[i];
		struct observation_member *m = s->id != 0 ? add_member(p->o, s->id, s->name) : NULL;
		struct known *known = &p->known[p->n_known];

		/* An endpoint that is nobody's is no member. */
		if (m == NULL)
			continue;
		m->listed = s->listed;
		m->learner = s->learner;
		fill_answer(p, m, s->answer);
		if (!s->listed)
			continue;
		/* Before 3.6 only the page tells it. */
		if (m->quota_bytes == 0)
			m->quota_bytes = known_quota(before, n_before, s->id);
		*known = (struct known){.id = s->id, .learner = s->learner, .quota_bytes = m->quota_bytes};
		(void) snprintf(known->name, sizeof(known->name), "%s", s->name);
		if (s->answer != NULL)
			(void) snprintf(known->endpoint, sizeof(known->endpoint), "%s", s->answer->endpoint);
		else if (s->learner)
			first_url(&p->survey, s->id, known->endpoint);
		if (s->answer == NULL && s->learner)
			fill_learner(p, m, known->endpoint);
		p->n_known++;
	}
}

static const struct survey_answer *find_answer(const struct survey *survey,
                                               const struct known *known)
{
	const struct survey_answer *silent = NULL;

	for (size_t i = 0; i < survey->n_answers; i++) {
		const struct survey_answer *a = &survey->answers[i];

		if (a->answers && a->member_id == known->id)
			return a;
		if (!a->answers && strcmp(a->endpoint, known->endpoint) == 0)
			silent = a;
	}
	return silent;
}

static void fill_from_memory(struct probe *p)
{
	for (size_t i = 0; i < p->n_known; i++) {
		struct observation_member *m = add_member(p->o, p->known[i].id, p->known[i].name);

		if (m == NULL)
			return;
		m->listed = true;
		m->learner = p->known[i].learner;
		if (m->learner)
			fill_learner(p, m, p->known[i].endpoint);
		fill_answer(p, m, find_answer(&p->survey, &p->known[i]));
	}
}

static void fill_from_endpoints(struct probe *p)
{
	for (size_t i = 0; i < p->survey.n_answers; i++) {
		const struct survey_answer *a = &p->survey.answers[i];
		struct observation_member *m =
		    add_member(p->o, a->answers ? a->member_id : i + 1, a->endpoint);

		if (m == NULL)
			return;
		m->listed = true;
		fill_answer(p, m, a);
	}
}

static bool is_member(const struct observation *o, uint64_t id)
{
	for (size_t i = 0; i < o->n_members; i++) {
		if (o->members[i].id == id)
			return true;
	}
	return false;
}

static void fill_alarms(struct probe *p)
{
	p->o->alarms_known = p->o->other_no_space = p->o->other_corrupt = false;
	for (size_t i = 0; i < p->o->n_members; i++) {
		struct observation_member *m = &p->o->members[i];

		p->o->alarms_known |= m->answer == OBSERVED_GOOD;
		m->no_space = survey_has_alarm(&p->survey, m->id, ETCD_ALARM_NOSPACE);
		m->corrupt = survey_has_alarm(&p->survey, m->id, ETCD_ALARM_CORRUPT);
	}
	for (size_t i = 0; i < p->survey.n_alarms; i++) {
		const struct etcd_alarm *alarm = &p->survey.alarms[i];

		if (!is_member(p->o, alarm->member_id)) {
			p->o->other_no_space |= alarm->type == ETCD_ALARM_NOSPACE;
			p->o->other_corrupt |= alarm->type == ETCD_ALARM_CORRUPT;
		}
	}
}

/* Calls out: last act. */
static void close_question(struct probe *p)
{
	if (--p->n_open > 0)
		return;
	p->o->n_members = 0;
	p->o->list_known = p->survey.listed;
	if (p->survey.listed)
		fill_from_survey(p);
	else if (p->n_known > 0)
		fill_from_memory(p);
	else
		fill_from_endpoints(p);
	fill_alarms(p);
	p->done(p->userdata);
}

/* --- answers --- */

static void survey_cb(const struct survey *survey, void *userdata)
{
	struct probe *p = userdata;

	p->survey_request = NULL;
	p->survey = *survey;
	/* Its members point into it. */
	survey_merge(&p->survey);
	close_question(p);
}

static void read_cb(const struct etcd_outcome *outcome,
                    const struct etcd_range_result *result UNUSED, void *userdata)
{
	struct extra *e = userdata;

	e->read = NULL;
	e->serializable = observe(outcome->r == 0, outcome->r == -EACCES);
	e->serializable_us = outcome->received_us - outcome->sent_us;
	close_question(e->probe);
}

static void page_cb(void *userdata)
{
	struct extra *e = userdata;

	close_question(e->probe);
}

/* --- questions --- */

static void ask_page(struct extra *e)
{
	if (pages_ask(e->probe->pages, e->endpoint, &e->page, page_cb, e) == 0)
		e->probe->n_open++;
}

static struct extra *add_extra(struct probe *p, const char *endpoint)
{
	struct extra *e = &p->extras[p->n_extras++];

	*e = (struct extra){.probe = p};
	(void) snprintf(e->endpoint, sizeof(e->endpoint), "%s", endpoint);
	return e;
}

static void ask_extra(struct probe *p, const char *endpoint, bool with_pages)
{
	const struct etcd_range range = {
	    .key = ETCD_STR(p->read_key),
	    .limit = 1,
	    .keys_only = true,
	    .serializable = true,
	};
	struct extra *e = add_extra(p, endpoint);

	if (etcd_endpoint_range(p->options.etcd, endpoint, &range, 0, read_cb, e, &e->read) == 0)
		p->n_open++;
	if (with_pages)
		ask_page(e);
}

static void ask_learners(struct probe *p)
{
	for (size_t i = 0; i < p->n_known; i++) {
		const struct known *known = &p->known[i];

		if (known->learner && known->endpoint[0] != '\0' && find_extra(p, known->endpoint) == NULL)
			ask_page(add_extra(p, known->endpoint));
	}
}

void probe_start(struct probe *p, bool with_pages, struct observation *o, probe_done_fn done,
                 void *userdata)
{
	const char *const *endpoints;
	size_t n = etcd_endpoints(p->options.etcd, &endpoints);

	p->o = o;
	p->done = done;
	p->userdata = userdata;
	p->n_extras = 0;
	for (size_t i = 0; i < n; i++)
		ask_extra(p, endpoints[i], with_pages);
	if (with_pages)
		ask_learners(p);
	p->survey_request = survey_start_light(p->options.etcd, survey_cb, p);
	p->n_open++;
}

int probe_new(const struct probe_options *options, struct probe **ret_probe)
{
	AUTO(probe_free) struct probe *p = NEW0(struct probe);
	int r;

	p->options = *options;
	p->read_key = xasprintf("%s" READ_KEY, options->config->prefix);
	r = pages_new(options->ev, options->config, &p->pages);
	if (r < 0)
		return r;
	*ret_probe = TAKE_PTR(p);
	return 0;
}

void probe_free(struct probe *p)
{
	if (p == NULL)
		return;
	survey_cancel(p->survey_request);
	for (size_t i = 0; i < p->n_extras; i++)
		etcd_call_cancel(p->extras[i].read);
	pages_free(p->pages);
	free(p->read_key);
	free(p);
}
