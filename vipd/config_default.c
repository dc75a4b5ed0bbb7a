/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds where no document says otherwise: a kubeadm node needs none. What etcd and the node's
 * name are then is for lib/etcd/etcdconf.c and lib/base/nodeconf.c.
 */
#include "vipd/config_priv.h"

#include "base/mem.h"
#include "base/mono.h"
#include "base/probecert.h"

const char config_default_ca_file[] = "/etc/kubernetes/pki/ca.crt";

void config_set_defaults(struct config *config)
{
	config->lease_ttl_us = 10 * US_PER_S;
	config->policy = (struct config_policy){
	    .fence = CONFIG_FENCE_AUTO,
	    .priority = 100,
	    .avoid_etcd_leader = true,
	    .hold_down_us = 30 * US_PER_S,
	    .health =
	        {
	            .enabled = true,
	            .url = xstrdup("https://127.0.0.1:6443/readyz"),
	            .server_name = xstrdup("kubernetes"),
	            .ca_file = xstrdup(config_default_ca_file),
	            .client_directory = PROBECERT_DIRECTORY,
	            .interval_us = US_PER_S,
	            .timeout_us = US_PER_S,
	            .rise = 2,
	            .fall = 3,
	        },
	    .announce_refresh_us = 60 * US_PER_S,
	    .announce_repeats = 5,
	    .conflict = CONFIG_CONFLICT_REFUSE,
	    .destroy_sockets = true,
	    .outside_check = true,
	};
}
