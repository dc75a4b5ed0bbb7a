/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list that is compared with what is wanted whenever somebody has looked at the network. Pointers
 * into it are the clients' own, so that entries may move.
 */
#include "netconf/dhcp/dhcpclients.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/mono.h"
#include "netconf/dhcp/dhcpfile.h"

struct entry {
	char link[IFNAMSIZ];
	sa_family_t family;
	bool is_wanted;
	int64_t wanted_us;         /* since when */
	struct dhcpclient *client; /* NULL: its link is not ready */
};

struct dhcpclients {
	struct loop *loop;
	struct dhcpclient_settings settings;
	dhcpclient_changed_fn changed;
	void *userdata;
	struct entry *entries;
	size_t n;
};

struct dhcpclients *dhcpclients_new(struct loop *loop, const struct dhcpclient_settings *settings,
                                    dhcpclient_changed_fn changed, void *userdata)
{
	struct dhcpclients *all = NEW0(struct dhcpclients);

	all->loop = loop;
	all->settings = (struct dhcpclient_settings){
	    .program = xstrdup(settings->program),
	    .hook = xstrdup(settings->hook),
	    .runtime_dir = xstrdup(settings->runtime_dir),
	};
	all->changed = changed;
	all->userdata = userdata;
	return all;
}

void dhcpclients_free(struct dhcpclients *all)
{
	if (all == NULL)
		return;
	for (size_t i = 0; i < all->n; i++)
		dhcpclient_free(all->entries[i].client);
	free(all->entries);
	free((char *) (uintptr_t) all->settings.program);
	free((char *) (uintptr_t) all->settings.hook);
	free((char *) (uintptr_t) all->settings.runtime_dir);
	free(all);
}

static struct entry *find(const struct dhcpclients *all, const char *link, sa_family_t family)
{
	for (size_t i = 0; i < all->n; i++) {
		if (strcmp(all->entries[i].link, link) == 0 && all->entries[i].family == family)
			return &all->entries[i];
	}
	return NULL;
}

/* --- what is wanted --- */

static struct entry *want_entry(struct dhcpclients *all, const char *link, sa_family_t family)
{
	struct entry *entry = find(all, link, family);

	if (entry == NULL) {
		all->entries = xreallocarray(all->entries, all->n + 1, sizeof(*all->entries));
		entry = &all->entries[all->n++];
		*entry = (struct entry){.family = family};
		(void) snprintf(entry->link, sizeof(entry->link), "%s", link);
	}
	if (!entry->is_wanted)
		entry->wanted_us = mono_now_us();
	return entry;
}

/* A link that is closed would be opened by a client that starts, which is the plan's to do. */
static void want_client(struct dhcpclients *all, struct entry *entry,
                        const struct config_dhcp *dhcp, const struct link *link)
{
	int r;

	if (link == NULL) {
		dhcpclient_free(TAKE_PTR(entry->client));
		return;
	}
	if (entry->client != NULL &&
	    !dhcpclient_is_for(entry->client, &all->settings, &link->mac, dhcp)) {
		dhcpclient_free(TAKE_PTR(entry->client));
		entry->wanted_us = mono_now_us();
	}
	if (entry->client != NULL || !link->up)
		return;
	r = dhcpclient_new(all->loop, &all->settings, entry->link, &link->mac, dhcp, all->changed,
	                   all->userdata, &entry->client);
	if (r < 0)
		(void) log_error_errno(r, "dhcp_client_not_started", "ifname=%s family=%d dir=%s",
		                       entry->link, entry->family == AF_INET ? 4 : 6,
		                       all->settings.runtime_dir);
}

static bool is_in(const struct resolution *resolution, const struct entry *entry)
{
	for (size_t i = 0; i < resolution->n_dhcps; i++) {
		if (strcmp(resolution->dhcps[i].link, entry->link) == 0 &&
		    resolution->dhcps[i].dhcp->family == entry->family)
			return true;
	}
	return false;
}

/* An earlier process was given a lease by this very name, which nobody would renew. */
static bool has_left_lease(const struct dhcpclients *all, const struct resolved_dhcp *resolved)
{
	AUTO(free)
	char *path = dhcpfile_lease_path(all->settings.runtime_dir, resolved->link, resolved->dhcp);
	struct lease lease;

	if (dhcpfile_read_lease(path, resolved->dhcp->family, mono_now_us(), &lease) != 1)
		return false;
	lease_fini(&lease);
	return true;
}

/* Nobody knows what is wanted of a disputed link: whatever it has goes on, and nothing is begun. */
static bool is_to_begin(const struct dhcpclients *all, const struct resolution *resolution,
                        const struct resolved_dhcp *resolved)
{
	const struct entry *entry = find(all, resolved->link, resolved->dhcp->family);

	if (!resolution_disputes(resolution, resolved->link))
		return true;
	return (entry == NULL || entry->client == NULL) && has_left_lease(all, resolved);
}

void dhcpclients_want(struct dhcpclients *all, const struct resolution *resolution,
                      const struct model *have)
{
	for (size_t i = 0; i < all->n; i++)
		all->entries[i].is_wanted =
		    all->entries[i].is_wanted && is_in(resolution, &all->entries[i]);
	for (size_t i = 0; i < resolution->n_dhcps; i++) {
		const struct resolved_dhcp *resolved = &resolution->dhcps[i];
		struct entry *entry;

		if (!is_to_begin(all, resolution, resolved))
			continue;
		entry = want_entry(all, resolved->link, resolved->dhcp->family);
		entry->is_wanted = true;
		want_client(all, entry, resolved->dhcp, model_find_link(have, resolved->link));
	}
}

