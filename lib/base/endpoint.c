/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints: text to value and back, and to the kernel's socket addresses and back. Pure.
 *
 * Text has one meaning or is refused: a port is plain decimal digits, and brackets stand around an
 * IPv6 address and nothing else.
 */
#include "base/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define PORT_MAX 65535

static int parse_port(const char *text, uint16_t *ret_port)
{
	unsigned value = 0;

	if (text[0] == '\0' || text[0] == '0' || strlen(text) > 5)
		return -EINVAL;
	for (const char *p = text; *p != '\0'; p++) {
		if (*p < '0' || *p > '9')
			return -EINVAL;
		value = value * 10 + (unsigned) (*p - '0');
	}
	if (value > PORT_MAX)
		return -EINVAL;
	*ret_port = (uint16_t) value;
	return 0;
}

static int parse_host(const char *text, size_t len, struct addr *ret_addr)
{
	char host[ADDR_TEXT_MAX];

	if (len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	return addr_parse(host, ret_addr);
}

/* Behind the '['. */
static int parse_bracketed(const char *text, struct addr *ret_addr, const char **ret_rest)
{
	const char *close = strchr(text, ']');
	int r;

	if (close == NULL)
		return -EINVAL;
	r = parse_host(text, (size_t) (close - text), ret_addr);
	if (r < 0)
		return r;
	*ret_rest = close + 1;
	return ret_addr->family == AF_INET6 ? 0 : -EINVAL;
}

int endpoint_parse(const char *text, uint16_t default_port, struct endpoint *ret_endpoint)
{
	struct endpoint e = {.port = default_port};
	const char *colon = strchr(text, ':');
	const char *rest = "";
	int r;

	if (text[0] == '[')
		r = parse_bracketed(text + 1, &e.addr, &rest);
	else if (colon != NULL && strchr(colon + 1, ':') != NULL) /* IPv6, so without a port */
		r = parse_host(text, strlen(text), &e.addr);
	else {
		rest = colon != NULL ? colon : "";
		r = parse_host(text, strlen(text) - strlen(rest), &e.addr);
	}
	if (r < 0)
		return -EINVAL;
	if (rest[0] != '\0') {
		r = rest[0] == ':' ? parse_port(rest + 1, &e.port) : -EINVAL;
		if (r < 0)
			return r;
	}
	if (e.port == 0)
		return -EINVAL;
	*ret_endpoint = e;
	return 0;
}

const char *endpoint_format(const struct endpoint *e, char buf[static ENDPOINT_TEXT_MAX])
{
	char text[ADDR_TEXT_MAX];
	bool brackets = e->addr.family == AF_INET6;

	(void) snprintf(buf, ENDPOINT_TEXT_MAX, "%s%s%s:%u", brackets ? "[" : "",
	                addr_format(&e->addr, text), brackets ? "]" : "", e->port);
	return buf;
}

bool endpoint_equal(const struct endpoint *a, const struct endpoint *b)
{
	return endpoint_compare(a, b) == 0;
}

int endpoint_compare(const struct endpoint *a, const struct endpoint *b)
{
	int order = addr_compare(&a->addr, &b->addr);

	if (order != 0)
		return order;
	return (a->port > b->port) - (a->port < b->port);
}

/* --- the kernel's --- */

socklen_t endpoint_to_sockaddr(const struct endpoint *e, struct sockaddr_storage *ret_address)
{
	*ret_address = (struct sockaddr_storage){0};
	if (e->addr.family == AF_INET6) {
		struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(e->port)};

		memcpy(&in6.sin6_addr, e->addr.bytes, sizeof(in6.sin6_addr));
		memcpy(ret_address, &in6, sizeof(in6));
		return sizeof(in6);
	} else {
		struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(e->port)};

		memcpy(&in.sin_addr, e->addr.bytes, sizeof(in.sin_addr));
		memcpy(ret_address, &in, sizeof(in));
		return sizeof(in);
	}
}

int endpoint_from_sockaddr(const struct sockaddr *address, struct endpoint *ret_endpoint)
{
	struct endpoint e = {0};
	int r;

	/* Copied, because a caller's buffer may be aligned for less. */
	if (address->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, address, sizeof(in));
		e.port = ntohs(in.sin_port);
		r = addr_from_bytes(AF_INET, &in.sin_addr, sizeof(in.sin_addr), &e.addr);
	} else if (address->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, address, sizeof(in6));
		e.port = ntohs(in6.sin6_port);
		if (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
			r = addr_from_bytes(AF_INET, &in6.sin6_addr.s6_addr[12], 4, &e.addr);
		else
			r = addr_from_bytes(AF_INET6, &in6.sin6_addr, sizeof(in6.sin6_addr), &e.addr);
	} else {
		return -EAFNOSUPPORT;
	}
	if (r < 0)
		return r;
	*ret_endpoint = e;
	return 0;
}
