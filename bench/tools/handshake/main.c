/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The least that can check an API server: handshake ADDRESS:PORT CA NAME. One connection by TLS,
 * verified with the CA and for the name, on which /readyz is asked for once; the first line of the
 * answer goes to standard output, and the program stays as it is until its input ends. What it
 * takes of memory is what OpenSSL takes.
 */

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/endpoint.h"

#define ANSWER_MAX 4096

static _Noreturn void die(const char *what)
{
	(void) fprintf(stderr, "handshake: %s\n", what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

static int dial(const char *text)
{
	struct sockaddr_storage address;
	struct endpoint endpoint;
	socklen_t len;
	int fd;

	if (endpoint_parse(text, 0, &endpoint) < 0)
		die("not an address with a port");
	len = endpoint_to_sockaddr(&endpoint, &address);
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (const struct sockaddr *) &address, len) < 0)
		die("cannot connect");
	return fd;
}

static SSL *shake(int fd, const char *ca, const char *name)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());
	SSL *ssl;

	if (context == NULL || SSL_CTX_load_verify_locations(context, ca, NULL) != 1)
		die("cannot use the CA");
	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	ssl = SSL_new(context);
	if (ssl == NULL || SSL_set1_host(ssl, name) != 1 || SSL_set_fd(ssl, fd) != 1 ||
	    SSL_connect(ssl) != 1)
		die("no handshake");
	SSL_CTX_free(context);
	return ssl;
}

int main(int argc, char **argv)
{
	char text[ANSWER_MAX];
	SSL *ssl;
	int n;

	if (argc != 4) {
		(void) fprintf(stderr, "usage: handshake ADDRESS:PORT CA NAME\n");
		return 2;
	}
	ssl = shake(dial(argv[1]), argv[2], argv[3]);
	n = snprintf(text, sizeof(text), "GET /readyz HTTP/1.1\r\nHost: %s\r\n\r\n", argv[3]);
	if (SSL_write(ssl, text, n) != n)
		die("cannot ask");
	n = SSL_read(ssl, text, sizeof(text) - 1);
	if (n <= 0)
		die("no answer");
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	(void) puts(text);
	(void) fflush(stdout);
	while (read(STDIN_FILENO, text, sizeof(text)) > 0)
		continue;
	SSL_free(ssl);
	return 0;
}
