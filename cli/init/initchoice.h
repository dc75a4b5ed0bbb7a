/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * From what was found and what was asked for to what is written: roles, links, VIPs; and the
 * configuration with comments that it comes to. Pure.
 */

#include <stdio.h>

#include "cli/init/initfacts.h"

#define INITCHOICE_VIPS_MAX 8

struct initwish {
	struct addr vips[INITCHOICE_VIPS_MAX];
	size_t n_vips;
	const char *link;    /* NULL: not given */
	enum init_role role; /* INIT_NO_ROLE: not given */
};

struct initchoice_vip {
	struct addr addr;
	const char *link; /* of the facts or the wish */
};

struct initchoice {
	enum init_role role;
	struct initchoice_vip vips[INITCHOICE_VIPS_MAX];
	size_t n_vips;
	const char *likely_link; /* where no VIP was given; NULL: no idea */
	struct texts errors;     /* if there are any, nothing can be written */
	struct texts notes;      /* what the operator should know or do */
};

/* now_s: seconds since 1970, for certificates. The choice borrows from the facts and the wish. */
void initchoice_make(const struct initfacts *facts, const struct initwish *wish, int64_t now_s,
                     struct initchoice *ret_choice);
void initchoice_fini(struct initchoice *choice);

/* "eth0 (10.0.0.11/24, fd00::11/64; default route)"; to be freed. */
char *initchoice_describe_link(const struct initfacts_link *link);

/* network: documents that say what it is; NULL: it stays with whatever makes it. */
void inittext_write(FILE *out, const struct initfacts *facts, const struct initwish *wish,
                    const struct initchoice *choice, const char *network);
