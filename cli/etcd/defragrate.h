/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How long a member will take to write its database anew. etcd tells nothing of how far it is; what
 * is known is how much there is to write, and once one member is done, what it took for as much.
 * Values, from what etcdwatch answers to `etcd defrag`; pure.
 */

#include <jansson.h>
#include <stdint.h>

#define DEFRAGRATE_NODE_MAX 64

/* Zeroed: none is done yet. */
struct defragrate {
	char node[DEFRAGRATE_NODE_MAX];
	double bytes_per_us;
};

/* A step that is done; one of another kind changes nothing. */
void defragrate_take(struct defragrate *rate, const json_t *done);

/* "defragment n1: 400 MB to write", to be freed; NULL: it is another step, or nobody knows. */
char *defragrate_what(const json_t *step);

/* What the step may take in all by that rate, in microseconds; 0: nobody can tell. */
int64_t defragrate_expect(const struct defragrate *rate, const json_t *step);
