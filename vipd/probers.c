/* SPDX-License-Identifier: Apache-2.0 */
/* Maps VIPs to shared probers, and a prober's news back to its VIPs. */
#include "vipd/probers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "base/mem.h"

struct prober {
	struct probers *owner;
	const struct config_health *config;
	struct health *health;
};

struct probers {
	const struct config *config;
	const struct probers_callbacks *callbacks;
	void *userdata;
	struct prober list[CONFIG_VIPS_MAX];
	size_t n;
	size_t of_vip[CONFIG_VIPS_MAX]; /* index into list; SIZE_MAX: no gate */
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_check(const struct config_health *a, const struct config_health *b)
{
	return a->awaits_ca == b->awaits_ca && same_text(a->url, b->url) &&
	       same_text(a->server_name, b->server_name) && same_text(a->ca_file, b->ca_file) &&
	       same_text(a->client_cert_file, b->client_cert_file) &&
	       same_text(a->client_key_file, b->client_key_file) && a->interval_us == b->interval_us &&
	       a->timeout_us == b->timeout_us && a->rise == b->rise && a->fall == b->fall;
}

static bool checks(const struct prober *p, size_t vip)
{
	return p->owner->of_vip[vip] == (size_t) (p - p->owner->list);
}

static void changed_cb(const struct health_view *view, void *userdata)
{
	struct prober *p = userdata;
	struct probers *all = p->owner;

	for (size_t i = 0; i < all->config->n_vips; i++) {
		if (checks(p, i))
			all->callbacks->changed(i, view, all->userdata);
	}
}

static bool others_are_ready_cb(void *userdata)
{
	struct prober *p = userdata;
	struct probers *all = p->owner;
	bool ready = false;

	for (size_t i = 0; i < all->config->n_vips; i++)
		ready = ready || (checks(p, i) && all->callbacks->others_are_ready(i, all->userdata));
	return ready;
}

static void failed_cb(const char *reason, void *userdata)
{
	const struct prober *p = userdata;

	p->owner->callbacks->failed(reason, p->owner->userdata);
}

static const struct health_callbacks health_callbacks = {
    .changed = changed_cb,
    .others_are_ready = others_are_ready_cb,
    .failed = failed_cb,
};

static int add(struct probers *all, struct ev_loop *ev, const struct config_health *config,
               size_t *ret_index)
{
	struct prober *p = &all->list[all->n];
	int r;

	for (size_t i = 0; i < all->n; i++) {
		if (same_check(all->list[i].config, config)) {
			*ret_index = i;
			return 0;
		}
	}
	p->owner = all;
	p->config = config;
	r = health_new(ev, config, &health_callbacks, p, &p->health);
	if (r < 0)
		return r;
	*ret_index = all->n++;
	return 0;
}

int probers_new(struct ev_loop *ev, const struct config *config,
                const struct probers_callbacks *callbacks, void *userdata,
                struct probers **ret_probers)
{
	AUTO(probers_free) struct probers *all = NEW0(struct probers);
	int r;

	all->config = config;
	all->callbacks = callbacks;
	all->userdata = userdata;
	for (size_t i = 0; i < config->n_vips; i++) {
		const struct config_health *check = &config->vips[i].policy.health;

		all->of_vip[i] = SIZE_MAX;
		if (!check->enabled)
			continue;
		r = add(all, ev, check, &all->of_vip[i]);
		if (r < 0)
			return r;
	}
	*ret_probers = TAKE_PTR(all);
	return 0;
}

void probers_free(struct probers *all)
{
	if (all == NULL)
		return;
	for (size_t i = 0; i < all->n; i++)
		health_free(all->list[i].health);
	free(all);
}
