/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The documents about names and time; nobody but the config_*.c files includes this. */

#include "netconf/config/config_priv.h"

/* --- config_host.c --- */

extern const struct conf_field config_hostname_fields[], config_resolver_fields[],
    config_static_host_fields[];
void config_read_hostname(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_resolver(struct conf *conf, const struct conf_node *document, void *userdata);
void config_read_static_host(struct conf *conf, const struct conf_node *document, void *userdata);
/* The same of machine.network; slots: struct config_reading. */
extern const struct conf_field config_extra_host_fields[];
void config_set_legacy_hostname(struct conf *, const struct conf_field *, const struct conf_node *,
                                void *slot);
void config_set_legacy_nameservers(struct conf *, const struct conf_field *,
                                   const struct conf_node *, void *slot);
void config_set_legacy_search(struct conf *, const struct conf_field *, const struct conf_node *,
                              void *slot);
void config_set_legacy_no_search(struct conf *, const struct conf_field *, const struct conf_node *,
                                 void *slot);
void config_set_extra_hosts(struct conf *, const struct conf_field *, const struct conf_node *,
                            void *slot);
void config_finish_host(struct config_reading *reading);

struct host *config_host_of(struct config_reading *reading);
/* A DNS name in either case. */
const char *config_check_dns_name(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                                  const char **ret_hint);
/* *document: where a thing has been said, other_style: the same of the other style; NULL: not yet.
 * True if it is new, and is noted; else reported. */
bool config_is_first(struct config_reading *reading, const struct conf_node *at,
                     const struct conf_node **document, const struct conf_node *other_style);

/* --- config_time.c --- */

extern const struct conf_field config_time_fields[];
void config_read_time(struct conf *conf, const struct conf_node *document, void *userdata);
/* The same of machine.time; slot: struct config_reading. */
extern const struct conf_field config_legacy_time_fields[];
void config_set_legacy_time(struct conf *, const struct conf_field *, const struct conf_node *,
                            void *slot);
