/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes the Prometheus text exposition format, version 0.0.4. Nothing is registered and nothing is
 * kept: a daemon walks its own state when somebody asks and writes what is true now, which cannot
 * drift from the state. Samples of one family stand together, as the format demands; names, labels
 * and values are escaped here. Units are in the name: _seconds, _bytes, _total.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct metrics;

enum metrics_type {
	METRICS_GAUGE,
	METRICS_COUNTER, /* the name ends in _total */
	METRICS_HISTOGRAM,
};

struct metrics_label {
	const char *name;
	const char *value;
};

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);
DEFINE_AUTO(struct metrics, metrics_free);

/*
 * Begins a family; the samples that follow belong to it. Behind the name, in braces, stand the
 * labels that its samples have: "fairlead_vipd_state{vip,state}". They are for docs/metrics.md,
 * which is made of these literals, and are checked where that is. Asserts that the name is legal
 * and new.
 */
void metrics_family(struct metrics *m, const char *declared, enum metrics_type type,
                    const char *help);

/* Of a gauge or a counter. labels may be NULL when n is 0. */
void metrics_sample(struct metrics *m, double value, const struct metrics_label *labels, size_t n);

/* What stands at a row's offset. */
enum metrics_member {
	METRICS_BOOL,
	METRICS_INT,
	METRICS_UNSIGNED,
	METRICS_U64,
	METRICS_I64,
	METRICS_SIZE,
	METRICS_US,   /* int64_t microseconds, written in seconds; INT64_MIN: no sample */
	METRICS_CODE, /* `value` says; NAN: no sample */
};

/* A family of one sample for each of many structs. A table ends with an empty row. */
struct metrics_row {
	const char *name, *help;
	enum metrics_member member;
	size_t offset;
	double (*value)(const void *from);
};

struct metrics_subject {
	const void *from;        /* the struct */
	struct metrics_label is; /* the label that its samples have; name NULL: they have none */
	struct metrics_label of; /* a second one */
};

/* A counter is what ends in _total. */
void metrics_table(struct metrics *m, const struct metrics_row *rows,
                   const struct metrics_subject *subjects, size_t n);

/*
 * One histogram: how many observations fell into each bucket, and what they add up to. bounds[0..n)
 * are the buckets' upper bounds, each above the one before it; counts[0..n] has one more, for what
 * lies above them all. Each observation is counted once: the text's cumulative buckets are made
 * here. No label may be called "le".
 */
void metrics_histogram(struct metrics *m, const double *bounds, const uint64_t *counts, size_t n,
                       double sum, const struct metrics_label *labels, size_t n_labels);

/* The text so far, NUL-terminated; borrowed until the next call. */
const char *metrics_text(const struct metrics *m, size_t *ret_len);
