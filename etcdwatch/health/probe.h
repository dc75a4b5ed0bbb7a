/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rounds of questions to every member at once: all that a survey asks (cluster/survey.h), a
 * serializable read, and now and then its /metrics page. All of it only reads, and each question
 * has a deadline of its own, so that a member that hangs holds up nothing but its own answers.
 */

#include <ev.h>

#include "base/cleanup.h"
#include "etcd/etcd.h"
#include "etcd/etcdconf.h"
#include "etcdwatch/rules/observation.h"

struct probe;

struct probe_options {
	struct ev_loop *ev;
	struct etcd *etcd;
	const struct etcdconf *config; /* of the certificates, the prefix and the deadline */
};

/* Borrows what the options name, until probe_free(). 0 or -errno. */
int probe_new(const struct probe_options *options, struct probe **ret_probe);
void probe_free(struct probe *probe); /* what is under way is given up */
DEFINE_AUTO(struct probe, probe_free);

/* The members, list_known and alarms_known of `o` are filled in. */
typedef void (*probe_done_fn)(void *userdata);

/* One round; not while one is under way. `o` is borrowed until `done`, which is called once, never
 * from inside. */
void probe_start(struct probe *probe, bool with_pages, struct observation *o, probe_done_fn done,
                 void *userdata);
