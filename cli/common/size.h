/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#define SIZE_TEXT_MAX 32

/* "1.5 GB": powers of 1000, as etcd's own tools count. Returns text. */
const char *size_text(int64_t bytes, char text[static SIZE_TEXT_MAX]);
