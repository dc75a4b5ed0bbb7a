/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * One look at the machine: the network that it has, and the one that a configuration wants on the
 * devices that are there at this moment, with what the leases of this moment add to it. What the
 * configuration says is never touched belongs to others from here on, in both.
 */

#include <net/if.h>

#include "netconf/config/config.h"
#include "netconf/kernel/kernel.h"
#include "netconf/model/model.h"
#include "netconf/owned/owned.h"
#include "netconf/config/resolve.h"

/* Links of hardware, or of others, that are wanted and not there: they may still come. */
struct look_missing {
	size_t n;
	size_t n_needed; /* of them: not a further port of a bond or bridge that has one */
};

struct look {
	struct model *have;
	struct resolution *resolution; /* its model is what is wanted */
	struct look_missing missing;
};

/* owned: what is ours without a mark; or NULL. runtime_dir: where leases are. config is borrowed
 * until look_fini(). 0 or -errno; kernel_error_text() says more. */
int look_take(struct kernel *kernel, const struct owned *owned, const char *runtime_dir,
              const struct config *config, struct look *ret_look);
void look_fini(struct look *look);

/* The links of which leases have a say, without those that are disputed, for plan_options.only_on;
 * the caller ends it. */
struct conf_strings look_dhcp_links(const struct look *look);

/*
 * The link whose address an operator's connection uses, or, without one (AF_UNSPEC), the link of
 * the best default route: what must not be cut. "" if there is neither. Pure.
 */
void look_management(const struct model *have, const struct addr *local,
                     char ret_link[static IFNAMSIZ]);
/* The address of this machine that SSH_CONNECTION (sshd's, ssh(1)) names; AF_UNSPEC: none. NULL is
 * fine. */
struct addr look_ssh_address(const char *ssh_connection);
