/* SPDX-License-Identifier: Apache-2.0 */
/* A list in the order of the names. */
#include "netconf/kernel/numbers.h"

#include <linux/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

struct number {
	char name[IFNAMSIZ];
	int ifindex;
};

struct numbers {
	struct number *items;
	size_t n, cap;
};

struct numbers *numbers_new(void)
{
	return NEW0(struct numbers);
}

void numbers_free(struct numbers *numbers)
{
	if (numbers == NULL)
		return;
	free(numbers->items);
	free(numbers);
}

/* Of the first that is not before it. */
static size_t place_of(const struct numbers *numbers, const char *name)
{
	size_t low = 0, high = numbers->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(numbers->items[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int numbers_find(const struct numbers *numbers, const char *name)
{
	size_t i = place_of(numbers, name);

	return i < numbers->n && strcmp(numbers->items[i].name, name) == 0 ? numbers->items[i].ifindex
	                                                                   : 0;
}

void numbers_add(struct numbers *numbers, const char *name, int ifindex)
{
	size_t i = place_of(numbers, name);

	if (numbers->n == numbers->cap) {
		numbers->cap = MAX(numbers->cap * 2, (size_t) 16);
		numbers->items = xreallocarray(numbers->items, numbers->cap, sizeof(*numbers->items));
	}
	memmove(&numbers->items[i + 1], &numbers->items[i], (numbers->n - i) * sizeof(*numbers->items));
	numbers->n++;
	numbers->items[i] = (struct number){.ifindex = ifindex};
	(void) snprintf(numbers->items[i].name, IFNAMSIZ, "%s", name);
}

void numbers_forget(struct numbers *numbers)
{
	numbers->n = 0;
}
