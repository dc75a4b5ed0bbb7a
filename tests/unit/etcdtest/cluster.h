/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A real etcd cluster on loopback, for tests: members are child processes that die with the test,
 * data and certificates lie in a directory of its own, ports are whatever was free. Whatever cannot
 * be set up ends the test program: nothing is skipped.
 *
 * The program is $FAIRLEAD_TEST_ETCD, or `etcd` in PATH.
 */

#include <stdbool.h>
#include <stddef.h>

#define CLUSTER_MEMBERS_MAX 3

/* A file in the directory: etcd 3.4 wants what looks like a port behind it. */
#define CLUSTER_SOCKET "m0.sock:1"

struct cluster;

enum cluster_flag {
	CLUSTER_TLS = 1 << 0,  /* mTLS for clients; certificates for 127.0.0.1, ::1 and localhost */
	CLUSTER_FAST = 1 << 1, /* election timeout 500 ms instead of 1 s */
	CLUSTER_ALL_LOOPBACK = 1 << 2, /* clients may come to 127.0.0.2 and ::1 as well */
	CLUSTER_SLOW = 1 << 3,         /* election timeout 5 s */
	CLUSTER_SMALL = 1 << 4,        /* room for 1 MiB */
	CLUSTER_UNIX = 1 << 5,         /* the first member's clients may come to CLUSTER_SOCKET, too */
};

struct cluster *cluster_new(size_t n_members, unsigned flags);
void cluster_free(struct cluster *cluster);

const char *const *cluster_urls(const struct cluster *cluster);
int cluster_port(const struct cluster *cluster, size_t member);
/* A file in the directory: "ca.pem", "client.pem", "client-key.pem". Borrowed until the eighth next
 * call. */
const char *cluster_file(const struct cluster *cluster, const char *name);

/* SIGSTOP: it is stopped when this returns. */
void cluster_signal(struct cluster *cluster, size_t member, int signo);
/* SIGKILL, and waits for the end. */
void cluster_kill(struct cluster *cluster, size_t member);
/* Starts it again with its data. */
void cluster_restart(struct cluster *cluster, size_t member);

/*
 * NAME.pem and NAME-key.pem, signed by CA.pem. There are "ca" and "ca2"; members have certificates
 * by "ca" and accept clients by what "client-ca.pem" holds when they start: both, at first.
 */
void cluster_make_certificate(const struct cluster *cluster, const char *ca, const char *name,
                              const char *extensions);

/* Runs a shell command in the directory; true if it exits 0. */
bool cluster_run(const struct cluster *cluster, const char *command);

/* Runs `etcdctl ARGS` against the first member (and with its certificates); true if it exits 0. */
bool cluster_ctl(const struct cluster *cluster, const char *args);

/* A port on loopback that nobody listens on now. */
int free_port(void);
