/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which the network around this node learns where the address is. What the kernel does
 * with the address, and when, is the same in all of them (vip_world.c, fence.c).
 *
 *   layer2  the announcer speaks ARP and neighbour discovery on the link
 *   bgp     nothing is sent: BIRD or FRR sees the address come and go, and exports it. It sits on
 *           a link that leads nowhere, which is made here if there is none
 *   hcloud  Hetzner Cloud is told to send the address's packets here
 */
#include "vipd/vip_priv.h"

#include <errno.h>

#include "base/macro.h"
#include "base/mono.h"
#include "vipd/leftovers.h"

#define MAKE_AGAIN_US US_PER_S          /* somebody keeps removing it */
#define MAKE_REFUSED_US (10 * US_PER_S) /* each try may start modprobe */

/* --- layer2 --- */

static void layer2_on_link(struct vip *v, const struct rtnl_link *link)
{
	int r;

	r = announcer_set_link(v->announcer, link != NULL && link->has_mac ? link->ifindex : 0,
	                       link != NULL ? &link->mac : NULL);
	if (r < 0)
		log_warning_errno(r, "announcer_failed", "vip=%s ifname=%s", v->text, v->config->link);
}

static void layer2_tell(struct vip *v)
{
	announcer_start(v->announcer);
}

static void layer2_hush(struct vip *v)
{
	announcer_stop(v->announcer);
}

/* --- bgp --- */

static void make_link(struct vip *v)
{
	int64_t now_us = mono_now_us();
	int r;

	if (v->stopping || now_us < v->make_link_at_us)
		return;
	r = rtnl_link_add_dummy(v->env->rtnl, v->config->link, LEFTOVERS_LINK_GROUP);
	if (r == -EEXIST)
		r = 0; /* the news of it is on the way */
	else if (r == 0)
		log_info("vip_link_made", "vip=%s ifname=%s kind=dummy", v->text, v->config->link);
	else if (r != v->make_link_error)
		log_warning_errno(r, "vip_link_not_made", "vip=%s ifname=%s kind=dummy kernel=\"%s\"",
		                  v->text, v->config->link, rtnl_error_text(v->env->rtnl));
	v->make_link_error = r;
	v->make_link_at_us = now_us + (r < 0 ? MAKE_REFUSED_US : MAKE_AGAIN_US);
}

static void bgp_on_link(struct vip *v, const struct rtnl_link *link)
{
	if (link == NULL)
		make_link(v);
	else
		v->make_link_error = 0;
}

/* Coming and going of the address itself say it all. */
static void bgp_say_nothing(struct vip *v UNUSED)
{
}

/* --- hcloud --- */

static struct hcloud_entitled entitled_cb(void *userdata)
{
	const struct vip *v = userdata;
	bool owner = election_state(v->election) == ELECTION_OWNER;

	return (struct hcloud_entitled){
	    .until_us = owner ? election_deadline_us(v->election) : 0,
	    .window_us = election_window_us(v->election),
	};
}

static void hcloud_on_link(struct vip *v UNUSED, const struct rtnl_link *link UNUSED)
{
}

static void hcloud_tell(struct vip *v)
{
	hcloud_acquire(v->hcloud);
}

static void hcloud_hush(struct vip *v)
{
	hcloud_release(v->hcloud);
}

/* --- all --- */

static const struct vip_outlet announced[] = {
    [CONFIG_ANNOUNCE_LAYER2] =
        {
            .name = "layer2",
            .needs_carrier = true,
            .asks = true,
            .on_link = layer2_on_link,
            .tell = layer2_tell,
            .hush = layer2_hush,
        },
    [CONFIG_ANNOUNCE_BGP] =
        {
            .name = "bgp",
            .on_link = bgp_on_link,
            .tell = bgp_say_nothing,
            .hush = bgp_say_nothing,
        },
};

static const struct vip_outlet by_hcloud = {
    .name = "hcloud",
    .needs_carrier = true,
    .on_link = hcloud_on_link,
    .tell = hcloud_tell,
    .hush = hcloud_hush,
};

int vip_outlet_init(struct vip *v)
{
	const struct config_vip *config = v->config;

	if (config->hcloud == NULL) {
		v->outlet = &announced[config->policy.announce];
		if (config->policy.announce == CONFIG_ANNOUNCE_BGP)
			fence_set_routed(v->fence);
		return 0;
	}
	v->outlet = &by_hcloud;
	return hcloud_new(v->env->ev, v->env->hcloud_queue, config->hcloud, &config->addr, entitled_cb,
	                  v, &v->hcloud);
}
