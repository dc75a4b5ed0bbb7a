/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that mean the same in every daemon's configuration, checked in one place.
 *
 * A URL taken apart, strictly: what programs read differently (no brackets around IPv6, digits that
 * are not a whole address, a user name before the host) is refused, so that a URL means the same
 * to whoever is given it later.
 */
#include "base/conf_check.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/printable.h"

#define PREFIX_BYTES_MAX 128
#define PORT_MAX 65535

bool conf_has_upper_case(const char *text)
{
	for (; *text != '\0'; text++) {
		if (isupper((unsigned char) *text))
			return true;
	}
	return false;
}

static bool is_label_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool conf_is_dns_name(const char *text)
{
	char before = '.';

	for (const char *p = text; *p != '\0'; p++) {
		bool edge = before == '.' || p[1] == '.' || p[1] == '\0';

		if (*p == '.' ? before == '.' : !is_label_char(*p) && (*p != '-' || edge))
			return false;
		before = *p;
	}
	return before != '.';
}

const char *conf_check_server_name(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                   const char **ret_hint)
{
	struct addr addr;

	if (addr_parse(text, &addr) >= 0)
		return NULL;
	if (strlen(text) > CONF_DNS_NAME_MAX || !conf_is_dns_name(text)) {
		*ret_hint = "such as kubernetes or 10.0.0.1";
		return "is neither a DNS name in lower case nor an address";
	}
	return NULL;
}

const char *conf_check_file(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                            const char **ret_hint)
{
	if (strncmp(text, "-----BEGIN", 10) == 0) {
		*ret_hint = "write it into a file and name that";
		return "is a key or certificate, not the name of a file";
	}
	if (text[0] == '/')
		return NULL;
	*ret_hint = "write the whole path";
	return "is not an absolute path";
}

const char *conf_check_prefix(const char *text, char scratch[static CONF_SCRATCH_BYTES],
                              const char **ret_hint)
{
	size_t len = strlen(text);

	if (len > PREFIX_BYTES_MAX)
		return "is longer than 128 characters";
	for (const char *p = text; *p != '\0'; p++) {
		if (!isalnum((unsigned char) *p) && strchr("/._-", *p) == NULL)
			return "has characters other than letters, digits, '/', '.', '_' and '-'";
	}
	if (text[0] == '/')
		return "must not begin with '/'";
	if (strstr(text, "//") != NULL)
		return "has an empty part";
	if (text[len - 1] != '/') {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "write '%s/'", text);
		*ret_hint = scratch;
		return "must end in '/'";
	}
	return NULL;
}

/* --- URLs --- */

static const char *parse_port(const char *text, size_t len)
{
	char digits[8] = "";
	int64_t port;

	if (len == 0 || len >= sizeof(digits))
		return "has no valid port";
	memcpy(digits, text, len);
	if (conf_parse_int(digits, &port) < 0 || port < 1 || port > PORT_MAX)
		return "has no valid port";
	return NULL;
}

/* "host", "host:port", "[v6]:port"; end is one behind. */
static const char *parse_authority(const char *p, const char *end, struct conf_url *url,
                                   bool *ret_bracketed)
{
	const char *host = p, *host_end, *colon;

	if (memchr(p, '@', (size_t) (end - p)) != NULL)
		return "has a user name in it";
	*ret_bracketed = *p == '[';
	if (*ret_bracketed) {
		host = p + 1;
		host_end = memchr(host, ']', (size_t) (end - host));
		if (host_end == NULL)
			return "has a '[' without its ']'";
		colon = host_end + 1;
	} else {
		colon = memchr(p, ':', (size_t) (end - p));
		host_end = colon = colon != NULL ? colon : end;
		if (colon != end && memchr(colon + 1, ':', (size_t) (end - colon - 1)) != NULL)
			return "has an IPv6 address without brackets";
	}
	if (host_end == host)
		return "has no host";
	if ((size_t) (host_end - host) > CONF_DNS_NAME_MAX)
		return "has a host name that is too long";
	memcpy(url->host, host, (size_t) (host_end - host));
	url->host[host_end - host] = '\0';
	url->has_port = colon != end;
	if (!url->has_port)
		return NULL;
	return *colon == ':' ? parse_port(colon + 1, (size_t) (end - colon - 1))
	                     : "has something between ']' and the port";
}

/* What the host is: an address of the right family for its brackets, or a DNS name. */
static const char *check_host(struct conf_url *url, bool bracketed)
{
	struct addr addr;

	url->is_address = addr_parse(url->host, &addr) >= 0;
	if (url->is_address)
		return bracketed == (addr.family == AF_INET6) ? NULL
		                                              : "has brackets around an IPv4 address";
	if (bracketed || conf_has_upper_case(url->host) || !conf_is_dns_name(url->host))
		return "has a host that is neither an address nor a DNS name in lower case";
	/* 10.0.0 or 10.0.0.256: a name of digits alone is a mistyped address. */
	if (url->host[strspn(url->host, "0123456789.")] == '\0')
		return "has a host that is not a whole IPv4 address";
	return NULL;
}

const char *conf_parse_url(const char *text, struct conf_url *ret_url)
{
	struct conf_url url = {0};
	const char *p, *end, *wrong;
	bool bracketed;

	if (strncmp(text, "https://", 8) == 0)
		url.https = true;
	else if (strncmp(text, "http://", 7) != 0)
		return "does not begin with https:// or http://";
	if (!printable_is_word(text))
		return "has a space or a character beyond ASCII";
	p = text + (url.https ? 8 : 7);
	end = p + strcspn(p, "/?#");
	wrong = parse_authority(p, end, &url, &bracketed);
	if (wrong == NULL)
		wrong = check_host(&url, bracketed);
	if (wrong != NULL)
		return wrong;
	url.rest = end;
	*ret_url = url;
	return NULL;
}

int conf_url_addr(const char *text, struct addr *ret_addr)
{
	struct conf_url url;

	if (conf_parse_url(text, &url) != NULL || !url.is_address)
		return -EINVAL;
	return addr_parse(url.host, ret_addr);
}
