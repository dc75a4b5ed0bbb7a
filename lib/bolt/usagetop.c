/* SPDX-License-Identifier: Apache-2.0 */
/* Parts lie in the order of their beginnings, so that one is found by halving. A reduction frees
 * half of them or more: what it costs is spread over as many that came in between. */
#include "bolt/usagetop.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bolt/usage.h"

struct part {
	uint64_t bytes;
	size_t len;
	uint8_t prefix[USAGETOP_PREFIX_MAX];
};

struct usagetop {
	unsigned depth;
	struct part *parts[USAGETOP_PARTS_MAX];
	size_t n;
	uint64_t all, missing;
};

struct usagetop *usagetop_new(unsigned depth)
{
	struct usagetop *top = NEW0(struct usagetop);

	top->depth = depth;
	return top;
}

void usagetop_free(struct usagetop *top)
{
	if (top == NULL)
		return;
	for (size_t i = 0; i < top->n; i++)
		free(top->parts[i]);
	free(top);
}

static struct bytes prefix_of(const struct part *part)
{
	return (struct bytes){.data = part->prefix, .len = part->len};
}

/* Where it is, or where it would have to be. */
static size_t find(const struct usagetop *top, struct bytes prefix)
{
	size_t low = 0, high = top->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (bytes_compare(prefix_of(top->parts[middle]), prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_counts(const void *a, const void *b)
{
	return COMPARE(*(const uint64_t *) a, *(const uint64_t *) b);
}

static uint64_t median(const struct usagetop *top)
{
	uint64_t counts[USAGETOP_PARTS_MAX];

	for (size_t i = 0; i < top->n; i++)
		counts[i] = top->parts[i]->bytes;
	qsort(counts, top->n, sizeof(counts[0]), compare_counts);
	return counts[top->n / 2];
}

/* At least half of them lose as much as the median, which bounds all that can ever be missing. */
static void reduce(struct usagetop *top)
{
	uint64_t less = median(top);
	size_t kept = 0;

	for (size_t i = 0; i < top->n; i++) {
		struct part *part = top->parts[i];

		if (part->bytes <= less) {
			free(part);
			continue;
		}
		part->bytes -= less;
		top->parts[kept++] = part;
	}
	top->n = kept;
	top->missing += less;
}

static void insert(struct usagetop *top, size_t at, struct bytes prefix, uint64_t n_bytes)
{
	struct part *part = NEW0(struct part);

	part->bytes = n_bytes;
	part->len = prefix.len;
	memcpy(part->prefix, prefix.data, prefix.len);
	memmove(&top->parts[at + 1], &top->parts[at], (top->n - at) * sizeof(top->parts[0]));
	top->parts[at] = part;
	top->n++;
}

void usagetop_add(struct usagetop *top, struct bytes key, uint64_t n_bytes)
{
	size_t len = usage_prefix_len(key, top->depth);
	struct bytes prefix = {.data = key.data, .len = MIN(len, (size_t) USAGETOP_PREFIX_MAX)};
	size_t at = find(top, prefix);

	top->all += n_bytes;
	if (at < top->n && bytes_compare(prefix_of(top->parts[at]), prefix) == 0) {
		top->parts[at]->bytes += n_bytes;
		return;
	}
	if (top->n == USAGETOP_PARTS_MAX) {
		reduce(top);
		at = find(top, prefix);
	}
	insert(top, at, prefix, n_bytes);
}

uint64_t usagetop_all(const struct usagetop *top)
{
	return top->all;
}

uint64_t usagetop_missing(const struct usagetop *top)
{
	return top->missing;
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *x = *(const struct part *const *) a;
	const struct part *y = *(const struct part *const *) b;

	if (x->bytes != y->bytes)
		return COMPARE(y->bytes, x->bytes);
	return bytes_compare(prefix_of(x), prefix_of(y));
}

size_t usagetop_largest(const struct usagetop *top, struct usagetop_part *ret_parts, size_t max)
{
	const struct part *parts[USAGETOP_PARTS_MAX];
	size_t n = MIN(top->n, max);

	for (size_t i = 0; i < top->n; i++)
		parts[i] = top->parts[i];
	qsort(parts, top->n, sizeof(parts[0]), compare_parts);
	for (size_t i = 0; i < n; i++)
		ret_parts[i] =
		    (struct usagetop_part){.prefix = prefix_of(parts[i]), .bytes = parts[i]->bytes};
	return n;
}
