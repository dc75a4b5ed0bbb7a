/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands between an S3 client and a server, and does to chosen requests what networks and servers
 * do:
 *
 *   s3fault PORT SERVER_PORT [METHOD/SUBSTRING/TIMES/FAULT]...
 *
 * A rule is for the next TIMES requests of that method whose target has the substring ("*": any of
 * either). Requests that no rule is for are passed on, and so is everything once the rules are
 * used up. FAULT is one of
 *
 *   403 500 503 ...    answers so, with the error document that S3 has for it; does not pass it on
 *   error200           the same with status 200: an error that came too late for a status
 *   hang               reads and never answers
 *   close              closes the connection at once
 *   garbage            answers what is not HTTP
 *   lost               passes it on, and then keeps the answer for itself
 *   cut-request=N      resets both connections after N bytes of the body
 *   cut-answer=N       ends both after N bytes of the answer's
 *   damage-request     changes the first byte of the body
 *   damage-answer      the same for the answer's
 *   announce=N         says in the answer's head that N bytes come, whatever does
 *
 * One connection at a time, and one request a connection: that is how a client that does one thing
 * after the other comes. Prints "ready", then each request with what was done to it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"

#define RULES_MAX 16
#define HEAD_MAX 16384
#define BUFFER_BYTES 65536
#define NO_LIMIT UINT64_MAX
#define DRAIN_MS 5000
#define HANG_MS 120000

struct rule {
	char method[16];
	char substring[128];
	unsigned left;
	char fault[32];
};

/* One direction of what is passed on. The body begins behind the first empty line. */
struct flow {
	int from;
	int to;
	bool in_body;
	unsigned newlines;  /* at the end of what came, while still in the head */
	uint64_t body_left; /* until the cut */
	bool damage;
	bool muted; /* read, but not passed on */
};

static struct rule rules[RULES_MAX];
static size_t n_rules;

static NORETURN void die(const char *what)
{
	(void) fprintf(stderr, "s3fault: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int make_socket(int port, bool listening)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
	                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	                        .sin_port = htons((in_port_t) port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		die("socket");
	if (!listening) {
		if (connect(fd, (struct sockaddr *) &a, sizeof(a)) < 0) {
			(void) close(fd);
			return -1;
		}
		return fd;
	}
	(void) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *) &a, sizeof(a)) < 0 || listen(fd, 16) < 0)
		die("listen");
	return fd;
}

static bool send_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t) n;
	}
	return true;
}

/* Reads until the other side closes, or for so long. */
static void drain(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char buffer[BUFFER_BYTES];

	while (poll(&p, 1, ms) > 0 && recv(fd, buffer, sizeof(buffer), 0) > 0)
		;
}

/* --- rules --- */

static void add_rule(const char *text)
{
	struct rule *rule = &rules[n_rules];

	if (n_rules == RULES_MAX)
		die("too many rules");
	if (sscanf(text, "%15[^/]/%127[^/]/%u/%31s", rule->method, rule->substring, &rule->left,
	           rule->fault) != 4) {
		(void) fprintf(stderr, "s3fault: not METHOD/SUBSTRING/TIMES/FAULT: '%s'\n", text);
		exit(2);
	}
	n_rules++;
}

/* "*" is anything. */
static bool matches(const struct rule *rule, const char *method, const char *target)
{
	return rule->left > 0 &&
	       (strcmp(rule->method, "*") == 0 || strcmp(rule->method, method) == 0) &&
	       (strcmp(rule->substring, "*") == 0 || strstr(target, rule->substring) != NULL);
}

static const char *choose(const char *method, const char *target)
{
	for (size_t i = 0; i < n_rules; i++) {
		if (matches(&rules[i], method, target)) {
			rules[i].left--;
			return rules[i].fault;
		}
	}
	return "";
}

/* The number behind '=', if the fault is called so. */
static bool has_number(const char *fault, const char *name, uint64_t *ret)
{
	size_t len = strlen(name);

	if (strncmp(fault, name, len) != 0 || fault[len] != '=')
		return false;
	*ret = strtoull(fault + len + 1, NULL, 10);
	return true;
}

