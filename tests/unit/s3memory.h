/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An S3 server in memory, for tests of what the worker keeps in a bucket: put, get, head, delete
 * and list, on a thread of this process. It checks no signatures. Tests look at its objects, change
 * them, and make it fail.
 */

#include <assert.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/mem.h"
#include "tests/unit/check.h"
#include "web/digest.h"
#include "web/s3.h"

#define S3MEMORY_OBJECTS_MAX 256
#define S3MEMORY_REQUEST_MAX (1 << 20)

static struct s3memory {
	pthread_mutex_t lock;
	int listener, port;
	struct s3memory_object {
		char *key;
		uint8_t *data;
		size_t len;
	} objects[S3MEMORY_OBJECTS_MAX]; /* in the order of their keys */
	size_t n;
	unsigned n_puts, n_lists, n_gets;
	unsigned puts_left; /* before each PUT is refused; UINT_MAX: never */
} s3memory = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, .puts_left = UINT_MAX};

/* --- the bucket --- */

static struct s3memory_object *s3memory_find(const char *key)
{
	for (size_t i = 0; i < s3memory.n; i++) {
		if (strcmp(s3memory.objects[i].key, key) == 0)
			return &s3memory.objects[i];
	}
	return NULL;
}

static void s3memory_remove(const char *key)
{
	struct s3memory_object *o;

	/* The server may still be sending it, also when the client has all of it. */
	(void) pthread_mutex_lock(&s3memory.lock);
	o = s3memory_find(key);
	if (o != NULL) {
		free(o->key);
		free(o->data);
		s3memory.n--;
		memmove(o, o + 1, (size_t) (s3memory.objects + s3memory.n - o) * sizeof(*o));
	}
	(void) pthread_mutex_unlock(&s3memory.lock);
}

static void s3memory_put(const char *key, const void *data, size_t len)
{
	size_t i = 0;

	(void) pthread_mutex_lock(&s3memory.lock);
	s3memory_remove(key);
	assert(s3memory.n < S3MEMORY_OBJECTS_MAX);
	while (i < s3memory.n && strcmp(s3memory.objects[i].key, key) < 0)
		i++;
	memmove(&s3memory.objects[i + 1], &s3memory.objects[i],
	        (s3memory.n - i) * sizeof(s3memory.objects[0]));
	s3memory.objects[i] =
	    (struct s3memory_object){.key = xstrdup(key), .data = xcalloc(1, len + 1), .len = len};
	memcpy(s3memory.objects[i].data, data, len);
	s3memory.n++;
	(void) pthread_mutex_unlock(&s3memory.lock);
}

static void s3memory_clear(void)
{
	while (s3memory.n > 0)
		s3memory_remove(s3memory.objects[0].key);
}

/* "key key ", without what all begin with. */
static UNUSED const char *s3memory_keys(size_t n_common)
{
	static char text[8192];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < s3memory.n; i++)
		len += (size_t) snprintf(text + len, sizeof(text) - len, "%s ",
		                         s3memory.objects[i].key + n_common);
	return text;
}

/* --- the server --- */

static void s3memory_say(int fd, const char *status, const char *headers, const void *body,
                         size_t len, bool has_body)
{
	AUTO(free)
	char *head = xasprintf("HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n",
	                       status, len, headers);

	(void) send(fd, head, strlen(head), MSG_NOSIGNAL);
	if (has_body && len > 0)
		(void) send(fd, body, len, MSG_NOSIGNAL);
}

static void s3memory_refuse(int fd, const char *status, const char *code)
{
	AUTO(free) char *body = xasprintf("<Error><Code>%s</Code><Message>no</Message></Error>", code);

	s3memory_say(fd, status, "", body, strlen(body), true);
}

static void s3memory_list(int fd, const char *query)
{
	const char *at = strstr(query, "prefix=");
	char prefix[1024] = "";
	char *body = xstrdup("<ListBucketResult><IsTruncated>false</IsTruncated>");
	size_t n = 0;

	for (at = at != NULL ? at + 7 : ""; *at != '\0' && *at != '&' && *at != ' ';) {
		unsigned c = (unsigned char) *at;

		if (c == '%' && sscanf(at + 1, "%2x", &c) == 1)
			at += 2;
		prefix[n++] = (char) c;
		at++;
	}
	prefix[n] = '\0';
	for (size_t i = 0; i < s3memory.n; i++) {
		char *more;

		if (strncmp(s3memory.objects[i].key, prefix, n) != 0)
			continue;
		more = xasprintf("%s<Contents><Key>%s</Key><LastModified>2026-11-21T20:30:00.000Z"
		                 "</LastModified><ETag>\"e\"</ETag><Size>%zu</Size></Contents>",
		                 body, s3memory.objects[i].key, s3memory.objects[i].len);
		free(body);
		body = more;
	}
	{
		AUTO(free) char *all = xasprintf("%s</ListBucketResult>", body);

		s3memory_say(fd, "200 OK", "Content-Type: application/xml\r\n", all, strlen(all), true);
	}
	free(body);
	s3memory.n_lists++;
}

