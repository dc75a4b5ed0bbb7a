/* SPDX-License-Identifier: Apache-2.0 */
/* What threads of gRPC's still need when the process ends: OpenSSL, as long as there is a process.
 */
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "etcd/etcd.h"
#include "etcdtest/cluster.h"
#include "etcdtest/sync.h"

/* Registered before OpenSSL could be, and so called after all of its own. */
static void at_the_end(void)
{
	unsigned char byte;

	/* Where it is taken down, to draw lots is a crash. */
	if (CHECK_EQ_INT(OPENSSL_init_crypto(0, NULL), 1))
		CHECK_EQ_INT(RAND_bytes(&byte, 1), 1);
	if (check_result() != EXIT_SUCCESS)
		_exit(EXIT_FAILURE);
}

static void ask(struct ev_loop *ev, const struct cluster *cluster)
{
	const struct etcd_options options = {.endpoints = cluster_urls(cluster),
	                                     .n_endpoints = 1,
	                                     .ca_file = cluster_file(cluster, "ca.pem"),
	                                     .cert_file = cluster_file(cluster, "client.pem"),
	                                     .key_file = cluster_file(cluster, "client-key.pem")};
	char error[ETCD_ERROR_TEXT_MAX];
	AUTO(etcd_free) struct etcd *etcd = NULL;

	if (CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0))
		CHECK_EQ_INT(sync_put(ev, etcd, "k", "v", 0).r, 0);
}

int main(void)
{
	struct ev_loop *ev = ev_default_loop(0);
	struct cluster *cluster;

	(void) atexit(at_the_end);
	cluster = cluster_new(1, CLUSTER_TLS);
	ask(ev, cluster);
	cluster_free(cluster);
	ev_loop_destroy(ev);
	return check_result();
}
