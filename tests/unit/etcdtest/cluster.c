/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, stops and kills real etcd members; see cluster.h. */
#include "cluster.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"

struct member {
	pid_t pid; /* 0: not running */
	int client_port;
	int peer_port;
	char *url;
};

struct cluster {
	unsigned flags;
	char dir[64];
	struct member members[CLUSTER_MEMBERS_MAX];
	const char *urls[CLUSTER_MEMBERS_MAX];
	size_t n_members;
	char *peers;
};

static void die(const char *what)
{
	(void) fprintf(stderr, "cluster: %s: %s\n", what, strerror(errno));
	exit(1);
}

int free_port(void)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *) &sin, sizeof(sin)) < 0 ||
	    getsockname(fd, (struct sockaddr *) &sin, &len) < 0)
		die("free port");
	(void) close(fd);
	return ntohs(sin.sin_port);
}

bool cluster_run(const struct cluster *cluster, const char *command)
{
	AUTO(free) char *line = xasprintf("cd %s && { %s; } >>log.txt 2>&1", cluster->dir, command);
	int status = system(line);

	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void cluster_make_certificate(const struct cluster *cluster, const char *ca, const char *name,
                              const char *extensions)
{
	AUTO(free)
	char *command = xasprintf("n=%s; ca=%s; printf '%s' >$n.ext &&"
	                          "openssl ecparam -name prime256v1 -genkey -noout -out $n-key.pem &&"
	                          "openssl req -new -key $n-key.pem -subj /CN=$n -out $n.csr &&"
	                          "openssl x509 -req -in $n.csr -CA $ca.pem -CAkey $ca-key.pem"
	                          " -CAcreateserial -days 2 -extfile $n.ext -out $n.pem",
	                          name, ca, extensions);

	if (!cluster_run(cluster, command))
		die("certificate");
}

static void make_certificates(const struct cluster *cluster)
{
	if (!cluster_run(cluster,
	                 "for n in ca ca2; do"
	                 " openssl ecparam -name prime256v1 -genkey -noout -out $n-key.pem &&"
	                 " openssl req -x509 -new -key $n-key.pem -days 2 -subj /CN=$n -out $n.pem"
	                 " || exit 1; done; cat ca.pem ca2.pem >client-ca.pem"))
		die("CA");
	cluster_make_certificate(cluster, "ca", "server",
	                         "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost\\n"
	                         "extendedKeyUsage=serverAuth,clientAuth\\n");
	cluster_make_certificate(cluster, "ca", "client", "extendedKeyUsage=clientAuth\\n");
}

const char *cluster_file(const struct cluster *cluster, const char *name)
{
	static char paths[8][128];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];

	(void) snprintf(path, sizeof(paths[0]), "%s/%s", cluster->dir, name);
	return path;
}

/* In the child. */
static void exec_etcd(const struct cluster *cluster, size_t index)
{
	const struct member *member = &cluster->members[index];
	const char *program = getenv("FAIRLEAD_TEST_ETCD");
	bool fast = (cluster->flags & CLUSTER_FAST) != 0;
	bool slow = (cluster->flags & CLUSTER_SLOW) != 0;
	AUTO(free) char *name = xasprintf("m%zu", index);
	AUTO(free) char *data = xasprintf("%s/m%zu", cluster->dir, index);
	AUTO(free) char *peer = xasprintf("http://127.0.0.1:%d", member->peer_port);
	AUTO(free) char *log = xasprintf("%s/m%zu.log", cluster->dir, index);
	const char *scheme = (cluster->flags & CLUSTER_TLS) != 0 ? "https" : "http";
	int port = member->client_port;
	AUTO(free)
	char *everywhere = xasprintf("%s://127.0.0.1:%d,%s://127.0.0.2:%d,%s://[::1]:%d", scheme, port,
	                             scheme, port, scheme, port);
	AUTO(free) char *socket = xasprintf("%s,unix://" CLUSTER_SOCKET, member->url);
	const char *argv[64] = {
	    "etcd",
	    "--name",
	    name,
	    "--data-dir",
	    data,
	    "--listen-client-urls",
	    (cluster->flags & CLUSTER_ALL_LOOPBACK) != 0 ? everywhere
	    : (cluster->flags & CLUSTER_UNIX) != 0       ? socket
	                                                 : member->url,
	    "--advertise-client-urls",
	    member->url,
	    "--listen-peer-urls",
	    peer,
	    "--initial-advertise-peer-urls",
	    peer,
	    "--initial-cluster",
	    cluster->peers,
	    "--heartbeat-interval",
	    fast ? "50" : "100",
	    "--election-timeout",
	    fast   ? "500"
	    : slow ? "5000"
	           : "1000",
	    "--logger",
	    "zap",
	    "--unsafe-no-fsync",
	};
	size_t n = 0;
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	while (argv[n] != NULL)
		n++;
	if ((cluster->flags & CLUSTER_TLS) != 0) {
		argv[n++] = "--cert-file";
		argv[n++] = xasprintf("%s/server.pem", cluster->dir);
		argv[n++] = "--key-file";
		argv[n++] = xasprintf("%s/server-key.pem", cluster->dir);
		argv[n++] = "--trusted-ca-file";
		argv[n++] = xasprintf("%s/client-ca.pem", cluster->dir);
		argv[n++] = "--client-cert-auth";
	}
	if ((cluster->flags & CLUSTER_SMALL) != 0) {
		argv[n++] = "--quota-backend-bytes";
		argv[n++] = "1048576";
	}
	/* Where its socket is to lie: all other paths are absolute. */
	if ((cluster->flags & CLUSTER_UNIX) != 0 && chdir(cluster->dir) < 0)
		_exit(127);
	(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void) dup2(fd, STDOUT_FILENO);
	(void) dup2(fd, STDERR_FILENO);
	(void) execvp(program != NULL ? program : "etcd", (char *const *) (uintptr_t) argv);
	_exit(127);
}