/* --- answers of our own --- */

static const char *code_of(int status)
{
	switch (status) {
	case 400:
		return "InvalidPart";
	case 403:
		return "AccessDenied";
	case 404:
		return "NoSuchUpload";
	case 501:
		return "NotImplemented";
	case 503:
		return "SlowDown";
	default:
		return "InternalError";
	}
}

static void answer(int client, int status, const char *code)
{
	char body[256], head[256];
	/* White space is what servers send while they work, to keep a connection alive. */
	int len = snprintf(body, sizeof(body),
	                   "%s<?xml version=\"1.0\"?>\n<Error><Code>%s</Code>"
	                   "<Message>made by s3fault</Message></Error>",
	                   status == 200 ? " \n \n" : "", code);

	(void) snprintf(head, sizeof(head),
	                "HTTP/1.1 %d Fault\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n"
	                "Connection: close\r\n\r\n",
	                status, len);
	if (send_all(client, head, strlen(head)) && send_all(client, body, (size_t) len))
		(void) shutdown(client, SHUT_WR);
	/* Closing with unread data would reset the connection, and the answer with it. */
	drain(client, DRAIN_MS);
}

/* --- passing on --- */

/* How many of the bytes are still of the head. */
static size_t head_part(struct flow *flow, const char *data, size_t len)
{
	for (size_t i = 0; i < len && !flow->in_body; i++) {
		if (data[i] == '\n')
			flow->newlines++;
		else if (data[i] != '\r')
			flow->newlines = 0;
		if (flow->newlines == 2) {
			flow->in_body = true;
			return i + 1;
		}
	}
	return flow->in_body ? 0 : len;
}

/* False at the end of the flow, or at the cut. */
static bool pass_some(struct flow *flow)
{
	char buffer[BUFFER_BYTES];
	ssize_t n = recv(flow->from, buffer, sizeof(buffer), 0);
	size_t len, head, body;
	bool cut;

	if (n <= 0)
		return false;
	len = (size_t) n;
	head = head_part(flow, buffer, len);
	body = len - head;
	if (flow->damage && body > 0) {
		buffer[head] ^= 1;
		flow->damage = false;
	}
	cut = flow->in_body && body >= flow->body_left;
	if (cut)
		body = (size_t) flow->body_left;
	flow->body_left -= flow->in_body && flow->body_left != NO_LIMIT ? body : 0;
	if (!flow->muted && !send_all(flow->to, buffer, head + body))
		return false;
	return !cut;
}

/* Until one of them ends. */
static void pass_all(struct flow *request, struct flow *response)
{
	for (;;) {
		struct pollfd fds[] = {{.fd = request->from, .events = POLLIN},
		                       {.fd = response->from, .events = POLLIN}};

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
			return;
		if (fds[1].revents != 0 && !pass_some(response))
			return;
		if (fds[0].revents != 0 && !pass_some(request))
			return;
	}
}

