/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer's entry point for what a DHCP client tells of a lease: of either family, with what it
 * adds to the network that is wanted.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netconf/dhcp/lease.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was let through is sound. */
static void check(const struct lease *lease)
{
	if (lease->n_addresses == 0 || lease->n_addresses > LEASE_ADDRESSES_MAX ||
	    lease->n_routes > LEASE_ROUTES_MAX || lease->n_resolvers > LEASE_RESOLVERS_MAX ||
	    lease->search.n > LEASE_DOMAINS_MAX)
		abort();
	for (size_t i = 0; i < lease->search.n; i++) {
		if (!conf_is_dns_name(lease->search.items[i]))
			abort();
	}
	if (lease->host_name[0] != '\0' && !conf_is_dns_name(lease->host_name))
		abort();
}

static void read_and_merge(const char *text, size_t size, sa_family_t family)
{
	const struct config_dhcp dhcp = {.family = family, .metric = 1024};
	struct lease lease;
	const struct lease_use use = {&lease, "eth0", &dhcp};
	AUTO(model_free) struct model *want = NULL;
	struct conf_strings notes = {0};

	if (lease_read(text, size, family, &lease) != LEASE_TAKEN)
		return;
	check(&lease);
	want = model_new();
	lease_merge(want, &use, 1, 0, false, &notes);
	/* All of it is there already. */
	lease_merge(want, &use, 1, 0, false, &notes);
	if (want->n_addresses > LEASE_ADDRESSES_MAX || want->n_routes > LEASE_ROUTES_MAX)
		abort();
	conf_strings_fini(&notes);
	lease_fini(&lease);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* The seeds are lines, so that people can read them. */
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\n')
			text[i] = '\0';
	}
	read_and_merge(text, size, AF_INET);
	read_and_merge(text, size, AF_INET6);
	free(text);
	return 0;
}
