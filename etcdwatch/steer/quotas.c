/* SPDX-License-Identifier: Apache-2.0 */
/* One page a member, all at once; one that does not come leaves its quota unknown. */
#include "etcdwatch/steer/quotas.h"

#include <stdlib.h>

#include "base/macro.h"
#include "base/mem.h"
#include "etcdwatch/rules/pagefigures.h"
#include "web/http.h"

#define TIMEOUT_MS 2000
#define PAGE_MAX_BYTES ((size_t) 1 << 20)

struct page {
	struct quotas *quotas;
	struct survey_answer *answer;
	struct http_req *request;
};

struct quotas {
	struct ev_loop *ev;
	struct http *http; /* NULL: it could not be made, and no page is asked for */
	struct survey survey;
	struct page pages[ETCD_ENDPOINTS_MAX];
	size_t n_open;
	ev_timer over; /* when there was nothing to ask */
	quotas_fn fn;
	void *userdata;
};

void quotas_free(struct quotas *q)
{
	if (q == NULL)
		return;
	ev_timer_stop(q->ev, &q->over);
	http_free(q->http);
	free(q);
}

/* Calls out: last act. Not inside a callback of the HTTP client, which is freed here. */
static void over_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct quotas *q = CONTAINER_OF(w, struct quotas, over);

	/* Members by pointers into answers: of the copy now. */
	survey_merge(&q->survey);
	q->fn(&q->survey, q->userdata);
	quotas_free(q);
}

static void page_cb(const struct http_response *response, void *userdata)
{
	struct page *page = userdata;
	struct pagefigures figures;

	if (response->failure == HTTP_OK && response->status == 200 &&
	    pagefigures_read(response->body, response->body_len, &figures) && figures.has_quota)
		page->answer->quota_bytes = figures.quota_bytes;
	if (--page->quotas->n_open == 0)
		ev_timer_start(page->quotas->ev, &page->quotas->over);
}

static void ask(struct quotas *q, const struct etcdconf *conf, struct survey_answer *answer,
                struct page *page)
{
	AUTO(free) char *url = xasprintf("%s/metrics", answer->endpoint);
	const struct http_request request = {
	    .url = url,
	    .ca_file = conf->ca_file,
	    .client_cert_file = conf->cert_file,
	    .client_key_file = conf->key_file,
	    .timeout_ms = TIMEOUT_MS,
	    .max_body_bytes = PAGE_MAX_BYTES,
	};

	*page = (struct page){.quotas = q, .answer = answer};
	if (http_send(q->http, &request, page_cb, page, &page->request) == 0)
		q->n_open++;
}

struct quotas *quotas_start(const struct cluster_env *env, const struct survey *survey,
                            quotas_fn fn, void *userdata)
{
	struct quotas *q = NEW0(struct quotas);

	q->ev = env->ev;
	q->survey = *survey;
	q->fn = fn;
	q->userdata = userdata;
	ev_init(&q->over, over_cb);
	if (http_new(env->ev, &q->http) < 0)
		q->http = NULL;
	for (size_t i = 0; i < q->survey.n_answers && q->http != NULL; i++) {
		struct survey_answer *a = &q->survey.answers[i];

		if (a->answers && a->quota_bytes <= 0)
			ask(q, env->conf, a, &q->pages[i]);
	}
	if (q->n_open == 0)
		ev_timer_start(env->ev, &q->over);
	return q;
}
