/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Where the API of Hetzner Cloud is dialled. A name is looked up in a thread (base/resolve.h), also
 * while nobody asks for it, so that a takeover need not wait for the name service; what it said
 * last is good until it says something else. One look at a time: a name service that hangs holds
 * up one thread and no more.
 */

#include <ev.h>
#include <stdbool.h>

#include "base/addr.h"
#include "vipd/config.h"
#include "vipd/hcloud_plan.h"

struct hcloud_host;

/* A look is over: there is an address, or hcloud_host_error(). Never from within a call. */
typedef void (*hcloud_host_looked_fn)(void *userdata);

/* Of an URL that the configuration has checked. userdata is borrowed until hcloud_host_free(). */
struct hcloud_host *hcloud_host_new(struct ev_loop *ev, const char *url,
                                    hcloud_host_looked_fn looked, void *userdata);
void hcloud_host_free(struct hcloud_host *host);

/* Looks the name up, unless that is under way. */
void hcloud_host_look(struct hcloud_host *host);

bool hcloud_host_is_known(const struct hcloud_host *host);
/* The address to dial; unset where the URL has one itself or none is known. */
struct addr hcloud_host_addr(const struct hcloud_host *host);
/* Nobody answers there: the next address, if there are several, from now on. */
void hcloud_host_no_answer(struct hcloud_host *host);

/* Of the last look; "" if it went well or there was none yet. Valid until the next. */
const char *hcloud_host_error(const struct hcloud_host *host);

/*
 * The token by which Hetzner Cloud's API knows the project. It is in no log and no report.
 */

/* Reads it anew. 0 and the token, for hcloud_token_free(); or -errno and a sentence. */
int hcloud_token_read(const struct config_hcloud *config, char ret_text[static HCLOUD_TEXT_MAX],
                      char **ret_token);
/* Leaves none of it in memory. NULL is fine. */
void hcloud_token_free(char *token);
