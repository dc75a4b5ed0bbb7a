/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The addresses of hosts that are known by a name, for one who asks them again and again and never
 * waits: each is resolved by a thread of its own when it is asked for, one after the other, and
 * what was found last counts until there is something newer. A resolver may hang for as long as it
 * likes; then nothing new comes.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/addr.h"
#include "base/cleanup.h"

#define HOSTNAMES_MAX 32
/* A name is resolved anew when it is asked for so long after the last time. */
#define HOSTNAMES_AGAIN_US (60 * INT64_C(1000000))

struct hostnames;

struct hostnames *hostnames_new(struct ev_loop *ev);
/* Does not wait for the thread: what it still finds is dropped. NULL is fine. */
void hostnames_free(struct hostnames *names);
DEFINE_AUTO(struct hostnames, hostnames_free);

/* One that is not known yet will be, if it can be: false until then. */
bool hostnames_find(struct hostnames *names, const char *host, struct addr *ret_addr);
/* Nobody answered there: another of its addresses is told next, if it has more than one. */
void hostnames_failed(struct hostnames *names, const char *host);
