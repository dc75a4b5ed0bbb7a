/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What steering needs of the daemon. Borrowed, all of it, for as long as the daemon lives. */

#include <ev.h>
#include <stdbool.h>

#include "etcd/etcd.h"
#include "etcd/etcdconf.h"

struct daemon;
struct health;
struct tally;

struct cluster_env {
	struct ev_loop *ev;
	struct etcd *etcd;
	const struct etcdconf *conf; /* for the certificates, and the prefix of our keys */
	const char *node_name;
	const char *instance; /* of this process */
	/* This process is at a snapshot. */
	bool (*takes_snapshot)(const struct daemon *daemon);
	const struct daemon *daemon;
	const struct health *health; /* what the watchdog knows */
	struct tally *tally;         /* counts what is done; or NULL */
};