void cluster_restart(struct cluster *cluster, size_t index)
{
	struct member *member = &cluster->members[index];

	member->pid = fork();
	if (member->pid < 0)
		die("fork");
	if (member->pid == 0)
		exec_etcd(cluster, index);
}

/* etcd opens its client port long before it answers there. */
static void wait_until_ready(struct cluster *cluster)
{
	for (int tries = 0; !cluster_ctl(cluster, "endpoint health --cluster"); tries++) {
		for (size_t i = 0; i < cluster->n_members; i++) {
			if (tries > 200 || waitpid(cluster->members[i].pid, NULL, WNOHANG) != 0) {
				(void) fprintf(stderr, "cluster: etcd does not start: see %s\n", cluster->dir);
				exit(1);
			}
		}
		(void) usleep(50000);
	}
}

struct cluster *cluster_new(size_t n_members, unsigned flags)
{
	struct cluster *cluster = NEW0(struct cluster);
	char *peers = xstrdup("");

	cluster->flags = flags;
	cluster->n_members = n_members;
	(void) snprintf(cluster->dir, sizeof(cluster->dir), "/tmp/fairlead-etcd-XXXXXX");
	if (mkdtemp(cluster->dir) == NULL)
		die("mkdtemp");
	if ((flags & CLUSTER_TLS) != 0)
		make_certificates(cluster);
	for (size_t i = 0; i < n_members; i++) {
		struct member *member = &cluster->members[i];
		char *longer;

		member->client_port = free_port();
		member->peer_port = free_port();
		member->url = xasprintf("%s://127.0.0.1:%d", (flags & CLUSTER_TLS) != 0 ? "https" : "http",
		                        member->client_port);
		cluster->urls[i] = member->url;
		longer = xasprintf("%s%sm%zu=http://127.0.0.1:%d", peers, i > 0 ? "," : "", i,
		                   member->peer_port);
		free(peers);
		peers = longer;
	}
	cluster->peers = peers;
	for (size_t i = 0; i < n_members; i++)
		cluster_restart(cluster, i);
	wait_until_ready(cluster);
	return cluster;
}

void cluster_free(struct cluster *cluster)
{
	if (cluster == NULL)
		return;
	for (size_t i = 0; i < cluster->n_members; i++) {
		cluster_kill(cluster, i);
		free(cluster->members[i].url);
	}
	if (!cluster_run(cluster, "rm -rf m0* m1* m2*; rm -f *.pem *.ext *.csr *.srl log.txt"))
		die("clean up");
	(void) rmdir(cluster->dir);
	free(cluster->peers);
	free(cluster);
}

const char *const *cluster_urls(const struct cluster *cluster)
{
	return cluster->urls;
}

int cluster_port(const struct cluster *cluster, size_t member)
{
	return cluster->members[member].client_port;
}

void cluster_signal(struct cluster *cluster, size_t member, int signo)
{
	const pid_t pid = cluster->members[member].pid;

	if (pid <= 0)
		return;
	(void) kill(pid, signo);
	/* It has many threads, and each of them stops when it runs next. */
	if (signo == SIGSTOP && waitpid(pid, NULL, WUNTRACED) != pid)
		die("stop etcd");
}

void cluster_kill(struct cluster *cluster, size_t member)
{
	if (cluster->members[member].pid <= 0)
		return;
	cluster_signal(cluster, member, SIGKILL);
	(void) waitpid(cluster->members[member].pid, NULL, 0);
	cluster->members[member].pid = 0;
}

bool cluster_ctl(const struct cluster *cluster, const char *args)
{
	bool tls = (cluster->flags & CLUSTER_TLS) != 0;
	AUTO(free)
	char *command =
	    xasprintf("ETCDCTL_API=3 etcdctl --dial-timeout 20s --command-timeout 20s"
	              " --endpoints %s %s %s",
	              cluster->urls[0],
	              tls ? "--cacert ca.pem --cert client.pem --key client-key.pem" : "", args);

	return cluster_run(cluster, command);
}
