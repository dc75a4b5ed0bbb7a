/* SPDX-License-Identifier: Apache-2.0 */
/* Only what it takes to end them, and to name them. */
#include "cli/init/initfacts.h"

#include <stdlib.h>

static void fini_network(struct initfacts *f)
{
	for (size_t i = 0; i < f->n_links; i++)
		free(f->links[i].prefixes);
	free(f->links);
	free(f->gateways);
	texts_fini(&f->rivals);
	free(f->rival_vip);
	free(f->network_source);
}

void initfacts_fini(struct initfacts *f)
{
	free(f->hostname);
	free(f->hidden);
	free(f->etcd_endpoint);
	free(f->etcd_ca);
	free(f->cluster);
	free(f->etcd_cert);
	free(f->etcd_key);
	free(f->etcd_data);
	texts_fini(&f->members);
	free(f->stopped_etcd);
	free(f->api_ca);
	free(f->anonymous);
	free(f->api_client_cert);
	free(f->api_client_key);
	free(f->server);
	free(f->api_names);
	free(f->api_cert);
	for (size_t i = 0; i < f->n_certificates; i++)
		free(f->certificates[i].path);
	free(f->certificates);
	fini_network(f);
	*f = (struct initfacts){0};
}

const char *initfacts_kind_name(enum init_kind kind)
{
	switch (kind) {
	case INIT_NOTHING:
		return "nothing";
	case INIT_KUBEADM:
		return "kubeadm";
	case INIT_K3S:
		return "k3s";
	case INIT_RKE2:
		return "rke2";
	case INIT_ETCD:
		return "etcd";
	}
	return "nothing";
}
