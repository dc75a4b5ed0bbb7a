/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lookup is one name and a detached thread, and belongs to whoever of the two lets go of it last,
 * so that nobody ever waits for a resolver. What it has found is told under its lock.
 */
#include "etcdwatch/health/hostnames.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/conf_check.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define ADDRS_MAX 8
/* getaddrinfo(3) with its modules is content with less than a tenth of this. */
#define STACK_BYTES (512 * 1024)

struct addrs {
	struct addr items[ADDRS_MAX];
	size_t n;
};

struct lookup {
	pthread_mutex_t lock;
	struct hostnames *names; /* under the lock; NULL: let go */
	bool is_over;            /* under the lock */
	char host[CONF_DNS_NAME_MAX + 1];
	struct addrs found; /* the thread's until it is over */
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
	ev_async over;
	struct lookup *lookup; /* under way; NULL */
	struct known known[HOSTNAMES_MAX];
	size_t n;
};

static void lookup_free(struct lookup *l)
{
	(void) pthread_mutex_destroy(&l->lock);
	free(l);
}

/* --- the thread --------------------------------------------------------------------------------
 */

static bool read_address(const struct sockaddr *sa, struct addr *ret)
{
	struct addr addr = {.family = sa->sa_family};

	if (sa->sa_family == AF_INET)
		memcpy(addr.bytes, &((const struct sockaddr_in *) (const void *) sa)->sin_addr, 4);
	else if (sa->sa_family == AF_INET6)
		memcpy(addr.bytes, &((const struct sockaddr_in6 *) (const void *) sa)->sin6_addr, 16);
	else
		return false;
	*ret = addr;
	return !addr_is_unspecified(&addr) && !addr_is_multicast(&addr);
}

static void resolve(struct lookup *l)
{
	static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *results = NULL;

	if (getaddrinfo(l->host, NULL, &hints, &results) != 0)
		return;
	for (const struct addrinfo *a = results; a != NULL && l->found.n < ADDRS_MAX; a = a->ai_next) {
		if (read_address(a->ai_addr, &l->found.items[l->found.n]))
			l->found.n++;
	}
	freeaddrinfo(results);
}

static void *lookup_thread(void *userdata)
{
	struct lookup *l = userdata;
	bool is_dropped;

	resolve(l);
	(void) pthread_mutex_lock(&l->lock);
	l->is_over = true;
	is_dropped = l->names == NULL;
	/* Under the lock, so that the loop is there. */
	if (!is_dropped)
		ev_async_send(l->names->ev, &l->names->over);
	(void) pthread_mutex_unlock(&l->lock);
	if (is_dropped)
		lookup_free(l);
	return NULL;
}

static int start_thread(struct lookup *l)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	(void) pthread_attr_init(&attr);
	(void) pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void) pthread_attr_setstacksize(&attr, STACK_BYTES);
	/* Every signal is the loop's. */
	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attr, lookup_thread, l);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void) pthread_attr_destroy(&attr);
	return -error;
}

/* --- the loop's side ---------------------------------------------------------------------------
 */

static void begin(struct hostnames *h, struct known *k)
{
	struct lookup *l = NEW0(struct lookup);

	(void) pthread_mutex_init(&l->lock, NULL);
	l->names = h;
	(void) snprintf(l->host, sizeof(l->host), "%s", k->host);
	k->is_wanted = false;
	k->asked_us = mono_now_us();
	if (start_thread(l) < 0)
		lookup_free(l);
	else
		h->lookup = l;
}

static void begin_next(struct hostnames *h)
{
	for (size_t i = 0; i < h->n && h->lookup == NULL; i++) {
		if (h->known[i].is_wanted)
			begin(h, &h->known[i]);
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

/* What cannot be resolved this time stays as it was. */
static void take(struct known *k, const struct addrs *found)
{
	if (found->n == 0)
		return;
	if (k->addrs.n != found->n || memcmp(k->addrs.items, found->items, sizeof(found->items)) != 0)
		k->at = 0;
	k->addrs = *found;
}

static void over_cb(struct ev_loop *ev UNUSED, ev_async *w, int revents UNUSED)
{
	struct hostnames *h = CONTAINER_OF(w, struct hostnames, over);
	struct lookup *l = h->lookup;
	struct known *k;
	bool is_over;

	if (l == NULL)
		return;
	(void) pthread_mutex_lock(&l->lock);
	is_over = l->is_over;
	(void) pthread_mutex_unlock(&l->lock);
	if (!is_over)
		return;
	h->lookup = NULL;
	k = find(h, l->host);
	if (k != NULL)
		take(k, &l->found);
	lookup_free(l);
	begin_next(h);
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
	ev_async_init(&h->over, over_cb);
	ev_async_start(ev, &h->over);
	return h;
}

void hostnames_free(struct hostnames *h)
{
	bool is_over = true;

	if (h == NULL)
		return;
	if (h->lookup != NULL) {
		(void) pthread_mutex_lock(&h->lookup->lock);
		is_over = h->lookup->is_over;
		h->lookup->names = NULL;
		(void) pthread_mutex_unlock(&h->lookup->lock);
	}
	if (h->lookup != NULL && is_over)
		lookup_free(h->lookup);
	ev_async_stop(h->ev, &h->over);
	free(h);
}
