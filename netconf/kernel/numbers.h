/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Numbers of links that the kernel has just told, so that a row of steps need not ask for the same
 * ones again and again. A number outlives its link by nobody's: the kernel gives it to no other
 * soon, and a step that names one that is gone is refused as one that names no link. Pure.
 */

#include "base/cleanup.h"

struct numbers;

struct numbers *numbers_new(void);
void numbers_free(struct numbers *numbers);
DEFINE_AUTO(struct numbers, numbers_free);

/* 0: not known. */
int numbers_find(const struct numbers *numbers, const char *name);
/* The name is not known yet, and fits IFNAMSIZ. */
void numbers_add(struct numbers *numbers, const char *name, int ifindex);
/* Links come or go: none is known from now on. */
void numbers_forget(struct numbers *numbers);
