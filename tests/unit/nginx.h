/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A real nginx on loopback for a test, in a directory of its own, with certificates made on the
 * spot: `ca` signs `server` (named kubernetes) and `client`; `other` is a CA that signed neither.
 * The process dies with the test. Everything blocks.
 */

#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"

struct nginx {
	char dir[40];
	pid_t pid;
	int port;
};

#define NGINX_UNUSED static inline __attribute__((unused))

/* A listening socket on a free port of loopback. */
NGINX_UNUSED int nginx_listen(int backlog, int *ret_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(bind(fd, (struct sockaddr *) &a, len) == 0 && listen(fd, backlog) == 0);
	CHECK(getsockname(fd, (struct sockaddr *) &a, &len) == 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

/* One whose queue is full: it answers no SYN, as a host behind a firewall that drops. What fills it
 * is left open until the process ends. */
NGINX_UNUSED void nginx_listen_deaf(int *ret_port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	(void) nginx_listen(0, ret_port);
	a.sin_port = htons((in_port_t) *ret_port);
	for (int i = 0; i < 4; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		(void) connect(fd, (struct sockaddr *) &a, sizeof(a));
	}
}

NGINX_UNUSED bool nginx_answers(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	                        .sin_port = htons((in_port_t) port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool ok = connect(fd, (struct sockaddr *) &a, sizeof(a)) == 0;

	(void) close(fd);
	return ok;
}

/* Runs a shell command inside the directory. */
NGINX_UNUSED PRINTF_LIKE(2, 3) void nginx_shell(const struct nginx *n, const char *fmt, ...)
{
	AUTO(free) char *command = NULL;
	AUTO(free) char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&command, fmt, ap) < 0)
		abort();
	va_end(ap);
	line = xasprintf("cd %s && { %s; } >shell.log 2>&1", n->dir, command);
	if (!CHECK_EQ_INT(system(line), 0))
		(void) fprintf(stderr, "  %s\n", line);
}

/* A CA of that name: NAME.crt and NAME.key. */
NGINX_UNUSED void nginx_make_ca(const struct nginx *n, const char *name)
{
	nginx_shell(n,
	            "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
	            "-subj /CN=%s -keyout %s.key -out %s.crt",
	            name, name, name);
}

/* CERT.crt and CERT.key for the DNS name `common`, signed by CA. */
NGINX_UNUSED void nginx_make_cert(const struct nginx *n, const char *ca, const char *cert,
                                  const char *common)
{
	nginx_shell(n,
	            "openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=%s "
	            "-keyout %s.key -out %s.csr && printf 'subjectAltName=DNS:%s' >%s.ext && "
	            "openssl x509 -req -in %s.csr -CA %s.crt -CAkey %s.key -CAcreateserial -days 2 "
	            "-extfile %s.ext -out %s.crt",
	            common, cert, cert, common, cert, cert, ca, ca, cert, cert);
}

/* The directory, the certificates and a free port. */
NGINX_UNUSED void nginx_init(struct nginx *n)
{
	*n = (struct nginx){.dir = "/tmp/fairlead-nginx-XXXXXX"};
	CHECK(mkdtemp(n->dir) != NULL);
	nginx_make_ca(n, "ca");
	nginx_make_ca(n, "other");
	nginx_make_cert(n, "ca", "server", "kubernetes");
	nginx_make_cert(n, "ca", "client", "prober");
	(void) close(nginx_listen(1, &n->port));
}

/* Starts it with these directives inside the one TLS server, and waits until it answers. */
NGINX_UNUSED void nginx_start(struct nginx *n, const char *directives)
{
	AUTO(free) char *path = xasprintf("%s/nginx.conf", n->dir);
	AUTO(free)
	char *text = xasprintf("daemon off; worker_processes 1; pid nginx.pid; error_log error.log;\n"
	                       "%s events { worker_connections 64; }\n"
	                       "http { access_log off; client_body_temp_path t1; proxy_temp_path t2;\n"
	                       "fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;\n"
	                       "server { listen 127.0.0.1:%d ssl; root .; default_type text/plain;\n"
	                       "ssl_certificate server.crt; ssl_certificate_key server.key;\n"
	                       "ssl_client_certificate ca.crt; ssl_verify_client optional;\n%s\n} }\n",
	                       geteuid() == 0 ? "user root;" : "", n->port, directives);

	CHECK_EQ_INT(file_write_atomic(path, text, strlen(text), 0600, FILE_VOLATILE), 0);
	n->pid = fork();
	if (n->pid == 0) {
		(void) prctl(PR_SET_PDEATHSIG, SIGTERM);
		(void) execl("/usr/sbin/nginx", "nginx", "-p", n->dir, "-e", "error.log", "-c", path, NULL);
		_exit(127);
	}
	for (int i = 0; i < 500 && !nginx_answers(n->port); i++)
		(void) usleep(10 * 1000);
	CHECK(nginx_answers(n->port));
}

NGINX_UNUSED void nginx_stop(struct nginx *n)
{
	if (n->pid <= 0)
		return;
	(void) kill(n->pid, SIGTERM);
	(void) waitpid(n->pid, NULL, 0);
	n->pid = 0;
}

/* Stops it and removes the directory. */
NGINX_UNUSED void nginx_fini(struct nginx *n)
{
	AUTO(free) char *line = xasprintf("rm -rf %s", n->dir);

	nginx_stop(n);
	CHECK_EQ_INT(system(line), 0);
}
