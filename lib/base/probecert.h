/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The client certificate with which this node's daemons ask API servers for /readyz, where those
 * refuse anonymous requests. `fairlead init --probe-certificate` writes it; the probes of vipd and
 * prism-probe read it for each request whose configuration names no other identity, so that it is
 * in use from the next probe on, and a renewed one as well. The key is readable by prism's user and
 * by root (vipd has CAP_DAC_READ_SEARCH).
 */

#include <stdbool.h>

#include "base/cleanup.h"

#define PROBECERT_DIRECTORY "/etc/fairlead/pki"
#define PROBECERT_CERT "probe.crt" /* in it */
#define PROBECERT_KEY "probe.key"

struct probecert {
	char *cert, *key; /* PEM, owned; both or none */
};

/* Both files; none where one is missing or this user may not read it. Waits for the disk. */
void probecert_read(const char *directory, struct probecert *ret_pair);
void probecert_fini(struct probecert *pair);
