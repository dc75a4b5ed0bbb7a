/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * etcdwatch as a whole: the etcd client, the jobs, the watchdog, the control socket, and their
 * beginning and end.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/service.h"
#include "etcdwatch/config/config.h"
#include "etcdwatch/drill/drill.h"
#include "etcdwatch/health/health.h"
#include "etcdwatch/job/job.h"
#include "etcdwatch/record/recorder.h"
#include "etcdwatch/recordstore/recordstore.h"
#include "etcdwatch/steer/env.h"

struct daemon;

/* Takes config, also when it fails; borrows service. 0, or -errno, which has been logged. */
int daemon_new(struct service *service, struct config *config, struct daemon **ret_daemon);
void daemon_free(struct daemon *daemon);
DEFINE_AUTO(struct daemon, daemon_free);

/* Gives up what is under way and ends the loop. */
void daemon_stop(struct daemon *daemon);

/* The same, to be executed again with the configuration as it is on disk then, if that is good:
 * daemon_wants_exec() is true then. */
void daemon_reload(struct daemon *daemon);
bool daemon_wants_exec(const struct daemon *daemon);

/* Writes what is true now; userdata is the daemon. */
void daemon_metrics(struct metrics *m, void *userdata);

/* For the commands. */
struct etcd *daemon_etcd(const struct daemon *daemon);
const struct cluster_env *daemon_cluster(const struct daemon *daemon);
size_t daemon_n_jobs(const struct daemon *daemon);
struct job *daemon_job(const struct daemon *daemon, size_t i);
struct drill *daemon_drill(const struct daemon *daemon, size_t i); /* NULL: that job has none */
const struct health *daemon_health(const struct daemon *daemon);
struct notify *daemon_notify(const struct daemon *daemon); /* NULL: nobody is told */
const char *daemon_node(const struct daemon *daemon);
const char *daemon_own_key(const struct daemon *daemon); /* public; NULL: it has none */
const struct conf_strings *daemon_trusted_keys(const struct daemon *daemon);
struct recorder *daemon_recorder(const struct daemon *daemon); /* NULL: nothing is recorded */
size_t daemon_n_recordstores(const struct daemon *daemon);
struct recordstore *daemon_recordstore(const struct daemon *daemon, size_t i);
