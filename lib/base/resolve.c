/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A detached thread asks getaddrinfo(3) and ends. What it found is its own until it says `over`,
 * under the lock, and wakes the loop by ev_async. Whoever of the two lets go last frees it all, so
 * that nobody waits for a resolver that hangs.
 */
#include "base/resolve.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/endpoint.h"
#include "base/macro.h"
#include "base/mem.h"

/* getaddrinfo(3) with its modules is content with less than a tenth of this. */
#define STACK_BYTES (512 * 1024)

struct resolve {
	struct ev_loop *ev;
	ev_async over_async; /* the loop's, and started until it lets go */
	resolve_done_fn done;
	void *userdata;
	char *name;
	enum resolve_families families;
	struct resolve_result result; /* the thread's until it is over, then the loop's */
	pthread_mutex_t lock;
	bool over;    /* under the lock */
	bool dropped; /* under the lock: the loop wants no more of it */
};

static void resolve_free(struct resolve *q)
{
	(void) pthread_mutex_destroy(&q->lock);
	free(q->name);
	free(q);
}

static void look(const char *name, enum resolve_families families,
                 struct resolve_result *ret_result)
{
	const struct addrinfo hints = {.ai_flags = families == RESOLVE_OWN ? AI_ADDRCONFIG : 0,
	                               .ai_family = AF_UNSPEC,
	                               .ai_socktype = SOCK_STREAM};
	struct addrinfo *all = NULL;
	struct endpoint endpoint;
	int e;

	e = getaddrinfo(name, NULL, &hints, &all);
	for (const struct addrinfo *a = all; e == 0 && a != NULL; a = a->ai_next) {
		if (ret_result->n < RESOLVE_ADDRS_MAX && endpoint_from_sockaddr(a->ai_addr, &endpoint) == 0)
			ret_result->addrs[ret_result->n++] = endpoint.addr;
	}
	if (all != NULL)
		freeaddrinfo(all);
	if (ret_result->n == 0)
		(void) snprintf(ret_result->error, sizeof(ret_result->error), "%s",
		                gai_strerror(e != 0 ? e : EAI_NONAME));
}

static void *thread_main(void *arg)
{
	struct resolve *q = arg;
	bool dropped;

	look(q->name, q->families, &q->result);
	(void) pthread_mutex_lock(&q->lock);
	q->over = true;
	dropped = q->dropped;
	/* Under the lock, so that the loop is there. */
	if (!dropped)
		ev_async_send(q->ev, &q->over_async);
	(void) pthread_mutex_unlock(&q->lock);
	if (dropped)
		resolve_free(q);
	return NULL;
}

static void over_cb(struct ev_loop *ev, ev_async *w, int revents UNUSED)
{
	struct resolve *q = CONTAINER_OF(w, struct resolve, over_async);
	struct resolve_result result;
	resolve_done_fn done = q->done;
	void *userdata = q->userdata;
	bool over;

	(void) pthread_mutex_lock(&q->lock);
	over = q->over;
	(void) pthread_mutex_unlock(&q->lock);
	if (!over)
		return;
	ev_async_stop(ev, w);
	result = q->result;
	resolve_free(q);
	done(&result, userdata);
}

/* 0 or -errno. Signals are the loop's. */
static int start_thread(struct resolve *q)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, before;
	int e;

	(void) sigfillset(&all);
	(void) pthread_attr_init(&attr);
	(void) pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void) pthread_attr_setstacksize(&attr, STACK_BYTES);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	e = pthread_create(&thread, &attr, thread_main, q);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void) pthread_attr_destroy(&attr);
	return -e;
}

int resolve_start(struct ev_loop *ev, const char *name, enum resolve_families families,
                  resolve_done_fn done, void *userdata, struct resolve **ret_resolve)
{
	struct resolve *q = NEW0(struct resolve);
	int r;

	q->ev = ev;
	q->done = done;
	q->userdata = userdata;
	q->name = xstrdup(name);
	q->families = families;
	(void) pthread_mutex_init(&q->lock, NULL);
	ev_async_init(&q->over_async, over_cb);
	ev_async_start(ev, &q->over_async);
	r = start_thread(q);
	if (r < 0) {
		ev_async_stop(ev, &q->over_async);
		resolve_free(q);
		return r;
	}
	*ret_resolve = q;
	return 0;
}

void resolve_cancel(struct resolve *q)
{
	bool over;

	if (q == NULL)
		return;
	ev_async_stop(q->ev, &q->over_async);
	(void) pthread_mutex_lock(&q->lock);
	q->dropped = true;
	over = q->over;
	(void) pthread_mutex_unlock(&q->lock);
	if (over)
		resolve_free(q);
}
