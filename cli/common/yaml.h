/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JSON as YAML: blocks for what has something in it, and every text in quotes, which YAML reads as
 * JSON does. */

#include <jansson.h>
#include <stdio.h>

/* One document, with the line that begins it. */
void yaml_print(FILE *out, json_t *value);
