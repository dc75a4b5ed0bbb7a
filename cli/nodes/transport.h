/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The command line that runs fairlead on a node: ssh(1), a template of the operator ("--via"), or
 * this program for the node that it runs on. Pure, but for the folder of ssh's control sockets.
 */

#include <stdbool.h>
#include <stdint.h>

#include "cli/common/texts.h"

enum transport_kind {
	TRANSPORT_HERE,
	TRANSPORT_SSH,
	TRANSPORT_VIA,
};

struct transport {
	struct texts via;  /* the template's words; none: ssh */
	char *control_dir; /* owned; NULL: each command has a connection of its own */
};

/*
 * Whether ssh may be given this name. ssh_config(5) can put the name into a command for a shell
 * (ProxyCommand, Match exec), so only letters, digits and "._:%-" are let through, and "USER@"
 * before them where the operator typed it. No part may begin with '-'.
 */
bool transport_name_is_good(const char *name, bool is_typed);

/* "localhost", or the host name of this machine. */
bool transport_is_here(const char *name);

/* via: NULL: ssh. 0; or -EINVAL with a sentence in ret_error, to be freed. */
int transport_init(struct transport *transport, const char *via, char **ret_error);
void transport_fini(struct transport *transport);

enum transport_kind transport_kind(const struct transport *transport, const char *node);

/* The program and its arguments that run `fairlead WORDS...` on the node. Its first word is looked
 * up in PATH. */
void transport_command(const struct transport *transport, const char *node,
                       const struct texts *words, int64_t timeout_us, struct texts *ret);
