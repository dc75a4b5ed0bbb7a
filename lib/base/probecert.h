/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The client certificate with which this node's daemons ask API servers for /readyz, where those
 * refuse anonymous requests. `fairlead init --probe-certificate` writes it, etcdwatch watches its
 * end, and the probes of vipd and prism-probe use it (web/certificate.h). The key is readable by
 * prism's user and by root (vipd has CAP_DAC_READ_SEARCH).
 */

#define PROBECERT_DIRECTORY "/etc/fairlead/pki"
#define PROBECERT_CERT "probe.crt" /* in it */
#define PROBECERT_KEY "probe.key"
