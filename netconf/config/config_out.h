/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the config_print*.c files share. Nobody else includes this. */

#include "netconf/config/config_priv.h"

/* "key: value"; nothing for NULL. The key brings its indentation. */
void out_string(FILE *out, const char *key, const char *value);
void out_strings(FILE *out, const char *indent, const char *key,
                 const struct conf_strings *strings);

/* config_print_link.c */
void out_link(FILE *out, const struct config *config, const struct config_link *link);
/* Those of the attributes that have a key in this style. */
void out_attributes(FILE *out, const char *indent, const struct link *link, unsigned attributes,
                    bool is_legacy);
/* Shared by both styles: how addresses and routes are written differs. */
void out_bond(FILE *out, const char *indent, const struct bond *bond, bool is_legacy);

/* config_print_legacy.c: what only the older style can say: a link that a deviceSelector chooses, a
 * bond of such ports, and `ignore`. */
bool out_is_legacy(const struct config_link *link);
void out_legacy(FILE *out, const struct config *config);
