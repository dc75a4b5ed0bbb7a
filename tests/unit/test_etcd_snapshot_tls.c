/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots over TLS, and over a unix socket: of real members, and from servers that are not who
 * they should be, or nothing at all. What an operator reads then is compared word by word.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "base/mem.h"
#include "base/mono.h"
#include "check.h"
#include "etcd/etcd.h"
#include "etcd/channel.h"
#include "etcd/pull.h"
#include "etcd/url.h"
#include "etcd/rpc.h"
#include "etcdtest/cares.h"
#include "etcdtest/cluster.h"
#include "etcdtest/sync.h"
#include "turn.h"

static struct ev_loop *ev;
static struct cluster *cluster;

/* The names of files of the cluster; NULL: not used. */
struct files {
	const char *ca;
	const char *cert;
	const char *key;
};

static const struct files good = {"ca.pem", "client.pem", "client-key.pem"};

static const char *path_of(const char *name)
{
	return name != NULL ? cluster_file(cluster, name) : NULL;
}

/* --- a snapshot --- */

static struct {
	struct etcd_snapshot *snapshot;
	uint64_t bytes;
	uint64_t total_bytes;
	unsigned n_digests;
	struct answer end;
} got;

static void on_blob(const struct etcd_blob *blob, void *userdata UNUSED)
{
	got.bytes += blob->is_digest ? 0 : blob->len;
	got.total_bytes = blob->total_bytes;
	got.n_digests += blob->is_digest;
	etcd_snapshot_next(got.snapshot);
}

static void take(struct etcd *etcd, unsigned stall_ms)
{
	static const struct etcd_snapshot_callbacks callbacks = {.blob = on_blob,
	                                                         .done = answer_on_done};

	memset(&got, 0, sizeof(got));
	got.end.asked_us = mono_now_us();
	CHECK_EQ_INT(etcd_snapshot_start(etcd, NULL, stall_ms, &callbacks, &got.end, &got.snapshot), 0);
	CHECK(sync_until(ev, &got.end.n_callbacks, 1));
	if (got.end.r < 0)
		return;
	CHECK_EQ_INT(got.n_digests, 1);
	CHECK_EQ_INT(got.bytes, got.total_bytes);
}

static struct etcd *client_new(const char *url, const struct files *files)
{
	struct etcd_options options = {.endpoints = &url,
	                               .n_endpoints = 1,
	                               .ca_file = path_of(files->ca),
	                               .cert_file = path_of(files->cert),
	                               .key_file = path_of(files->key)};
	char error[ETCD_ERROR_TEXT_MAX];
	struct etcd *etcd = NULL;

	CHECK_EQ_INT(etcd_new(ev, &options, error, &etcd), 0);
	CHECK_EQ_STR(error, "");
	return etcd;
}

static void check_end(int r, const char *text, int line)
{
	if (got.end.r == r && strcmp(got.end.text, text) == 0)
		return;
	(void) fprintf(stderr, "line %d: %d '%s', want %d '%s'\n", line, got.end.r, got.end.text, r,
	               text);
	check_failures++;
}
#define CHECK_END(r, text) check_end((r), (text), __LINE__)

