/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From the configuration to an etcd client. What the configuration names on disk, certificates and
 * the password, is read here; a check before a reload reads it as well, so that a running daemon is
 * not given up for files that its successor cannot use.
 */

#include <ev.h>

#include "base/conf.h"
#include "etcd/etcd.h"
#include "etcd/etcdconf.h"

/* 0, or -errno with an error that names the file. */
int connect_check(const struct etcdconf *config, conf_message_fn error);
/* answer_max_bytes: as in etcd_options. 0 or -errno, which has been logged. */
int connect_etcd(struct ev_loop *ev, const struct etcdconf *config, size_t answer_max_bytes,
                 struct etcd **ret_etcd);