/* A reset instead of an end: nobody takes what came for all. */
static void reset(int fd)
{
	const struct linger linger = {.l_onoff = 1};

	(void) setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

/* Up to the empty line, and what came behind it. */
static size_t read_head(int fd, char *buffer, size_t size, size_t *ret_len)
{
	size_t len = 0;

	while (len + 1 < size) {
		ssize_t n = recv(fd, buffer + len, size - 1 - len, 0);
		const char *end;

		if (n <= 0)
			return 0;
		len += (size_t) n;
		buffer[len] = '\0';
		end = strstr(buffer, "\r\n\r\n");
		if (end != NULL) {
			*ret_len = len;
			return (size_t) (end - buffer) + 4;
		}
	}
	return 0;
}

/* Passes the head of an answer on, with another length in it. False: it is none. */
static bool announce(struct flow *response, uint64_t n_bytes)
{
	static const char name[] = "\r\nContent-Length: ";
	char head[HEAD_MAX], length[32];
	size_t len, head_len = read_head(response->from, head, sizeof(head), &len);
	char *at = head_len > 0 ? strcasestr(head, name) : NULL;
	const char *rest;

	if (at == NULL)
		return false;
	at += sizeof(name) - 1;
	rest = at + strspn(at, "0123456789");
	(void) snprintf(length, sizeof(length), "%llu", (unsigned long long) n_bytes);
	response->in_body = true;
	return send_all(response->to, head, (size_t) (at - head)) &&
	       send_all(response->to, length, strlen(length)) &&
	       send_all(response->to, rest, len - (size_t) (rest - head));
}

static void pass_on(int client, int server_port, const char *head, size_t head_len, size_t body_len,
                    const char *fault)
{
	static const char close_it[] = "Connection: close\r\n\r\n";
	struct flow request = {.from = client, .in_body = true, .body_left = NO_LIMIT};
	struct flow response = {.to = client, .body_left = NO_LIMIT};
	AUTO(close) int server = make_socket(server_port, false);
	char first[HEAD_MAX];
	uint64_t n_bytes;

	if (server < 0)
		return;
	request.to = response.from = server;
	request.damage = strcmp(fault, "damage-request") == 0;
	response.damage = strcmp(fault, "damage-answer") == 0;
	response.muted = strcmp(fault, "lost") == 0;
	(void) has_number(fault, "cut-request", &request.body_left);
	(void) has_number(fault, "cut-answer", &response.body_left);
	/* What the client has not read yet would be lost with it, so not when an answer is cut: that is
	 * to be of a certain length. */
	if (request.body_left != NO_LIMIT || response.muted)
		reset(client);
	memcpy(first, head + head_len, body_len);
	if (body_len > 0 && request.damage) {
		first[0] ^= 1;
		request.damage = false;
	}
	request.body_left -= request.body_left != NO_LIMIT ? MIN(request.body_left, body_len) : 0;
	if (send_all(server, head, head_len - 2) && send_all(server, close_it, sizeof(close_it) - 1) &&
	    send_all(server, first, body_len) &&
	    (!has_number(fault, "announce", &n_bytes) || announce(&response, n_bytes)))
		pass_all(&request, &response);
}

/* --- one request --- */

static void serve(int client, int server_port)
{
	char head[HEAD_MAX], method[16], target[4096];
	size_t len, head_len = read_head(client, head, sizeof(head), &len);
	const char *fault;

	if (head_len == 0 || sscanf(head, "%15s %4095s", method, target) != 2)
		return;
	fault = choose(method, target);
	(void) printf("%s %s %s\n", method, target, fault[0] != '\0' ? fault : "-");
	if (fault[0] >= '1' && fault[0] <= '9')
		answer(client, atoi(fault), code_of(atoi(fault)));
	else if (strcmp(fault, "error200") == 0)
		answer(client, 200, "InternalError");
	else if (strcmp(fault, "hang") == 0)
		drain(client, HANG_MS);
	else if (strcmp(fault, "close") == 0)
		reset(client);
	else if (strcmp(fault, "garbage") == 0)
		(void) send_all(client, "SSH-2.0-OpenSSH_9.2\r\n\r\n", 23);
	else
		pass_on(client, server_port, head, head_len, len - head_len, fault);
}

int main(int argc, char **argv)
{
	int listener, server_port;

	if (argc < 3) {
		(void) fputs("s3fault PORT SERVER_PORT [METHOD/SUBSTRING/TIMES/FAULT]...\n", stderr);
		return 2;
	}
	(void) prctl(PR_SET_PDEATHSIG, SIGTERM);
	server_port = atoi(argv[2]);
	for (int i = 3; i < argc; i++)
		add_rule(argv[i]);
	listener = make_socket(atoi(argv[1]), true);
	(void) setvbuf(stdout, NULL, _IOLBF, 0);
	(void) puts("ready");
	for (;;) {
		AUTO(close) int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (client >= 0)
			serve(client, server_port);
	}
}