bool dhcpclients_have(const struct dhcpclients *all, const struct resolution *resolution,
                      const struct model *have)
{
	for (size_t i = 0; i < resolution->n_dhcps; i++) {
		const struct resolved_dhcp *resolved = &resolution->dhcps[i];
		const struct entry *entry = find(all, resolved->link, resolved->dhcp->family);
		const struct link *link = model_find_link(have, resolved->link);

		if (entry == NULL || !entry->is_wanted ||
		    (entry->client != NULL && link != NULL &&
		     !dhcpclient_is_for(entry->client, &all->settings, &link->mac, resolved->dhcp)))
			return false;
	}
	return true;
}

void dhcpclients_want_none(struct dhcpclients *all)
{
	for (size_t i = 0; i < all->n; i++)
		all->entries[i].is_wanted = false;
}

/* --- what is not --- */

static void forget_left(const struct dhcpclients *all)
{
	DIR *dir = opendir(all->settings.runtime_dir);
	const struct dirent *file;

	if (dir == NULL)
		return;
	while ((file = readdir(dir)) != NULL) {
		char link[IFNAMSIZ];
		sa_family_t family;

		if (!dhcpfile_parse(file->d_name, link, &family) || find(all, link, family) != NULL)
			continue;
		(void) dhcpfile_end_left(all->settings.runtime_dir, link, family);
		dhcpfile_remove(all->settings.runtime_dir, link, family);
	}
	(void) closedir(dir);
}

void dhcpclients_forget_others(struct dhcpclients *all)
{
	for (size_t i = all->n; i-- > 0;) {
		struct entry *entry = &all->entries[i];

		if (entry->is_wanted) {
			if (entry->client != NULL)
				dhcpclient_forget_others(entry->client);
			continue;
		}
		if (entry->client != NULL)
			dhcpclient_forget(entry->client);
		memmove(entry, entry + 1, (all->n - i - 1) * sizeof(*entry));
		all->n--;
	}
	forget_left(all);
}

/* --- waiting, and looking --- */

static bool has_lease(const struct entry *entry)
{
	return entry->client != NULL && dhcpclient_lease(entry->client) != NULL;
}

bool dhcpclients_wait(const struct dhcpclients *all, struct kernel *kernel)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct entry *entry = &all->entries[i];
		const struct entry *first = find(all, entry->link, AF_INET);
		int64_t waited_us = mono_now_us() - entry->wanted_us;

		if (!entry->is_wanted || has_lease(entry) || waited_us >= DHCPCLIENTS_WAIT_US ||
		    (first != NULL && first != entry && first->is_wanted))
			continue;
		if (waited_us < DHCPCLIENTS_CARRIER_US || kernel_carrier(kernel, entry->link) == 1)
			return true;
	}
	return false;
}

size_t dhcpclients_count(const struct dhcpclients *all)
{
	return all->n;
}

void dhcpclients_get(const struct dhcpclients *all, size_t i, struct dhcpclients_info *ret)
{
	const struct entry *entry = &all->entries[i];

	*ret = (struct dhcpclients_info){
	    .link = entry->link,
	    .family = entry->family,
	    .is_running = entry->client != NULL && dhcpclient_is_running(entry->client),
	    .lease = entry->client != NULL ? dhcpclient_lease(entry->client) : NULL,
	};
}

/* --- renewing --- */

/* One look and its few steps in one turn of the loop: nobody else of this process comes between. */

void renew_plan(struct plan *plan, const struct model *have, const char *link,
                const struct lease *lease, int64_t now_us)
{
	uint32_t left_s = lease_left_s(lease, now_us);

	for (size_t i = 0; i < lease->n_addresses && lease->ends_us > now_us; i++) {
		const struct address *now = model_find_address(have, link, &lease->addresses[i]);
		struct address want;
		struct op *op;

		/* One without an end is the configuration's, or goes on without our help. */
		if (now == NULL || now->owner != OWNER_OURS || now->valid_s == ADDRESS_FOREVER)
			continue;
		want = *now;
		want.valid_s = want.preferred_s = left_s;
		want.raw = (struct raw_message){0};
		if (address_differs(&want, now) == 0)
			continue;
		op = plan_add(plan);
		op->kind = OP_ADDRESS_CHANGE;
		op->address = want;
	}
}

static void carry_out(struct kernel *kernel, const struct plan *plan)
{
	char text[OP_TEXT_MAX];

	for (size_t i = 0; i < plan->n_ops; i++) {
		int r = kernel_carry_out(kernel, &plan->ops[i]);

		if (r < 0)
			(void) log_error_errno(r, "lease_not_renewed", "op=\"%s\" kernel=\"%s\"",
			                       op_format(&plan->ops[i], text), kernel_error_text(kernel));
	}
	if (plan->n_ops > 0)
		log_info("lease_renewed", "steps=%zu", plan->n_ops);
}

void renew(struct kernel *kernel, const struct owned *owned, const struct dhcpclients *clients)
{
	AUTO(plan_free) struct plan *plan = NEW0(struct plan);
	AUTO(model_free) struct model *have = NULL;
	int64_t now_us = mono_now_us();
	int r = kernel_observe(kernel, &have);

	if (r < 0) {
		(void) log_error_errno(r, "lease_not_renewed", "reason=\"%s\"", kernel_error_text(kernel));
		return;
	}
	if (owned != NULL)
		owned_judge(owned, have);
	for (size_t i = 0; i < dhcpclients_count(clients); i++) {
		struct dhcpclients_info info;

		dhcpclients_get(clients, i, &info);
		if (info.lease != NULL)
			renew_plan(plan, have, info.link, info.lease, now_us);
	}
	carry_out(kernel, plan);
}
