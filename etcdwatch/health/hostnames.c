/* SPDX-License-Identifier: Apache-2.0 */
/* One look at a time (base/resolve.h); what it has found goes to the host that it was for. */
#include "etcdwatch/health/hostnames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "base/resolve.h"

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
