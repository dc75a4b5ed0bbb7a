/* SPDX-License-Identifier: Apache-2.0 */
/* The client over mTLS: names and addresses, broken files, certificates that change on disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcdtest/cares.h"
#include "etcdtest/cluster.h"
#include "etcd/etcd.h"
#include "etcdtest/sync.h"

static struct ev_loop *ev;
static struct cluster *cluster;

static int try_new(const char *url, const char *ca, const char *cert, const char *key,
                   char error[static ETCD_ERROR_TEXT_MAX], struct etcd **ret_etcd)
{
	struct etcd_options options = {.endpoints = &url,
	                               .n_endpoints = 1,
	                               .ca_file = ca,
	                               .cert_file = cert,
	                               .key_file = key,
	                               .call_timeout_ms = 3000};

	return etcd_new(ev, &options, error, ret_etcd);
}

static struct etcd *client_new(const char *host)
{
	AUTO(free) char *url = xasprintf("https://%s:%d", host, cluster_port(cluster, 0));
	char error[ETCD_ERROR_TEXT_MAX];
	struct etcd *etcd = NULL;

	CHECK_EQ_INT(try_new(url, cluster_file(cluster, "ca.pem"), cluster_file(cluster, "client.pem"),
	                     cluster_file(cluster, "client-key.pem"), error, &etcd),
	             0);
	CHECK_EQ_STR(error, "");
	return etcd;
}

/* The certificate names 127.0.0.1, ::1 and localhost. */
static void test_names(void)
{
	static const struct {
		const char *host;
		int r;
	} cases[] = {
	    {"127.0.0.1", 0},
	    {"[::1]", 0},
	    {"localhost", 0},
	    /* Listens there too, but the certificate does not name it. */
	    {"127.0.0.2", -EHOSTUNREACH},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(etcd_free) struct etcd *etcd = client_new(cases[i].host);
		struct answer a = sync_put(ev, etcd, "k", "v", 0);

		if (!CHECK_EQ_INT(a.r, cases[i].r) || !CHECK(!a.ambiguous))
			(void) fprintf(stderr, "host %s: %s\n", cases[i].host, a.text);
	}
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t) strlen(text));
	(void) close(fd);
}

static void test_broken_files(void)
{
	const char *ca = cluster_file(cluster, "ca.pem");
	const char *cert = cluster_file(cluster, "client.pem");
	const char *key = cluster_file(cluster, "client-key.pem");
	const char *wrong_key = cluster_file(cluster, "server-key.pem");
	const char *junk = cluster_file(cluster, "junk.pem");
	const char *damaged = cluster_file(cluster, "damaged.pem");
	const char *none = cluster_file(cluster, "none.pem");
	const struct {
		const char *ca;
		const char *cert;
		const char *key;
		int r;
		const char *file; /* that the sentence begins with */
		const char *what;
	} cases[] = {
	    {none, cert, key, -ENOENT, none, "No such file"},
	    {ca, none, key, -ENOENT, none, "No such file"},
	    {ca, cert, none, -ENOENT, none, "No such file"},
	    {junk, cert, key, -EINVAL, junk, "no PEM certificate"},
	    {damaged, cert, key, -EINVAL, damaged, "damaged PEM certificate"},
	    {ca, key, key, -EINVAL, key, "no PEM certificate"},
	    {ca, cert, cert, -EINVAL, cert, "no PEM private key"},
	    {ca, cert, wrong_key, -EINVAL, wrong_key, "does not belong to the certificate"},
	    {"/tmp", cert, key, -EINVAL, "/tmp", "not a regular file"},
	    {ca, cert, NULL, -EINVAL, cert, "and its key are needed"},
	    {NULL, NULL, NULL, -EINVAL, "https", "needs a CA file"},
	};

	write_file(junk, "not a certificate\n");
	write_file(damaged, "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char error[ETCD_ERROR_TEXT_MAX] = "";
		struct etcd *etcd = NULL;
		int r =
		    try_new("https://127.0.0.1:1", cases[i].ca, cases[i].cert, cases[i].key, error, &etcd);

		if (!CHECK_EQ_INT(r, cases[i].r) ||
		    !CHECK(strncmp(error, cases[i].file, strlen(cases[i].file)) == 0) ||
		    !CHECK(strstr(error, cases[i].what) != NULL))
			(void) fprintf(stderr, "case %zu: %s\n", i, error);
		CHECK(etcd == NULL);
	}
}

