/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single values: names, addresses, URLs. Each check is a conf_check_fn, pure: NULL, or what is
 * wrong with the text and perhaps what to write instead.
 */
#include "vipd/config_priv.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/conf_check.h"

#define PREFIX_BYTES_MAX 128
#define PORT_MAX 65535

/* --- names --- */

/* As the kernel's dev_valid_name() has it. */
const char *config_check_link(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                              const char **ret_hint UNUSED)
{
	if (strlen(text) >= IFNAMSIZ)
		return "is longer than the 15 characters of a link's name";
	if (strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return "is no name of a link";
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '/' || *p == ':' || isspace((unsigned char) *p))
			return "has a character that no link's name can have";
	}
	return NULL;
}

const char *config_check_node_name(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                   const char **ret_hint)
{
	if (strlen(text) > CONFIG_NODE_NAME_MAX)
		return "is longer than 63 characters";
	if (conf_has_upper_case(text)) {
		*ret_hint = "write it in lower case";
		return "has upper-case letters";
	}
	if (!conf_is_dns_name(text)) {
		*ret_hint = "lower-case letters, digits, '-' and '.' inside";
		return "is not a node name";
	}
	return NULL;
}

/* --- keys --- */

const char *config_check_prefix(const char *text, char scratch[static CONF_SCRATCH_BYTES],
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

/* --- the VIP --- */

static const char *check_vip_sort(const struct addr *addr)
{
	static const uint8_t broadcast[4] = {255, 255, 255, 255};

	if (addr_is_unspecified(addr))
		return "is the unspecified address, not one that clients can reach";
	if (addr_is_loopback(addr))
		return "is a loopback address, which no other host can reach";
	if (addr_is_multicast(addr))
		return "is a multicast address";
	if (addr_is_linklocal(addr))
		return "is a link-local address";
	if (addr->family == AF_INET && memcmp(addr->bytes, broadcast, sizeof(broadcast)) == 0)
		return "is the broadcast address";
	if (addr->family == AF_INET && addr->bytes[0] == 0)
		return "lies in 0.0.0.0/8, which no host may have";
	return NULL;
}

const char *config_check_vip(const char *text, struct addr *ret_addr,
                             char scratch[static CONF_SCRATCH_BYTES], const char **ret_hint)
{
	char plain[ADDR_TEXT_MAX];
	struct prefix prefix;
	struct addr addr;
	const char *wrong;

	if (strchr(text, '/') != NULL && prefix_parse(text, &prefix) >= 0) {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "write '%s'; a VIP always is /%u",
		                addr_format(&prefix.addr, plain),
		                (unsigned) addr_len_bytes(&prefix.addr) * 8);
		*ret_hint = scratch;
		return "is an address with a prefix length";
	}
	if (strncasecmp(text, "::ffff:", 7) == 0 && strchr(text, '.') != NULL) {
		(void) snprintf(scratch, CONF_SCRATCH_BYTES, "write '%.64s'", text + 7);
		*ret_hint = scratch;
		return "is an IPv4 address in IPv6 clothes";
	}
	if (addr_parse(text, &addr) < 0) {
		*ret_hint = "such as 10.0.0.5 or fd00::5";
		return "is not an IP address";
	}
	wrong = check_vip_sort(&addr);
	if (wrong == NULL)
		*ret_addr = addr;
	return wrong;
}

/* --- URLs --- */

struct url {
	bool https;
	char host[CONF_DNS_NAME_MAX + 1]; /* without brackets */
	bool bracketed;
	bool has_port;
	const char *rest; /* path and query, "" if none */
};

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
static const char *parse_authority(const char *p, const char *end, struct url *url)
{
	const char *host = p, *host_end, *colon;

	if (memchr(p, '@', (size_t) (end - p)) != NULL)
		return "has a user name in it";
	url->bracketed = *p == '[';
	if (url->bracketed) {
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

static const char *parse_url(const char *text, struct url *ret_url)
{
	struct url url = {0};
	const char *p, *end, *wrong;

	if (strncmp(text, "https://", 8) == 0)
		url.https = true;
	else if (strncmp(text, "http://", 7) != 0)
		return "does not begin with https:// or http://";
	for (p = text; *p != '\0'; p++) {
		if (*p <= ' ' || *p >= 0x7f)
			return "has a space or a character beyond ASCII";
	}
	p = text + (url.https ? 8 : 7);
	end = p + strcspn(p, "/?#");
	wrong = parse_authority(p, end, &url);
	if (wrong != NULL)
		return wrong;
	url.rest = end;
	*ret_url = url;
	return NULL;
}

/* What the host is: an address of the right family for its brackets, or a DNS name. */
static const char *check_host(const struct url *url, bool *ret_is_address)
{
	struct addr addr;

	*ret_is_address = addr_parse(url->host, &addr) >= 0;
	if (*ret_is_address)
		return url->bracketed == (addr.family == AF_INET6) ? NULL
		                                                   : "has brackets around an IPv4 address";
	if (url->bracketed || conf_has_upper_case(url->host) || !conf_is_dns_name(url->host))
		return "has a host that is neither an address nor a DNS name in lower case";
	/* 10.0.0 or 10.0.0.256: a name of digits alone is a mistyped address. */
	if (url->host[strspn(url->host, "0123456789.")] == '\0')
		return "has a host that is not a whole IPv4 address";
	return NULL;
}

const char *config_check_endpoint(const char *text, char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                  const char **ret_hint)
{
	const char *wrong;
	bool is_address;
	struct url url;

	*ret_hint = "such as https://10.0.0.1:2379";
	wrong = parse_url(text, &url);
	if (wrong == NULL)
		wrong = check_host(&url, &is_address);
	if (wrong != NULL)
		return wrong;
	if (url.rest[0] != '\0') {
		*ret_hint = "scheme, host and port are all";
		return "has a path";
	}
	if (!url.has_port) {
		*ret_hint = "etcd's client port is 2379";
		return "has no port";
	}
	return NULL;
}

const char *config_check_health_url(const char *text,
                                    char scratch[static CONF_SCRATCH_BYTES] UNUSED,
                                    const char **ret_hint)
{
	const char *wrong;
	bool is_address;
	struct url url;

	*ret_hint = "such as https://127.0.0.1:6443/readyz";
	wrong = parse_url(text, &url);
	if (wrong == NULL)
		wrong = check_host(&url, &is_address);
	if (wrong != NULL)
		return wrong;
	if (strchr(url.rest, '#') != NULL)
		return "has a fragment";
	if (!is_address) {
		*ret_hint = "write the address, such as 127.0.0.1; the name to verify is 'serverName'";
		return "has a host name, and vipd resolves none";
	}
	return NULL;
}
