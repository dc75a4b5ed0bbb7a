/* SPDX-License-Identifier: Apache-2.0 */
/* Nobody waits for a name server: a host that is asked for the first time has no address yet, and
 * gives its page in one of the rounds that follow. */
#include "etcdwatch/health/pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/conf_check.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/resolve.h"
#include "web/http.h"

/* etcd 3.5 has some 100 KiB; each watch and lease may add to it. */
#define PAGE_MAX_BYTES (512 * 1024)

struct pages {
	const struct etcdconf *config;
	struct http *http;
	struct hostnames *names;
	LIST_HEAD(, asked) under_way;
};

struct asked {
	LIST_ENTRY(asked) entry;
	struct pages *pages;
	char *host; /* NULL: it is an address */
	struct page *page;
	pages_done_fn done;
	void *userdata;
	struct http_req *request;
};

static void asked_free(struct asked *a)
{
	LIST_REMOVE(a, entry);
	free(a->host);
	free(a);
}

/* Between the request and the answer's header it read its clock, which was then in the second that
 * it told. */
static void look_at_clock(struct page *page, const struct http_response *response)
{
	int64_t told_us = response->peer.date_s * US_PER_S;

	if (response->peer.date_s == 0)
		return;
	page->clock_known = true;
	page->ahead_least_us = told_us - response->peer.date_seen_us;
	page->ahead_most_us = told_us + US_PER_S - (response->peer.date_seen_us - response->request_us);
}

static void answered_cb(const struct http_response *response, void *userdata)
{
	struct asked *a = userdata;
	pages_done_fn done = a->done;
	void *whose = a->userdata;

	a->page->not_after_s = response->peer.not_after_s;
	if (response->failure == HTTP_OK) {
		look_at_clock(a->page, response);
		if (response->status == 200)
			a->page->known =
			    pagefigures_read(response->body, response->body_len, &a->page->figures);
	} else if (a->host != NULL) {
		hostnames_failed(a->pages->names, a->host);
	}
	asked_free(a);
	done(whose);
}

int pages_ask(struct pages *p, const char *url, struct page *ret_page, pages_done_fn done,
              void *userdata)
{
	AUTO(free) char *whole = xasprintf("%s/metrics", url);
	struct http_request request = {
	    .url = whole,
	    .ca_file = p->config->ca_file,
	    .client_cert_file = p->config->cert_file,
	    .client_key_file = p->config->key_file,
	    .tell_peer = true,
	    .timeout_ms = (unsigned) (p->config->call_timeout_us / US_PER_MS),
	    .max_body_bytes = PAGE_MAX_BYTES,
	};
	struct conf_url parsed;
	struct asked *a;
	int r;

	if (conf_parse_url(url, &parsed) != NULL)
		return -EINVAL;
	if (!parsed.is_address && !hostnames_find(p->names, parsed.host, &request.connect_to))
		return -EAGAIN;
	a = NEW0(struct asked);
	LIST_INSERT_HEAD(&p->under_way, a, entry);
	a->pages = p;
	a->host = parsed.is_address ? NULL : xstrdup(parsed.host);
	a->page = ret_page;
	a->done = done;
	a->userdata = userdata;
	*ret_page = (struct page){0};
	r = http_send(p->http, &request, answered_cb, a, &a->request);
	if (r < 0)
		asked_free(a);
	return r;
}

int pages_new(struct ev_loop *ev, const struct etcdconf *config, struct pages **ret_pages)
{
	AUTO(pages_free) struct pages *p = NEW0(struct pages);
	int r = http_new(ev, &p->http);

	if (r < 0)
		return r;
	LIST_INIT(&p->under_way);
	p->config = config;
	p->names = hostnames_new(ev);
	*ret_pages = TAKE_PTR(p);
	return 0;
}

void pages_free(struct pages *p)
{
	if (p == NULL)
		return;
	http_free(p->http);
	while (!LIST_EMPTY(&p->under_way))
		asked_free(LIST_FIRST(&p->under_way));
	hostnames_free(p->names);
	free(p);
}

/* --- hostnames --- */

/* One look at a time (base/resolve.h); what it has found goes to the host that it was for. */

struct addrs {
	struct addr items[RESOLVE_ADDRS_MAX];
	size_t n;
};

struct known {
	char host[CONF_DNS_NAME_MAX + 1];
	struct addrs addrs; /* as last found; none: never */
	size_t at;          /* the one that is told */
	bool is_wanted;     /* to be resolved */
	int64_t asked_us;   /* when that was begun last; 0: never */
};

struct hostnames {
	struct ev_loop *ev;
	struct resolve *lookup; /* of `looked_up`, under way; NULL */
	size_t looked_up;
	struct known known[HOSTNAMES_MAX];
	size_t n;
};

static void begin_next(struct hostnames *h);

/* What cannot be resolved this time stays as it was. */
static void take(struct known *k, const struct addrs *found)
{
	if (found->n == 0)
		return;
	if (k->addrs.n != found->n || memcmp(k->addrs.items, found->items, sizeof(found->items)) != 0)
		k->at = 0;
	k->addrs = *found;
}

static void on_resolved(const struct resolve_result *result, void *userdata)
{
	struct hostnames *h = userdata;
	struct addrs found = {0};

	h->lookup = NULL;
	for (size_t i = 0; i < result->n; i++) {
		if (!addr_is_unspecified(&result->addrs[i]) && !addr_is_multicast(&result->addrs[i]))
			found.items[found.n++] = result->addrs[i];
	}
	take(&h->known[h->looked_up], &found);
	begin_next(h);
}

static void begin(struct hostnames *h, size_t i)
{
	struct known *k = &h->known[i];

	k->is_wanted = false;
	k->asked_us = mono_now_us();
	h->looked_up = i;
	if (resolve_start(h->ev, k->host, RESOLVE_ANY, on_resolved, h, &h->lookup) < 0)
		h->lookup = NULL;
}

static void begin_next(struct hostnames *h)
{
	for (size_t i = 0; i < h->n && h->lookup == NULL; i++) {
		if (h->known[i].is_wanted)
			begin(h, i);
	}
}

static struct known *find(struct hostnames *h, const char *host)
{
	for (size_t i = 0; i < h->n; i++) {
		if (strcmp(h->known[i].host, host) == 0)
			return &h->known[i];
	}
	return NULL;
}

bool hostnames_find(struct hostnames *h, const char *host, struct addr *ret_addr)
{
	struct known *k = find(h, host);

	if (k == NULL) {
		if (h->n == HOSTNAMES_MAX || strlen(host) > CONF_DNS_NAME_MAX)
			return false;
		k = &h->known[h->n++];
		(void) snprintf(k->host, sizeof(k->host), "%s", host);
	}
	if (k->asked_us == 0 || k->addrs.n == 0 || mono_now_us() - k->asked_us >= HOSTNAMES_AGAIN_US)
		k->is_wanted = true;
	begin_next(h);
	if (k->addrs.n == 0)
		return false;
	*ret_addr = k->addrs.items[k->at];
	return true;
}

void hostnames_failed(struct hostnames *h, const char *host)
{
	struct known *k = find(h, host);

	if (k != NULL && k->addrs.n > 0)
		k->at = (k->at + 1) % k->addrs.n;
}

struct hostnames *hostnames_new(struct ev_loop *ev)
{
	struct hostnames *h = NEW0(struct hostnames);

	h->ev = ev;
	return h;
}

void hostnames_free(struct hostnames *h)
{
	if (h == NULL)
		return;
	resolve_cancel(h->lookup);
	free(h);
}
