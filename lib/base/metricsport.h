/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The metrics of a daemon on a port of this machine, for a scraper: GET and HEAD of /metrics, the
 * text that the control socket gives too. There is no TLS and nobody is asked who they are, so the
 * port is on a loopback address (nodeconf.h sees to that); every local user can reach it.
 *
 * Nothing that comes over it can hold up the daemon: METRICSPORT_CLIENTS_MAX connections at a time,
 * of which the oldest is closed when another comes; METRICSASK_BYTES_MAX bytes of a request;
 * METRICSPORT_DEADLINE_S from accepting to the end, whoever is slow; a new page every
 * METRICSPORT_PAGE_MS at most; and all of it behind whatever else the loop has to do.
 *
 * A port that cannot be opened is not fatal: it is logged, shown by `metrics` of the control
 * socket, and tried again every METRICSPORT_RETRY_S. The module decides that by itself, and so it
 * writes the log, too.
 */

#include <ev.h>
#include <jansson.h>

#include "base/cleanup.h"
#include "base/endpoint.h"
#include "base/metrics.h"

#define METRICSPORT_CLIENTS_MAX 8
#define METRICSPORT_DEADLINE_S 5
#define METRICSPORT_PAGE_MS 250
#define METRICSPORT_RETRY_S 5

struct metricsport;

/* Writes all that is true now. */
typedef void (*metricsport_fill_fn)(struct metrics *m, void *userdata);

/* It listens nowhere yet. */
struct metricsport *metricsport_new(struct ev_loop *ev, metricsport_fill_fn fill, void *userdata);
void metricsport_free(struct metricsport *port);

/* A socket that listens already, for the next metricsport_set() with its address. Takes fd. */
void metricsport_inherit(struct metricsport *port, int fd);

/* Listens there and no longer elsewhere; AF_UNSPEC: nowhere. The same again changes nothing. */
void metricsport_set(struct metricsport *port, const struct endpoint *at);

/* What listens, for a process that goes on with it; -1: nothing. Stays the port's. */
int metricsport_fd(const struct metricsport *port);

/* The answer to the command `metrics`: the page of this moment, and the port. The caller owns it.
 */
json_t *metricsport_answer(const struct metricsport *port);
