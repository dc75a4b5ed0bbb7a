/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Certificates of the node: whether they are there, when they end, which addresses they name. */

#include "cli/init/initfacts.h"

/* Adds one to the facts; of the API server's (api_cert) also the addresses that it names. */
void initcertificate_look(const char *root, const char *path, struct initfacts *facts);
