/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of real members: whole by their own digest and to etcd's own tool, over mTLS, with
 * passwords, without a quorum, and cut off in the middle.
 */
#include <errno.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcd/etcd.h"
#include "etcdtest/cluster.h"
#include "etcdtest/sync.h"
#include "turn.h"

#define VALUE_BYTES (512UL * 1024)
#define N_VALUES 48

static struct ev_loop *ev;

/* One snapshot, written to a file. */
struct taking {
	struct etcd_snapshot *snapshot;
	FILE *file;
	EVP_MD_CTX *sha256;
	unsigned pause_after; /* so many blobs; 0: never */
	unsigned n_blobs;
	uint64_t bytes;
	uint64_t total_bytes;
	bool digest_is_right;
	unsigned n_done;
	struct answer end;
};

static void on_blob(const struct etcd_blob *blob, void *userdata)
{
	struct taking *t = userdata;
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	t->n_blobs++;
	if (t->n_blobs != t->pause_after)
		etcd_snapshot_next(t->snapshot);
	CHECK(fwrite(blob->data, 1, blob->len, t->file) == blob->len);
	t->total_bytes = blob->total_bytes;
	if (!blob->is_digest) {
		CHECK(EVP_DigestUpdate(t->sha256, blob->data, blob->len));
		t->bytes += blob->len;
		return;
	}
	CHECK(EVP_DigestFinal_ex(t->sha256, digest, &len));
	t->digest_is_right = len == blob->len && memcmp(digest, blob->data, len) == 0;
}

static void on_done(const struct etcd_outcome *outcome, void *userdata)
{
	struct taking *t = userdata;

	answer_on_done(outcome, &t->end);
	t->snapshot = NULL;
	t->n_done++;
}

static struct taking *taking_new(struct etcd *etcd, const char *endpoint, unsigned stall_ms,
                                 const char *path)
{
	static const struct etcd_snapshot_callbacks callbacks = {.blob = on_blob, .done = on_done};
	struct taking *t = NEW0(struct taking);

	t->file = fopen(path, "we");
	t->sha256 = EVP_MD_CTX_new();
	CHECK(t->file != NULL && EVP_DigestInit_ex(t->sha256, EVP_sha256(), NULL));
	CHECK_EQ_INT(etcd_snapshot_start(etcd, endpoint, stall_ms, &callbacks, t, &t->snapshot), 0);
	return t;
}

static void taking_free(struct taking *t)
{
	etcd_snapshot_cancel(t->snapshot);
	EVP_MD_CTX_free(t->sha256);
	(void) fclose(t->file);
	free(t);
}
DEFINE_AUTO(struct taking, taking_free);

static struct etcd *client_new(const struct cluster *cluster, size_t n, const char *user,
                               const char *password)
{
	bool tls = strncmp(cluster_urls(cluster)[0], "https", 5) == 0;
	struct etcd_options options = {
	    .endpoints = cluster_urls(cluster),
	    .n_endpoints = n,
	    .user = user,
	    .password = password,
	    .ca_file = tls ? cluster_file(cluster, "ca.pem") : NULL,
	    .cert_file = tls ? cluster_file(cluster, "client.pem") : NULL,
	    .key_file = tls ? cluster_file(cluster, "client-key.pem") : NULL,
	    .call_timeout_ms = 3000,
	};
	char error[ETCD_ERROR_TEXT_MAX];
	struct etcd *etcd = NULL;

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	return etcd;
}

static void fill(struct etcd *etcd)
{
	AUTO(free) char *value = xcalloc(1, VALUE_BYTES + 1);

	for (int i = 0; i < N_VALUES; i++) {
		memset(value, 'a' + i % 26, VALUE_BYTES);
		CHECK_EQ_INT(sync_put(ev, etcd, i % 2 == 0 ? "even" : "odd", value, 0).r, 0);
	}
}

/* All of it came, and etcd's tool, which looks at the digest when it restores, takes it. */
static void check_whole(const struct cluster *cluster, struct etcd *etcd, const char *endpoint)
{
	AUTO(taking_free)
	struct taking *t = taking_new(etcd, endpoint, 20000, cluster_file(cluster, "m0.snapshot"));

	CHECK(sync_until(ev, &t->n_done, 1));
	if (!CHECK_EQ_INT(t->end.r, 0))
		(void) fprintf(stderr, "%s\n", t->end.text);
	CHECK(t->digest_is_right);
	CHECK(t->bytes == t->total_bytes && t->bytes > VALUE_BYTES);
	CHECK_EQ_INT(t->bytes % 4096, 0);
	if (endpoint != NULL)
		CHECK_EQ_STR(t->end.endpoint, endpoint);
	(void) fflush(t->file);
	CHECK(cluster_run(cluster, "rm -rf m0.restored && ETCDCTL_API=3 etcdctl snapshot restore"
	                           " m0.snapshot --data-dir m0.restored"));
}

static void check_refused(const struct cluster *cluster, struct etcd *etcd, int r)
{
	AUTO(taking_free)
	struct taking *t =
	    taking_new(etcd, cluster_urls(cluster)[0], 20000, cluster_file(cluster, "m0.snapshot"));

	CHECK(sync_until(ev, &t->n_done, 1));
	if (!CHECK_EQ_INT(t->end.r, r))
		(void) fprintf(stderr, "%s\n", t->end.text);
	CHECK_EQ_INT(t->n_blobs, 0);
}

