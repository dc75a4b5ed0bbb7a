/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The texts of the files in which a host's names, resolvers and time servers stand: what of them is
 * ours, what is others', and how they read with what is wanted. Pure. Texts that are returned are
 * the caller's to free.
 *
 * In a file that is shared (resolv.conf, hosts) ours is a block at its beginning, between two
 * marks. Others' lines stay behind it; those that would speak against the block are set aside: they
 * become comments that say what they were, and are put back with the block's end.
 * Sources: resolv.conf(5), hosts(5), resolved.conf(5), timesyncd.conf(5), chrony.conf(5).
 */

#include <stdbool.h>

#include "netconf/model/host.h"

/* What is others': the text without our block, set-aside lines put back. -EBADMSG: a mark has lost
 * its other; *ret_line is where. */
int hosttext_foreign(const char *text, char **ret_foreign, unsigned *ret_line);
/* Our block, without its marks; "" where there is none. Of a text that hosttext_foreign() takes. */
char *hosttext_block(const char *text);
/* Both together again; the foreign text itself for an empty block. */
char *hosttext_join(const char *block, const char *foreign);

/* What the block says; "" when nothing is asked for. */
char *hosttext_resolv_block(const struct host *want);
char *hosttext_hosts_block(const struct host *want);

/* A comment by which another program says that it wrote the text; NULL: there is none. */
char *hosttext_generator(const char *text);

/* Whole files of our own, for the drop-in directories; NULL when nothing is asked for. */
char *hosttext_resolved(const struct host *want);
char *hosttext_timesyncd(const struct host *want);
char *hosttext_chrony(const struct host *want);
bool hosttext_is_ours(const char *text); /* such a one */

/* The directory of which chrony.conf includes each *.conf; NULL: it includes none. */
char *hosttext_chrony_directory(const char *text);
