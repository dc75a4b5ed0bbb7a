/* SPDX-License-Identifier: Apache-2.0 */
/* One call to etcd for each open request; the control socket limits how many there are. */
#include "vipd/memberquery.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/jsonval.h"
#include "base/macro.h"
#include "base/mem.h"

struct question {
	struct control_request *request;
	struct etcd_call *call;
	LIST_ENTRY(question) entry;
};

struct memberquery {
	struct etcd *etcd;
	LIST_HEAD(, question) open;
};

static void question_free(struct question *q)
{
	LIST_REMOVE(q, entry);
	free(q);
}

static json_t *urls_json(const char *const *urls, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		(void) json_array_append_new(array, jsonval_text(urls[i]));
	return array;
}

static json_t *member_json(const struct etcd_member *m)
{
	char id[17];

	/* As etcdctl writes it; as a number it would not fit into what most readers of JSON have. */
	(void) snprintf(id, sizeof(id), "%llx", (unsigned long long) m->id);
	return json_pack("{s:s, s:o, s:o, s:o, s:b}", "id", id, "name", jsonval_text(m->name),
	                 "client_urls", urls_json(m->client_urls, m->n_client_urls), "peer_urls",
	                 urls_json(m->peer_urls, m->n_peer_urls), "learner", m->learner);
}

static void on_members(const struct etcd_outcome *outcome, const struct etcd_member *members,
                       size_t n_members, void *userdata)
{
	struct question *q = userdata;

	for (size_t i = 0; i < n_members; i++)
		control_reply(q->request, member_json(&members[i]));
	if (outcome->r < 0)
		control_fail(q->request, CONTROL_FAILED, "etcd: %s", outcome->text);
	else
		control_ok(q->request);
	question_free(q);
}

void memberquery_answer(struct memberquery *query, struct control_request *request)
{
	struct question *q = NEW0(struct question);

	q->request = request;
	LIST_INSERT_HEAD(&query->open, q, entry);
	(void) etcd_member_list(query->etcd, on_members, q, &q->call);
}

struct memberquery *memberquery_new(struct etcd *etcd)
{
	struct memberquery *query = NEW0(struct memberquery);

	query->etcd = etcd;
	LIST_INIT(&query->open);
	return query;
}

void memberquery_free(struct memberquery *query)
{
	if (query == NULL)
		return;
	while (!LIST_EMPTY(&query->open)) {
		struct question *q = LIST_FIRST(&query->open);

		etcd_call_cancel(q->call);
		question_free(q);
	}
	free(query);
}
