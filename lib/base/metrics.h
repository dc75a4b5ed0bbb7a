/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes the Prometheus text exposition format, version 0.0.4. Nothing is registered and nothing is
 * kept: a daemon walks its own state when somebody asks and writes what is true now, which cannot
 * drift from the state. Samples of one family stand together, as the format demands; names, labels
 * and values are escaped here. Units are in the name: _seconds, _bytes, _total.
 */

#include <stddef.h>

#include "base/cleanup.h"

struct metrics;

enum metrics_type {
	METRICS_GAUGE,
	METRICS_COUNTER, /* the name ends in _total */
};

struct metrics_label {
	const char *name;
	const char *value;
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
DEFINE_AUTO(struct metrics, metrics_free);

/* Begins a family; the samples that follow belong to it. Asserts that the name is legal and new. */
void metrics_family(struct metrics *m, const char *name, enum metrics_type type, const char *help);

/* labels may be NULL when n is 0. */
void metrics_sample(struct metrics *m, double value, const struct metrics_label *labels, size_t n);

/* The text so far, NUL-terminated; borrowed until the next call. */
const char *metrics_text(const struct metrics *m, size_t *ret_len);
