/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Splits an endpoint's URL and writes the three forms that the rest needs. Pure.
 *
 * The target is spelled with an empty authority ("ipv4:///10.0.0.1:2379"). gRPC reports the peer of
 * a call as "ipv4:10.0.0.1:2379" once a connection has taken it, and as the channel's target before
 * that: only because the two spellings differ can rpc.c tell a request that was never sent.
 */
#include "etcd/url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/macro.h"

#define DEFAULT_PORT 2379

static int parse_port(const char *text, uint16_t *ret_port)
{
	unsigned value = 0;

	if (text[0] == '\0' || strlen(text) > 5)
		return -EINVAL;
	for (const char *p = text; *p != '\0'; p++) {
		if (!isdigit((unsigned char) *p))
			return -EINVAL;
		value = value * 10 + (unsigned) (*p - '0');
	}
	if (value == 0 || value > 65535)
		return -EINVAL;
	*ret_port = (uint16_t) value;
	return 0;
}

static bool is_dns_name(const char *host)
{
	if (host[0] == '\0' || host[0] == '.' || host[0] == '-')
		return false;
	for (const char *p = host; *p != '\0'; p++) {
		if (!isalnum((unsigned char) *p) && strchr("-._", *p) == NULL)
			return false;
	}
	return true;
}

/* "host", "host:port", "[v6]", "[v6]:port" -> host without brackets, port. */
static int split_host(const char *text, char host[static URL_HOST_MAX + 1], bool *ret_v6,
                      uint16_t *ret_port)
{
	const char *end;
	const char *rest;
	size_t len;

	*ret_v6 = text[0] == '[';
	if (*ret_v6) {
		text++;
		end = strchr(text, ']');
		if (end == NULL)
			return -EINVAL;
		rest = end + 1;
	} else {
		end = text + strcspn(text, ":");
		rest = end;
	}
	len = (size_t) (end - text);
	if (len == 0 || len > URL_HOST_MAX)
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = '\0';
	*ret_port = DEFAULT_PORT;
	if (rest[0] == '\0')
		return 0;
	return rest[0] == ':' ? parse_port(rest + 1, ret_port) : -EINVAL;
}

static int parse_host(struct url *u, const char *rest)
{
	char text[URL_TEXT_MAX];
	char number[ADDR_TEXT_MAX];
	size_t len = strlen(rest);
	bool v6;
	int r;

	if (len > 0 && rest[len - 1] == '/')
		len--;
	if (len == 0 || len >= sizeof(text))
		return -EINVAL;
	memcpy(text, rest, len);
	text[len] = '\0';
	r = split_host(text, u->host, &v6, &u->port);
	if (r < 0)
		return r;
	r = addr_parse(u->host, &u->addr);
	if (r < 0 ? v6 || !is_dns_name(u->host) : v6 != (u->addr.family == AF_INET6))
		return -EINVAL;
	if (r < 0) {
		u->loopback = strcasecmp(u->host, "localhost") == 0;
		(void) snprintf(u->authority, sizeof(u->authority), "%s:%u", u->host, u->port);
		(void) snprintf(u->target, sizeof(u->target), "dns:///%s:%u", u->host, u->port);
	} else {
		u->loopback = addr_is_loopback(&u->addr);
		(void) snprintf(u->authority, sizeof(u->authority), v6 ? "[%s]:%u" : "%s:%u",
		                addr_format(&u->addr, number), u->port);
		(void) snprintf(u->target, sizeof(u->target),
		                v6 ? "ipv6:///%%5B%s%%5D:%u" : "ipv4:///%s:%u", number, u->port);
	}
	(void) snprintf(u->text, sizeof(u->text), "%s://%.*s",
	                u->scheme == URL_HTTPS ? "https" : "http", URL_HOST_MAX + 10, u->authority);
	return 0;
}

static int parse_path(struct url *u, const char *path)
{
	if (path[0] != '/' || strlen(path) + sizeof("unix://") > sizeof(u->text))
		return -EINVAL;
	u->loopback = true;
	(void) snprintf(u->path, sizeof(u->path), "%s", path);
	(void) snprintf(u->authority, sizeof(u->authority), "localhost");
	(void) snprintf(u->target, sizeof(u->target), "unix://%s", path);
	(void) snprintf(u->text, sizeof(u->text), "unix://%s", path);
	return 0;
}

int url_parse(const char *text, struct url *ret_url)
{
	static const struct {
		const char *prefix;
		enum url_scheme scheme;
	} schemes[] = {{"http://", URL_HTTP}, {"https://", URL_HTTPS}, {"unix://", URL_UNIX}};
	struct url u = {0};
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t len = strlen(schemes[i].prefix);

		if (strncasecmp(text, schemes[i].prefix, len) != 0)
			continue;
		u.scheme = schemes[i].scheme;
		r = u.scheme == URL_UNIX ? parse_path(&u, text + len) : parse_host(&u, text + len);
		if (r < 0)
			return r;
		*ret_url = u;
		return 0;
	}
	return -EINVAL;
}