static void s3memory_answer(int fd, const char *method, const char *key, const char *head,
                            const char *body, size_t len)
{
	const char *range = strcasestr(head, "\r\nrange: bytes=");
	size_t from = range != NULL ? strtoul(range + 15, NULL, 10) : 0;
	struct s3memory_object *o = s3memory_find(key);

	if (strcmp(method, "PUT") == 0) {
		s3memory.n_puts++;
		if (s3memory.puts_left == 0) {
			s3memory_refuse(fd, "403 Forbidden", "AccessDenied");
			return;
		}
		s3memory.puts_left -= s3memory.puts_left != UINT_MAX;
		s3memory_put(key, body, len);
		s3memory_say(fd, "200 OK", "ETag: \"e\"\r\n", "", 0, false);
	} else if (strcmp(method, "DELETE") == 0) {
		s3memory_remove(key);
		s3memory_say(fd, "204 No Content", "", "", 0, false);
	} else if (o == NULL) {
		if (strcmp(method, "HEAD") == 0)
			s3memory_say(fd, "404 Not Found", "", "", 0, false);
		else
			s3memory_refuse(fd, "404 Not Found", "NoSuchKey");
	} else {
		AUTO(free)
		char *more = range != NULL
		                 ? xasprintf("Content-Range: bytes %zu-%zu/%zu\r\nETag: \"e\"\r\n", from,
		                             o->len - 1, o->len)
		                 : xstrdup("ETag: \"e\"\r\n");

		s3memory.n_gets++;
		s3memory_say(fd, range != NULL ? "206 Partial Content" : "200 OK", more, o->data + from,
		             o->len - from, strcmp(method, "GET") == 0);
	}
}

static void s3memory_serve(int fd)
{
	AUTO(free) char *buffer = xcalloc(1, S3MEMORY_REQUEST_MAX + 1);
	char method[8], path[2048];
	size_t len = 0, want = 0;
	char *body = NULL;

	while (body == NULL || (size_t) (buffer + len - body) < want) {
		ssize_t n = recv(fd, buffer + len, S3MEMORY_REQUEST_MAX - len, 0);
		const char *length;

		if (n <= 0)
			return;
		len += (size_t) n;
		if (body != NULL)
			continue;
		body = strstr(buffer, "\r\n\r\n");
		if (body == NULL)
			continue;
		body += 4;
		length = strcasestr(buffer, "\r\ncontent-length:");
		want = length != NULL ? strtoul(length + 17, NULL, 10) : 0;
		if (strcasestr(buffer, "\r\nexpect: 100-continue") != NULL)
			(void) send(fd, "HTTP/1.1 100 Continue\r\n\r\n", 25, MSG_NOSIGNAL);
	}
	if (sscanf(buffer, "%7s /b%2000s", method, path) < 1)
		return;
	(void) pthread_mutex_lock(&s3memory.lock);
	if (path[0] == '/' && path[1] != '?' && path[1] != '\0')
		s3memory_answer(fd, method, path + 1, buffer, body, want);
	else
		s3memory_list(fd, path);
	(void) pthread_mutex_unlock(&s3memory.lock);
}

static void *s3memory_thread(void *unused UNUSED)
{
	for (;;) {
		int fd = accept(s3memory.listener, NULL, NULL);

		if (fd < 0)
			return NULL;
		s3memory_serve(fd);
		(void) shutdown(fd, SHUT_WR);
		(void) close(fd);
	}
}

/* First of all; the client is the caller's. */
static struct s3 *s3memory_start(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	struct s3_config config = {.bucket = "b",
	                           .keys = {.access_key = "AK", .secret_key = "SK"},
	                           .attempts = 1,
	                           .backoff_ms = 1};
	AUTO(free) char *endpoint = NULL;
	struct s3 *s3 = NULL;
	const char *why = NULL;
	pthread_t thread;

	s3memory.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(s3memory.listener, (struct sockaddr *) &a, len) == 0 &&
	      listen(s3memory.listener, 16) == 0 &&
	      getsockname(s3memory.listener, (struct sockaddr *) &a, &len) == 0);
	CHECK(pthread_create(&thread, NULL, s3memory_thread, NULL) == 0 && pthread_detach(thread) == 0);
	endpoint = xasprintf("http://127.0.0.1:%d", ntohs(a.sin_port));
	config.endpoint = endpoint;
	CHECK_EQ_INT(s3_new(&config, &why, &s3), 0);
	return s3;
}
