/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A look is one round: a detached thread that resolves all names, one after another, and ends. The
 * round's results are its own until it is over; then it says so under the round's lock, and the
 * loop is woken by ev_async. Whoever of the two lets go last frees the round, so that names_free()
 * need not wait for a resolver that hangs.
 *
 * A name that cannot be resolved this time keeps the addresses that it had: a name server that
 * hiccups must not take upstreams away.
 */
#include "prism/probe/names.h"

#include <assert.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"

#define RETRY_US (5 * US_PER_S)
/* getaddrinfo(3) with its modules is content with less than a tenth of this. */
#define STACK_BYTES (512 * 1024)

/* What one name gave. */
struct answer {
	int error; /* of getaddrinfo(3); 0: the list is good */
	struct endpoints_list list;
};

struct round {
	pthread_mutex_t lock;
	struct names *names; /* under the lock; NULL: let go */
	bool over;           /* under the lock */
	size_t n;
	struct settings_name *questions;
	struct answer *answers; /* the thread's until it is over, then the loop's */
};

struct names {
	struct ev_loop *ev;
	const struct settings *settings;
	int64_t interval_us;
	found_fn found;
	void *userdata;
	ev_timer timer; /* stopped while a round runs */
	ev_async over;
	struct round *round;
	struct endpoints_list *last; /* the last good list of each name */
};

/* --- the round -------------------------------------------------------------------------------- */

static struct round *round_new(struct names *names)
{
	const struct settings *s = names->settings;
	struct round *round = NEW0(struct round);

	(void) pthread_mutex_init(&round->lock, NULL);
	round->names = names;
	round->n = s->n_names;
	round->questions = xcalloc(round->n, sizeof(*round->questions));
	round->answers = xcalloc(round->n, sizeof(*round->answers));
	for (size_t i = 0; i < round->n; i++)
		round->questions[i] = (struct settings_name){xstrdup(s->names[i].name), s->names[i].port};
	return round;
}

static void round_free(struct round *round)
{
	for (size_t i = 0; i < round->n; i++)
		free(round->questions[i].name);
	free(round->questions);
	free(round->answers);
	(void) pthread_mutex_destroy(&round->lock);
	free(round);
}

static void resolve(const struct settings_name *question, struct answer *answer)
{
	static const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *results = NULL;

	answer->error = getaddrinfo(question->name, NULL, &hints, &results);
	if (answer->error != 0)
		return;
	for (const struct addrinfo *a = results; a != NULL; a = a->ai_next) {
		struct endpoint endpoint;

		if (endpoint_from_sockaddr(a->ai_addr, &endpoint) < 0 ||
		    addr_is_unspecified(&endpoint.addr) || addr_is_multicast(&endpoint.addr))
			continue;
		endpoint.port = question->port;
		found_add(&answer->list, &endpoint);
	}
	freeaddrinfo(results);
	if (answer->list.n == 0)
		answer->error = EAI_NONAME;
}

static void *round_thread(void *arg)
{
	struct round *round = arg;
	bool dropped;

	for (size_t i = 0; i < round->n; i++)
		resolve(&round->questions[i], &round->answers[i]);
	(void) pthread_mutex_lock(&round->lock);
	round->over = true;
	dropped = round->names == NULL;
	/* Under the lock, so that the loop is there. */
	if (!dropped)
		ev_async_send(round->names->ev, &round->names->over);
	(void) pthread_mutex_unlock(&round->lock);
	if (dropped)
		round_free(round);
	return NULL;
}

/* From the loop: it wants no more of it. */
static void round_drop(struct round *round)
{
	bool over;

	if (round == NULL)
		return;
	(void) pthread_mutex_lock(&round->lock);
	round->names = NULL;
	over = round->over;
	(void) pthread_mutex_unlock(&round->lock);
	if (over)
		round_free(round);
}

/* From the loop. By the lock, which makes the thread's answers visible; waking the loop does not.
 */
static bool round_is_over(struct round *round)
{
	bool over;

	(void) pthread_mutex_lock(&round->lock);
	over = round->over;
	(void) pthread_mutex_unlock(&round->lock);
	return over;
}

/* 0 or -errno. Signals are the loop's. */
static int round_start(struct round *round)
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
	e = pthread_create(&thread, &attr, round_thread, round);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void) pthread_attr_destroy(&attr);
	return -e;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void wait_again(struct names *n, bool good)
{
	int64_t interval_us = good ? n->interval_us : MIN(n->interval_us, RETRY_US);

	ev_timer_set(&n->timer, mono_to_ev(found_jittered_us(interval_us)), 0.);
	ev_timer_start(n->ev, &n->timer);
}

/* Takes the answers over; true if all were good. The last bad one is described. */
static bool take_answers(struct names *n, const struct round *round, char error[FOUND_ERROR_MAX])
{
	bool good = true;

	for (size_t i = 0; i < round->n; i++) {
		const struct answer *a = &round->answers[i];

		if (a->error == 0) {
			n->last[i] = a->list;
			continue;
		}
		good = false;
		(void) snprintf(error, FOUND_ERROR_MAX, "%.200s: %s", round->questions[i].name,
		                gai_strerror(a->error));
		log_debug("name_unresolved", "name=\"%s\" err=\"%s\"", round->questions[i].name,
		          gai_strerror(a->error));
	}
	return good;
}

static void over_cb(struct ev_loop *ev UNUSED, ev_async *w, int revents UNUSED)
{
	struct names *n = CONTAINER_OF(w, struct names, over);
	struct endpoints_list list = {.n = 0};
	char error[FOUND_ERROR_MAX] = "";
	bool over = n->round != NULL && round_is_over(n->round);

	assert(over);
	wait_again(n, take_answers(n, n->round, error));
	round_drop(TAKE_PTR(n->round));
	for (size_t i = 0; i < n->settings->n_names; i++) {
		for (size_t k = 0; k < n->last[i].n; k++)
			found_add(&list, &n->last[i].items[k]);
	}
	if (list.n > 0)
		n->found(&list, NULL, n->userdata);
	else
		n->found(NULL, error, n->userdata);
}

static void timer_cb(struct ev_loop *ev UNUSED, ev_timer *w, int revents UNUSED)
{
	struct names *n = CONTAINER_OF(w, struct names, timer);
	int r;

	n->round = round_new(n);
	r = round_start(n->round);
	if (r == 0)
		return;
	round_free(TAKE_PTR(n->round));
	wait_again(n, false);
	n->found(NULL, strerror(-r), n->userdata);
}

struct names *names_new(struct ev_loop *ev, const struct settings *settings, int64_t interval_us,
                        found_fn found, void *userdata)
{
	struct names *n = NEW0(struct names);

	n->ev = ev;
	n->settings = settings;
	n->interval_us = interval_us;
	n->found = found;
	n->userdata = userdata;
	n->last = xcalloc(settings->n_names, sizeof(*n->last));
	ev_async_init(&n->over, over_cb);
	ev_async_start(ev, &n->over);
	ev_timer_init(&n->timer, timer_cb, 0., 0.);
	ev_timer_start(ev, &n->timer);
	return n;
}

void names_free(struct names *n)
{
	if (n == NULL)
		return;
	round_drop(n->round);
	ev_async_stop(n->ev, &n->over);
	ev_timer_stop(n->ev, &n->timer);
	free(n->last);
	free(n);
}
