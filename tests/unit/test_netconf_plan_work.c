/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the work of planning grows with the network: for an address nobody walks the list of all of
 * them from end to end, nor for a depth of VLANs that is not there that of all links. (A link that
 * comes, goes or is opened is held against every other one.) Work is how often names and addresses
 * are compared, which the linker lets us count, so that no clock and no load has a say.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "check.h"
#include "plancase.h"

#define SMALL 100
/* Sorting and finding by halves do a little more than twice the work with twice the network, walks
 * for each object four times as much. */
#define GROWTH_MAX 2.5

static unsigned long comparisons;

int __real_strcmp(const char *a, const char *b);
int __wrap_strcmp(const char *a, const char *b);
bool __real_addr_equal(const struct addr *a, const struct addr *b);
bool __wrap_addr_equal(const struct addr *a, const struct addr *b);
bool __real_prefix_contains(const struct prefix *prefix, const struct addr *addr);
bool __wrap_prefix_contains(const struct prefix *prefix, const struct addr *addr);

int __wrap_strcmp(const char *a, const char *b)
{
	comparisons++;
	return __real_strcmp(a, b);
}

bool __wrap_addr_equal(const struct addr *a, const struct addr *b)
{
	comparisons++;
	return __real_addr_equal(a, b);
}

bool __wrap_prefix_contains(const struct prefix *prefix, const struct addr *addr)
{
	comparisons++;
	return __real_prefix_contains(prefix, addr);
}

/* --- networks of n links --- */

static void write_links(FILE *out, int n)
{
	(void) fprintf(out, "nic eth0 up\n");
	for (int i = 0; i < n; i++)
		(void) fprintf(out, "vlan v%d parent eth0 id %d up\n", i, i + 1);
}

/* Each with addresses of its own that differ in `last`. */
static void write_addresses(FILE *out, int n, int last)
{
	write_links(out, n);
	for (int i = 0; i < n; i++)
		(void) fprintf(out,
		               "address v%d 10.%d.%d.%d/24\naddress v%d 10.%d.%d.%d/24\n"
		               "address v%d fd00:%x::%x/64\n",
		               i, i / 250, i % 250, last, i, i / 250, i % 250, last + 1, i, i, last);
}

static void write_one(FILE *out, int n)
{
	write_addresses(out, n, 1);
}

static void write_other(FILE *out, int n)
{
	write_addresses(out, n, 11);
}

static struct model *make(void (*write)(FILE *, int), int n, struct model *(*read)(const char *) )
{
	AUTO(free) char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	write(out, n);
	(void) fclose(out);
	return read(text);
}

/* --- from one to the other --- */

struct change {
	const char *what;
	void (*from)(FILE *, int);
	void (*to)(FILE *, int);
};

static const struct change changes[] = {
    {"addresses are added", write_links, write_one},
    {"addresses are removed", write_one, write_links},
    {"addresses are replaced", write_one, write_other},
    {"nothing is to be done", write_one, write_one},
};

static unsigned long work_of(const struct change *change, int n)
{
	AUTO(model_free) struct model *have = make(change->from, n, plancase_have);
	AUTO(model_free) struct model *want = make(change->to, n, plancase_want);
	AUTO(plan_free) struct plan *plan = NULL;

	comparisons = 0;
	plan = plan_make(want, have, NULL);
	CHECK((plan->n_ops >= (size_t) n) == (change->from != change->to));
	return comparisons;
}

int main(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		unsigned long small = work_of(&changes[i], SMALL), large = work_of(&changes[i], 2 * SMALL);

		if (!CHECK((double) large < GROWTH_MAX * (double) small))
			(void) fprintf(stderr, "%s: %lu comparisons for %d links, %lu for %d\n",
			               changes[i].what, small, SMALL, large, 2 * SMALL);
	}
	return check_result();
}