/* Who it is, and who we are: the certificate names 127.0.0.1, ::1 and localhost. */
static void test_members(void)
{
	static const struct files other_ca = {"ca2.pem", "client.pem", "client-key.pem"};
	static const struct files anonymous = {"ca.pem", NULL, NULL};
	static const struct files stranger = {"ca.pem", "stranger.pem", "client-key.pem"};
	static const struct {
		const char *host;
		const struct files *files;
		int r;
		const char *text;
	} cases[] = {
	    {"127.0.0.1", &good, 0, ""},
	    {"[::1]", &good, 0, ""},
	    {"localhost", &good, 0, ""},
	    /* Listens there too. */
	    {"127.0.0.2", &good, -EHOSTUNREACH, "its certificate is not accepted: IP address mismatch"},
	    {"127.0.0.1", &other_ca, -EHOSTUNREACH,
	     "its certificate is not accepted: unable to get local issuer certificate"},
	    {"127.0.0.1", &anonymous, -EHOSTUNREACH,
	     "it wants a client's certificate: sslv3 alert bad certificate"},
	    {"127.0.0.1", &stranger, -EHOSTUNREACH,
	     "it does not accept our certificate: sslv3 alert bad certificate"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(free)
		char *url = xasprintf("https://%s:%d", cases[i].host, cluster_port(cluster, 0));
		AUTO(etcd_free) struct etcd *etcd = client_new(url, cases[i].files);

		take(etcd, 0);
		check_end(cases[i].r, cases[i].text, __LINE__);
	}
}

/* --- certificates that change on disk --- */

/* Until the files on disk have been looked at once more. */
static void take_until(struct etcd *etcd, int r, const char *text)
{
	int64_t limit_us = mono_now_us() + TURN_LIMIT_US;

	do {
		take(etcd, 0);
		turn_for(ev, 50 * US_PER_MS);
	} while ((got.end.r != r || strcmp(got.end.text, text) != 0) && mono_now_us() < limit_us);
	check_end(r, text, __LINE__);
}

/* First ours, then the member's; each time one snapshot is refused in between. */
static void test_rotation(void)
{
	AUTO(free) char *url = xasprintf("https://localhost:%d", cluster_port(cluster, 0));
	AUTO(etcd_free) struct etcd *etcd = client_new(url, &good);

	take(etcd, 0);
	CHECK_END(0, "");

	cluster_kill(cluster, 0);
	CHECK(cluster_run(cluster, "cp ca2.pem client-ca.pem"));
	cluster_restart(cluster, 0);
	take_until(etcd, -EHOSTUNREACH,
	           "it does not accept our certificate: sslv3 alert bad certificate");
	cluster_make_certificate(cluster, "ca2", "next", "extendedKeyUsage=clientAuth\\n");
	CHECK(cluster_run(cluster, "mv next-key.pem client-key.pem && mv next.pem client.pem"));
	take_until(etcd, 0, "");

	/* A member reads its own with each connection. */
	cluster_make_certificate(cluster, "ca2", "next", "subjectAltName=DNS:localhost\\n");
	CHECK(cluster_run(cluster, "mv next-key.pem server-key.pem && mv next.pem server.pem"));
	take_until(etcd, -EHOSTUNREACH,
	           "its certificate is not accepted: unable to get local issuer certificate");
	CHECK(cluster_run(cluster, "cp ca2.pem next.pem && mv next.pem ca.pem"));
	take_until(etcd, 0, "");
}

/* --- servers that are no members --- */

static struct {
	bool is_over;
	grpc_status_code code;
	char text[PULL_TEXT_MAX];
} knocked;

static void on_message(const void *data UNUSED, size_t len UNUSED, void *userdata UNUSED)
{
	CHECK(false);
}

static void on_ended(grpc_status_code code, const char *text, void *userdata UNUSED)
{
	knocked.is_over = true;
	knocked.code = code;
	(void) snprintf(knocked.text, sizeof(knocked.text), "%s", text);
}

/* As a snapshot begins, and without gRPC's own connection beside it: `openssl s_server` takes one
 * at a time. */
static void check_knock(const char *host, int port, const struct files *files, int r,
                        const char *text)
{
	static const struct pull_callbacks callbacks = {.message = on_message, .ended = on_ended};
	AUTO(free) char *url_text = xasprintf("https://%s:%d", host, port);
	AUTO(pem_free) struct pem *pem = NULL;
	char error[ETCD_ERROR_TEXT_MAX];
	struct verdict verdict;
	struct pull *pull;
	struct url url;

	memset(&knocked, 0, sizeof(knocked));
	CHECK_EQ_INT(url_parse(url_text, &url), 0);
	CHECK_EQ_INT(
	    pem_load(path_of(files->ca), path_of(files->cert), path_of(files->key), error, &pem), 0);
	pull = pull_open(ev, &url, pem, "/etcdserverpb.Maintenance/Snapshot", NULL, &callbacks, NULL);
	if (!CHECK(TURN_UNTIL(ev, knocked.is_over)))
		pull_close(pull);
	verdict = verdict_of(knocked.code, knocked.text, true);
	CHECK_EQ_INT(knocked.code, GRPC_STATUS_UNAVAILABLE);
	CHECK_EQ_INT(verdict.r, r);
	CHECK_EQ_STR(knocked.text, text);
}

struct openssl_server {
	pid_t pid;
	int fd; /* its input and output */
	int port;
};

/* Listens at 127.0.0.1 when this returns. */
static struct openssl_server openssl_start(const char *options)
{
	AUTO(free)
	char *command = xasprintf("cd %s && exec openssl s_server -accept 127.0.0.1:0 %s 2>>log.txt",
	                          cluster_file(cluster, "."), options);
	struct openssl_server server = {.fd = -1};
	char line[256] = "";
	size_t n = 0;
	int pair[2];

	CHECK_EQ_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	server.pid = fork();
	if (server.pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) dup2(pair[1], STDIN_FILENO);
		(void) dup2(pair[1], STDOUT_FILENO);
		(void) execl("/bin/sh", "sh", "-c", command, (char *) NULL);
		_exit(127);
	}
	(void) close(pair[1]);
	server.fd = pair[0];
	/* "ACCEPT 127.0.0.1:40000" */
	while (n < sizeof(line) - 1 && read(server.fd, line + n, 1) == 1) {
		if (line[n] != '\n')
			n++;
		else if (sscanf(line, "ACCEPT 127.0.0.1:%d", &server.port) == 1)
			break;
		else
			n = 0;
	}
	CHECK(server.port > 0);
	return server;
}

