/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One-shot calls against scripted servers. Times are checked with room upwards only for a busy
 * machine, and hardly any downwards.
 */

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcd/etcd.h"
#include "etcdtest/server.h"
#include "etcdtest/sync.h"
#include "patient.h"
#include "turn.h"

#define SLACK_MS 120

static struct ev_loop *ev;
static struct server *servers[3];
static struct etcd *etcd;

static const struct server_rule silent = {.silent = true};
static const struct server_rule unavailable = {.code = GRPC_STATUS_UNAVAILABLE,
                                               .text = "etcdserver: server stopped"};
static const struct server_rule no_leader = {.code = GRPC_STATUS_UNAVAILABLE,
                                             .text = "etcdserver: no leader"};

/* Lets connections come up: their making is not what is measured. */
static inline UNUSED void connections_settle(void)
{
	int64_t stolen_before_us = stolen_us();

	(void) sync_run(ev, 80, NULL, 0);
	(void) sync_run(ev, (int) MIN(stolen_since_us(stolen_before_us), US_PER_S) / 1000, NULL, 0);
}

static inline UNUSED void connect_client(const char *const *urls, size_t n)
{
	struct etcd_options options = {.endpoints = urls, .n_endpoints = n};
	char error[ETCD_ERROR_TEXT_MAX];

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	connections_settle();
}

static inline UNUSED void begin(size_t n)
{
	const char *urls[3];

	for (size_t i = 0; i < n; i++) {
		servers[i] = server_new(ev, (unsigned) i, 0);
		urls[i] = server_url(servers[i]);
	}
	connect_client(urls, n);
}

static inline UNUSED void end(void)
{
	etcd_free(TAKE_PTR(etcd));
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++)
		server_free(TAKE_PTR(servers[i]));
}

static inline UNUSED int elapsed_ms(const struct answer *a)
{
	return (int) ((a->done_us - a->asked_us) / US_PER_MS);
}

static inline UNUSED int sent_after_ms(const struct answer *a)
{
	return (int) ((a->sent_us - a->asked_us) / US_PER_MS);
}

static inline UNUSED bool check_between(int got, int least, int most, int line)
{
	if (got >= least && got <= most)
		return true;
	(void) fprintf(stderr, "line %d: %d is not in %d..%d\n", line, got, least, most);
	check_failures++;
	return false;
}
#define CHECK_BETWEEN(got, least, most) check_between((got), (least), (most), __LINE__)
/* Of an answer; later by no more than the machine is to blame for. */
#define CHECK_TIME(which, a, least, most) \
	CHECK_BETWEEN(which(a), (least), (most) + (int) ((a)->stolen_us / US_PER_MS))

static inline UNUSED void prepare(void)
{
	ev = ev_default_loop(0);
}
