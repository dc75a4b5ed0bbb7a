/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All questions to all endpoints at once; when the last is answered, or its time is over,
 * survey_merge() makes members of it. Endpoints are asked, not members: a node's own member may be
 * known by 127.0.0.1 alone.
 */
#include "etcdwatch/cluster/survey.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/cluster/doubt.h"
#include "etcdwatch/cluster/view.h"

enum question {
	ASK_STATUS,
	ASK_READ,
	ASK_LIST,
	QUESTIONS,
};

struct one {
	struct survey_request *request;
	struct survey_answer *answer;
	struct etcd_call *calls[QUESTIONS];
};

struct survey_request {
	struct survey survey;
	struct one ones[ETCD_ENDPOINTS_MAX];
	struct etcd_call *alarms;
	unsigned n_open;
	survey_fn fn;
	void *userdata;
};

/* Calls out: last act. */
static void finish(struct survey_request *r)
{
	survey_merge(&r->survey);
	r->fn(&r->survey, r->userdata);
	free(r);
}

static void close_question(struct survey_request *r, struct etcd_call **call)
{
	*call = NULL;
	if (--r->n_open == 0)
		finish(r);
}

/* --- answers --- */

/* False if it is none; then why not is in `error`. */
static bool is_answer(const struct etcd_outcome *outcome, char error[static SURVEY_TEXT_MAX])
{
	const char *text = outcome->text[0] != '\0' ? outcome->text : strerror(-outcome->r);
	AUTO(free) char *denied = outcome->r == -EACCES ? denied_text(text) : NULL;

	if (outcome->r == 0)
		return true;
	(void) snprintf(error, SURVEY_TEXT_MAX, "%s", denied != NULL ? denied : text);
	return false;
}

static void join(char *to, size_t size, const char *text, const char *between)
{
	size_t used = strlen(to);

	(void) snprintf(to + used, size - used, "%s%s", used > 0 ? between : "", text);
}

static void take_status(struct survey_answer *a, const struct etcd_status *s)
{
	(void) snprintf(a->version, sizeof(a->version), "%s", s->version);
	(void) snprintf(a->storage_version, sizeof(a->storage_version), "%s", s->storage_version);
	a->db_bytes = s->db_size_bytes;
	a->in_use_bytes = s->db_size_in_use_bytes;
	a->quota_bytes = s->db_size_quota_bytes;
	a->leader_id = s->leader;
	a->raft_index = s->raft_index;
	a->raft_applied_index = s->raft_applied_index;
	a->raft_term = s->raft_term;
	a->learner = s->learner;
	for (size_t i = 0; i < s->n_errors; i++)
		join(a->errors, sizeof(a->errors), s->errors[i], "; ");
}

static void status_cb(const struct etcd_outcome *outcome, const struct etcd_status *status,
                      void *userdata)
{
	struct one *one = userdata;
	struct survey_answer *a = one->answer;

	a->answers = is_answer(outcome, a->error);
	a->denied = outcome->r == -EACCES;
	if (a->answers) {
		a->member_id = outcome->member_id;
		a->cluster_id = outcome->cluster_id;
		a->status_latency_us = outcome->received_us - outcome->sent_us;
		take_status(a, status);
	}
	close_question(one->request, &one->calls[ASK_STATUS]);
}

static void read_cb(const struct etcd_outcome *outcome,
                    const struct etcd_range_result *result UNUSED, void *userdata)
{
	struct one *one = userdata;
	struct survey_answer *a = one->answer;

	a->serves = is_answer(outcome, a->serve_error);
	a->serve_denied = outcome->r == -EACCES;
	a->latency_us = outcome->received_us - outcome->sent_us;
	a->revision = outcome->revision;
	close_question(one->request, &one->calls[ASK_READ]);
}

static void take_listed(struct survey_listed *to, const struct etcd_member *from)
{
	to->id = from->id;
	to->learner = from->learner;
	(void) snprintf(to->name, sizeof(to->name), "%s", from->name);
	for (size_t i = 0; i < from->n_peer_urls; i++)
		join(to->peer_urls, sizeof(to->peer_urls), from->peer_urls[i], ",");
	for (size_t i = 0; i < from->n_client_urls; i++) {
		join(to->client_urls, sizeof(to->client_urls), from->client_urls[i], ",");
		to->local |= view_is_local_url(from->client_urls[i]);
	}
}

static void list_cb(const struct etcd_outcome *outcome, const struct etcd_member *members,
                    size_t n_members, void *userdata)
{
	struct one *one = userdata;
	struct survey_list *list = &one->answer->list;

	list->known = is_answer(outcome, list->error);
	for (size_t i = 0; i < n_members && list->n < SURVEY_MEMBERS_MAX; i++)
		take_listed(&list->members[list->n++], &members[i]);
	close_question(one->request, &one->calls[ASK_LIST]);
}

static void alarms_cb(const struct etcd_outcome *outcome, const struct etcd_alarm *alarms,
                      size_t n_alarms, void *userdata)
{
	struct survey_request *r = userdata;

	r->survey.alarms_known = outcome->r == 0;
	for (size_t i = 0; i < n_alarms && r->survey.n_alarms < SURVEY_ALARMS_MAX; i++)
		r->survey.alarms[r->survey.n_alarms++] = alarms[i];
	close_question(r, &r->alarms);
}

/* --- questions --- */

static void ask(struct survey_request *r, struct etcd *etcd, const char *endpoint)
{
	const struct etcd_range range = {.key = ETCD_STR(SURVEY_KEY), .count_only = true};
	struct one *one = &r->ones[r->survey.n_answers];
	struct survey_answer *a = &r->survey.answers[r->survey.n_answers++];

	one->request = r;
	one->answer = a;
	(void) snprintf(a->endpoint, sizeof(a->endpoint), "%s", endpoint);
	a->local = view_is_local_url(endpoint);
	if (etcd_endpoint_status(etcd, endpoint, status_cb, one, &one->calls[ASK_STATUS]) == 0)
		r->n_open++;
	if (etcd_endpoint_range(etcd, endpoint, &range, 0, read_cb, one, &one->calls[ASK_READ]) == 0)
		r->n_open++;
	if (etcd_endpoint_member_list(etcd, endpoint, false, 0, list_cb, one, &one->calls[ASK_LIST]) ==
	    0)
		r->n_open++;
}

struct survey_request *survey_start_light(struct etcd *etcd, survey_fn fn, void *userdata)
{
	struct survey_request *r = NEW0(struct survey_request);
	const char *const *endpoints;
	size_t n = etcd_endpoints(etcd, &endpoints);

	r->fn = fn;
	r->userdata = userdata;
	for (size_t i = 0; i < n; i++)
		ask(r, etcd, endpoints[i]);
	return r;
}

struct survey_request *survey_start(struct etcd *etcd, survey_fn fn, void *userdata)
{
	struct survey_request *r = survey_start_light(etcd, fn, userdata);

	(void) etcd_alarm_list(etcd, alarms_cb, r, &r->alarms);
	r->n_open++;
	return r;
}

void survey_cancel(struct survey_request *r)
{
	if (r == NULL)
		return;
	etcd_call_cancel(r->alarms);
	for (size_t i = 0; i < r->survey.n_answers; i++) {
		for (size_t k = 0; k < QUESTIONS; k++)
			etcd_call_cancel(r->ones[i].calls[k]);
	}
	free(r);
}