static void openssl_stop(struct openssl_server *server)
{
	(void) kill(server->pid, SIGKILL);
	(void) waitpid(server->pid, NULL, 0);
	(void) close(server->fd);
}

static void test_openssl_servers(void)
{
#define SERVER "-cert server.pem -key server-key.pem "
#define WANTS_CA2 "-alpn h2 -Verify 2 -verify_return_error -CAfile ca2.pem "
	static const struct files anonymous = {"ca.pem", NULL, NULL};
	static const struct {
		const char *options;
		const char *host; /* NULL: 127.0.0.1 */
		const struct files *files;
		const char *text;
	} cases[] = {
	    {SERVER, NULL, &good, "it does not speak HTTP/2"},
	    {SERVER "-alpn http/1.1", NULL, &good, "it does not speak HTTP/2"},
	    {SERVER "-tls1_1 -cipher DEFAULT:@SECLEVEL=0", NULL, &good,
	     "it speaks no TLS that is 1.2 or newer"},
	    {SERVER WANTS_CA2 "-tls1_2", NULL, &anonymous, "TLS: sslv3 alert handshake failure"},
	    {SERVER WANTS_CA2 "-tls1_3", NULL, &anonymous,
	     "it wants a client's certificate: tlsv13 alert certificate required"},
	    {SERVER WANTS_CA2 "-tls1_2", NULL, &good,
	     "it does not accept our certificate: tlsv1 alert unknown ca"},
	    {SERVER WANTS_CA2 "-tls1_3", NULL, &good,
	     "it does not accept our certificate: tlsv1 alert unknown ca"},
	    {"-alpn h2 -cert elsewhere.pem -key elsewhere-key.pem", "localhost", &good,
	     "its certificate is not accepted: hostname mismatch"},
	    {"-alpn h2 -cert elsewhere.pem -key elsewhere-key.pem", NULL, &good,
	     "its certificate is not accepted: IP address mismatch"},
	    {"-alpn h2 -cert expired.pem -key server-key.pem", NULL, &good,
	     "its certificate is not accepted: certificate has expired"},
	    {"-alpn h2 -cert client.pem -key client-key.pem", NULL, &good,
	     "its certificate is not accepted: unsuitable certificate purpose"},
	};

	cluster_make_certificate(cluster, "ca", "elsewhere",
	                         "subjectAltName=IP:127.0.0.2,DNS:elsewhere.example\\n");
	CHECK(cluster_run(cluster, "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca-key.pem"
	                           " -extfile server.ext -days -1 -out expired.pem"));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct openssl_server server = openssl_start(cases[i].options);

		check_knock(cases[i].host != NULL ? cases[i].host : "127.0.0.1", server.port,
		            cases[i].files, -EHOSTUNREACH, cases[i].text);
		openssl_stop(&server);
	}
#undef SERVER
#undef WANTS_CA2
}

/* --- servers that are none of TLS --- */

/* What it says to whoever comes, before it hangs up; NULL: nothing, and it stays. */
static const char *greeting;

