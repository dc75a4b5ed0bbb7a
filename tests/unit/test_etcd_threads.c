/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that gRPC starts, whenever it does: no signal is theirs, and OpenSSL is there for them
 * until the process is gone.
 */
#include <dirent.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "check.h"
#include "etcd/etcd.h"
#include "etcdtest/cluster.h"
#include "etcdtest/sync.h"

#define LINE_MAX_BYTES 256

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

/* A thread's name, and the signals that are blocked in it (proc(5)). */
static uint64_t blocked_in(int thread, char name[static LINE_MAX_BYTES])
{
	AUTO(fclose) FILE *file = NULL;
	char line[LINE_MAX_BYTES];
	uint64_t mask = 0;

	(void) snprintf(line, sizeof(line), "/proc/self/task/%d/status", thread);
	file = fopen(line, "re");
	name[0] = '\0';
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, "Name:", 5) == 0)
			(void) snprintf(name, LINE_MAX_BYTES, "%s", line + 5);
		if (strncmp(line, "SigBlk:", 7) == 0)
			mask = strtoull(line + 7, NULL, 16);
	}
	return file != NULL ? mask : UINT64_MAX; /* it has ended */
}

/* Of what a daemon waits for in its loop, nothing may reach another thread. */
static void look_at_threads(void)
{
	static const int ours[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD};
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	unsigned n = 0;

	while (tasks != NULL && (task = readdir(tasks)) != NULL) {
		char name[LINE_MAX_BYTES];
		uint64_t mask;

		if (task->d_name[0] == '.' || atoi(task->d_name) == getpid())
			continue;
		n++;
		mask = blocked_in(atoi(task->d_name), name);
		for (size_t i = 0; i < ARRAY_SIZE(ours); i++) {
			if (!CHECK((mask >> (ours[i] - 1) & 1) != 0))
				(void) fprintf(stderr, "signal %d in the thread %s", ours[i], name);
		}
	}
	CHECK(n >= 2);
	if (tasks != NULL)
		(void) closedir(tasks);
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

	if (!CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0))
		return;
	CHECK_EQ_INT(sync_put(ev, etcd, "k", "v", 0).r, 0);
	look_at_threads();
}

int main(void)
{
	struct ev_loop *ev = ev_default_loop(0);
	struct cluster *cluster;
	unsigned char byte;

	(void) atexit(at_the_end);
	/* As a digest in a configuration, before there is a client. */
	CHECK_EQ_INT(RAND_bytes(&byte, 1), 1);
	cluster = cluster_new(1, CLUSTER_TLS);
	ask(ev, cluster);
	cluster_free(cluster);
	ev_loop_destroy(ev);
	return check_result();
}
