/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Answers `etcd members` on the control socket: etcd's members, for programs that have no access to
 * etcd and want to know where the control plane is. Each question is passed on to etcd, which
 * answers without a leader.
 */

#include "base/cleanup.h"
#include "base/control.h"
#include "etcd/etcd.h"

struct memberquery;

/* etcd is borrowed until memberquery_free(). */
struct memberquery *memberquery_new(struct etcd *etcd);
void memberquery_free(struct memberquery *query); /* open questions are not answered any more */
DEFINE_AUTO(struct memberquery, memberquery_free);

/* Ends the request, later. */
void memberquery_answer(struct memberquery *query, struct control_request *request);