static void accept_cb(struct ev_loop *loop UNUSED, ev_io *w, int revents UNUSED)
{
	char in[4096];
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);

	/* Only what has been read can be answered without a reset. */
	CHECK(read(fd, in, sizeof(in)) > 0);
	CHECK(write(fd, greeting, strlen(greeting)) == (ssize_t) strlen(greeting));
	(void) close(fd);
}

static int listen_somewhere(int *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_EQ_INT(bind(fd, (const struct sockaddr *) &address, len), 0);
	CHECK_EQ_INT(listen(fd, 16), 0);
	CHECK_EQ_INT(getsockname(fd, (struct sockaddr *) &address, &len), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static void test_not_tls(void)
{
	static const struct {
		const char *greeting;
		const char *text;
	} cases[] = {
	    {"HTTP/1.1 400 Bad Request\r\n\r\n", "it does not speak TLS"},
	    {"SSH-2.0-OpenSSH_9.2\r\n", "it does not speak TLS"},
	    {"", "it closed the connection"},
	};
	int port;
	ev_io io;
	int fd = listen_somewhere(&port);

	ev_io_init(&io, accept_cb, fd, EV_READ);
	ev_io_start(ev, &io);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		greeting = cases[i].greeting;
		check_knock("127.0.0.1", port, &good, -EHOSTUNREACH, cases[i].text);
	}
	ev_io_stop(ev, &io);
	(void) close(fd);
}

/* Shorter than the policy of the machine has it: OpenSSL's level 2. */
static void test_short_key(void)
{
	static const struct files files = {"ca.pem", "short.pem", "short-key.pem"};
	int port;
	int fd = listen_somewhere(&port);

	CHECK(cluster_run(cluster, "openssl req -x509 -newkey rsa:1024 -noenc -keyout short-key.pem"
	                           " -days 2 -subj /CN=short -out short.pem"));
	check_knock("127.0.0.1", port, &files, -EHOSTUNREACH,
	            "our certificates cannot be used: ee key too small");
	(void) close(fd);
}

/* The kernel takes the connection, and nobody comes for it. */
static void test_silent(void)
{
	int port;
	int fd = listen_somewhere(&port);
	AUTO(free) char *url = xasprintf("https://127.0.0.1:%d", port);
	AUTO(etcd_free) struct etcd *etcd = client_new(url, &good);

	take(etcd, 400);
	CHECK_END(-ETIMEDOUT, "no bytes within 400 ms, after 0 of 0");
	CHECK(got.end.done_us - got.end.asked_us >= 399 * US_PER_MS);
	CHECK(got.end.done_us - got.end.asked_us < 20 * US_PER_S);
	/* Where TLS itself is given less time than all the rest. */
	take(etcd, 25000);
	CHECK_END(-EHOSTUNREACH, "it takes connections and does not answer");
	(void) close(fd);
}

static void test_unix(void)
{
	AUTO(free) char *url = xasprintf("unix://%s", cluster_file(cluster, CLUSTER_SOCKET));
	AUTO(etcd_free) struct etcd *etcd = client_new(url, &(struct files){NULL, NULL, NULL});

	take(etcd, 0);
	CHECK_END(0, "");
	CHECK_EQ_STR(got.end.endpoint, url);
	cluster_kill(cluster, 0);
	take(etcd, 0);
	CHECK_END(-EHOSTUNREACH, "Connection refused");
	CHECK(cluster_run(cluster, "rm " CLUSTER_SOCKET));
	take(etcd, 0);
	CHECK_END(-EHOSTUNREACH, "No such file or directory");
}

int main(void)
{
	(void) signal(SIGPIPE, SIG_IGN);
	ev = ev_default_loop(0);
	cluster = cluster_new(1, CLUSTER_UNIX);
	test_unix();
	cluster_free(cluster);
	cluster = cluster_new(1, CLUSTER_TLS | CLUSTER_ALL_LOOPBACK);
	CHECK(cluster_run(cluster,
	                  "openssl req -x509 -new -key client-key.pem -days 2 -subj /CN=stranger"
	                  " -out stranger.pem"));
	test_members();
	test_openssl_servers();
	test_not_tls();
	test_short_key();
	test_silent();
	test_rotation();
	cluster_free(cluster);
	ev_loop_destroy(ev);
	return check_result();
}