static void test_expired_is_a_warning(void)
{
	char error[ETCD_ERROR_TEXT_MAX];
	AUTO(etcd_free) struct etcd *etcd = NULL;

	CHECK(cluster_run(cluster, "openssl x509 -req -in client.csr -signkey client-key.pem -days -1"
	                           " -out expired.pem"));
	CHECK_EQ_INT(try_new("https://127.0.0.1:1", cluster_file(cluster, "ca.pem"),
	                     cluster_file(cluster, "expired.pem"),
	                     cluster_file(cluster, "client-key.pem"), error, &etcd),
	             0);
	CHECK(strstr(error, "expired.pem: the certificate has expired") != NULL);
}

/* A server that wants a certificate refuses a client without: the call fails, and says so. */
static void test_no_client_certificate(void)
{
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d", cluster_port(cluster, 0));
	AUTO(etcd_free) struct etcd *etcd = NULL;
	char error[ETCD_ERROR_TEXT_MAX];
	struct answer a;

	CHECK_EQ_INT(try_new(url, cluster_file(cluster, "ca.pem"), NULL, NULL, error, &etcd), 0);
	a = sync_get(ev, etcd, "k");
	CHECK_EQ_INT(a.r, -EHOSTUNREACH);
}

/*
 * The client's certificate is replaced while a watch is open; then the member is restarted so that
 * only the new one is good. Neither calls nor the watch may need help, or break before that.
 */
static void test_rotation(void)
{
	struct etcd *etcd = client_new("127.0.0.1");
	struct etcd_watch *watch = NULL;
	struct watched w = {0};
	struct answer a = sync_put(ev, etcd, "rot", "1", 0);
	unsigned n_live;

	CHECK_EQ_INT(etcd_watch_new(etcd, ETCD_STR("rot"), false, a.revision + 1, &watched_callbacks,
	                            &w, &watch),
	             0);
	CHECK(sync_until(ev, &w.n_live, 1));
	cluster_make_certificate(cluster, "ca2", "next", "extendedKeyUsage=clientAuth\\n");

	/* Half of a rotation: the key does not fit. What was good before goes on working. */
	CHECK(cluster_run(cluster, "mv next-key.pem client-key.pem"));
	CHECK(!sync_run(ev, 2500, &w.n_lost, 1));
	CHECK_EQ_INT(sync_put(ev, etcd, "rot", "2", 0).r, 0);

	CHECK(cluster_run(cluster, "mv next.pem client.pem"));
	CHECK(!sync_run(ev, 4300, &w.n_lost, 1));
	CHECK_EQ_INT(sync_put(ev, etcd, "rot", "3", 0).r, 0);

	n_live = w.n_live;
	cluster_kill(cluster, 0);
	CHECK(cluster_run(cluster, "cp ca2.pem client-ca.pem"));
	cluster_restart(cluster, 0);
	CHECK(sync_until(ev, &w.n_live, n_live + 1));
	a = sync_put(ev, etcd, "rot", "4", 0);
	if (!CHECK_EQ_INT(a.r, 0))
		(void) fprintf(stderr, "%s\n", a.text);
	CHECK(sync_until(ev, &w.n_events, 3));
	CHECK_EQ_INT(w.n_events, 3);
	etcd_watch_free(watch);
	etcd_free(etcd);
}

int main(void)
{
	ev = ev_default_loop(0);
	cluster = cluster_new(1, CLUSTER_TLS | CLUSTER_ALL_LOOPBACK);
	test_names();
	test_broken_files();
	test_expired_is_a_warning();
	test_no_client_certificate();
	test_rotation();
	cluster_free(cluster);
	ev_loop_destroy(ev);
	return check_result();
}
