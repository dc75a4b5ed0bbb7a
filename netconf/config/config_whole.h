/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the two config_cross*.c files share: indices over the links of one reading. Nobody else
 * includes this.
 */

#include <sys/types.h>

#include "netconf/config/config_priv.h"

struct whole_name {
	const char *name;
	size_t link;
};

struct whole_port {
	const char *name;
	size_t master, item;
};

struct whole {
	struct config_reading *reading;
	struct config *config;
	struct whole_name *names; /* sorted; of links that have one */
	size_t n_names;
	struct whole_port *ports; /* sorted by name; of ports that have one */
	size_t n_ports;
};

/* The index of the link that is described under this name; -1: none. */
ssize_t whole_find_link(const struct whole *w, const char *name);
/* The link that names it as a port, or NULL. */
const struct config_link *whole_find_master(const struct whole *w, const char *name);

void whole_error(const struct whole *w, const struct place *place, const char *hint,
                 const char *fmt, ...) PRINTF_LIKE(4, 5);
void whole_note(const struct whole *w, const struct place *place, const char *hint,
                const char *what);

/* config_cross_route.c */
void whole_check_dhcp(const struct whole *w);
void whole_check_addresses(const struct whole *w);
void whole_check_routes(const struct whole *w);
