/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From the configuration to an etcd client. What the configuration names on disk, certificates and
 * the password, is read here; a check before a reload reads it as well, so that a running daemon is
 * not given up for files that its successor cannot use.
 */

#include <ev.h>

#include "etcd/etcd.h"
#include "etcd/etcdconf.h"

/* 0, or -errno with a sentence that names the file in ret_error. answer_max_bytes: as in
 * etcd_options. */
int connect_check(const struct etcdconf *config, char ret_error[static ETCD_ERROR_TEXT_MAX]);
int connect_etcd(struct ev_loop *ev, const struct etcdconf *config, size_t answer_max_bytes,
                 char ret_error[static ETCD_ERROR_TEXT_MAX], struct etcd **ret_etcd);
