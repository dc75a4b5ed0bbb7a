/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The token by which Hetzner Cloud's API knows the project. It is in no log and no report.
 */

#include "vipd/config.h"
#include "vipd/hcloud_plan.h"

/* Reads it anew. 0 and the token, for hcloud_token_free(); or -errno and a sentence. */
int hcloud_token_read(const struct config_hcloud *config, char ret_text[static HCLOUD_TEXT_MAX],
                      char **ret_token);
/* Leaves none of it in memory. NULL is fine. */
void hcloud_token_free(char *token);
