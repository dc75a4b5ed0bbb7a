/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The private key by which this node signs what it stores: signing.key in the state directory,
 * which is the first of $STATE_DIRECTORY (systemd.exec(5)), or /var/lib/fairlead/etcdwatch.
 */

#include "base/conf.h"
#include "base/control.h"
#include "etcdwatch/catalog/catalog.h"
#include "etcdwatch/daemon.h"

/* A file in the state directory, and the key there; to be freed. */
char *signing_state_path(const char *name);
char *signing_path(void);
/* The key that is there, or a new one; NULL, which is logged: snapshots are not signed. Also logs
 * that the configuration does not trust it. Blocking. */
struct signature_key *signing_start(const struct conf_strings *trusted);

/* Whom this node trusts: the configured keys, or else its own, which is borrowed from *own_key
 * (NULL: none). */
struct trust signing_trust(const struct conf_strings *trusted, const char *const *own_key);

/* `etcd snapshot key` */
void signing_command(struct control_request *request, int argc, const struct daemon *daemon);
