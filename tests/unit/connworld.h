/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * For tests of clients' connections, of one alone in parts by what the two sides do, and of all
 * together: each test in a process and a network of its own (patient.h). The upstreams are tried in
 * their order: one that is silent is left after 200 ms.
 */

#include "prism/conn.h"

#include <signal.h>

#include "tests/unit/netns.h"
#include "tests/unit/patient.h"
#include "tests/unit/relayworld.h"

#define REPLAY_MS 200
#define PLAIN "nothing that is TLS\n"

static struct ev_loop *ev;

static inline UNUSED void close_all(int a, int b)
{
	if (a >= 0)
		(void) close(a);
	if (b >= 0)
		(void) close(b);
}

/* A client whose upstream has answered. */
static inline UNUSED void relayed(struct world *w, const char *kinds, int *ret_client,
                                  int *ret_server)
{
	world_new(w, ev, kinds);
	*ret_client = world_client(w);
	world_say(*ret_client, HELLO, HELLO_BYTES);
	*ret_server = world_server(w, 0);
	expect_bytes(w, *ret_server, HELLO, HELLO_BYTES);
	world_say(*ret_server, "yes", 3);
	expect_bytes(w, *ret_client, "yes", 3);
}

static size_t n_fds;

static inline UNUSED void prepare(void)
{
	(void) netns_enter_new();
	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_loop_new(EVFLAG_AUTO);
	turn_once(ev);
	n_fds = sockets_count_fds();
}

static inline UNUSED void clean_up(void)
{
	CHECK_EQ_INT(sockets_count_fds(), n_fds);
	ev_loop_destroy(ev);
}

static inline UNUSED void conn_test(const patient_fn *tests, size_t n)
{
	patiently(&(struct patient){.prepare = prepare, .finish = clean_up}, 3, tests, n);
}
