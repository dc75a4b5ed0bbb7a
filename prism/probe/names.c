/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round looks all names up, one after another, and then says what there is. Only one look is
 * under way at a time, so that a resolver that hangs holds up one thread and no more.
 *
 * A name that cannot be resolved this time keeps the addresses that it had: a name server that
 * hiccups must not take upstreams away.
 */
#include "prism/probe/names.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/resolve.h"

struct names {
	struct search search;
	struct resolve *look; /* of name `at`; NULL between rounds */
	size_t at;
	char error[FOUND_ERROR_MAX]; /* of the last name of this round that failed; "": all are good */
	struct endpoints_list *last; /* the last good list of each name */
};

static void finish_round(struct names *n)
{
	struct endpoints_list list = {.n = 0};

	search_again(&n->search, n->error[0] != '\0');
	for (size_t i = 0; i < n->search.settings->n_names; i++) {
		for (size_t k = 0; k < n->last[i].n; k++)
			(void) endpoints_add(&list, &n->last[i].items[k]);
	}
	if (list.n > 0)
		n->search.found(&list, NULL, n->search.userdata);
	else
		n->search.found(NULL, n->error, n->search.userdata);
}

static void fail(struct names *n, const char *error)
{
	const char *name = n->search.settings->names[n->at].name;

	(void) snprintf(n->error, sizeof(n->error), "%.200s: %s", name, error);
	log_debug("name_unresolved", "name=\"%s\" err=\"%s\"", name, error);
}

static void take(struct names *n, const struct resolve_result *result)
{
	struct endpoints_list list = {.n = 0};

	for (size_t i = 0; i < result->n; i++) {
		struct endpoint endpoint = {.addr = result->addrs[i],
		                            .port = n->search.settings->names[n->at].port};

		if (!addr_is_unspecified(&endpoint.addr) && !addr_is_multicast(&endpoint.addr))
			(void) endpoints_add(&list, &endpoint);
	}
	if (list.n > 0)
		n->last[n->at] = list;
	else
		fail(n, result->n > 0 ? gai_strerror(EAI_NONAME) : result->error);
}

static void resolved_cb(const struct resolve_result *result, void *userdata);

/* Name `at`, or those behind it as long as there is no thread to be had. */
static void look(struct names *n)
{
	for (; n->at < n->search.settings->n_names; n->at++) {
		int r;

		r = resolve_start(n->search.ev, n->search.settings->names[n->at].name, RESOLVE_ANY,
		                  resolved_cb, n, &n->look);
		if (r == 0)
			return;
		fail(n, strerror(-r));
	}
	finish_round(n);
}

static void resolved_cb(const struct resolve_result *result, void *userdata)
{
	struct names *n = userdata;

	n->look = NULL;
	take(n, result);
	n->at++;
	look(n);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct names *n = CONTAINER_OF(w, struct names, search.timer);

	n->at = 0;
	n->error[0] = '\0';
	look(n);
}

struct names *names_new(struct ev_loop *ev, const struct settings *settings, int64_t interval_us,
                        found_fn found, void *userdata)
{
	struct names *n = NEW0(struct names);

	n->last = xcalloc(settings->n_names, sizeof(*n->last));
	search_begin(&n->search, ev, settings, interval_us, timer_cb, found, userdata);
	return n;
}

void names_free(struct names *n)
{
	if (n == NULL)
		return;
	resolve_cancel(n->look);
	search_end(&n->search);
	free(n->last);
	free(n);
}