/* Paused long before the end; that far the member has sent. */
static struct taking *take_a_part(const struct cluster *cluster, struct etcd *etcd)
{
	struct taking *t =
	    taking_new(etcd, cluster_urls(cluster)[0], 1500, cluster_file(cluster, "m0.snapshot"));

	t->pause_after = 40;
	CHECK(sync_until(ev, &t->n_blobs, t->pause_after));
	CHECK(t->bytes < t->total_bytes / 2);
	return t;
}

static void test_stopped_and_killed(struct cluster *cluster, struct etcd *etcd)
{
	struct taking *t = take_a_part(cluster, etcd);
	int64_t asked_us;

	/* Longer than the limit, but then it goes on, and further. */
	CHECK(!sync_run(ev, 1800, &t->n_blobs, t->pause_after + 1));
	t->pause_after = 80;
	etcd_snapshot_next(t->snapshot);
	CHECK(sync_until(ev, &t->n_blobs, t->pause_after));
	CHECK_EQ_INT(t->n_done, 0);

	cluster_signal(cluster, 0, SIGSTOP);
	asked_us = mono_now_us();
	etcd_snapshot_next(t->snapshot);
	CHECK(sync_until(ev, &t->n_done, 1));
	CHECK_EQ_INT(t->end.r, -ETIMEDOUT);
	CHECK(mono_now_us() - asked_us >= 1490 * US_PER_MS);
	cluster_signal(cluster, 0, SIGCONT);
	taking_free(t);

	t = take_a_part(cluster, etcd);
	cluster_kill(cluster, 0);
	if (!sync_run(ev, 100, &t->n_done, 1))
		etcd_snapshot_next(t->snapshot);
	CHECK(sync_until(ev, &t->n_done, 1));
	CHECK(t->end.r < 0 && t->end.r != -ETIMEDOUT);
	CHECK(!t->digest_is_right);
	taking_free(t);
}

static void test_plain(void)
{
	struct cluster *cluster = cluster_new(1, 0);
	struct etcd *etcd = client_new(cluster, 1, NULL, NULL);

	fill(etcd);
	check_whole(cluster, etcd, cluster_urls(cluster)[0]);
	check_whole(cluster, etcd, NULL);
	test_stopped_and_killed(cluster, etcd);
	etcd_free(etcd);
	cluster_free(cluster);
}

/* Over TLS, and then with passwords besides. */
static void test_tls_and_passwords(void)
{
	static const struct {
		const char *user;
		const char *password;
		int r;
	} cases[] = {{"root", "rootpw", 0},
	             {"fl", "secret", -EACCES},
	             {"fl", "wrong", -EACCES},
	             {NULL, NULL, -EACCES}};
	struct cluster *cluster = cluster_new(1, CLUSTER_TLS);
	struct etcd *etcd = client_new(cluster, 1, NULL, NULL);

	fill(etcd);
	check_whole(cluster, etcd, cluster_urls(cluster)[0]);
	etcd_free(etcd);
	CHECK(cluster_ctl(cluster, "user add root:rootpw"));
	CHECK(cluster_ctl(cluster, "user grant-role root root"));
	CHECK(cluster_ctl(cluster, "user add fl:secret"));
	CHECK(cluster_ctl(cluster, "auth enable"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		etcd = client_new(cluster, 1, cases[i].user, cases[i].password);
		if (cases[i].r == 0)
			check_whole(cluster, etcd, cluster_urls(cluster)[0]);
		else
			check_refused(cluster, etcd, cases[i].r);
		etcd_free(etcd);
	}
	cluster_free(cluster);
}

/* Each member gives its own, and the last one alone still does, and all else that is local. */
static void test_without_a_quorum(void)
{
	struct cluster *cluster = cluster_new(3, CLUSTER_FAST);
	struct etcd *etcd = client_new(cluster, 3, NULL, NULL);
	const char *const *urls = cluster_urls(cluster);
	struct answer a;
	uint32_t hash;

	fill(etcd);
	for (size_t i = 0; i < 3; i++)
		check_whole(cluster, etcd, urls[i]);
	a = sync_put(ev, etcd, "last", "", 0);
	hash = sync_hashkv(ev, etcd, urls[0], a.revision, 5000).hashkv.hash;
	cluster_kill(cluster, 0);
	cluster_kill(cluster, 1);
	(void) TURN_UNTIL(ev, (a = sync_status(ev, etcd, urls[2])).r != 0 || a.leader == 0);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.leader, 0);
	CHECK_EQ_STR(a.error, "etcdserver: no leader");
	a = sync_hashkv(ev, etcd, urls[2], 0, 5000);
	CHECK_EQ_INT(a.r, 0);
	CHECK_EQ_INT(a.hashkv.hash, hash);
	CHECK_EQ_INT(sync_alarms(ev, etcd).r, -EHOSTUNREACH);
	check_whole(cluster, etcd, urls[2]);
	check_refused(cluster, etcd, -EHOSTUNREACH);
	etcd_free(etcd);
	cluster_free(cluster);
}

int main(void)
{
	ev = ev_default_loop(0);
	test_plain();
	test_tls_and_passwords();
	test_without_a_quorum();
	ev_loop_destroy(ev);
	return check_result();
}
