/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The beginnings of keys that have the most bytes, counted as entries go by, in memory that does
 * not grow with them. The most frequent by the rule of Misra and Gries, with weights, reduced by
 * the median: when there is no room for another beginning, as much is taken from each as the middle
 * one has, and those that have no more are forgotten. So what is told of one is never too much, and
 * too little by no more than usagetop_missing(), which is 0 until USAGETOP_PARTS_MAX have been
 * seen, and never more than 1/512 of all. Pure.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bolt/bytes.h"

#define USAGETOP_PARTS_MAX 1024
/* What is longer is cut. */
#define USAGETOP_PREFIX_MAX 128

struct usagetop;

struct usagetop_part {
	struct bytes prefix; /* the counter's, until something is added */
	uint64_t bytes;
};

/* Of as many components as usage.h has them. */
struct usagetop *usagetop_new(unsigned depth);
void usagetop_free(struct usagetop *top);
DEFINE_AUTO(struct usagetop, usagetop_free);

/* An entry of this key, of so many bytes. */
void usagetop_add(struct usagetop *top, struct bytes key, uint64_t n_bytes);

uint64_t usagetop_all(const struct usagetop *top); /* bytes of whatever was added */
uint64_t usagetop_missing(const struct usagetop *top);

/* The largest first, at most `max`; how many. */
size_t usagetop_largest(const struct usagetop *top, struct usagetop_part *ret_parts, size_t max);
